"""A wire to the server that breaks in the worst moment: with COMMIT on its way, or its answer."""

from __future__ import annotations

import select
import socketserver
from contextlib import contextmanager
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from databases import make_url
from psycopg.conninfo import conninfo_to_dict
from tap import _connect

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMIT: Final = b"COMMIT\0"
SIZE: Final = 65_536


@contextmanager
def lossy(url: str, *, arrives: bool) -> Iterator[str]:
    """Yield a URL that leads to the same database over such a wire.

    Args:
        url: Where to.
        arrives: Whether the server gets COMMIT, and only its answer is lost.
    """
    parameters = {k: str(v) for k, v in conninfo_to_dict(url).items() if v is not None}
    handler = partial(_Wire, parameters=parameters, arrives=arrives)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        host, port = server.server_address[:2]
        taking = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        taking.start()
        own = {"host": str(host), "port": str(port), "sslmode": "disable", "gssencmode": "disable"}
        try:
            yield make_url({**parameters, **own})
        finally:
            server.shutdown()
            taking.join()


class _Wire(socketserver.BaseRequestHandler):
    """One connection."""

    def __init__(self, *args: Any, parameters: dict[str, str], arrives: bool) -> None:  # noqa: ANN401 - as socketserver calls it
        self.parameters, self.arrives = parameters, arrives
        super().__init__(*args)

    def handle(self) -> None:
        """Pass bytes both ways until COMMIT comes, or one side ends."""
        near = self.request
        with _connect(self.parameters) as far:
            while True:
                ready, _, _ = select.select([near, far], [], [])
                for source, drain in ((near, far), (far, near)):
                    if source not in ready:
                        continue
                    piece = source.recv(SIZE)
                    ends = not piece or COMMIT in piece
                    if not ends or self.arrives:
                        drain.sendall(piece)
                    if ends:
                        far.recv(SIZE if self.arrives and piece else 0)
                        return
