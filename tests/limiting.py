"""What the tests of the issuing limits share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tool import Result

# 10 codes of 7 points come just within each.
ENOUGH: Final = {"codes_per_hour": 10, "points_per_day": 70, "points_open": 70}


def limits(**those: int) -> dict[str, Any]:
    """Return settings with these limits."""
    return {"limits": those}


def said(done: Result) -> list[str]:
    """Return the lines of a failure."""
    lines = done.stderr.splitlines()
    (at,) = (number for number, text in enumerate(lines) if text.startswith("invite: "))
    return lines[at:]
