"""How often each fault was tried, survived and lost; how often it is tried at all.

``INVITE_FAULTS=long`` asks for the long form. Its report is printed by every run, and a long run
that tried every fault writes it into ``docs/reliability.md``.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from published import publish

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG: Final = os.environ.get("INVITE_FAULTS") == "long"
PAGE: Final = Path(__file__).parent.parent.parent / "docs" / "reliability.md"
HEAD: Final = ("| fault | tried | survived | lost |", "| --- | ---: | ---: | ---: |")


def times(quick: int, long: int) -> int:
    """Return how often to try a fault in this form of the suite."""
    return long if LONG else quick


@dataclass
class Count:
    """What became of one kind of fault."""

    tried: int = 0
    survived: int = 0

    @property
    def lost(self) -> int:
        """How many were not survived."""
        return self.tried - self.survived


@dataclass
class Tally:
    """The counts of one run.

    Attributes:
        server: The server they were made on.
        counts: By the fault's name.
    """

    server: str = "a server of an unknown version"
    counts: dict[str, Count] = field(default_factory=dict)

    @contextmanager
    def one(self, fault: str, number: int = 1) -> Iterator[None]:
        """Count a fault; it is survived where the block ends without an error."""
        count = self.counts.setdefault(fault, Count())
        count.tried += number
        yield
        count.survived += number

    def lines(self) -> list[str]:
        """Return the report as a table, with a line for all together."""
        rows = sorted(self.counts.items())
        tried = sum(count.tried for _, count in rows)
        survived = sum(count.survived for _, count in rows)
        table = [f"| {name} | {c.tried:,} | {c.survived:,} | {c.lost:,} |" for name, c in rows]
        return [*HEAD, *table, f"| all | {tried:,} | {survived:,} | {tried - survived:,} |"]

    def publish(self) -> None:
        """Write the report into the page."""
        publish(PAGE, "report", [f"On {self.server}:", "", *self.lines()])


TALLY: Final = Tally()
