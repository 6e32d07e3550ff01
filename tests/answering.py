"""Servers that are none: they accept, and then say nothing, or say what a test wants."""

from __future__ import annotations

import socket
import socketserver
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def silent() -> Iterator[int]:
    """Yield the port of a server that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@contextmanager
def dropping() -> Iterator[tuple[int, list[object]]]:
    """Yield the port of a server that drops every connection, and the addresses it dropped."""
    dropped: list[object] = []

    class Dropping(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            dropped.append(self.client_address)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Dropping) as server:
        taking = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        taking.start()
        try:
            yield server.server_address[1], dropped
        finally:
            server.shutdown()
            taking.join()


@contextmanager
def refused() -> Iterator[int]:
    """Yield a port where nothing listens: bound, so that nobody else takes it meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@contextmanager
def saying(state: str, message: str) -> Iterator[int]:
    """Yield the port of a server without SSL that refuses each login with these words."""
    fields = "".join(f"{k}{v}\0" for k, v in (("S", "FATAL"), ("C", state), ("M", message)))
    content = fields.encode() + b"\0"
    refusal = b"E" + (len(content) + 4).to_bytes(4) + content

    class Refusing(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            while True:
                size = int.from_bytes(self.request.recv(4) or b"\0")
                if size == 0:
                    return
                asked = self.request.recv(size - 4)
                if size > 8:  # no mere question for encryption
                    self.request.sendall(refusal)
                    return
                assert asked
                self.request.sendall(b"N")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refusing) as server:
        taking = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        taking.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            taking.join()
