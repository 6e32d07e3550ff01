"""A way to the server on which COMMIT never arrives: it is answered with a refusal."""

from __future__ import annotations

import select
import socketserver
from contextlib import contextmanager
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any

from databases import make_url
from lossy import COMMIT, SIZE
from psycopg.conninfo import conninfo_to_dict
from tap import _connect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from socket import socket


def parameters_of(url: str) -> dict[str, str]:
    """Return libpq's parameters of a URL."""
    return {k: str(v) for k, v in conninfo_to_dict(url).items() if v is not None}


def refusal(state: str) -> bytes:
    """Return a server's answer to a COMMIT that it refuses."""
    fields = "".join(f"{k}{v}\0" for k, v in (("S", "ERROR"), ("C", state), ("M", "not today")))
    content = fields.encode() + b"\0"
    return b"E" + (len(content) + 4).to_bytes(4) + content + b"Z\0\0\0\x05I"


class _Refusing(socketserver.BaseRequestHandler):
    """A way to the server on which COMMIT is answered with a refusal, and never arrives."""

    def __init__(self, *args: Any, parameters: dict[str, str], answer: bytes) -> None:  # noqa: ANN401 - as socketserver calls it
        self.parameters, self.answer = parameters, answer
        super().__init__(*args)

    def handle(self) -> None:
        """Pass bytes both ways until one side ends."""
        near = self.request
        with _connect(self.parameters) as far:
            while True:
                ready, _, _ = select.select([near, far], [], [])
                for source, drain in ((near, far), (far, near)):
                    if source in ready and not self._pass(source, drain):
                        return

    def _pass(self, source: socket, drain: socket) -> bool:
        piece = source.recv(SIZE)
        if COMMIT in piece:
            source.sendall(self.answer)
        else:
            drain.sendall(piece)
        return bool(piece)


@contextmanager
def refusing(url: str, state: str) -> Iterator[str]:
    """Yield a URL that leads to the same database, where COMMIT is refused with this SQLSTATE."""
    to = parameters_of(url)
    handler = partial(_Refusing, parameters=to, answer=refusal(state))
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        own = {"host": "127.0.0.1", "port": str(server.server_address[1])}
        try:
            yield make_url({**to, **own, "sslmode": "disable", "gssencmode": "disable"})
        finally:
            server.shutdown()
