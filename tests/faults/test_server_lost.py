"""The server crashes, or another takes its place, while a batch is under way."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pytest
from batches import line, stored
from faults.aftermath import CODES, COMMIT, armed, blind, check, clear, pending_of
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


@dataclass(frozen=True)
class Pair:
    """A primary, its standby, and the tool with a URL that names both.

    Attributes:
        primary: The server that takes writes, until it dies.
        standby: The one that is promoted then.
        database: The database on the primary.
        invite: The tool.
        url: What the tool's environment has.
    """

    primary: OwnServer
    standby: OwnServer
    database: Database
    invite: Invite
    url: dict[str, str | None]

    def fail_over(self) -> None:
        """Kill the primary, and promote the standby."""
        self.database.close()
        self.primary.kill()
        self.standby.promote()


@contextmanager
def paired(invite_alone: Invite, *, reached: bool, hidden: bool = False) -> Iterator[Pair]:
    """Yield a primary and its standby, which gets what follows only where ``reached`` says so."""
    with crashable(invite_alone, 2) as ((primary, standby), database, invite):
        if hidden:
            blind(database)
        standby.follow(primary)
        standby.start()
        caught_up(primary, standby)
        if not reached:
            standby.set("primary_conninfo", "")
        url: dict[str, str | None] = {"INVITE_DATABASE_URL": both(database, [primary, standby])}
        yield Pair(primary, standby, database, invite, url)


def failed_over(pair: Pair, path: Path, *, reached: bool) -> Result:
    """Make a batch whose COMMIT is not answered, for the primary dies in it."""
    go = pair.invite.home / "go"
    waits = armed(("invite_admin.settle:was_stored", "before", f"wait for {go}"))
    pair.primary.set("synchronous_standby_names", "nobody")
    with ThreadPoolExecutor(1) as pool:
        command = line(CODES, 7, "--output", str(path))
        running = pool.submit(pair.invite, *command, env={**pair.url, **waits})
        await_commit(pair.primary)
        if reached:
            caught_up(pair.primary, pair.standby)
        pair.fail_over()
        for _ in range(20):  # so that another transaction has the lost one's number
            pair.standby.execute("select pg_current_xact_id()")
        go.touch()
        return running.result()


@pytest.mark.parametrize("reached", REACHED[: times(1, 2)], ids=str)
def test_failover(invite_alone: Invite, *, reached: bool) -> None:
    """The primary dies in COMMIT and its standby is promoted: what that one has is true."""
    path = invite_alone.folder / "codes.jsonl"
    with (
        paired(invite_alone, reached=reached) as pair,
        TALLY.one("primary killed in COMMIT, and its standby promoted"),
        closing(at(pair.database, pair.standby)) as now,
    ):
        done = failed_over(pair, path, reached=reached)
        assert (0 if reached else 1) == done.exit_code, done.stderr
        true(done, now, pair.invite, path)


@pytest.mark.parametrize("reached", REACHED[: times(1, 2)], ids=str)
def test_failover_in_the_dark(invite_alone: Invite, *, reached: bool) -> None:
    """Where rows may be hidden on the new primary it stays open, and the batch can be settled."""
    path = invite_alone.folder / "codes.jsonl"
    with (
        paired(invite_alone, reached=reached, hidden=True) as pair,
        TALLY.one("primary killed in COMMIT, and rows hidden on its standby"),
        closing(at(pair.database, pair.standby)) as now,
    ):
        done = failed_over(pair, path, reached=reached)
        left = (done.exit_code, path.exists(), pending_of(path).exists())
        assert (10, False, True) == left, done.stderr
        assert f"generate --resume {path}.pending" in done.stderr
        now.execute("alter table audit.admin_audit_logs disable row level security")
        settled = pair.invite("generate", "--resume", str(pending_of(path)), env=pair.url)
        assert 0 == settled.exit_code, settled.stderr
        assert CODES == len(check(pair.invite, now, path))


@pytest.mark.parametrize("reached", REACHED[-times(1, 2) :], ids=str)
def test_resume_on_the_standby(invite_alone: Invite, *, reached: bool) -> None:
    """A batch whose run died with the primary is settled on the standby that was promoted."""
    path = invite_alone.folder / "codes.jsonl"
    with (
        paired(invite_alone, reached=reached) as pair,
        TALLY.one("run and primary killed, and resumed on the standby"),
        closing(at(pair.database, pair.standby)) as now,
    ):
        dies = armed((COMMIT, "after", "die"))
        command = line(CODES, 7, "--output", str(path))
        assert -9 == pair.invite(*command, env={**pair.url, **dies}).exit_code
        if reached:
            caught_up(pair.primary, pair.standby)
        pair.fail_over()
        done = pair.invite("generate", "--resume", str(pending_of(path)), env=pair.url)
        assert 0 == done.exit_code, done.stderr
        assert reached == ("the batch is stored already" in done.stderr)
        assert CODES == len(check(pair.invite, now, path))
