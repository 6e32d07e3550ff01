"""`kill -9` of `generate --output`, then `--resume`: nothing is lost, and nothing there twice."""

from __future__ import annotations

import random
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pytest
from batches import BOTH_WAYS, line, stored
from faults.aftermath import (
    CODES,
    NO,
    PERHAPS,
    POINTS,
    WHOLE,
    YES,
    Point,
    armed,
    check,
    clear,
    database_user,
    killed,
    lying,
    recover,
    resumed,
)
from faults.tally import LONG, PAGE, TALLY, times
from waiting import await_gone

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

STRIDE: Final = 1 if LONG else 9
BY_NAME: Final[dict[str, Point]] = {point.name: point for point in POINTS}


@BOTH_WAYS
def test_named_points(invite: Invite, database: Database, login: str) -> None:
    """Killed at each named point it leaves what the page says, and can be settled."""
    path = invite.folder / "codes.jsonl"
    for point in POINTS[:: times(3, 1) if login == "owner" else 1]:
        with TALLY.one("generate killed at a named point"):
            killed(invite, path, login, point.arm)
            await_gone(database, database_user(login))
            found = YES if path.exists() else NO
            assert (point.pending, point.final) == (lying(path), found), point.name
            batch = YES if stored(database) == CODES else NO
            assert point.stored in {batch, PERHAPS}, point.name
            recover(invite, database, path, login)
            assert (point.pending == WHOLE or point.final == YES) == path.exists()
        clear(database, path)


def test_page() -> None:
    """The page's table has each point, and what the tests see there."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in text.split("|")[1:-1]] for text in lines]
    told = [row[:4] for row in rows if row and row[0] in BY_NAME]
    assert [[p.name, p.pending, p.final, p.stored] for p in POINTS] == told


@BOTH_WAYS
def test_random_moments(invite: Invite, database: Database, login: str) -> None:
    """Killed at random moments it leaves no live code that nobody has, and none twice."""
    path, seed = invite.folder / "codes.jsonl", time.time_ns()
    moments, command = random.Random(seed), line(CODES, 7, "--output", str(path))  # noqa: S311
    began = time.monotonic()
    assert 0 == invite(*command, login=login).exit_code
    takes = time.monotonic() - began
    check(invite, database, path)
    clear(database, path)
    for _ in range(times(5, 100)):
        with TALLY.one("generate killed at a random moment"):
            with suppress(subprocess.TimeoutExpired):
                invite(*command, login=login, timeout=moments.uniform(0.01, takes))
            recover(invite, database, path, login)
        clear(database, path)


def test_every_step(invite: Invite, database: Database) -> None:
    """Killed before each call that opens, syncs, links, removes, asks or commits, likewise."""
    path = invite.folder / "codes.jsonl"
    command = line(CODES, 7, "--output", str(path))
    for step in range(1, 1000, STRIDE):
        with TALLY.one("generate killed at a step"):
            done = invite(*command, env={"INVITE_TEST_STEP": str(step)})
            recover(invite, database, path, "admin_runtime")
        clear(database, path)
        if done.exit_code == 0:
            break
    assert step > 20


RESUME_POINTS: Final = (
    ("invite_admin.store.batches:Batches.begin", "after", "die"),
    ("invite_admin.store.batches:Batches.store", "after", "die"),
    ("invite_admin.files:NewFile.write", "before", "write half and die"),
    ("os:replace", "before", "die"),
    ("invite_admin.draft:Draft.finish", "before", "die"),
    ("invite_admin.draft:Draft.finish", "after", "die"),
    ("invite_admin.session:Session.commit", "before", "die"),
    ("invite_admin.session:Session.commit", "before", "commit and die"),
    ("invite_admin.session:Session.commit", "after", "die"),
    ("os:link", "before", "die"),
    ("os:link", "after", "die"),
    ("invite_admin.pending:remove", "before", "die"),
)


@pytest.mark.parametrize("name", ["before COMMIT", "COMMIT answered"])
def test_resume_killed(invite: Invite, database: Database, name: str) -> None:
    """A resume that is killed as well is settled by the next one."""
    path = invite.folder / "codes.jsonl"
    died = 0
    for point in RESUME_POINTS[:: times(2, 1)]:
        with TALLY.one("resume killed, and resumed"):
            killed(invite, path, "admin_runtime", BY_NAME[name].arm)
            await_gone(database)
            died += resumed(invite, path, "admin_runtime", point).exit_code == -9
            recover(invite, database, path, "admin_runtime")
            assert path.exists()
        clear(database, path)
    assert died >= times(2, 5)


def test_without_pause(invite: Invite, database: Database) -> None:
    """A resume at once after the kill, while COMMIT may still be under way, waits for its end."""
    path = invite.folder / "codes.jsonl"
    for _ in range(times(3, 30)):
        with TALLY.one("resumed at once after COMMIT was sent"):
            killed(invite, path, "admin_runtime", BY_NAME["COMMIT sent"].arm)
            assert 0 == resumed(invite, path, "admin_runtime").exit_code
            assert CODES == len(check(invite, database, path))
        clear(database, path)


def test_arms(invite: Invite, database: Database) -> None:
    """An arm that never comes leaves the command as it is: the points above were met."""
    path = invite.folder / "codes.jsonl"
    done = invite(*line(CODES, 7, "--output", str(path)), env=armed(("os:link", "before 9", "die")))
    assert 0 == done.exit_code
    assert CODES == len(check(invite, database, path))
