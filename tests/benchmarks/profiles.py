"""Where the tool's time goes: its functions and its libraries', by Python's profiler."""

from __future__ import annotations

import pstats
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.place import Place
    from benchmarks.rows import Side

SHOWN: Final = 6  # functions
OWN: Final = 2  # the place of a function's own seconds among its figures


@dataclass(frozen=True)
class Profile:
    """Where the time of one work went.

    Attributes:
        computed: Of the time on the wall, without the profiler, what the tool's process computed.
        functions: Of the time under it, the share of the longest functions without what they call.
    """

    computed: float
    functions: Mapping[str, float]


def profile(place: Place, side: Side, count: int) -> Profile:
    """Run a work of the tool twice, the second time under the profiler."""
    kept, usual = place.folder / "profile", place.tool
    spent = side(place, count)
    place.tool = (sys.executable, "-m", "cProfile", "-o", str(kept), "-m", "invite_admin")
    try:
        side(place, count)
    finally:
        place.tool = usual
    figures = pstats.Stats(str(kept)).stats  # type: ignore[attr-defined]
    own = {name: float(of_it[OWN]) for name, of_it in figures.items()}
    whole = sum(own.values())
    longest = sorted(own, key=lambda name: own[name], reverse=True)[:SHOWN]
    return Profile(
        computed=spent.computed / spent.seconds,
        functions={_named(*name): own[name] / whole for name in longest},
    )


def _named(path: str, _line: int, function: str) -> str:
    plain = function.partition(" at 0x")[0].strip("<>")
    return plain if path == "~" else f"{Path(path).parent.name}/{Path(path).name} {plain}"
