"""A connection cut before, during and after COMMIT: the verdict is never wrong, and never open."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Final

import pytest
from batches import BOTH_WAYS, check_paired, line, stored
from faults.aftermath import CODES, check, clear, pending_of
from faults.tally import LONG, TALLY
from lossy import Cut, lossy

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite, Result

CUTS: Final = (Cut.COMMIT, Cut.LATE, Cut.ANSWER, Cut.AFTER, Cut.BYTE, Cut.BYTE)
LATEST: Final = 3.0  # seconds after which a COMMIT may still arrive
TO_FILE: Final = pytest.mark.parametrize("to_file", [True, False], ids=["file", "output"])


def judged(done: Result, database: Database, *, cut: Cut) -> bool:
    """Assert that the verdict is one, and true; return whether the batch is stored."""
    assert "Traceback" not in done.stderr
    before = {7} if cut is Cut.BYTE else set()
    assert done.exit_code in {0, 1} | before, done.stderr
    now = stored(database)
    assert (CODES if done.exit_code == 0 else 0) == now, done.stderr
    return now == CODES


@TO_FILE
@BOTH_WAYS
def test_verdict(invite: Invite, database: Database, login: str, *, to_file: bool) -> None:
    """Exit 0 where the batch is stored, else 1, or 7 before COMMIT; a file is there or is not."""
    path, seed = invite.folder / "codes.jsonl", time.time_ns()
    moments = random.Random(seed)  # noqa: S311
    where = ("--output", str(path)) if to_file else ("--format", "jsonl")
    command = line(CODES, 7, *where)
    with lossy(database.url(login), Cut.BYTE, 10**9) as wire:
        assert 0 == invite(*command, env={"INVITE_DATABASE_URL": wire.url}, login=login).exit_code
    clear(database, path)
    half = CUTS[to_file ^ (login == "owner") :: 2]
    for cut in half if not LONG else CUTS * 5:
        number = moments.uniform(0.1, LATEST if LONG else 1.0)
        if cut is Cut.BYTE:
            number = moments.randrange(wire.sent)
        with TALLY.one(f"connection cut {cut.value}"):
            with lossy(database.url(login), cut, number) as cutting:
                url = {"INVITE_DATABASE_URL": cutting.url}
                done = invite(*command, env=url, login=login)
            assert cutting.broken
            is_stored = judged(done, database, cut=cut)
            assert not pending_of(path).exists()
            if to_file:
                assert is_stored == path.exists()
                check(invite, database, path)
            elif is_stored:
                check_paired(database, done.jsonl)
        clear(database, path)
