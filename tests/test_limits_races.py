"""Operators at once against one limit: it is never exceeded, by no code, and nobody waits idly."""

from __future__ import annotations

import fcntl
import mmap
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest
from batches import BOTH_WAYS, line, stored
from gates import await_crowd
from inside import opened, settings_of
from limiting import limits
from stock import make, snapshot
from stopping import SIGNALS, stop
from tool import TIMEOUT
from waiting import read_until, until

import invite_admin.limits
from invite_admin import locks
from invite_admin.errors import Busy
from invite_admin.limits import Demand
from invite_admin.locks import Purpose
from invite_admin.run import Run
from invite_admin.settings import Limits
from invite_admin.sinks import LIMITED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from databases import Connection, Database
    from tool import Invite

AT_ONCE: Final = 8
WAITS: Final = "another batch is counted against the limits right now; waiting for it, at most 30 s"
_LOCK: Final = """
    select pg_advisory_xact_lock(
        %s, ('x' || substr(encode(sha256('issued'), 'hex'), 1, 8))::bit(32)::int)
"""
_WRITERS: Final = """
    select count(distinct pid) from pg_locks where mode = 'RowExclusiveLock'
      and relation = 'public.redemption_codes'::regclass
"""


@contextmanager
def counting(database: Database) -> Iterator[Connection]:
    """Keep everybody from the last count, until the end or an earlier commit."""
    with database.connect() as connection:
        connection.execute("begin")
        connection.execute("select pg_advisory_xact_lock(%s, 1)", [Purpose.LIMITS])
        yield connection


@BOTH_WAYS
def test_heavy_ones(invite: Invite, database: Database, login: str) -> None:
    """Of eight big batches two are inserted side by side, and only what fits is stored."""
    job, own = line(150, 1), limits(codes_per_hour=299)
    with ThreadPoolExecutor(AT_ONCE) as pool, counting(database) as count:
        jobs = [pool.submit(invite, *job, login=login, settings=own) for _ in range(AT_ONCE)]
        await_crowd(database, 2, 4)
        until(lambda: 2 == database.value(_WRITERS), "two that have inserted")
        until(lambda: 2 == sum(job.done() for job in jobs), "two that are refused")
        count.execute("commit")
        ends = [job.result(TIMEOUT) for job in jobs]
    assert 150 == stored(database)
    assert [0, 8, 8, *[9] * 5] == sorted(end.exit_code for end in ends)
    assert {150} == {end.stdout.count("JYOTISH-") for end in ends if not end.exit_code}
    assert {""} == {end.stdout for end in ends if end.exit_code}


@BOTH_WAYS
def test_light_ones(invite: Invite, database: Database, login: str) -> None:
    """Eight small batches at once: as many as fit are stored, and none of the others."""

    def make_one(number: int) -> int:
        job = line(30, 1, "--output", f"{number}.csv")
        return invite(*job, login=login, settings=limits(points_open=100)).exit_code

    for _ in range(3):
        with ThreadPoolExecutor(AT_ONCE) as pool:
            assert [0, 0, 0, *[9] * 5] == sorted(pool.map(make_one, range(AT_ONCE)))
        files = list(invite.folder.glob("*.csv*"))
        assert (90, [".csv"] * 3) == (stored(database), [path.suffix for path in files])
        for path in files:
            path.unlink()
        database.execute("delete from redemption_codes")


def test_new_ones_against_revived_ones(invite: Invite, database: Database) -> None:
    """A batch and an update that fit alone, and not together: one of them is undone."""
    for _ in range(6):
        make(database, "expired")
    before, own = snapshot(database), limits(points_open=119)
    update = ("update", "--status", "expired", "--set-expires", "30d", "--yes")
    with (
        counting(database) as count,
        invite.start(*line(6, 10), settings=own) as first,
        invite.start(*update, settings=own) as second,
    ):
        for process in (first, second):
            assert process.stderr is not None
            read_until(process.stderr.fileno(), WAITS.encode())
        count.execute("commit")
        for process in (first, second):
            process.communicate(timeout=TIMEOUT)
    assert [0, 9] == sorted((first.returncode, second.returncode))
    assert (12 if 0 == first.returncode else 6) == stored(database)
    assert before != snapshot(database)
    revived = "select count(*) from redemption_codes where expires_at > now()"
    assert (6 if 0 == second.returncode else 0) == database.value(revived)


@SIGNALS
def test_stopped_while_it_waits(
    invite: Invite, database: Database, *, number: int, exit_code: int, named: str
) -> None:
    """Whoever waits for another batch to be counted can be stopped, and has stored nothing."""
    with (
        counting(database),
        invite.start(*line(3, 1), settings=limits(codes_per_hour=9)) as process,
    ):
        assert process.stderr is not None
        read_until(process.stderr.fileno(), WAITS.encode())
        last = stop(process, number)
    assert f"invite: stopped: stopped by {named}; nothing was changed" == last
    assert (exit_code, 0) == (process.returncode, stored(database))


def test_no_limit_no_lock(invite: Invite, database: Database) -> None:
    """Where no limit is set, or none that is concerned, nobody waits for a count."""
    make(database)
    with counting(database):
        assert 0 == invite(*line(3, 1)).exit_code
        update = ("update", "--points", "10", "--set-note", "x", "--yes")
        assert 0 == invite(*update, settings=limits(points_open=10)).exit_code
        assert 0 == invite(*line(3, 1, "--dry-run"), settings=limits(points_open=16)).exit_code


def test_a_count_that_lasts(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits too long for another batch is busy, and has stored nothing."""
    monkeypatch.setattr(invite_admin.limits, "PATIENCE", 0.5)
    run = Run(None, sandbox=False, user_folder=tmp_path)
    settings = settings_of(database)
    run.__dict__["preferences"] = replace(settings, limits=Limits(codes_per_hour=9))
    busy = pytest.raises(Busy, match="was not delivered and stored within 0")
    with counting(database), opened(settings) as store, busy:
        invite_admin.limits.hold(store, run, Demand.of(1, 1))
    with opened(settings) as store:
        invite_admin.limits.hold(store, run, Demand.of(0, 0))
        assert locks.held(store.session, Purpose.LIMITS) == {Purpose.LIMITS: 0}


def test_a_reader_without_limits(invite: Invite) -> None:
    """Where no limit is set nobody waits for the reader's sake, and he has the idle limit."""
    with invite.start(*line(400, 1, "--format", "jsonl")) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        fcntl.fcntl(process.stdout.fileno(), fcntl.F_SETPIPE_SZ, mmap.PAGESIZE)
        read_until(
            process.stderr.fileno(), b"waiting for the reader of standard output, at most 60"
        )
        process.kill()


@BOTH_WAYS
def test_a_reader_who_takes_nothing(invite: Invite, database: Database, login: str) -> None:
    """It is waited for 5 s, for others wait as well; then nothing is stored, and they go on."""
    job, own = line(400, 1, "--format", "jsonl"), limits(codes_per_hour=500)
    with invite.start(*job, login=login, settings=own) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        fcntl.fcntl(process.stdout.fileno(), fcntl.F_SETPIPE_SZ, mmap.PAGESIZE)
        read_until(process.stderr.fileno(), b"waiting for the reader of standard output, at most 5")
        waiting = invite(*line(101, 1), login=login, settings=own)
        process.wait(TIMEOUT)
        told = process.stderr.read().decode().splitlines()
    assert [
        "invite: failed: the reader of standard output took nothing for 5 s",
        "the result is incomplete",
        "nothing was stored",
        "the codes shown are void",
    ] == told[-2].split("; ")
    assert f"hint: {LIMITED}" == told[-1]
    assert WAITS in waiting.stderr.splitlines()
    assert (1, 0, 101) == (process.returncode, waiting.exit_code, stored(database))
