"""How far a long piece of work is, in one line that is drawn over and over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SILENT = 1.0  # seconds of work before a line is drawn
AGAIN = 0.25  # seconds from one line to the next


class Progress:
    """Rows done, their rate and the time left.

    Args:
        total: Rows in all; None where that is not known.
        doing: What is done to them, as in ``sent``.
        draw: Draws a line in the place of the one before.
    """

    def __init__(self, total: int | None, doing: str, draw: Callable[[str], None]) -> None:
        self._total, self._doing, self._draw = total, doing, draw
        self._done = 0
        self._began = time.monotonic()
        self._next = self._began + SILENT

    def advance(self, rows: int) -> None:
        """Count rows that were done; a negative number takes back what was undone."""
        self._done += rows
        now = time.monotonic()
        if now >= self._next:
            self._next = now + AGAIN
            self._draw(self._line(now - self._began))

    def _line(self, passed: float) -> str:
        rate = self._done / passed
        if self._total is None:
            return f"{self._done:,} {self._doing}, {rate:,.0f} a second"
        line = f"{self._done:,} of {self._total:,} {self._doing}"
        if not rate:
            return line
        left = (self._total - self._done) / rate
        return f"{line}, {rate:,.0f} a second, {_span(left)} left"


def _span(seconds: float) -> str:
    """Write a time left: ``42 s``, ``3 min``, ``2 h``."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
