"""A batch of codes: its terms, its codes piece by piece, and what keeps them meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from invite_admin.codes import Secrets


@dataclass(frozen=True)
class Terms:
    """What every code of a batch is worth.

    Attributes:
        points: Points each code gives, 1 or more.
        expires_at: From when on it cannot be redeemed; None means never.
        note: The free label; None means none.
    """

    points: int
    expires_at: datetime | None
    note: str | None


@dataclass(frozen=True)
class Piece:
    """Some codes of a batch that were stored together.

    Attributes:
        ids: Their ids.
        codes: Their text, which is shown once, in the same order.
    """

    ids: Sequence[str]
    codes: Secrets


class Codes(Protocol):
    """The codes of a batch, in the order in which they were made, read as often as need be."""

    def __len__(self) -> int:
        """Return how many there are."""

    def __iter__(self) -> Iterator[Piece]:
        """Read them, piece by piece."""


class Keeper(Codes, Protocol):
    """Keeps the codes of a batch that is being stored."""

    def add(self, piece: Piece) -> None:
        """Keep a piece that was stored."""


class Held:
    """Keeps codes in memory."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []

    def __len__(self) -> int:
        return sum(len(piece.ids) for piece in self._pieces)

    def __iter__(self) -> Iterator[Piece]:
        return iter(self._pieces)

    def add(self, piece: Piece) -> None:
        """Keep a piece that was stored."""
        self._pieces.append(piece)


@dataclass(frozen=True)
class Batch:
    """The codes of one call of ``generate``.

    Attributes:
        request_id: Its name; the audit log has it where there is one.
        actor: E-mail address of who made it.
        created_at: The time of the transaction, which all its rows share.
        terms: What each code is worth.
        count: How many codes it has, or will have once all are stored.
        codes: The codes; those stored so far, as long as there are more to come.
    """

    request_id: str
    actor: str
    created_at: datetime
    terms: Terms
    count: int
    codes: Codes
