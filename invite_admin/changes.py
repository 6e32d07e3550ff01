"""What a change by name or filter is about, and what became of each code. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from invite_admin import text
from invite_admin.codes import Kind
from invite_admin.errors import Busy, Conflict
from invite_admin.model import Outcome, Status
from invite_admin.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo

    from invite_admin.codes import Name
    from invite_admin.model import Capability, Row
    from invite_admin.report import Column

_LASTING = (Outcome.UPDATED, Outcome.WOULD_UPDATE, Outcome.UNCHANGED)
_SETTLED = {Status.REDEEMED: Outcome.ALREADY_REDEEMED, Status.REVOKED: Outcome.ALREADY_REVOKED}


@dataclass(frozen=True)
class Verb:
    """How a change is spoken of, and what it reports.

    Attributes:
        need: The capability it needs.
        word: The imperative, as in ``revoke these codes``.
        past: As in ``50 codes revoked``.
        would: The outcome of a dry run.
        columns: The report's columns; those after ``detail`` are members of the row.
    """

    need: Capability
    word: str
    past: str
    would: Outcome
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Item:
    """One code of a change: how it was named, and the rows that the name fits."""

    position: int
    name: Name | None
    rows: tuple[Row, ...]

    @property
    def row(self) -> Row | None:
        """The one row, None where there is none or several."""
        return self.rows[0] if len(self.rows) == 1 else None


@dataclass(frozen=True)
class Plan:
    """What is to be changed, read in one transaction."""

    items: tuple[Item, ...]
    by_filter: bool
    extras: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> list[Row]:
        """The codes that are meant, each once."""
        return list({item.row.id: item.row for item in self.items if item.row}.values())

    @property
    def usable(self) -> list[Row]:
        """Those of them that can still be changed."""
        return [row for row in self.rows if row.status in (Status.AVAILABLE, Status.EXPIRED)]


@dataclass(frozen=True)
class Telling:
    """Tells of a plan what became, or would become, of each of its codes.

    Attributes:
        verb: How the change is spoken of.
        plan: What it is about.
        zone: The time zone of times.
    """

    verb: Verb
    plan: Plan
    zone: tzinfo

    def done(
        self,
        outcomes: Mapping[str, Outcome],
        now: Mapping[str, Row],
        summary: Callable[[], list[str]],
    ) -> Report:
        """Report a change that was made: outcomes and rows by id, as they are now."""

        def became(item: Item) -> Outcome:
            return outcomes[item.row.id] if item.row else _unfit(item)

        return self._report({i.position: became(i) for i in self.plan.items}, now, summary)

    def summary(self, outcomes: Mapping[str, Outcome]) -> list[str]:
        """Say in lines for people how many codes were changed, and how many were left."""
        done = [row for row in self.plan.rows if outcomes[row.id] == self.verb.past]
        left = Counter(str(o) for o in outcomes.values() if o != self.verb.past)
        worth = text.counted(sum(row.points for row in done), "point")
        lines = [f"{self.verb.past}: {text.counted(len(done), 'code')} worth {worth}"]
        if left:
            listed = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(left.items()))
            lines.append(f"left as they are: {listed}")
        return lines

    def preview(self, same: Callable[[Row], bool], become: Callable[[Row], Row]) -> Report:
        """Report a change that would be made.

        Args:
            same: Tells whether a code has its new values already.
            become: Returns a code with its new values.
        """

        def would(item: Item) -> Outcome:
            if item.row is None:
                return _unfit(item)
            become = Outcome.UNCHANGED if same(item.row) else self.verb.would
            return _SETTLED.get(item.row.status, become)

        outcomes = {item.position: would(item) for item in self.plan.items}
        rows = {
            i.row.id: become(i.row) if outcomes[i.position] is self.verb.would else i.row
            for i in self.plan.items
            if i.row
        }
        meant = {
            i.row.id: i.row.points
            for i in self.plan.items
            if i.row and outcomes[i.position] is self.verb.would
        }
        line = (
            f"dry run: {text.counted(len(meant), 'code')} worth "
            f"{text.counted(sum(meant.values()), 'point')} would be {self.verb.past}; "
            "nothing was changed"
        )
        return self._report(outcomes, rows, lambda: [line])

    def _report(
        self,
        outcomes: Mapping[int, Outcome],
        now: Mapping[str, Row],
        summary: Callable[[], list[str]],
    ) -> Report:
        rows = [self._row(item, outcomes[item.position], now) for item in self.plan.items]
        verdict = self._verdict(list(outcomes.values()))
        counts = Counter(str(outcome) for outcome in outcomes.values())
        return Report(self.verb.columns, rows, summary=summary, verdict=verdict, counts=counts)

    def _row(self, item: Item, outcome: Outcome, now: Mapping[str, Row]) -> tuple[Any, ...]:
        row = now.get(item.row.id) if item.row else None
        cells = {
            "position": item.position,
            "id": item.row.id if item.row else _label(item, Kind.ID),
            "mask": item.row.mask if item.row else _label(item, Kind.CODE, Kind.MASK),
            "outcome": str(outcome),
            "detail": self._detail(item, outcome, row),
            "expires_at": row.expires_at if row else None,
            "note": row.note if row else None,
        }
        return tuple(cells[column.key] for column in self.verb.columns)

    def _detail(self, item: Item, outcome: Outcome, row: Row | None) -> str | None:
        """Say in words what an outcome means for the operator."""
        plain = {
            Outcome.AMBIGUOUS: "fits several codes: " + ", ".join(r.id for r in item.rows),
            Outcome.NOT_FOUND: "no such code in this table",
            Outcome.BUSY: "in use elsewhere, perhaps being redeemed; run the command again",
        }
        if outcome is Outcome.ALREADY_REDEEMED and row and row.redeemed_at:
            who = row.redeemed_email or row.redeemed_by or "an unknown user"
            return f"by {who} at {text.short_time(row.redeemed_at, self.zone)}"
        if outcome is Outcome.ALREADY_REVOKED and row and row.revoked_at:
            return f"at {text.short_time(row.revoked_at, self.zone)}"
        if outcome in _LASTING and row and row.expires_at is None:
            return "never expires"
        return plain.get(outcome)

    def _verdict(self, outcomes: list[Outcome]) -> Busy | Conflict | None:
        """Return how a command ends in which not every code could be changed."""
        bad = Counter(str(outcome) for outcome in outcomes if not outcome.good)
        listed = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(bad.items()))
        if self.plan.by_filter:
            if Outcome.BUSY not in outcomes:
                return None
            return Busy(f"not every code could be changed: {listed}", hint="run the command again")
        if not bad:
            return None
        codes = text.counted(bad.total(), "named code")
        return Conflict(f"{codes} not {self.verb.past}: {listed}")


def _unfit(item: Item) -> Outcome:
    return Outcome.AMBIGUOUS if item.rows else Outcome.NOT_FOUND


def _label(item: Item, *kinds: Kind) -> str | None:
    """Return what may be shown of a name, where it is one of these kinds."""
    return item.name.label if item.name and item.name.kind in kinds else None
