"""The server crashes, or another takes its place, while a batch is under way."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest
from batches import line, stored
from faults.aftermath import CODES, COMMIT, armed, check, clear, pending_of
from faults.own_server import (
    OwnServer,
    at,
    await_commit,
    both,
    caught_up,
    database_on,
    servers,
)
from faults.tally import TALLY, times
from tool import Invite
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from databases import Database
    from tool import Result


REACHED: Final = (False, True)
"""Whether COMMIT reached the standby; the quick form takes one for each test."""


@contextmanager
def crashable(invite: Invite, number: int) -> Iterator[tuple[list[OwnServer], Database, Invite]]:
    """Yield servers of which the first runs, a database on it, and the tool on that."""
    with servers(number) as made:
        made[0].make()
        made[0].start()
        database = database_on(made[0])
        try:
            yield made, database, Invite(database, invite.folder, invite.home, invite._forks)
        finally:
            database.close()


def true(done: Result, database: Database, invite: Invite, path: Path) -> None:
    """Assert that the verdict is one, and true of the table and of the folder."""
    assert done.exit_code in {0, 1, 7}, done.stderr
    assert "Traceback" not in done.stderr
    assert (CODES if done.exit_code == 0 else 0) == stored(database), done.stderr
    assert (done.exit_code == 0, False) == (path.exists(), pending_of(path).exists())
    check(invite, database, path)


def test_crash(invite_alone: Invite) -> None:
    """A server that crashes and comes back: the verdict is known, and true."""
    path = invite_alone.folder / "codes.jsonl"
    command = line(CODES, 7, "--output", str(path))
    moments = random.Random(time.time_ns())  # noqa: S311
    with crashable(invite_alone, 1) as ([server], database, invite):
        before_commit(server, database, invite, path)
        in_commit(server, database, invite, path)
        for _ in range(times(1, 30)):
            with TALLY.one("server crashed at a random moment, and restarted"):
                with ThreadPoolExecutor(1) as pool:
                    running = pool.submit(invite, *command)
                    threading.Event().wait(moments.uniform(0, 0.4))
                    database.close()
                    server.crash()
                    server.start()
                    done = running.result()
                true(done, database, invite, path)
            clear(database, path)


def before_commit(server: OwnServer, database: Database, invite: Invite, path: Path) -> None:
    """Crash it with the batch inserted and the pending file written: nothing is stored."""
    go = invite.home / "go"
    pause = armed((COMMIT, "before", f"wait for {go}"))
    with TALLY.one("server crashed in the middle of a batch, and restarted"):
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(invite, *line(CODES, 7, "--output", str(path)), env=pause)
            until(pending_of(path).exists, "the pending file")
            database.close()
            server.crash()
            server.start()
            go.touch()
            done = running.result()
        assert 0 == stored(database)
        true(done, database, invite, path)


def in_commit(server: OwnServer, database: Database, invite: Invite, path: Path) -> None:
    """Crash it with COMMIT written but not answered: the batch is stored, and called so."""
    with TALLY.one("server crashed in COMMIT, and restarted"):
        server.set("synchronous_standby_names", "nobody")
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(invite, *line(CODES, 7, "--output", str(path)))
            await_commit(server)
            database.close()
            server.crash()
            server.start()
            done = running.result()
        server.set("synchronous_standby_names", "")
        assert 0 == done.exit_code, done.stderr
        true(done, database, invite, path)
    clear(database, path)


@pytest.mark.parametrize("reached", REACHED[: times(1, 2)], ids=str)
def test_failover(invite_alone: Invite, *, reached: bool) -> None:
    """The primary dies in COMMIT and its standby is promoted: what that one has is true."""
    path = invite_alone.folder / "codes.jsonl"
    with crashable(invite_alone, 2) as ((primary, standby), database, invite):
        standby.follow(primary)
        standby.start()
        caught_up(primary, standby)
        if not reached:
            standby.set("primary_conninfo", "")
        url = {"INVITE_DATABASE_URL": both(database, [primary, standby])}
        with TALLY.one("primary killed in COMMIT, and its standby promoted"):
            primary.set("synchronous_standby_names", "nobody")
            with ThreadPoolExecutor(1) as pool:
                command = line(CODES, 7, "--output", str(path))
                running = pool.submit(invite, *command, env=url)
                await_commit(primary)
                if reached:
                    caught_up(primary, standby)
                database.close()
                primary.kill()
                standby.promote()
                done = running.result()
            assert (0 if reached else 1) == done.exit_code, done.stderr
            now = at(database, standby)
            try:
                true(done, now, invite, path)
            finally:
                now.close()


@pytest.mark.parametrize("reached", REACHED[-times(1, 2) :], ids=str)
def test_resume_on_the_standby(invite_alone: Invite, *, reached: bool) -> None:
    """A batch whose run died with the primary is settled on the standby that was promoted."""
    path = invite_alone.folder / "codes.jsonl"
    with crashable(invite_alone, 2) as ((primary, standby), database, invite):
        standby.follow(primary)
        standby.start()
        caught_up(primary, standby)
        if not reached:
            standby.set("primary_conninfo", "")
        url = {"INVITE_DATABASE_URL": both(database, [primary, standby])}
        with TALLY.one("run and primary killed, and resumed on the standby"):
            dies = armed((COMMIT, "after", "die"))
            command = line(CODES, 7, "--output", str(path))
            assert -9 == invite(*command, env={**url, **dies}).exit_code
            if reached:
                caught_up(primary, standby)
            database.close()
            primary.kill()
            standby.promote()
            done = invite("generate", "--resume", str(pending_of(path)), env=url)
            assert 0 == done.exit_code, done.stderr
            assert reached == ("the batch is stored already" in done.stderr)
            now = at(database, standby)
            try:
                assert CODES == len(check(invite, now, path))
            finally:
                now.close()
