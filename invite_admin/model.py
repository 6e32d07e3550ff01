"""The words of the tool: what a code, an actor, a filter and a change are. Frozen and pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


class Status(StrEnum):
    """What a code is now; the first that holds, in this order: redeemed, revoked, expired."""

    AVAILABLE = "available"
    REDEEMED = "redeemed"
    REVOKED = "revoked"
    EXPIRED = "expired"


UNUSED = (Status.AVAILABLE, Status.EXPIRED)  # what can still be changed


class Capability(StrEnum):
    """What a command may need of the table and the login."""

    READ = "read"
    LOOKUP = "lookup"
    GENERATE = "generate"
    UPDATE = "update"
    REVOKE = "revoke"

    @property
    def writes(self) -> bool:
        """Whether it changes rows."""
        return self not in (Capability.READ, Capability.LOOKUP)


class Outcome(StrEnum):
    """What became of one named code."""

    REVOKED = "revoked"
    WOULD_REVOKE = "would_revoke"
    UPDATED = "updated"
    WOULD_UPDATE = "would_update"
    UNCHANGED = "unchanged"
    ALREADY_REDEEMED = "already_redeemed"
    ALREADY_REVOKED = "already_revoked"
    NOT_FOUND = "not_found"
    BUSY = "busy"
    REFUSED = "refused"
    AMBIGUOUS = "ambiguous"

    @property
    def good(self) -> bool:
        """Whether it is what the operator asked for."""
        return self in _GOOD


_GOOD = frozenset(
    {
        Outcome.REVOKED,
        Outcome.WOULD_REVOKE,
        Outcome.UPDATED,
        Outcome.WOULD_UPDATE,
        Outcome.UNCHANGED,
    }
)


# What a change finds of codes that are past changing.
SETTLED = {Status.REDEEMED: Outcome.ALREADY_REDEEMED, Status.REVOKED: Outcome.ALREADY_REVOKED}


@dataclass(frozen=True)
class Actor:
    """Who acts, as the database knows them; a claim, not a proof."""

    id: str
    email: str
    role: str = "admin"


PLACES, QUEUE = 2, 4  # heavy jobs that run at a time on a database, and that wait


@dataclass(frozen=True)
class Crowd:
    """The heavy jobs of this tool on a database at one moment."""

    running: int
    waiting: int

    @property
    def full(self) -> bool:
        """Whether another one is refused."""
        return self.running + self.waiting >= PLACES + QUEUE


@dataclass(frozen=True)
class Filters:
    """Which rows; every member that is None or empty lets all pass. Times are instants."""

    status: tuple[Status, ...] = ()
    note: str | None = None
    search: str | None = None
    points: int | None = None
    created_since: datetime | None = None
    created_until: datetime | None = None
    expires_before: datetime | None = None
    ids: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Redemptions:
    """Which redemptions; None lets all pass. ``since`` is inclusive, ``until`` exclusive."""

    user: str | None = None
    note: str | None = None
    search: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class Sort(StrEnum):
    """By what a list is put in order."""

    CREATED = "created"
    EXPIRES = "expires"
    POINTS = "points"
    STATUS = "status"


@dataclass(frozen=True)
class Change:
    """New values for codes neither redeemed nor revoked.

    Attributes:
        set_expires: Whether ``expires_at`` is to be set.
        expires_at: The new expiry; None means never.
        set_note: Whether ``note`` is to be set.
        note: The new note; None removes it.
    """

    set_expires: bool = False
    expires_at: datetime | None = None
    set_note: bool = False
    note: str | None = None

    def leaves(self, row: Row) -> bool:
        """Tell whether a code has these values already."""
        same_expiry = not self.set_expires or row.expires_at == self.expires_at
        return same_expiry and (not self.set_note or row.note == self.note)


@dataclass(frozen=True)
class Row:
    """One code as it is stored; what the login may not read is None."""

    id: str
    mask: str
    status: Status
    points: int
    expires_at: datetime | str | None
    note: str | None
    created_at: datetime | str
    created_by: str | None
    redeemed_by: str | None
    redeemed_email: str | None
    redeemed_at: datetime | str | None
    revoked_at: datetime | str | None
    revoked_by: str | None


@dataclass(frozen=True)
class Result:
    """What became of one code of a change.

    Attributes:
        id: The code's id.
        outcome: What became of it.
        row: The code as it is now, or in a dry run would be; None where there is none.
        refusal: The SQLSTATE by which the database refuses it; None for any other outcome.
    """

    id: str
    outcome: Outcome
    row: Row | None
    refusal: str | None = None


@dataclass(frozen=True)
class Group:
    """Codes that are changed together, in id order.

    Attributes:
        ids: Their ids.
        masks: Their masks.
        points: The points of each that could be changed when the set was read; None for a code
            that could not.
    """

    ids: Sequence[str]
    masks: Sequence[str]
    points: Sequence[int | None]
