"""How the page's samples are drawn: where a command acts, its table, its last lines."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

from invite_admin import columns, output
from invite_admin.findings import find_in_shape, verdict
from invite_admin.model import Capability
from invite_admin.place import Place, whereabouts
from invite_admin.report import Layout, Report
from invite_admin.runbook.rows import EXTENDED, ID, THEN, code, group
from invite_admin.runbook.stand import ACTOR, LOGIN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from invite_admin.findings import Finding
    from invite_admin.report import Column
    from invite_admin.runbook.stand import Stand

NOW = "2026-01-31T09:00:00.000000+00:00"
AFTER_NOW = "2026-01-31T09:00:00.000001+00:00"
REQUEST = f"request id invite-{ID}"
FRIDAY, SUNDAY = "friday testers", "sunday testers"
STYLE = output.Style(UTC)


class Drawing:
    """Draws for one stand, with the code that draws the real output.

    Attributes:
        shape: What this table and login can do.
        settings: The settings to speak of.
        audited: Whether writes go through the functions.
    """

    def __init__(self, stand: Stand) -> None:
        self.shape, self.settings = stand.shape, stand.settings
        self.audited = stand.shape.by_functions

    @property
    def can_revoke(self) -> bool:
        """Whether codes can be voided here."""
        return self.shape.ways[Capability.REVOKE].available

    def lines(self, needs: Sequence[Capability], *lines: str) -> str:
        """Return a command's whole output: where it acts, then these lines."""
        place = Place("SERVER", "DATABASE", LOGIN, ACTOR)
        named = list(whereabouts(place, self.shape, needs))
        return "\n".join(line.rstrip("\n") for line in (*named, *lines))

    def findings(self) -> list[Finding]:
        """Return what ``check`` finds."""
        return find_in_shape(self.shape, self.settings)

    def verdict(self) -> list[str]:
        """Return the lines that ``check`` ends with where something is in the way."""
        bad = verdict(self.findings())
        if not bad:
            return []
        return [f"invite: {bad.word}: {bad.message}", *([f"hint: {bad.hint}"] if bad.hint else [])]

    def voiding(self) -> list[str]:
        """Name the command that voids the batch."""
        way = self.shape.ways[Capability.REVOKE]
        if not way.available:
            return [f"they cannot be voided here: {way.reason}"]
        bounds = f"--created-since {NOW} --created-until {AFTER_NOW}"
        if self.shape.traced:
            bounds = f"--request-id invite-{ID}"
        return ["to void the whole batch:", f"  invite revoke {bounds}"]

    def table(
        self, shown: tuple[Column, ...], rows: list[dict[str, Any]], layout: Layout = Layout.ROWS
    ) -> str:
        """Draw a table; a key that a row lacks is blank."""
        cells = [tuple(row.get(column.key) for column in shown) for row in rows]
        return output.draw(Report(shown, cells, layout), "table", STYLE)

    def redeemed(self, *numbers: int) -> str:
        """Draw the redemptions of these codes of the page's story."""
        rows = [
            {
                **code(n, "redeemed", FRIDAY),
                "redeemed_email": f"tester{n:02}@example.com",
                "redeemed_at": THEN,
            }
            for n in numbers
        ]
        return self.table(columns.REDEEMED, rows)

    def changed(
        self,
        shown: tuple[Column, ...],
        outcomes: dict[int, str],
        expires_at: datetime = EXTENDED,
    ) -> str:
        """Draw the outcomes of a change, by the codes' numbers in the page's story."""
        rows = [
            {
                **code(n, "", FRIDAY),
                "expires_at": expires_at,
                "position": position,
                "outcome": outcome,
                "detail": "at 2026-01-31 09:00Z" if outcome == "already_revoked" else None,
            }
            for position, (n, outcome) in enumerate(outcomes.items(), start=1)
        ]
        return self.table(shown, rows)

    def revoked(self, *numbers: int) -> str:
        """Return the output of a revoke of these codes."""
        table = self.changed(columns.CHANGED, dict.fromkeys(numbers, "revoked"))
        done = self.done("revoked", len(numbers))
        return self.lines((Capability.READ, Capability.REVOKE), table, *done)

    def done(self, past: str, count: int) -> list[str]:
        """Return the last lines of a change."""
        codes = f"{count} code{'' if count == 1 else 's'}"
        lines = [f"{past}: {codes} worth {count * 100} points"]
        return [*lines, REQUEST] if self.audited else lines

    def stats(
        self, groups: list[tuple[str, int, int, int, int]], layout: Layout = Layout.ROWS
    ) -> str:
        """Return the output of ``stats`` for these groups."""
        rows = [group(*counts) for counts in groups]
        return self.lines((Capability.READ,), self.table(columns.STATS, rows, layout))
