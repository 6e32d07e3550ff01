"""A reader that does not read: a command still ends when told to, and says what is true."""

from __future__ import annotations

import fcntl
import mmap
import struct
import termios
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import pytest
from databases import ACTOR
from hostile import failure
from stock import check_sound, fill, make_many, revoked, snapshot
from stopping import PATIENT, SIGNALS, stop
from tool import TIMEOUT
from waiting import await_blocked, await_gone, connected, until

if TYPE_CHECKING:
    from subprocess import Popen

    from databases import Database
    from tool import Invite

ROWS: Final = 400  # more than a small pipe and the tool's own buffer hold
DIGEST: Final = "select md5(string_agg(c::text, '' order by id)) from public.redemption_codes c"
"""Of all rows, made by the server: the tests' own process stays small."""
BLOCKING: Final = {
    "list": ("list", "--format", "jsonl"),
    "generate": ("generate", "--count", str(ROWS), "--points", "1", "--format", "jsonl"),
}


@SIGNALS
@pytest.mark.parametrize("verb", BLOCKING)
def test_while_nobody_reads(
    database: Database, invite: Invite, verb: str, *, number: int, exit_code: int, named: str
) -> None:
    """A command whose reader does not read ends all the same; codes it showed are void."""
    make_many(database, ROWS)
    before = snapshot(database)
    with invite.start(*BLOCKING[verb], settings=PATIENT) as process:
        await_full(process)
        line = stop(process, number)
        await_gone(database)
    assert exit_code == process.returncode
    void = "nothing was stored; the codes shown are void"
    truth = "nothing was changed" if verb == "list" else void
    assert f"invite: stopped: stopped by {named}; {truth}" == line
    assert before == snapshot(database)


@pytest.mark.parametrize("how", ["by name", "by filter"])
def test_a_change_that_cannot_be_told(database: Database, invite: Invite, how: str) -> None:
    """It is stored, and the hint is a command for the same database that shows it."""
    ids = make_many(database, 3)
    chosen = ids if how == "by name" else ["--points", "10"]
    same = ("--config", "own.toml")
    (invite.folder / same[1]).write_text(f'actor = "{ACTOR}"\nwrite_role = "service_role"\n')
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = invite(*same, "revoke", *chosen, "--yes", stdout=full.fileno())
    told, hint = failure(done)
    assert (1, set(ids)) == (done.exit_code, revoked(database))
    assert told.startswith("failed: the changes are stored; the result could not be written: ")
    assert "revoked: 3 codes worth 30 points\nrequest id invite-" in done.stderr
    if how == "by name":
        assert "hint: the same command again shows each code's outcome" == hint
        return
    assert f"hint: invite {' '.join(same)} list shows the codes as they are" == hint
    listed = invite(*same, "list", "--format", "json").json
    assert ["revoked"] * 3 == [row["status"] for row in listed]


@pytest.mark.parametrize("command", ["revoke", "update"])
def test_no_change_that_cannot_be_told(database: Database, invite: Invite, command: str) -> None:
    """Where nothing was changed, nobody is told that changes are stored."""
    ids = make_many(database, 3)
    own = ("--set-note", "same") if command == "update" else ()
    assert 0 == invite(command, *ids, *own, "--yes").exit_code
    before = snapshot(database)
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = invite(command, *ids, *own, "--yes", stdout=full.fileno())
    assert (1, before) == (done.exit_code, snapshot(database))
    why = "the result could not be written: No space left on device"
    assert f"failed: nothing was changed; {why}" == failure(done)[0]
    left = "already_revoked" if command == "revoke" else "unchanged"
    assert f"\nleft as they are: 3 {left}\n" in done.stderr
    assert "request id" not in done.stderr


def test_a_change_whose_file_appears_meanwhile(database: Database, invite: Invite) -> None:
    """What is said of the file says nothing of the codes, which are changed."""
    ids, path = make_many(database, 3), invite.folder / "told.csv"
    with ThreadPoolExecutor(1) as pool:
        with database.acting("superuser") as blocking:
            blocking.execute("lock table audit.admin_audit_logs in share mode")
            command = ("revoke", *ids, "--yes", "--output", "told.csv")
            running = pool.submit(invite, *command, settings={"timeouts": {"lock": 60}})
            await_blocked(database)
            path.write_text("theirs")
        done = running.result()
    told = (
        "failed: the changes are stored; the result could not be written: told.csv exists "
        "already, and a result never overwrites a file"
    )
    assert (1, set(ids), "theirs") == (done.exit_code, revoked(database), path.read_text())
    assert told == failure(done)[0]


@SIGNALS
def test_while_nobody_reads_what_was_changed(
    database: Database, invite: Invite, *, number: int, exit_code: int, named: str
) -> None:
    """A change is stored before it is told; who stops it then is told that it is true."""
    ids = make_many(database, ROWS)
    command = ("revoke", "--points", "10", "--yes", "--format", "jsonl")
    with invite.start(*command, settings=PATIENT) as process:
        await_full(process)
        line = stop(process, number)
    assert exit_code == process.returncode
    assert f"invite: stopped: stopped by {named}; the changes are stored" == line
    assert set(ids) == revoked(database)
    check_sound(database)


def await_full(process: Popen[bytes]) -> None:
    """Make the pipe of standard output small, and wait until nothing more fits in."""
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    size = fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, mmap.PAGESIZE)

    def full() -> bool:
        waiting = fcntl.ioctl(descriptor, termios.FIONREAD, struct.pack("i", 0))
        held: int = struct.unpack("i", waiting)[0]
        return held > size * 3 // 4

    until(full, "a pipe that is full")


@pytest.mark.parametrize("verb", BLOCKING)
def test_session_ended_by_the_server(database: Database, invite: Invite, verb: str) -> None:
    """A connection that the server ends while a result is written: exit 7, one line, no more."""
    # Of a list the server must have more to send than a network between them holds.
    fill(database, 60_000 if verb == "list" else ROWS)
    before = database.value(DIGEST)
    with invite.start(*BLOCKING[verb], settings=PATIENT) as process:
        await_full(process)
        for pid in connected(database):
            database.rows("select pg_terminate_backend(%s)", [pid])
        await_gone(database)
        _, told = process.communicate(timeout=TIMEOUT)
    lines = [line for line in told.decode().splitlines() if line.startswith("invite: ")]
    assert (7, 1) == (process.returncode, len(lines)), told
    assert "Traceback" not in told.decode()
    assert lines[0].startswith("invite: unavailable: ")
    assert before == database.value(DIGEST)
