"""The codes and groups that the page's samples show."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from invite_admin.checkup import Load
from invite_admin.limits import UNSET
from invite_admin.model import Crowd

# Every instant, id and code here stands for any other: the page's test reads them as patterns.
THEN = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)
LATER = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)  # in 30 days
EXTENDED = datetime(2026, 4, 1, 9, 0, tzinfo=UTC)  # in 60 days
ID = "00000000-0000-0000-0000-000000000000"
POINTS = 100  # of each code
QUIET = Load(Crowd(0, 0), UNSET)  # no heavy job, no limit


def code(number: int, status: str, note: str, *, never: bool = False) -> dict[str, Any]:
    """Return one code of a list, by the keys of its columns."""
    return {
        "id": ID,
        "mask": f"JYOTISH-****-XX{number:02}",
        "status": status,
        "points": POINTS,
        "expires_at": None if never else LATER,
        "note": note,
    }


def group(name: str, issued: int, available: int, redeemed: int, revoked: int) -> dict[str, Any]:
    """Return one row of ``stats``, its points counted."""
    return {
        "group": name,
        "issued": issued,
        "available": available,
        "redeemed": redeemed,
        "revoked": revoked,
        "expired": 0,
        "points_issued": issued * POINTS,
        "points_redeemed": redeemed * POINTS,
        "points_open": available * POINTS,
        "redeemed_share": redeemed / issued,
    }
