"""The output that the page promises, drawn by the same code that draws the real one."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

from invite_admin import checkup, columns, output
from invite_admin.checkup import Where
from invite_admin.findings import find_in_shape
from invite_admin.model import Capability
from invite_admin.place import Place, whereabouts
from invite_admin.report import Layout, Report
from invite_admin.runbook.rows import EXTENDED, ID, QUIET, THEN, code, group
from invite_admin.runbook.stand import ACTOR, LOGIN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from invite_admin.report import Column
    from invite_admin.runbook.stand import Stand

NOW = "2026-01-31T09:00:00.000000+00:00"
AFTER_NOW = "2026-01-31T09:00:00.000001+00:00"
HOUR_AGO, WEEK_AGO = "2026-01-31T08:00:00.000000+00:00", "2026-01-24T09:00:00.000000+00:00"
IN_30_DAYS, IN_60_DAYS = "2026-03-02T09:00:00.000000+00:00", "2026-04-01T09:00:00.000000+00:00"
REQUEST = f"request id invite-{ID}"
FRIDAY = "friday testers"

_READ = (Capability.READ,)
_STYLE = output.Style(UTC)


class Samples:
    """The samples for one stand; each method named in ``page.toml`` makes one."""

    def __init__(self, stand: Stand) -> None:
        self._shape, self._settings = stand.shape, stand.settings
        self._audited = stand.shape.by_functions

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
        drawn = checkup.sections(where, self._shape, found, QUIET)
        report = Report((), [], Layout.OBJECT, sections=drawn)
        return self._lines((), output.draw(report, "table", _STYLE), *self._verdict())

    def _of_dry_run(self) -> str:
        return self._lines(
            (Capability.GENERATE,),
            f"expires: {IN_30_DAYS}",
            "dry run: would make 5 codes of 100 points each, 500 points in all; nothing was made",
        )

    def _of_generate(self) -> str:
        batch = f"batch: created at {NOW}" + (f", {REQUEST}" if self._audited else "")
        return self._lines(
            (Capability.GENERATE,),
            f"expires: {IN_30_DAYS}",
            "written to friday.csv",
            "delivered and stored: 5 codes of 100 points each, 500 points in all",
            batch,
            *self._voiding(),
        )

    def _of_list(self) -> str:
        codes = [code(n, "available", FRIDAY) for n in range(1, 6)]
        return self._lines(_READ, self._table(columns.CODE, codes))

    def _of_redemptions(self) -> str:
        return self._lines(_READ, self._redeemed(2, 1))

    def _of_redemptions_one(self) -> str:
        return self._lines(_READ, self._redeemed(1))

    def _of_redemptions_since(self) -> str:
        return self._lines(_READ, f"redeemed since {WEEK_AGO}", self._redeemed(2, 1))

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
        return self._lines(_READ, self._table(columns.SHOWN, [row], Layout.RECORDS))

    def _of_update_dry(self) -> str:
        return self._lines(
            (Capability.READ, Capability.UPDATE),
            f"expires: {IN_60_DAYS}",
            self._changed(columns.UPDATED, dict.fromkeys((3, 4, 5), "would_update")),
            "dry run: 3 codes worth 300 points would be updated; nothing was changed",
        )

    def _of_update(self) -> str:
        return self._lines(
            (Capability.READ, Capability.UPDATE),
            f"expires: {IN_60_DAYS}",
            self._changed(columns.UPDATED, dict.fromkeys((3, 4, 5), "updated")),
            *self._done("updated", 3),
        )

    def _of_revoke_one(self) -> str:
        return self._revoked(3)

    def _of_revoke_file(self) -> str:
        table = self._changed(columns.CHANGED, {3: "already_revoked", 4: "revoked"})
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
            self._changed(columns.CHANGED, {5: "would_revoke"}),
            "dry run: 1 code worth 100 points would be revoked; nothing was changed",
        )

    def _of_revoke_batch(self) -> str:
        return self._revoked(5)

    def _of_lost(self) -> str:
        codes = [code(n, "available", "sunday testers", never=True) for n in (11, 12, 13)]
        return self._lines(_READ, f"created since {HOUR_AGO}", self._table(columns.CODE, codes))

    def _of_revoke_lost(self) -> str:
        return self._revoked(11, 12, 13)

    def _of_revoke_end(self) -> str:
        return self._revoked(21, 22)

    def _of_stats(self) -> str:
        counts = ("all", 8, 0, 2, 6) if self._can_revoke else ("all", 5, 3, 2, 0)
        return self._stats([counts], Layout.RECORDS)

    def _of_stats_by_note(self) -> str:
        rows = [(FRIDAY, 5, 0, 2, 3), ("sunday testers", 3, 0, 0, 3)]
        return self._stats(rows if self._can_revoke else [(FRIDAY, 5, 3, 2, 0)])

    def _of_stats_end(self) -> str:
        return self._stats([("all", 10, 0, 2, 8)], Layout.RECORDS)

    def _of_evidence(self) -> str:
        return self._lines(_READ, "written to evidence.csv")

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
        bounds = f"--created-since {NOW} --created-until {AFTER_NOW}"
        if self._audited and self._shape.audit.available:
            bounds = f"--request-id invite-{ID}"
        return ["to void the whole batch:", f"  invite revoke {bounds}"]

    def _table(
        self, shown: tuple[Column, ...], rows: list[dict[str, Any]], layout: Layout = Layout.ROWS
    ) -> str:
        cells = [tuple(row.get(column.key) for column in shown) for row in rows]
        return output.draw(Report(shown, cells, layout), "table", _STYLE)

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

    def _changed(self, shown: tuple[Column, ...], outcomes: dict[int, str]) -> str:
        """Draw the outcomes of a change, by the codes' numbers in the page's story."""
        rows = [
            {
                **code(n, "", FRIDAY),
                "expires_at": EXTENDED,
                "position": position,
                "outcome": outcome,
                "detail": "at 2026-01-31 09:00Z" if outcome == "already_revoked" else None,
            }
            for position, (n, outcome) in enumerate(outcomes.items(), start=1)
        ]
        return self._table(shown, rows)

    def _revoked(self, *numbers: int) -> str:
        table = self._changed(columns.CHANGED, dict.fromkeys(numbers, "revoked"))
        done = self._done("revoked", len(numbers))
        return self._lines((Capability.READ, Capability.REVOKE), table, *done)

    def _done(self, past: str, count: int) -> list[str]:
        codes = f"{count} code{'' if count == 1 else 's'}"
        lines = [f"{past}: {codes} worth {count * 100} points"]
        return [*lines, REQUEST] if self._audited else lines

    def _stats(
        self, groups: list[tuple[str, int, int, int, int]], layout: Layout = Layout.ROWS
    ) -> str:
        rows = [group(*counts) for counts in groups]
        return self._lines(_READ, self._table(columns.STATS, rows, layout))
