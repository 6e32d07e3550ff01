"""What the tool costs beside the bare database: measured here, judged in docs/performance.md.

``INVITE_BENCH=long`` asks for the long form. A test fails where a result is wrong, never where it
came slowly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from benchmarks.profiles import profile
from benchmarks.report import REPORT
from benchmarks.rows import BULK, FORM, MANY, ROWS, SIZES

if TYPE_CHECKING:
    from benchmarks.place import Place
    from benchmarks.rows import Row

PROFILED: Final = min(MANY, 100_000) if FORM else 1_000  # codes
OFTEN: Final = 3 if FORM else 1
"""Runs of a size, of which the median counts."""
LARGE: Final = 100_000  # codes, from which on one run is enough


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.tool.__name__}-{row.bare.__name__}")
def test_ratio(place: Place, row: Row) -> None:
    """The tool and what it is measured against do the same work."""
    REPORT.pair(place, row)


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("name", BULK)
def test_growth(place: Place, name: str, count: int) -> None:
    """The same work is done for few codes and for many."""
    runs = REPORT.spent[BULK[name], count]
    while len(runs) < (1 if count >= LARGE else OFTEN):
        REPORT.run(place, BULK[name], count)


@pytest.mark.parametrize("name", BULK)
def test_profile(place: Place, name: str) -> None:
    """The profiler finds where the time of a work went."""
    REPORT.profiles[name] = profile(place, BULK[name], PROFILED)
    assert 0 < sum(REPORT.profiles[name].functions.values()) <= 1
