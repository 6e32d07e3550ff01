"""`kill -9` of `revoke`: all of it is done, or nothing, and a second run is the resume."""

from __future__ import annotations

import random
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from faults.aftermath import COMMIT, Arm, armed, database_user
from faults.tally import LONG, TALLY, times
from stock import BOTH_WAYS, by_id, check_sound, make_many, revoked
from waiting import await_gone

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

CODES: Final = 30
STRIDE: Final = 1 if LONG else 5
COMMAND: Final = ("revoke", "--from-file", "names", "--yes", "--format", "json")
POINTS: Final[tuple[tuple[Arm, set[bool]], ...]] = (
    (("invite_admin.session:Session.settle", "before", "die"), {False}),
    ((COMMIT, "before", "die"), {False}),
    ((COMMIT, "before", "commit and die"), {False, True}),
    ((COMMIT, "after", "die"), {True}),
    (("invite_admin.job:Job.tell", "before", "die"), {True}),
)


def stock(invite: Invite, database: Database, number: int) -> list[str]:
    """Make codes for one fault, and name them in a file."""
    ids = make_many(database, CODES, f"stock {number}:")
    (invite.folder / "names").write_text("\n".join(ids))
    return ids


def run_again(invite: Invite, database: Database, login: str, ids: list[str]) -> bool:
    """Check that all was done or nothing, and that a second run completes and tells it.

    Returns:
        Whether all was done before.
    """
    await_gone(database, database_user(login))
    before = revoked(database) & set(ids)
    assert before in (set(), set(ids))
    done = invite(*COMMAND, login=login)
    word = "already_revoked" if before else "revoked"
    assert dict.fromkeys(ids, word) == by_id(done.json), done.stderr
    assert (4 if before else 0) == done.exit_code
    assert set(ids) <= revoked(database)
    check_sound(database)
    return bool(before)


@BOTH_WAYS
def test_named_points(invite: Invite, database: Database, login: str) -> None:
    """Killed before COMMIT nothing is voided, after it everything is."""
    for number, (arm, possible) in enumerate(POINTS):
        ids = stock(invite, database, number)
        with TALLY.one("revoke killed, and run again"):
            assert -9 == invite(*COMMAND, login=login, env=armed(arm)).exit_code
            assert run_again(invite, database, login, ids) in possible


@BOTH_WAYS
def test_random_moments(invite: Invite, database: Database, login: str) -> None:
    """Killed at a random moment each code is voided once, and audited once where that is kept."""
    moments = random.Random(time.time_ns())  # noqa: S311
    stock(invite, database, 0)
    began = time.monotonic()
    assert 0 == invite(*COMMAND, login=login).exit_code
    takes = time.monotonic() - began
    for number in range(1, times(5, 100) + 1):
        ids = stock(invite, database, number)
        with TALLY.one("revoke killed, and run again"):
            with suppress(subprocess.TimeoutExpired):
                invite(*COMMAND, login=login, timeout=moments.uniform(0.01, takes))
            run_again(invite, database, login, ids)


def test_every_step(invite: Invite, database: Database) -> None:
    """Killed before each statement and each call on a file, likewise."""
    for step in range(1, 1000, STRIDE):
        ids = stock(invite, database, step)
        with TALLY.one("revoke killed, and run again"):
            done = invite(*COMMAND, env={"INVITE_TEST_STEP": str(step)})
            run_again(invite, database, "admin_runtime", ids)
        if done.exit_code == 0:
            break
    assert step > STRIDE
