"""The line that tells how far a long piece of work is."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

import pytest
from batches import BOTH_WAYS, line, stored
from databases import LOGINS
from terminal import terminal
from waiting import await_blocked

from invite_admin import progress
from invite_admin.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from databases import Database
    from tool import Invite

DRAWN: Final = re.compile(r"[0-9,]+ of 4,500 codes sent, [0-9,]+ a second, [0-9]+ (s|min|h) left")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of the progress, which only the test moves."""
    now = [100.0]
    monkeypatch.setattr("invite_admin.progress.time.monotonic", lambda: now[0])
    return now


def test_line(clock: list[float]) -> None:
    """It tells rows done, their rate and the time left, and is drawn anew after a while."""
    drawn: list[str] = []
    shown = Progress(1_000_000, "stored", drawn.append)
    for now, rows in [(100.9, 20_000), (102.0, 30_000), (102.1, 1_000), (110.0, 699_000)]:
        clock[0] = now
        shown.advance(rows)
    assert [
        "50,000 of 1,000,000 stored, 25,000 a second, 38 s left",
        "750,000 of 1,000,000 stored, 75,000 a second, 3 s left",
    ] == drawn


def test_taken_back(clock: list[float]) -> None:
    """What was undone is not counted; where nothing is done there is no rate."""
    drawn: list[str] = []
    shown = Progress(9_000, "stored", drawn.append)
    shown.advance(500)
    clock[0] = 110.0
    shown.advance(-500)
    assert ["0 of 9,000 stored"] == drawn


def test_without_an_end(clock: list[float]) -> None:
    """Where nobody knows how many there are, it tells rows done and their rate."""
    drawn: list[str] = []
    shown = Progress(None, "written", drawn.append)
    clock[0] = 102.0
    shown.advance(5_000)
    assert ["5,000 written, 2,500 a second"] == drawn


@pytest.mark.parametrize(
    ("rate", "left"), [(100, "90 s"), (50, "3 min"), (1, "2 h"), (1_000_000, "0 s")]
)
def test_time_left(clock: list[float], rate: int, left: str) -> None:
    """A long time is told in minutes or hours."""
    drawn: list[str] = []
    shown = Progress(9_000 + 2 * rate, "stored", drawn.append)
    clock[0] = 102.0
    shown.advance(2 * rate)
    assert [f"{left} left"] == [line.rpartition(", ")[2] for line in drawn]


@contextmanager
def kept_waiting(database: Database, login: str) -> Iterator[None]:
    """Let what this login writes wait until a progress would be drawn."""
    with database.acting("superuser") as blocking:
        blocking.execute("lock table public.redemption_codes in share mode")
        yield
        await_blocked(database, LOGINS[login])
        time.sleep(progress.SILENT)


@BOTH_WAYS
def test_terminal(invite: Invite, database: Database, login: str) -> None:
    """A person sees how far a long work is; the line is gone before the next one is said."""
    command = line(4_500, 1, "--output", "c.csv")
    with ExitStack() as stack:
        with kept_waiting(database, login):
            running = stack.enter_context(terminal(invite, *command, login=login))
        done = running.end()
    assert (0, 4_500) == (done.exit_code, stored(database)), done.stderr
    drawn = [part.strip() for part in done.stderr.split("\r") if " a second, " in part]
    assert drawn
    assert [] == [part for part in drawn if not DRAWN.fullmatch(part)]
    lines = [text.rpartition("\r")[2] for text in done.stderr.splitlines()]
    assert "written to c.csv" in lines


@BOTH_WAYS
def test_no_terminal(invite: Invite, database: Database, login: str) -> None:
    """Where standard error is no terminal no such line is written."""
    command = line(4_500, 1, "--output", "c.csv")
    with ThreadPoolExecutor(1) as pool:
        with kept_waiting(database, login):
            running = pool.submit(invite, *command, login=login)
        done = running.result()
    assert (0, 4_500) == (done.exit_code, stored(database)), done.stderr
    assert [] == [mark for mark in ("\r", "a second") if mark in done.stderr]
