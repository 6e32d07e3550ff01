"""The output that the page promises, drawn by the same code that draws the real one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from invite_admin import checkup, columns, output
from invite_admin.checkup import Where
from invite_admin.findings import find_in_shape
from invite_admin.model import Capability
from invite_admin.report import Layout, Report
from invite_admin.runbook.drawing import (
    FRIDAY,
    ID,
    INSTANT,
    READ,
    REQUEST,
    STYLE,
    THEN,
    Drawing,
    code,
)
from invite_admin.runbook.stand import LOGIN

if TYPE_CHECKING:
    from collections.abc import Callable


class Samples(Drawing):
    """The samples for one stand; each method named in ``page.toml`` makes one."""

    def get(self, name: str) -> str:
        """Return the sample that ``page.toml`` names."""
        make: Callable[[], str] = getattr(self, f"_of_{name}")
        return make()

    def check_exit(self) -> int:
        """Return the exit status of ``check``."""
        levels = {f.level for f in find_in_shape(self._shape, self._settings)}
        return 6 if "refused" in levels else 5 if "blocked" in levels else 0

    def _of_check(self) -> str:
        where = Where(
            "VERSION",
            "SERVER, PostgreSQL VERSION",
            "DATABASE",
            LOGIN,
            self._settings.write_role,
            "invite.toml",
        )
        found = find_in_shape(self._shape, self._settings)
        drawn = checkup.sections(where, self._shape, found)
        report = Report((), [], Layout.OBJECT, sections=drawn)
        return self._lines((), output.draw(report, "table", STYLE), *self._verdict())

    def _of_dry_run(self) -> str:
        return self._lines(
            (Capability.GENERATE,),
            f"expires: {INSTANT}",
            "dry run: would make 5 codes of 100 points each, 500 points in all; nothing was made",
        )

    def _of_generate(self) -> str:
        batch = f"batch: created at {INSTANT}" + (f", {REQUEST}" if self._audited else "")
        return self._lines(
            (Capability.GENERATE,),
            f"expires: {INSTANT}",
            "written to friday.csv",
            "delivered and stored: 5 codes of 100 points each, 500 points in all",
            batch,
            *self._voiding(),
        )

    def _of_list(self) -> str:
        codes = [code(n, "available", FRIDAY) for n in range(1, 6)]
        return self._lines(READ, self._table(columns.CODE, codes))

    def _of_redemptions(self) -> str:
        return self._lines(READ, self._redeemed(2, 1))

    def _of_redemptions_one(self) -> str:
        return self._lines(READ, self._redeemed(1))

    def _of_redemptions_since(self) -> str:
        return self._lines(READ, f"redeemed since {INSTANT}", self._redeemed(2, 1))

    def _of_show(self) -> str:
        who = "tester01@example.com"
        row = {
            **code(1, "redeemed", FRIDAY),
            "created_at": THEN,
            "redeemed_by": ID,
            "redeemed_email": who,
            "redeemed_at": THEN,
            "position": 1,
            "reason": f"redeemed by {who} (user {ID}) at 2026-01-31 09:00Z",
        }
        return self._lines(READ, self._table(columns.SHOWN, [row], Layout.RECORDS))

    def _of_update_dry(self) -> str:
        return self._lines(
            (Capability.READ, Capability.UPDATE),
            f"expires: {INSTANT}",
            self._changed(columns.UPDATED, ["would_update"] * 3),
            "dry run: 3 codes worth 300 points would be updated; nothing was changed",
        )

    def _of_update(self) -> str:
        return self._lines(
            (Capability.READ, Capability.UPDATE),
            f"expires: {INSTANT}",
            self._changed(columns.UPDATED, ["updated"] * 3),
            *self._done("updated", 3),
        )

    def _of_revoke_one(self) -> str:
        return self._revoked(["revoked"])

    def _of_revoke_file(self) -> str:
        table = self._changed(columns.CHANGED, ["already_revoked", "revoked"])
        return self._lines(
            (Capability.READ, Capability.REVOKE),
            table,
            "revoked: 1 code worth 100 points",
            "left as they are: 1 already_revoked",
            *([REQUEST] if self._audited else []),
            "invite: conflict: 1 named code not revoked: 1 already_revoked",
        )

    def _of_revoke_dry(self) -> str:
        return self._lines(
            (Capability.READ, Capability.REVOKE),
            self._changed(columns.CHANGED, ["would_revoke"]),
            "dry run: 1 code worth 100 points would be revoked; nothing was changed",
        )

    def _of_revoke_batch(self) -> str:
        return self._revoked(["revoked"])

    def _of_lost(self) -> str:
        codes = [code(n, "available", "sunday testers", never=True) for n in range(1, 4)]
        return self._lines(READ, f"created since {INSTANT}", self._table(columns.CODE, codes))

    def _of_revoke_lost(self) -> str:
        return self._revoked(["revoked"] * 3)

    def _of_revoke_end(self) -> str:
        return self._revoked(["revoked"] * 2)

    def _of_stats(self) -> str:
        return (
            self._stats([("all", 8, 0, 2, 6)], Layout.RECORDS)
            if self._can_revoke
            else (self._stats([("all", 5, 3, 2, 0)], Layout.RECORDS))
        )

    def _of_stats_by_note(self) -> str:
        rows = [(FRIDAY, 5, 0, 2, 3), ("sunday testers", 3, 0, 0, 3)]
        return self._stats(rows if self._can_revoke else [(FRIDAY, 5, 3, 2, 0)])

    def _of_stats_end(self) -> str:
        return self._stats([("all", 10, 0, 2, 8)], Layout.RECORDS)

    def _of_evidence(self) -> str:
        return self._lines(READ, "written to evidence.csv")
