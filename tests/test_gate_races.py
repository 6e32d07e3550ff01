"""Heavy jobs as processes of their own: all at once, killed, stopped; also through PgBouncer."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest
from batches import line, stored
from gates import HEAVY, WAITS, await_crowd, crowd, frozen
from pooler import pooling, program
from stopping import PATIENT, SIGNALS, stop
from tool import TIMEOUT
from waiting import read_until, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from subprocess import Popen

    from cluster import Cluster
    from databases import Connection, Database
    from tool import Invite

AT_ONCE: Final = 8
POOL: Final = 12  # a connection for each of them: who waits in the pooler is not at the gate
JOB: Final = line(HEAVY, 1, "--format", "jsonl")


@pytest.fixture(params=["direct", "pooled"])
def operators(
    request: pytest.FixtureRequest, cluster: Cluster, database: Database, invite: Invite
) -> Iterator[Invite]:
    """The tool, straight to the server and through a pooler."""
    if request.param == "direct":
        invite.database = database.by_way_of(cluster.parameters)
        yield invite
        return
    if program() is None:
        pytest.skip("*** PGBOUNCER IS NOT INSTALLED: nothing is tried through a pooler ***")
    with pooling(cluster.parameters, POOL) as way:
        invite.database = database.by_way_of(way)
        yield invite


@contextmanager
def two_running(
    operators: Invite, database: Database
) -> Iterator[tuple[Connection, Popen[bytes], Popen[bytes]]]:
    """Freeze the table under two heavy jobs, which have both places as long as it is."""
    with (
        frozen(database) as freeze,
        operators.start(*JOB, settings=PATIENT) as first,
        operators.start(*JOB, settings=PATIENT) as second,
    ):
        await_crowd(database, 2, 0)
        yield freeze, first, second


def test_eight_at_once(operators: Invite, database: Database) -> None:
    """Two run, four wait and say so, two are refused; the six are done, each whole."""
    with ThreadPoolExecutor(AT_ONCE) as pool, frozen(database) as freeze:
        jobs = [pool.submit(operators, *JOB, settings=PATIENT) for _ in range(AT_ONCE)]
        await_crowd(database, 2, 4)
        until(lambda: 2 == sum(job.done() for job in jobs), "two that are refused")
        assert (2, 4) == crowd(database)
        freeze.execute("commit")
        ends = [job.result(TIMEOUT) for job in jobs]
    assert [0] * 6 + [8] * 2 == sorted(end.exit_code for end in ends)
    assert 4 == sum(WAITS in end.stderr.splitlines() for end in ends)
    refused = "invite: busy: two heavy jobs are running and four are waiting; nothing was changed"
    assert 2 == sum(refused in end.stderr.splitlines() for end in ends)
    assert [0] * 2 + [HEAVY] * 6 == sorted(end.stdout.count("JYOTISH-") // 2 for end in ends)
    assert 6 * HEAVY == stored(database)
    assert (0, 0) == crowd(database)


def test_killed(operators: Invite, database: Database) -> None:
    """The place of one that was killed is free soon, and whoever waits for it gets it."""
    with (
        two_running(operators, database) as (freeze, first, second),
        operators.start(*JOB, settings=PATIENT) as third,
    ):
        await_crowd(database, 2, 1)
        first.kill()
        await_crowd(database, 2, 0)
        freeze.execute("commit")
        for process in (second, third):
            process.communicate(timeout=TIMEOUT)
    assert [-signal.SIGKILL, 0, 0] == [p.returncode for p in (first, second, third)]
    assert 2 * HEAVY == stored(database)


def test_killed_while_it_waits(operators: Invite, database: Database) -> None:
    """The ticket of one that was killed while it waited is free soon."""
    with two_running(operators, database) as (_, first, second):
        with operators.start(*JOB, settings=PATIENT) as third:
            await_crowd(database, 2, 1)
            third.kill()
            await_crowd(database, 2, 0)
        for process in (first, second):
            process.kill()
    await_crowd(database, 0, 0)
    assert 0 == stored(database)


def test_stopped_and_again(operators: Invite, database: Database) -> None:
    """Ctrl-C, and the same command again at once gets the place without a wait."""
    with two_running(operators, database) as (freeze, first, second):
        last = stop(first, signal.SIGINT)
        with operators.start(*JOB, settings=PATIENT) as again:
            await_crowd(database, 2, 0)
            freeze.execute("commit")
            said = [_said(process) for process in (second, again)]
    assert "invite: stopped: stopped by Ctrl-C; nothing was changed" == last
    assert [130, 0, 0] == [p.returncode for p in (first, second, again)]
    assert not any("heavy" in text for text in said), said
    assert 2 * HEAVY == stored(database)


@SIGNALS
def test_stopped_while_it_waits(
    operators: Invite, database: Database, *, number: int, exit_code: int, named: str
) -> None:
    """A signal ends the wait at once, with what is true, and gives the ticket back."""
    with two_running(operators, database) as (freeze, first, second):
        with operators.start(*JOB, settings=PATIENT) as third:
            assert third.stderr is not None
            read_until(third.stderr.fileno(), WAITS.encode())
            last = stop(third, number)
        await_crowd(database, 2, 0)
        freeze.execute("commit")
        for process in (first, second):
            process.communicate(timeout=TIMEOUT)
    assert f"invite: stopped: stopped by {named}; nothing was changed" == last
    assert [0, 0, exit_code] == [p.returncode for p in (first, second, third)]
    assert 2 * HEAVY == stored(database)


def _said(process: Popen[bytes]) -> str:
    _, told = process.communicate(timeout=TIMEOUT)
    return told.decode()
