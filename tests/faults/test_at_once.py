"""Many operators at once: exact counts, and no deadlock that anybody sees."""

from __future__ import annotations

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from batches import line, stored
from databases import TESTERS
from faults.aftermath import (
    CODES,
    COMMIT,
    armed,
    check,
    clear,
    database_user,
    pending_of,
    resumed,
)
from faults.tally import TALLY, times
from gates import FULL, HEAVY, crowded
from stock import BOTH_WAYS, check_sound, make, make_many, outcomes, revoked
from waiting import await_gone

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite, Result

OPERATORS: Final = 8
SET: Final = 40


@BOTH_WAYS
def test_eight_generating(invite: Invite, database: Database, login: str) -> None:
    """Eight operators make batches into one folder: each file holds its own, all are live."""
    paths = [invite.folder / f"{number}.jsonl" for number in range(OPERATORS)]
    for _ in range(times(1, 10)):
        with TALLY.one("eight operators generating at once", OPERATORS):
            with ThreadPoolExecutor(OPERATORS) as pool:
                calls = [
                    pool.submit(invite, *line(CODES, 7, "--output", str(path)), login=login)
                    for path in paths
                ]
            ends = [call.result() for call in calls]
            assert [] == [end.stderr for end in ends if end.exit_code != 0]
            assert OPERATORS * CODES == len(check(invite, database, *paths))
        clear(database, *paths)


def test_one_request_id(invite: Invite, database: Database) -> None:
    """Eight commands with one request id make one batch; seven are told what it made."""
    for number in range(times(1, 20)):
        with TALLY.one("eight commands at once with one request id"):
            command = line(CODES, 7, "--format", "jsonl", "--request-id", f"friday {number}")
            with ThreadPoolExecutor(OPERATORS) as pool:
                calls = [pool.submit(invite, *command) for _ in range(OPERATORS)]
            ends = [call.result() for call in calls]
            assert {0: 1, 4: OPERATORS - 1} == Counter(end.exit_code for end in ends)
            assert CODES * (number + 1) == stored(database)
            assert CODES == sum(len(end.jsonl) for end in ends)


@BOTH_WAYS
def test_opposite_order(invite: Invite, database: Database, login: str) -> None:
    """Two operators void one set in opposite order: each code is voided once, none is busy."""
    for number in range(times(3, 50)):
        ids = make_many(database, SET, f"set {number}:")
        for name, order in (("a", ids), ("b", ids[::-1])):
            (invite.folder / name).write_text("\n".join(order))
        with TALLY.one("two operators voiding one set in opposite order"):
            commands = [("revoke", "--from-file", n, "--yes", "--format", "json") for n in "ab"]
            with ThreadPoolExecutor(2) as pool:
                calls = [pool.submit(invite, *command, login=login) for command in commands]
            ends = [call.result() for call in calls]
            assert_shared(ends)
            assert set(ids) <= revoked(database)
            check_sound(database)


def assert_shared(ends: list[Result]) -> None:
    """Assert that two commands did a set's work once, and that neither met an SQL error."""
    words = Counter(word for end in ends for word in outcomes(end))
    assert {"revoked": SET, "already_revoked": SET} == words
    assert {end.exit_code for end in ends} <= {0, 4}
    assert not any("deadlock" in end.stderr or "SQLSTATE" in end.stderr for end in ends)


def test_redeemed_meanwhile(invite: Invite, database: Database) -> None:
    """Two void a set from both ends while testers redeem it: each code is voided or redeemed."""
    for _ in range(times(1, 15)):
        codes = [make(database) for _ in range(SET)]
        ids = [code.id for code in codes]
        for name, order in (("a", ids), ("b", ids[::-1])):
            (invite.folder / name).write_text("\n".join(order))
        shuffled = random.Random(time.time_ns()).sample(codes, SET)  # noqa: S311
        with TALLY.one("code voided by two and redeemed at once", SET):
            commands = [("revoke", "--from-file", n, "--yes", "--format", "jsonl") for n in "ab"]
            with ThreadPoolExecutor(3) as pool:
                calls = [pool.submit(invite, *command) for command in commands]
                answers = {code.id: database.redeem(code.code, TESTERS[0]) for code in shuffled}
            told = [row for call in calls for row in call.result().jsonl]
            gone = revoked(database) & set(ids)
            assert gone == {name for name, answer in answers.items() if answer == "revoked_code"}
            assert set(ids) - gone == {name for name, answer in answers.items() if answer is None}
            voided = Counter(row["id"] for row in told if row["outcome"] == "revoked")
            assert dict.fromkeys(gone, 1) == dict(voided)
            check_sound(database)


@BOTH_WAYS
def test_resumed_at_a_full_gate(database: Database, invite: Invite, login: str) -> None:
    """A batch that is taken up again needs a place as a new one does, and is kept without."""
    path = invite.folder / "codes.jsonl"
    command = line(HEAVY, 7, "--output", str(path))
    assert -9 == invite(*command, login=login, env=armed((COMMIT, "before", "die"))).exit_code
    await_gone(database, database_user(login))
    with crowded(database, *FULL):
        done = resumed(invite, path, login)
    assert 8 == done.exit_code, done.stderr
    assert (0, True) == (stored(database), pending_of(path).exists())
    again = resumed(invite, path, login)
    assert (0, HEAVY) == (again.exit_code, stored(database)), again.stderr
