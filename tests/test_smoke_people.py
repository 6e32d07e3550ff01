"""The people whom smoke plays, on a way to the server that does not answer."""

from __future__ import annotations

import select
import signal
import socketserver
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import psycopg
import pytest
from databases import TESTERS, hash_of, make_code
from lossy import SIZE
from refusing import parameters_of
from tap import _connect

from invite_admin.codes import Secret
from invite_admin.model import Actor
from invite_admin.smoke import crowds, people, pool
from invite_admin.smoke.crowds import run_crowd
from invite_admin.smoke.judging import Answer, Step
from invite_admin.smoke.people import Code, People
from invite_admin.smoke.pool import Pool

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from concurrent.futures import Future

    from databases import Database

CLAIMS: Final = b"request.jwt"
CALL: Final = b"redeem_code"


@contextmanager
def silent(database: Database, mark: bytes) -> Iterator[dict[str, str]]:
    """Yield libpq's parameters of a way that swallows what holds this, and all that follows."""
    far_away = parameters_of(database.url("app_runtime"))
    ended = threading.Event()

    class Passing(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with _connect(far_away) as far:
                _pass(self.request, far)

    def _pass(near: socket.socket, far: socket.socket) -> None:
        while not ended.is_set():
            ready, _, _ = select.select([near, far], [], [], 0.05)
            for source, drain in ((near, far), (far, near)):
                piece = source.recv(SIZE) if source in ready else None
                if piece == b"":
                    return
                if piece and mark in piece:
                    ended.wait()
                    return
                if piece:
                    drain.sendall(piece)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Passing) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        own = {"host": "127.0.0.1", "port": str(server.server_address[1])}
        try:
            yield {**far_away, **own, "sslmode": "disable", "gssencmode": "disable"}
        finally:
            ended.set()
            server.shutdown()


@pytest.mark.parametrize(
    ("mark", "answer", "why"),
    [
        (CLAIMS, Answer.BUSY, "no connection"),
        (CALL, Answer.ERROR, "SQLSTATE none: the connection was lost"),
    ],
    ids=["before", "after"],
)
def test_no_answer(
    database: Database, monkeypatch: pytest.MonkeyPatch, mark: bytes, answer: Answer, why: str
) -> None:
    """Who waits in a pooler for a server is busy; who asked and got no answer is an error."""
    monkeypatch.setattr(people, "WAIT", 0.3)
    monkeypatch.setattr(pool, "GRACE", 0.2)
    monkeypatch.setattr(people, "IN_ALL", 2.0)
    person = Actor(str(database.person(TESTERS[0])), TESTERS[0], "user")
    code = Code("id", Secret(hash_of(make_code())))
    with silent(database, mark) as parameters:
        connections = Pool(parameters)
        attempt = People(connections, pytest.fail).redeem(person, code, Step.ONCE)
        connections.close()
    assert (answer, why) == (attempt.answer, attempt.why)
    assert (attempt.first is None) == (answer is Answer.BUSY)


def test_stopped_while_they_gather(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before all have come lets go of those who wait for the rest."""
    told: list[str] = []
    gathered: list[Future[Any]] = []
    submit = ThreadPoolExecutor.submit

    def interrupted(crew: ThreadPoolExecutor, *given: Any) -> Future[Any]:  # noqa: ANN401 - as it takes them
        blocked.append(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        if len(gathered) > 1:
            raise KeyboardInterrupt
        gathered.append(submit(crew, *given))
        return gathered[-1]

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    released: list[None] = []
    blocked: list[set[int]] = []
    abort = threading.Barrier.abort
    monkeypatch.setattr(threading.Barrier, "abort", lambda barrier: released.append(abort(barrier)))
    person, code = Actor("id", TESTERS[0], "user"), Code("id", Secret(""))
    with pytest.raises(KeyboardInterrupt):
        run_crowd(People(Pool({}), told.append), [person] * 3, [code] * 4, lambda: None)
    assert [True] * 3 == [crowds.STOPPING <= found for found in blocked]
    assert [None] == released  # else they wait until their bound
    assert [threading.BrokenBarrierError] * 2 == [type(future.exception()) for future in gathered]
    assert ["stopping; what was begun is waited for, at most 16 s"] == told


def test_the_server_was_the_first_to_hang_up(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that is gone already is hung up on without a word."""
    raised: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    monkeypatch.setattr(pool, "GRACE", 0.0)
    with database.connect("app_runtime") as connection:
        database.execute("select pg_terminate_backend(%s)", [connection.info.backend_pid])
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")
        before = set(threading.enumerate())
        with pool.bounded(connection, 0.0) as hung:
            hung.wait()
            for timer in set(threading.enumerate()) - before:
                timer.join()
    assert [] == raised


def test_the_most_that_were_open(database: Database) -> None:
    """Counted are connections that are open at once, also where all are closed in between."""
    connections = Pool(parameters_of(database.url("app_runtime")))
    for count in (3, 2):
        connections.warm(count)
        connections.close()
    assert 3 == connections.most
