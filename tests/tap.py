"""A wire tap between the tool and the server: what each of them said, message by message.

With `log_to_client` the server sends its own log lines, parameters included, down the same wire.
"""

from __future__ import annotations

import socket
import socketserver
import struct
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from databases import make_url
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from databases import Database

_LOGGING: Final = {
    "log_statement": "all",
    "log_duration": "on",
    "log_parameter_max_length": "-1",
    "log_parameter_max_length_on_error": "-1",
    "log_error_verbosity": "verbose",
    "client_min_messages": "log",
}
_LENGTH: Final = struct.Struct("!i")
_HEAD: Final = 1 + _LENGTH.size  # bytes before a message's content: its kind and its length
PORT: Final = 5432
"""Of the tap's socket in a folder."""


@dataclass
class Heard:
    """Everything that was sent, in whole messages of (kind, content).

    Attributes:
        startup: What the tool said before the first message with a kind.
        asked: The tool's messages.
        answered: The server's messages.
    """

    startup: list[bytes] = field(default_factory=list)
    asked: list[tuple[str, bytes]] = field(default_factory=list)
    answered: list[tuple[str, bytes]] = field(default_factory=list)

    def of(self, *kinds: str) -> list[bytes]:
        """Return the contents of the tool's messages of these kinds."""
        return [content for kind, content in self.asked if kind in kinds]

    def statements(self) -> list[str]:
        """Return the text of every statement the tool sent, in order, parameters left out."""
        parts = [(kind, content.split(b"\0")) for kind, content in self.asked if kind in ("Q", "P")]
        return [(texts[0] if kind == "Q" else texts[1]).decode() for kind, texts in parts]

    def parameters(self) -> list[bytes]:
        """Return what the tool sent as parameters of statements."""
        return self.of("B")

    def log_lines(self) -> list[dict[str, str]]:
        """Return the server's log lines that came down the wire, by the letters of their fields."""
        return [_fields(content) for kind, content in self.answered if kind in ("N", "E")]


def log_to_client(database: Database) -> None:
    """Let the server log every statement with its parameters, and send its log to the client."""
    for name, value in _LOGGING.items():
        change = SQL("alter database {} set {} = {}").format(
            Identifier(database.name), Identifier(name), Literal(value)
        )
        database.execute(change.as_string())


@contextmanager
def tapped(url: str, *, folder: str | None = None) -> Iterator[tuple[str, Heard]]:
    """Yield a URL that leads to the same database through the tap, and what is heard on it.

    Args:
        url: Where to.
        folder: Listen on a socket in this folder; None means on TCP.
    """
    parameters = {k: str(v) for k, v in conninfo_to_dict(url).items() if v is not None}
    heard = Heard()
    handler = partial(_Pair, parameters=parameters, heard=heard)
    server: socketserver.BaseServer
    if folder is None:
        server = tcp = socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler)
        host, port = str(tcp.server_address[0]), tcp.server_address[1]
    else:
        server = socketserver.ThreadingUnixStreamServer(f"{folder}/.s.PGSQL.{PORT}", handler)
        host, port = folder, PORT
    own = {"host": host, "port": str(port)}
    plain = {"sslmode": "disable", "gssencmode": "disable"}
    with server:
        taking = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        taking.start()
        try:
            yield make_url({**parameters, **own, **plain}), heard
        finally:
            server.shutdown()
            taking.join()


class _Pair(socketserver.BaseRequestHandler):
    """One connection through the tap."""

    def __init__(self, *args: Any, parameters: dict[str, str], heard: Heard) -> None:  # noqa: ANN401 - as socketserver calls it
        self.parameters, self.heard = parameters, heard
        super().__init__(*args)

    def handle(self) -> None:
        """Pass bytes both ways until both sides have ended."""
        with _connect(self.parameters) as far:
            for end in (self.request, far):
                if end.family == socket.AF_INET:
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            answers = _Messages(self.heard.answered)
            back = Thread(target=_pass, args=(far, self.request, answers))
            back.start()
            _pass(self.request, far, _Messages(self.heard.asked, self.heard.startup))
            back.join()


class _Messages:
    """Cuts what is said on one connection into whole messages.

    Args:
        kept: Where messages go.
        startup: Where the first message goes, which has no kind; None where all have one.
    """

    def __init__(self, kept: list[tuple[str, bytes]], startup: list[bytes] | None = None) -> None:
        self._kept, self._startup = kept, startup
        self._pending = b""

    def feed(self, piece: bytes) -> None:
        """Take the bytes that came next."""
        self._pending += piece
        while (size := self._size()) and len(self._pending) >= size:
            message, self._pending = self._pending[:size], self._pending[size:]
            if self._startup is not None:
                self._startup.append(message)
                self._startup = None
            else:
                self._kept.append((chr(message[0]), message[_HEAD:]))

    def _size(self) -> int:
        """Return the bytes of the message that has begun, 0 where that is not known yet."""
        before = 0 if self._startup is not None else 1
        if len(self._pending) < before + _LENGTH.size:
            return 0
        found: int = _LENGTH.unpack_from(self._pending, before)[0]
        return before + found


def _connect(parameters: dict[str, str]) -> socket.socket:
    host, port = parameters["host"], parameters["port"]
    if not host.startswith("/"):
        return socket.create_connection((host, int(port)))
    far = socket.socket(socket.AF_UNIX)
    far.connect(f"{host}/.s.PGSQL.{port}")
    return far


def _pass(source: socket.socket, drain: socket.socket, messages: _Messages) -> None:
    """Pass bytes on as they come, until one side ends."""
    with suppress(OSError):
        while piece := source.recv(65_536):
            messages.feed(piece)
            drain.sendall(piece)
    for end in (source, drain):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _fields(content: bytes) -> dict[str, str]:
    parts = [part.decode() for part in content.split(b"\0") if part]
    return {part[0]: part[1:] for part in parts}
