"""`generate` delivers before it stores: where delivery fails nothing is stored, and it says so."""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from batches import BOTH_WAYS, check_nothing, line, stored
from forks import CLOSED
from waiting import read_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from databases import Database
    from tool import Invite

BOUND: Final = 30.0
"""Seconds that any wait may last."""
SCRIPTS: Final = os.pathsep.join([str(Path(sys.executable).parent), os.defpath])
TERMINATE: Final = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and application_name = 'invite'
"""
AT_COMMIT: Final = """
create function public.refuse() returns trigger language plpgsql as $$
begin
    raise exception 'not today' using errcode = '23514', detail = 'hash ' || new.code_hash;
end $$;
create constraint trigger refuse after insert on public.redemption_codes
    deferrable initially deferred for each row execute function public.refuse();
"""


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    """Give the two ends of a pipe."""
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0), open(writing, "wb", buffering=0):  # noqa: PTH123
        yield reading, writing


@BOTH_WAYS
def test_no_reader(invite: Invite, database: Database, login: str) -> None:
    """A reader that left before the first byte: nothing is stored."""
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb", buffering=0):  # noqa: PTH123 - a descriptor
        done = invite(*line(50, 10), login=login, stdout=writing)
    check_nothing(database, done)
    assert "the codes shown are void" in done.stderr


@BOTH_WAYS
def test_full_disk(invite: Invite, database: Database, login: str) -> None:
    """A device that takes no byte: nothing is stored."""
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = invite(*line(50, 10), login=login, stdout=full.fileno())
    check_nothing(database, done)
    assert "No space left on device" in done.stderr


@BOTH_WAYS
def test_closed_output(invite: Invite, database: Database, login: str) -> None:
    """A standard output that is closed: nothing is stored, and no server is asked."""
    done = invite(*line(50, 10), login=login, stdout=CLOSED)
    check_nothing(database, done)
    assert ["invite: failed: standard output is closed"] == [
        text.partition(",")[0] for text in done.stderr.splitlines()
    ]


def test_closed_output_with_file(invite: Invite, database: Database) -> None:
    """A closed standard output is no obstacle to a file."""
    path = invite.folder / "codes.jsonl"
    assert 0 == invite(*line(5, 1, "--output", str(path)), stdout=CLOSED).exit_code
    assert (5, 5) == (stored(database), len(path.read_text().splitlines()))


@BOTH_WAYS
def test_reader_leaves_halfway(invite: Invite, database: Database, login: str) -> None:
    """A reader that leaves before it was given every code: nothing is stored."""
    with invite.start(*line(1500, 10, "--format", "csv"), login=login) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline().startswith(b"id,code,")
        process.stdout.close()
        told = process.stderr.read().decode()
        assert 1 == process.wait(BOUND)
    assert "left before it had taken every code; nothing was stored" in told
    assert ("Traceback" in told, stored(database)) == (False, 0)


@BOTH_WAYS
def test_head(invite: Invite, database: Database, login: str) -> None:
    """A reader that leaves after one line of a pipe that took all: the codes are stored."""
    with pipe() as (reading, writing):
        done = invite(*line(50, 10, "--format", "csv"), login=login, stdout=writing)
        assert b"id,code" == os.read(reading, 7)
    assert (0, 50) == (done.exit_code, stored(database))
    assert "delivered and stored: 50 codes of 10 points each, 500 points in all" in done.stderr
    if database.step == 1:
        assert "they cannot be voided here: public.redemption_codes has no columns" in done.stderr


@pytest.mark.parametrize("database", [2, 3], indirect=True, ids=["direct", "functions"])
def test_voiding(invite: Invite, database: Database) -> None:
    """The command that the summary prints voids that batch and nothing else, as it is printed."""
    login = "owner" if database.step == 2 else "admin_runtime"
    others = [invite(*line(1, 1, "--format", "json"), login=login).json[0]["id"]]
    told = invite(*line(50, 10), login=login).stderr.splitlines()
    others.append(invite(*line(1, 1, "--format", "json"), login=login).json[0]["id"])
    [printed] = [text.strip() for text in told if text.startswith("  invite revoke ")]
    assert 0 == typed(invite, printed, login)
    rows = database.rows("select id::text from public.redemption_codes where revoked_at is null")
    assert sorted(others) == sorted(row[0] for row in rows)


def typed(invite: Invite, printed: str, login: str) -> int:
    """Type a command line at a terminal, and yes to its question; return its exit status."""
    words = shlex.split(printed)
    assert "invite" == words[0]
    ours, theirs = os.openpty()
    with (
        closing(open(ours, "r+b", buffering=0)) as keyboard,  # noqa: PTH123 - a descriptor
        open(theirs, "rb") as terminal,  # noqa: PTH123 - likewise
        subprocess.Popen(
            ["/bin/sh", "-c", printed],
            cwd=invite.folder,
            env=invite.prepare(login=login) | {"PATH": SCRIPTS},
            stdin=terminal,
            stdout=subprocess.DEVNULL,
            stderr=terminal,
        ) as process,
    ):
        try:
            read_until(keyboard.fileno(), b"[y/N]")
            keyboard.write(b"y\n")
            return process.wait(BOUND)
        finally:
            process.kill()


@BOTH_WAYS
def test_constraints_come_first(invite: Invite, database: Database, login: str) -> None:
    """What COMMIT would refuse is found before a code is shown, and told without a hash."""
    database.execute(AT_COMMIT)
    done = invite(*line(3, 1), login=login)
    check_nothing(database, done)
    assert ("", False) == (done.stdout, "hash" in done.stderr)


@BOTH_WAYS
def test_lost_between(invite: Invite, database: Database, login: str) -> None:
    """A connection lost after the codes were shown: they are void, and it says so."""
    with invite.start(*line(1500, 1, "--format", "csv"), login=login) as process:
        assert process.stdout
        assert process.stderr
        # The first bytes come after the last insert, and the rest does not fit into the pipe.
        assert select.select([process.stdout], [], [], BOUND)[0]
        assert [(True,)] == database.rows(TERMINATE)
        shown, told = process.stdout.read().splitlines(), process.stderr.read()
        assert 7 == process.wait(BOUND)
    assert (1501, 0) == (len(shown), stored(database))
    assert b"nothing was stored; the codes shown are void" in told
    assert b"Traceback" not in told
