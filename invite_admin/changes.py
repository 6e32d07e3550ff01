"""What a change by name or filter is about. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from invite_admin.codes import Name
    from invite_admin.model import Capability, Group, Outcome
    from invite_admin.report import Column

PREVIEW = 20  # codes shown before the question


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
