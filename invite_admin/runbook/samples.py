"""The output that the page promises, drawn by the same code that draws the real one."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from invite_admin import checkup, columns, output
from invite_admin.checkup import Where
from invite_admin.findings import verdict
from invite_admin.model import Capability
from invite_admin.report import Layout, Report
from invite_admin.runbook.drawing import FRIDAY, NOW, REQUEST, STYLE, SUNDAY, Drawing
from invite_admin.runbook.rows import ID, QUIET, THEN, code
from invite_admin.runbook.stand import LOGIN

if TYPE_CHECKING:
    from collections.abc import Callable

HOUR_AGO, WEEK_AGO = "2026-01-31T08:00:00.000000+00:00", "2026-01-24T09:00:00.000000+00:00"
IN_30_DAYS, IN_60_DAYS = "2026-03-02T09:00:00.000000+00:00", "2026-04-01T09:00:00.000000+00:00"
IN_90_DAYS = "2026-05-01T09:00:00.000000+00:00"

_READ = (Capability.READ,)


class Samples(Drawing):
    """The samples for one stand; each method named in ``page.toml`` makes one."""

    def get(self, name: str) -> str:
        """Return the sample that ``page.toml`` names."""
        make: Callable[[], str] = getattr(self, f"_of_{name}")
        return make()

    @property
    def batches(self) -> dict[str, tuple[int, int, int, int]]:
        """The batches of the page's story: issued, available, redeemed and revoked codes each."""
        if self.can_revoke:
            return {FRIDAY: (5, 0, 2, 3), SUNDAY: (3, 0, 0, 3)}
        friday = {FRIDAY: (5, 3, 2, 0)}
        made = self.shape.ways[Capability.GENERATE].available
        return friday | ({SUNDAY: (3, 3, 0, 0)} if made else {})

    def check_exit(self) -> int:
        """Return the exit status of ``check``."""
        bad = verdict(self.findings())
        return bad.exit_code if bad else 0

    def _of_check(self) -> str:
        where = Where(
            "VERSION",
            "SERVER, PostgreSQL VERSION",
            "DATABASE",
            LOGIN,
            self.settings.write_role,
            "invite.toml",
        )
        found = self.findings()
        drawn = checkup.sections(where, self.shape, found, QUIET)
        report = Report((), [], Layout.OBJECT, sections=drawn)
        return self.lines((), output.draw(report, "table", STYLE), *self.verdict())

    def _of_dry_run(self) -> str:
        return self.lines(
            (Capability.GENERATE,),
            f"expires: {IN_30_DAYS}",
            "dry run: would make 5 codes of 100 points each, 500 points in all; nothing was made",
        )

    def _of_generate(self) -> str:
        return self.lines(
            (Capability.GENERATE,),
            f"expires: {IN_30_DAYS}",
            "written to friday.csv",
            "delivered and stored: 5 codes of 100 points each, 500 points in all",
            f"batch: created at {NOW}",
            *([REQUEST] if self.audited else []),
            *self.voiding(),
        )

    def _of_list(self) -> str:
        codes = [code(n, "available", FRIDAY) for n in range(1, 6)]
        return self.lines(_READ, self.table(columns.CODE, codes))

    def _of_redemptions(self) -> str:
        return self.lines(_READ, self.redeemed(2, 1))

    def _of_redemptions_one(self) -> str:
        return self.lines(_READ, self.redeemed(1))

    def _of_redemptions_since(self) -> str:
        return self.lines(_READ, f"redeemed since {WEEK_AGO}", self.redeemed(2, 1))

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
        return self.lines(_READ, self.table(columns.SHOWN, [row], Layout.RECORDS))

    def _of_update_dry(self) -> str:
        return self.lines(
            (Capability.READ, Capability.UPDATE),
            f"expires: {IN_60_DAYS}",
            self.changed(columns.UPDATED, dict.fromkeys((3, 4, 5), "would_update")),
            "dry run: 3 codes worth 300 points would be updated; nothing was changed",
        )

    def _of_update(self) -> str:
        return self.lines(
            (Capability.READ, Capability.UPDATE),
            f"expires: {IN_60_DAYS}",
            self.changed(columns.UPDATED, dict.fromkeys((3, 4, 5), "updated")),
            *self.done("updated", 3),
        )

    def _of_update_one(self) -> str:
        later = datetime.fromisoformat(IN_90_DAYS)
        return self.lines(
            (Capability.READ, Capability.UPDATE),
            f"expires: {IN_90_DAYS}",
            self.changed(columns.UPDATED, {3: "updated"}, later),
            *self.done("updated", 1),
        )

    def _of_revoke_one(self) -> str:
        return self.revoked(3)

    def _of_revoke_file(self) -> str:
        table = self.changed(columns.CHANGED, {3: "already_revoked", 4: "revoked"})
        return self.lines(
            (Capability.READ, Capability.REVOKE),
            table,
            "revoked: 1 code worth 100 points",
            "left as they are: 1 already_revoked",
            *([REQUEST] if self.audited else []),
            "invite: conflict: 1 named code not revoked: 1 already_revoked",
        )

    def _of_revoke_dry(self) -> str:
        return self.lines(
            (Capability.READ, Capability.REVOKE),
            self.changed(columns.CHANGED, {5: "would_revoke"}),
            "dry run: 1 code worth 100 points would be revoked; nothing was changed",
        )

    def _of_revoke_batch(self) -> str:
        return self.revoked(5)

    def _of_lost(self) -> str:
        codes = [code(n, "available", SUNDAY, never=True) for n in (11, 12, 13)]
        return self.lines(_READ, f"created since {HOUR_AGO}", self.table(columns.CODE, codes))

    def _of_revoke_lost(self) -> str:
        return self.revoked(11, 12, 13)

    def _of_revoke_end(self) -> str:
        return self.revoked(21, 22)

    def _of_stats(self) -> str:
        issued, available, redeemed, revoked = map(sum, zip(*self.batches.values(), strict=True))
        return self.stats([("all", issued, available, redeemed, revoked)], Layout.RECORDS)

    def _of_stats_by_note(self) -> str:
        return self.stats([(note, *counts) for note, counts in self.batches.items()])

    def _of_stats_end(self) -> str:
        return self.stats([("all", 10, 0, 2, 8)], Layout.RECORDS)

    def _of_evidence_counts(self) -> str:
        return self.lines(_READ, "written to counts-after.csv")

    def _of_evidence(self) -> str:
        return self.lines(_READ, "written to codes-after.csv")
