"""A reader that takes nothing for the idle limit ends the command, so that nothing stays open."""

from __future__ import annotations

import fcntl
import mmap
from typing import TYPE_CHECKING, Final

import pytest
from batches import BOTH_WAYS, line, stored
from faults.tally import LONG
from stock import make_many, revoked, snapshot
from tool import TIMEOUT
from waiting import await_gone

if TYPE_CHECKING:
    from subprocess import Popen

    from databases import Database
    from tool import Invite

IMPATIENT: Final = {"timeouts": {"idle": 2}}
MANY: Final = 400  # more than a small pipe and the tool's own buffer hold
FETCHES: Final = 3_000  # more than one fetch brings, so that a cursor is open
USERS: Final = {"owner": "invite_test_owner", "admin_runtime": "admin_runtime"}


def idle(process: Popen[bytes], database: Database, user: str) -> tuple[str, bytes]:
    """Read nothing until the command has ended by itself; return its last lines and its output."""
    assert process.stdout is not None
    assert process.stderr is not None
    fcntl.fcntl(process.stdout.fileno(), fcntl.F_SETPIPE_SZ, mmap.PAGESIZE)
    process.wait(TIMEOUT)
    await_gone(database, user)
    told = process.stderr.read().decode()
    lines = told.splitlines()
    assert "invite: " in told, told
    assert "Traceback" not in told, told
    (at,) = (number for number, text in enumerate(lines) if text.startswith("invite: "))
    assert ["hint: [timeouts] idle in the settings is the bound"] == lines[at + 1 :]
    return lines[at], process.stdout.read()


@pytest.mark.parametrize("form", ["jsonl", "csv", "table"] if LONG else ["jsonl"])
def test_list(invite: Invite, database: Database, form: str) -> None:
    """A list says that it is incomplete; a deploy that waits for its cursor goes on."""
    make_many(database, FETCHES)
    with invite.start("list", "--format", form, settings=IMPATIENT) as process:
        told, _ = idle(process, database, "admin_runtime")
    assert 1 == process.returncode
    said = "the reader of standard output took nothing for 2 s; the result is incomplete"
    assert f"invite: failed: {said}" == told
    database.execute("alter table public.redemption_codes add column ours text")


@BOTH_WAYS
def test_generate(invite: Invite, database: Database, login: str) -> None:
    """Codes that nobody took are not stored, and it says that those shown are void."""
    command = line(MANY, 1, "--format", "jsonl")
    with invite.start(*command, login=login, settings=IMPATIENT) as process:
        told, shown = idle(process, database, USERS[login])
    assert (1, 0) == (process.returncode, stored(database))
    assert told.endswith("; nothing was stored; the codes shown are void")
    assert 0 < shown.count(b"JYOTISH-") < MANY * 2


def test_revoke(invite: Invite, database: Database) -> None:
    """A change is true before it is told: it says so, and nothing is open meanwhile."""
    ids = make_many(database, MANY)
    command = ("revoke", "--points", "10", "--yes", "--format", "jsonl")
    with invite.start(*command, settings=IMPATIENT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        fcntl.fcntl(process.stdout.fileno(), fcntl.F_SETPIPE_SZ, mmap.PAGESIZE)
        process.wait(TIMEOUT)
        told = process.stderr.read().decode()
    assert (1, set(ids)) == (process.returncode, revoked(database))
    assert "the changes are stored; the result could not be written" in told


def test_the_wait_is_told(invite: Invite, database: Database) -> None:
    """A longer limit: the command says that it waits, and for whom; a reader that comes is served.

    What it says is read first, so that the reader comes only then.
    """
    make_many(database, MANY)
    before = snapshot(database)
    with invite.start("list", "--format", "jsonl") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        fcntl.fcntl(process.stdout.fileno(), fcntl.F_SETPIPE_SZ, mmap.PAGESIZE)
        while b"waiting for the reader" not in (said := process.stderr.readline()):
            assert said, "it ended"
        assert b"waiting for the reader of standard output, at most 60 s\n" == said
        out, _ = process.communicate(timeout=TIMEOUT)
    assert (0, MANY) == (process.returncode, len(out.splitlines()))
    assert before == snapshot(database)
