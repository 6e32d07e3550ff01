"""Draws outputs as the tool would, for a page that has no database at hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from invite_admin import columns, output
from invite_admin.findings import find_in_shape
from invite_admin.job import Place, whereabouts
from invite_admin.model import Capability
from invite_admin.report import Layout, Report
from invite_admin.runbook.stand import ACTOR, LOGIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from invite_admin.report import Column
    from invite_admin.runbook.stand import Stand

# Every instant, id and code here stands for any other: the page's test reads them as patterns.
THEN = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)
LATER = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
ID = "00000000-0000-0000-0000-000000000000"
INSTANT = "2026-01-31T09:00:00.000000+00:00"
REQUEST = f"request id invite-{ID}"
FRIDAY = "friday testers"

READ = (Capability.READ,)
STYLE = output.Style(UTC)


class Drawing:
    """Draws the outputs of one stand."""

    def __init__(self, stand: Stand) -> None:
        self._shape, self._settings = stand.shape, stand.settings
        self._audited = stand.shape.by_functions

    @property
    def _can_revoke(self) -> bool:
        return self._shape.ways[Capability.REVOKE].available

    def _lines(self, needs: Sequence[Capability], *lines: str) -> str:
        place = Place("SERVER", "DATABASE", LOGIN, ACTOR)
        named = list(whereabouts(place, self._shape, needs))
        return "\n".join(line.rstrip("\n") for line in (*named, *lines))

    def _verdict(self) -> list[str]:
        bad = [
            f
            for f in find_in_shape(self._shape, self._settings)
            if f.level in ("refused", "blocked")
        ]
        if not bad:
            return []
        word = "denied" if bad[0].level == "refused" else "unsupported"
        hint = [f"hint: {bad[0].hint}"] if bad[0].hint else []
        return [f"invite: {word}: {bad[0].message}", *hint]

    def _voiding(self) -> list[str]:
        way = self._shape.ways[Capability.REVOKE]
        if not way.available:
            return [f"they cannot be voided here: {way.reason}"]
        bounds = f"--created-since {INSTANT} --created-until {INSTANT}"
        return ["to void the whole batch:", f"  invite revoke {bounds}"]

    def _table(
        self, shown: tuple[Column, ...], rows: list[dict[str, Any]], layout: Layout = Layout.ROWS
    ) -> str:
        cells = [tuple(row.get(column.key) for column in shown) for row in rows]
        return output.draw(Report(shown, cells, layout), "table", STYLE)

    def _redeemed(self, *numbers: int) -> str:
        rows = [
            {
                **code(n, "redeemed", FRIDAY),
                "redeemed_email": f"tester{n:02}@example.com",
                "redeemed_at": THEN,
            }
            for n in numbers
        ]
        return self._table(columns.REDEEMED, rows)

    def _changed(self, shown: tuple[Column, ...], outcomes: list[str]) -> str:
        rows = [
            {
                **code(n, "", FRIDAY),
                "position": n,
                "outcome": outcome,
                "detail": "at 2026-01-31 09:00Z" if outcome == "already_revoked" else None,
            }
            for n, outcome in enumerate(outcomes, start=1)
        ]
        return self._table(shown, rows)

    def _revoked(self, outcomes: list[str]) -> str:
        table = self._changed(columns.CHANGED, outcomes)
        return self._lines(
            (Capability.READ, Capability.REVOKE), table, *self._done("revoked", len(outcomes))
        )

    def _done(self, past: str, count: int) -> list[str]:
        codes = f"{count} code{'' if count == 1 else 's'}"
        lines = [f"{past}: {codes} worth {count * 100} points"]
        return [*lines, REQUEST] if self._audited else lines

    def _stats(
        self, groups: list[tuple[str, int, int, int, int]], layout: Layout = Layout.ROWS
    ) -> str:
        keys = ("group", "issued", "available", "redeemed", "revoked")
        rows = []
        for group in groups:
            row: dict[str, Any] = dict(zip(keys, group, strict=True))
            row["expired"] = 0
            row["points_issued"] = row["issued"] * 100
            row["points_redeemed"] = row["redeemed"] * 100
            row["points_open"] = row["available"] * 100
            row["redeemed_share"] = row["redeemed"] / row["issued"]
            rows.append(row)
        return self._lines(READ, self._table(columns.STATS, rows, layout))


def code(number: int, status: str, note: str, *, never: bool = False) -> dict[str, Any]:
    """Return the cells of one code of the page's story."""
    return {
        "id": ID,
        "mask": f"JYOTISH-****-XX{number:02}",
        "status": status,
        "points": 100,
        "expires_at": None if never else LATER,
        "note": note,
    }
