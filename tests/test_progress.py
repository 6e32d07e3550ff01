"""The line that tells how far a long piece of work is."""

from __future__ import annotations

import pytest

from invite_admin.progress import Progress


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
