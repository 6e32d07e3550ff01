"""Ctrl-C and SIGTERM: one line that says what is true, nothing stored, no session left behind."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest
from stock import BOTH_WAYS, locking, make, make_many, snapshot
from stopping import PATIENT, SIGNALS, stop
from tool import TIMEOUT
from waiting import await_blocked, await_gone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from databases import Database
    from tool import Invite

USERS: Final = {"owner": "invite_test_owner", "admin_runtime": "admin_runtime"}


@contextmanager
def table_locked(database: Database) -> Iterator[None]:
    """Let every other session wait for the codes table."""
    with database.connect() as connection:
        connection.execute("begin")
        connection.execute("lock table public.redemption_codes in access exclusive mode")
        yield


@SIGNALS
@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("generate", "--count", "1", "--points", "1"),
        ("revoke", "--points", "10", "--yes"),
    ],
    ids=["list", "generate", "revoke"],
)
def test_while_a_statement_runs(
    database: Database,
    invite: Invite,
    command: tuple[str, ...],
    *,
    number: int,
    exit_code: int,
    named: str,
) -> None:
    """A statement that waits is given up at once, and its session ends."""
    make(database)
    before = snapshot(database)
    with table_locked(database):
        with invite.start(*command, settings=PATIENT) as process:
            await_blocked(database)
            line = stop(process, number)
        await_gone(database)
    assert exit_code == process.returncode
    assert f"invite: stopped: stopped by {named}; nothing was changed" == line
    assert before == snapshot(database)


@SIGNALS
@BOTH_WAYS
def test_while_a_change_waits_for_one_code(
    database: Database, invite: Invite, login: str, *, number: int, exit_code: int, named: str
) -> None:
    """What was changed already in the open transaction is undone."""
    ids = make_many(database, 60)
    before = snapshot(database)
    with locking(database, ids[-1:]):
        command = ("revoke", "--points", "10", "--yes")
        with invite.start(*command, login=login, settings=PATIENT) as process:
            await_blocked(database, USERS[login])
            line = stop(process, number)
        await_gone(database, USERS[login])
    assert (exit_code, f"invite: stopped: stopped by {named}; nothing was changed") == (
        process.returncode,
        line,
    )
    assert before == snapshot(database)


LOSING: Final = """
import os, signal, sys, time
from invite_admin import cli


class Freed:
    def __del__(self):
        os.kill(os.getpid(), signal.{name})
        time.sleep(5)


def run(_arguments, *, closed):
    freed = Freed()
    del freed
    time.sleep(30)


cli.run = run
try:
    cli.main()
except BaseException as stop:
    print(type(stop).__name__)
"""


@pytest.mark.parametrize(
    ("name", "raised"), [("SIGINT", "KeyboardInterrupt"), ("SIGTERM", "TerminationSignal")]
)
def test_while_something_is_freed(name: str, raised: str) -> None:
    """A signal that comes where nothing can be raised comes again, without a word of Python's."""
    script = [sys.executable, "-c", LOSING.replace("{name}", name)]
    done = subprocess.run(script, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert (raised, "") == (done.stdout.strip(), done.stderr)
