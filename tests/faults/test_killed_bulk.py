"""`kill -9` of a large batch between its pieces and about COMMIT, then `--resume`."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import pytest
from batches import BOTH_WAYS, hashes, line, stored
from databases import hash_of
from faults.aftermath import COMMIT, Arm, armed, database_user, pending_of, resumed
from faults.tally import TALLY
from waiting import await_gone, until

if TYPE_CHECKING:
    from pathlib import Path

    from databases import Database
    from tool import Invite

MANY: Final = 1_300
SMALL: Final[tuple[Arm, ...]] = (
    ("invite_admin.store.writes:A_COPY", "", 600),
    ("invite_admin.store.writes:FunctionWrites.a_piece", "", 600),
    ("invite_admin.kept:A_READ", "", 500),
    ("invite_admin.draft:HELD_BACK", "", 1),
)
"""Make several pieces of a batch that is not so large."""
STORED: Final = "invite_admin.store.inserts:Inserts._tried"
FAULT: Final = "large batch killed, and resumed"


def killed(invite: Invite, path: Path, login: str, arm: Arm) -> None:
    """Make a large batch in a process that dies there."""
    command = line(MANY, 7, "--output", str(path))
    assert -9 == invite(*command, login=login, env=armed(*SMALL, arm)).exit_code


def check(invite: Invite, database: Database, path: Path) -> None:
    """Assert that exactly the codes of the file are stored, and that nothing else lies there."""
    made = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    assert MANY == len(made)
    assert hashes(database) == {code["id"]: hash_of(code["code"]) for code in made}
    assert {path.name, "invite.toml"} == {entry.name for entry in invite.folder.iterdir()}


@BOTH_WAYS
def test_between_pieces(invite: Invite, database: Database, login: str) -> None:
    """Killed between two pieces nothing is stored, and the pending file says so."""
    path = invite.folder / "codes.jsonl"
    with TALLY.one(FAULT):
        killed(invite, path, login, (STORED, "after 2", "die"))
        await_gone(database, database_user(login))
        kept = pending_of(path).read_bytes()
        assert (601, b"\n") == (kept.count(b"\n"), kept[-1:])
        done = resumed(invite, path, login)
        assert (2, 0) == (done.exit_code, stored(database))
        assert "is no whole pending file; nothing was done" in done.stderr
        assert kept == pending_of(path).read_bytes()
        pending_of(path).unlink()
        command = line(MANY, 7, "--output", str(path))
        assert 0 == invite(*command, login=login, env=armed(*SMALL)).exit_code
        check(invite, database, path)


@BOTH_WAYS
def test_in_the_making(invite: Invite, database: Database, login: str) -> None:
    """A batch that is still being stored is not taken from its command, nor called broken."""
    path, go = invite.folder / "codes.jsonl", invite.home / "go"
    waits = (STORED, "after 2", f"wait for {go}")
    command = line(MANY, 7, "--output", str(path))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(invite, *command, login=login, env=armed(*SMALL, waits))
        until(lambda: pending_of(path).exists() and pending_of(path).stat().st_size > 0, "a piece")
        second = resumed(invite, path, login)
        go.touch()
        assert (0, 8) == (first.result().exit_code, second.exit_code)
    assert "belongs to another command that still runs" in second.stderr
    check(invite, database, path)


@BOTH_WAYS
@pytest.mark.parametrize(
    "arm",
    [(COMMIT, "before", "die"), (COMMIT, "before", "commit and die"), (COMMIT, "after", "die")],
    ids=["before", "sent", "answered"],
)
def test_about_commit(invite: Invite, database: Database, login: str, arm: Arm) -> None:
    """Killed about COMMIT it is settled piece by piece, also where the resume is killed as well."""
    path = invite.folder / "codes.jsonl"
    with TALLY.one(FAULT):
        killed(invite, path, login, arm)
        await_gone(database, database_user(login))
        first = resumed(invite, path, login, *SMALL, (STORED, "after 2", "die"))
        assert first.exit_code in {0, -9}
        if first.exit_code:
            await_gone(database, database_user(login))
            assert 0 == stored(database)
            done = resumed(invite, path, login, *SMALL)
            assert 0 == done.exit_code, done.stderr
        check(invite, database, path)
