"""A wire to the server that breaks once, where it hurts most: at COMMIT, or at its answer."""

from __future__ import annotations

import select
import socketserver
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from databases import make_url
from psycopg.conninfo import conninfo_to_dict
from tap import _connect

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

COMMIT: Final = b"COMMIT\0"
SIZE: Final = 65_536


class Cut(Enum):
    """Where the wire breaks."""

    BYTE = "after so many bytes of the tool"
    BACK = "after so many bytes of the server"
    HANG = "no more, but nothing of the server arrives after so many bytes"
    COMMIT = "with COMMIT on its way, which never arrives"
    LATE = "with COMMIT on its way, which arrives later"
    ANSWER = "with the answer to COMMIT on its way"
    AFTER = "after the answer to COMMIT"


@dataclass
class Wire:
    """What such a wire does, and what it did.

    Attributes:
        cut: Where it breaks, once.
        number: Bytes for BYTE, BACK and HANG; seconds for LATE.
        refuses: How many connections end at once after that.
        url: The URL that leads over it.
        broken: Whether it broke.
        sent: Bytes that the tool has sent in all.
        answered: Bytes that the server has sent in all.
    """

    cut: Cut
    number: float = 0
    refuses: float = 0
    url: str = ""
    broken: bool = False
    sent: int = 0
    answered: int = 0

    def ends(self, piece: bytes) -> bool:
        """Count what the server has sent; tell whether the wire breaks there."""
        self.answered += len(piece)
        if self.cut in {Cut.BACK, Cut.HANG} and self.answered > self.number:
            self.broken = True
        return self.cut is Cut.BACK and self.broken


@contextmanager
def lossy(url: str, cut: Cut, number: float = 0, *, refuses: float = 0) -> Iterator[Wire]:
    """Yield a wire to the same database, which breaks once.

    Args:
        url: Where to.
        cut: Where it breaks.
        number: Bytes for BYTE, BACK and HANG; seconds for LATE.
        refuses: How many connections end at once after that.
    """
    parameters = {k: str(v) for k, v in conninfo_to_dict(url).items() if v is not None}
    wire = Wire(cut, number, refuses)

    class Passing(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            if wire.broken and wire.refuses > 0:
                wire.refuses -= 1
            else:
                with _connect(parameters) as far:
                    _pass(wire, self.request, far)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Passing) as server:
        host, port = server.server_address[:2]
        taking = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        taking.start()
        own = {"host": str(host), "port": str(port), "sslmode": "disable", "gssencmode": "disable"}
        wire.url = make_url({**parameters, **own})
        try:
            yield wire
        finally:
            server.shutdown()
            taking.join()


def _pass(wire: Wire, near: socket.socket, far: socket.socket) -> None:
    """Pass bytes both ways until the wire breaks, or one side ends."""
    while True:
        ready, _, _ = select.select([near, far], [], [])
        if far in ready:
            piece = far.recv(SIZE)
            if not piece or wire.ends(piece):
                return
            if not wire.broken or wire.cut is not Cut.HANG:
                near.sendall(piece)
        if near in ready:
            piece = near.recv(SIZE)
            wire.sent += len(piece)
            if not piece or _breaks(wire, piece, near, far):
                return
            far.sendall(piece)


def _breaks(wire: Wire, piece: bytes, near: socket.socket, far: socket.socket) -> bool:
    """Break at this piece of the tool's, where that was asked for; tell whether it broke."""
    if wire.cut in {Cut.BACK, Cut.HANG}:
        return False
    if wire.broken or (wire.sent <= wire.number if wire.cut is Cut.BYTE else COMMIT not in piece):
        return False
    wire.broken = True
    if wire.cut is Cut.LATE:
        near.shutdown(2)
        threading.Event().wait(wire.number)
    if wire.cut in {Cut.LATE, Cut.ANSWER, Cut.AFTER}:
        far.sendall(piece)
        answer = far.recv(SIZE)
        if wire.cut is Cut.AFTER:
            near.sendall(answer)
    return True
