"""How what became of each code of a change is counted and told. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from invite_admin import text
from invite_admin.codes import Kind
from invite_admin.errors import NOTHING_CHANGED, Busy, Conflict, Failed
from invite_admin.model import Outcome

if TYPE_CHECKING:
    from datetime import tzinfo

    from invite_admin.changes import Item, Verb
    from invite_admin.model import Result
    from invite_admin.report import Column

FIRST = 3  # refused codes that a failure names; the report names all
_LASTING = (Outcome.UPDATED, Outcome.WOULD_UPDATE, Outcome.UNCHANGED)
_ASK = "a rule or a trigger of the table refuses a code; ask the application's team"


@dataclass
class Tally:
    """Running sums of what became, or would become, of the codes of one change.

    Attributes:
        verb: How the change is spoken of.
        codes: How many codes had which outcome, each code once.
        lines: How many lines of the report say so; a code that is named twice has two.
        points: What the codes are worth that were, or would be, changed.
        first: The ids of the first codes that the database refused to change.
        states: The SQLSTATEs by which it did.
    """

    verb: Verb
    codes: Counter[Outcome] = field(default_factory=Counter)
    lines: Counter[Outcome] = field(default_factory=Counter)
    points: int = 0
    first: list[str] = field(default_factory=list)
    states: set[str] = field(default_factory=set)

    def take(self, result: Result) -> None:
        """Count one code."""
        self.add(result.outcome, result.row.points if result.row else 0)
        if result.refusal is not None:
            self.states.add(result.refusal)
            self.first += [result.id][: FIRST - len(self.first)]

    def add(self, outcome: Outcome, points: int, count: int = 1) -> None:
        """Count codes of one outcome, worth so many points together."""
        self.codes[outcome] += count
        if outcome in (self.verb.done, self.verb.would):
            self.points += points

    def summary(self) -> list[str]:
        """Say in lines for people how many codes were changed, and how many were left."""
        done = text.counted(self.codes[self.verb.done], "code")
        lines = [f"{self.verb.done}: {done} worth {text.counted(self.points, 'point')}"]
        left = Counter({o: count for o, count in self.codes.items() if o is not self.verb.done})
        if left:
            lines.append(f"left as they are: {_listed(left)}")
        return lines

    def preview(self) -> list[str]:
        """Say likewise what a dry run found."""
        would = text.counted(self.codes[self.verb.would], "code")
        worth = text.counted(self.points, "point")
        line = f"dry run: {would} worth {worth} would be {self.verb.done}; nothing was changed"
        return [line]

    def verdict(self, *, by_filter: bool) -> Busy | Conflict | Failed | None:
        """Return how a command ends in which not every code could be changed."""
        bad = Counter({o: count for o, count in self.lines.items() if not o.good})
        again = ["run the command again for what is busy"] if Outcome.BUSY in bad else []
        ask = [_ASK] if Outcome.REFUSED in bad else []
        hint = "; ".join([*again, *ask]) or None
        if not by_filter and bad:
            codes = text.counted(bad.total(), "named code")
            return Conflict(f"{codes} not {self.verb.done}: {_listed(bad)}", hint=hint)
        if ask:
            return Failed(self._refused(bad[Outcome.REFUSED]), hint=hint)
        if again:
            told = f"not every code could be changed: {_listed(bad)}"
            return Busy(told, hint="run the command again")
        return None

    def _refused(self, count: int) -> str:
        """Say which codes of a filter's set the database refused, and what of the others."""
        done = self.codes[self.verb.done]
        true = f"{text.counted(done, 'other')} {self.verb.done}" if done else NOTHING_CHANGED
        more = f" and {count - len(self.first):,} more" if count > len(self.first) else ""
        return (
            f"the database refuses {text.counted(count, 'code')}, {true} "
            f"(SQLSTATE {', '.join(sorted(self.states))}): {', '.join(self.first)}{more}"
        )


@dataclass(frozen=True)
class Telling:
    """Tells in the cells of a report what became of a code.

    Attributes:
        columns: The report's columns, the position first.
        zone: The time zone of times.
    """

    columns: tuple[Column, ...]
    zone: tzinfo

    def code(self, mask: str, result: Result) -> tuple[Any, ...]:
        """Return the cells after the position, of a code with this mask."""
        row = result.row
        cells = {
            "id": result.id,
            "mask": mask,
            "outcome": str(result.outcome),
            "detail": self._detail(result),
            "expires_at": row.expires_at if row else None,
            "note": row.note if row else None,
        }
        return self._cells(cells)

    def unfit(self, item: Item) -> tuple[Outcome, tuple[Any, ...]]:
        """Return outcome and cells of a name that fits no code, or several."""
        outcome = Outcome.AMBIGUOUS if item.ids else Outcome.NOT_FOUND
        label, kind = item.name.label, item.name.kind
        cells = {
            "id": label if kind is Kind.ID else None,
            "mask": label if kind is not Kind.ID else None,
            "outcome": str(outcome),
            "detail": f"fits several codes: {', '.join(item.ids)}" if item.ids else _GONE,
        }
        return outcome, self._cells(cells)

    def _cells(self, cells: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(cells.get(column.key) for column in self.columns[1:])

    def _detail(self, result: Result) -> str | None:
        """Say in words what an outcome means for the operator."""
        outcome, row = result.outcome, result.row
        left = {
            Outcome.BUSY: "in use elsewhere, perhaps being redeemed; run the command again",
            Outcome.REFUSED: f"the database refuses it: SQLSTATE {result.refusal}",
        }
        if outcome in left:
            return left[outcome]
        if row is None:
            return _GONE
        if outcome is Outcome.ALREADY_REDEEMED and row.redeemed_at:
            who = row.redeemed_email or row.redeemed_by or "an unknown user"
            return f"by {who} at {text.short_time(row.redeemed_at, self.zone)}"
        if outcome is Outcome.ALREADY_REVOKED and row.revoked_at:
            return f"at {text.short_time(row.revoked_at, self.zone)}"
        if outcome in _LASTING and row.expires_at is None:
            return "never expires"
        return None


_GONE = "no such code in this table"


def _listed(counts: Counter[Outcome]) -> str:
    named = sorted((str(outcome), count) for outcome, count in counts.items())
    return ", ".join(f"{count:,} {outcome}" for outcome, count in named)
