"""What a change by name or filter is about, and how what became of each code is told. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from invite_admin import text
from invite_admin.codes import Kind
from invite_admin.errors import Busy, Conflict
from invite_admin.model import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import tzinfo

    from invite_admin.codes import Name
    from invite_admin.model import Capability, Group, Row
    from invite_admin.report import Column

PREVIEW = 20  # codes shown before the question
_LASTING = (Outcome.UPDATED, Outcome.WOULD_UPDATE, Outcome.UNCHANGED)


@dataclass(frozen=True)
class Verb:
    """How a change is spoken of, and what it reports.

    Attributes:
        need: The capability it needs.
        word: The imperative, as in ``revoke these codes``.
        done: The outcome of a code that was changed; also the past, as in ``50 codes revoked``.
        would: The outcome of a dry run.
        columns: The report's columns, the position first; those after ``detail`` are members of
            the row.
    """

    need: Capability
    word: str
    done: Outcome
    would: Outcome
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Item:
    """One name, and the codes that it fits.

    Attributes:
        name: The name.
        ids: The ids of these codes; only a single one is meant.
    """

    name: Name
    ids: tuple[str, ...]

    @property
    def id(self) -> str | None:
        """The one code's id, None where there is none or several."""
        return self.ids[0] if len(self.ids) == 1 else None


@dataclass
class Usable:
    """Codes of a set that can still be changed.

    Attributes:
        count: How many there are.
        points: What they are worth together.
        expired: What those of them are worth that have expired.
        first: The ids of the first of them, in the order of the set.
    """

    count: int = 0
    points: int = 0
    expired: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, ids: Sequence[str], points: Sequence[int | None]) -> None:
        """Count codes and their points; these are None where a code cannot be changed."""
        worth = [each for each in points if each is not None]
        self.count += len(worth)
        self.points += sum(worth)
        if len(self.first) < PREVIEW:
            usable = (i for i, each in zip(ids, points, strict=True) if each is not None)
            self.first.extend(islice(usable, PREVIEW - len(self.first)))


@dataclass(frozen=True)
class Plan:
    """What is to be changed, read in one transaction.

    Attributes:
        groups: The codes that are meant, each once, in id order.
        codes: How many these are.
        usable: Those of them that can be changed.
        items: How they were named, in order; None where a filter chose them.
        extras: What the command's own options say.
    """

    groups: Iterable[Group]
    codes: int
    usable: Usable
    items: tuple[Item, ...] | None
    extras: dict[str, Any]

    @property
    def by_filter(self) -> bool:
        """Whether a filter chose the codes."""
        return self.items is None

    @property
    def lines(self) -> int:
        """How many lines a report about it has."""
        return self.codes if self.items is None else len(self.items)

    @property
    def left(self) -> int:
        """How many codes cannot be changed, and names that fit no single code, each once."""
        unfit = {item.name for item in self.items or () if item.id is None}
        return self.codes - self.usable.count + len(unfit)


@dataclass
class Tally:
    """Running sums of what became, or would become, of the codes of one change.

    Attributes:
        verb: How the change is spoken of.
        codes: How many codes had which outcome, each code once.
        lines: How many lines of the report say so; a code that is named twice has two.
        points: What the codes are worth that were, or would be, changed.
    """

    verb: Verb
    codes: Counter[Outcome] = field(default_factory=Counter)
    lines: Counter[Outcome] = field(default_factory=Counter)
    points: int = 0

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

    def verdict(self, *, by_filter: bool) -> Busy | Conflict | None:
        """Return how a command ends in which not every code could be changed."""
        bad = Counter({o: count for o, count in self.lines.items() if not o.good})
        if by_filter:
            if Outcome.BUSY not in bad:
                return None
            told = f"not every code could be changed: {_listed(bad)}"
            return Busy(told, hint="run the command again")
        if not bad:
            return None
        codes = text.counted(bad.total(), "named code")
        again = "run the command again for what is busy" if Outcome.BUSY in bad else None
        return Conflict(f"{codes} not {self.verb.done}: {_listed(bad)}", hint=again)


@dataclass(frozen=True)
class Telling:
    """Tells in the cells of a report what became of a code.

    Attributes:
        columns: The report's columns, the position first.
        zone: The time zone of times.
    """

    columns: tuple[Column, ...]
    zone: tzinfo

    def code(self, identity: str, mask: str, outcome: Outcome, row: Row | None) -> tuple[Any, ...]:
        """Return the cells after the position.

        Args:
            identity: The code's id.
            mask: Its mask.
            outcome: What became of it.
            row: The code as it is now; None where it is no more.
        """
        cells = {
            "id": identity,
            "mask": mask,
            "outcome": str(outcome),
            "detail": self._detail(outcome, row),
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

    def _detail(self, outcome: Outcome, row: Row | None) -> str | None:
        """Say in words what an outcome means for the operator."""
        if outcome is Outcome.BUSY:
            return "in use elsewhere, perhaps being redeemed; run the command again"
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
