"""The figures of one run, and the tables made of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Final

from benchmarks.rows import BULK, FEW, LONG, MANY, PEAK_MOST, PEAK_REACH, SIZES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.place import Place, Spent
    from benchmarks.profiles import Profile
    from benchmarks.rows import Row, Side

PAGE: Final = Path(__file__).parent.parent.parent / "docs" / "performance.md"


@dataclass(frozen=True)
class Pairs:
    """The paired runs of one row.

    Attributes:
        row: The row.
        tool: What the tool spent in each pair.
        bare: What the other side spent in it.
    """

    row: Row
    tool: Sequence[Spent]
    bare: Sequence[Spent]

    @property
    def ratios(self) -> list[float]:
        """The tool's cost in each pair as a multiple of the other's."""
        each = zip(self.tool, self.bare, strict=True)
        return [tool.cost / bare.cost for tool, bare in each]

    @property
    def ratio(self) -> float:
        """The median of the pairs' ratios."""
        return median(self.ratios)


@dataclass
class Report:
    """What one run has measured.

    Attributes:
        judged: Whether there are as many codes as the reaches are for.
        machine: What it ran on, a line each.
        pairs: The rows of the table.
        spent: What each side spent, run by run, by how many codes it was for.
        profiles: Where its time went, by the work's name.
    """

    judged: bool = LONG
    machine: list[str] = field(default_factory=list)
    pairs: list[Pairs] = field(default_factory=list)
    spent: dict[tuple[Side, int], list[Spent]] = field(default_factory=lambda: defaultdict(list))
    profiles: dict[str, Profile] = field(default_factory=dict)

    def run(self, place: Place, side: Side, count: int) -> Spent:
        """Run one side once, and keep what it spent."""
        one = side(place, count)
        self.spent[side, count].append(one)
        return one

    def pair(self, place: Place, row: Row) -> None:
        """Run the pairs of a row, every other pair the other way round."""
        tool: list[Spent] = []
        bare: list[Spent] = []
        for number in range(row.pairs):
            sides = ((row.tool, tool), (row.bare, bare))
            for side, kept in reversed(sides) if number % 2 else sides:
                kept.append(self.run(place, side, row.count))
        self.pairs.append(Pairs(row, tool, bare))

    def tables(self) -> dict[str, list[str]]:
        """Return the tables that there are figures for, by the name of their place in the page."""
        found = {
            "machine": [f"- {line}" for line in self.machine],
            "ratios": list(_table(RATIOS, [*self._ratios(), *self._peaks()])),
            "growth": list(_table(("codes", *BULK), self._growth())),
            "profile": list(_table(PROFILE, self._profiles())),
        }
        return {name: lines for name, lines in found.items() if lines}

    def _ratios(self) -> Iterator[Sequence[str]]:
        for pairs in self.pairs:
            row = pairs.row
            yield (
                row.work.format(n=f"{row.count:,}"),
                row.against,
                f"{pairs.ratio:.2f}",
                f"{min(pairs.ratios):.2f} to {max(pairs.ratios):.2f}",
                f"<= {row.reach:g}",
                self._met(holds=pairs.ratio <= row.reach),
                _costs(pairs.tool),
                _costs(pairs.bare),
            )

    def _peaks(self) -> Iterator[Sequence[str]]:
        for name, side in BULK.items():
            if (side, FEW) not in self.spent or (side, MANY) not in self.spent:
                continue
            few, many = (max(s.peak for s in self.spent[side, n]) for n in (FEW, MANY))
            yield (
                f"peak memory at {MANY:,}: {name}",
                f"at {FEW:,}",
                f"{many / few:.2f}",
                "",
                f"<= {PEAK_REACH:g}, under {PEAK_MOST / 1e6:.0f} MB",
                self._met(holds=many <= PEAK_REACH * few and many < PEAK_MOST),
                f"{many / 1e6:.0f} MB",
                f"{few / 1e6:.0f} MB",
            )

    def _growth(self) -> Iterator[Sequence[str]]:
        for count in SIZES:
            works = [self.spent.get((side, count)) for side in BULK.values()]
            if any(works):
                yield f"{count:,}", *(_growing(runs) if runs else "" for runs in works)

    def _profiles(self) -> Iterator[Sequence[str]]:
        for name, found in self.profiles.items():
            functions = (f"`{function}` {share:.0%}" for function, share in found.functions.items())
            yield name, f"{found.computed:.0%}", ", ".join(functions)

    def _met(self, *, holds: bool) -> str:
        return ("yes" if holds else "**no**") if self.judged else "not judged"


RATIOS: Final = (
    "work",
    "against",
    "ratio",
    "of the pairs",
    "reach",
    "met",
    "the tool",
    "the other",
)
PROFILE: Final = ("work", "it computes", "under the profiler")


def _costs(runs: Sequence[Spent]) -> str:
    shown = _seconds(median(run.cost for run in runs))
    late = [latency for run in runs for latency in run.latencies]
    return f"{shown}, p99 {_seconds(quantiles(late, n=100)[-1])}" if late[1:] else shown


def _growing(runs: Sequence[Spent]) -> str:
    peak = median(run.peak for run in runs) / 1e6
    return f"{_seconds(median(run.seconds for run in runs))}, {peak:.0f} MB"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def _table(
    head: Sequence[str], rows: Iterator[Sequence[str]] | Sequence[Sequence[str]]
) -> Iterator[str]:
    """Yield a table's lines; none where there is no row."""
    body = [f"| {' | '.join(row)} |" for row in rows]
    if body:
        yield f"| {' | '.join(head)} |"
        yield f"|{' --- |' * len(head)}"
        yield from body


REPORT: Final = Report()
