"""How the benchmarks run a process, and what they find that it spent."""

from __future__ import annotations

import resource
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from benchmarks.place import Place

MEGABYTES = 10**6


def test_failure(place: Place) -> None:
    """A command that fails ends the run with what it said, for its time means nothing."""
    with pytest.raises(AssertionError, match="what went wrong"):
        place.run(sys.executable, "-c", "raise SystemExit('what went wrong')")


def test_own_peak(place: Place) -> None:
    """The peak is the command's own: neither less than it held, nor that of this process."""
    small = place.run(sys.executable, "-I", "-S", "-c", "")
    large = place.run(sys.executable, "-I", "-S", "-c", f"b'x' * {200 * MEGABYTES}")
    assert 2 * small.peak < resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert 200 * MEGABYTES <= large.peak < 250 * MEGABYTES


def test_whole_process(place: Place) -> None:
    """The seconds go from the start of the process to its end, what it waits for included."""
    spent = place.run(sys.executable, "-c", "import time; time.sleep(0.5)")
    assert 0.5 <= spent.seconds
