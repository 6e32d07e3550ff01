"""Stores the codes of a batch, piece by piece, each piece in a savepoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from invite_admin import sqlstates
from invite_admin.batch import Piece
from invite_admin.codes import Secrets, digests, mint
from invite_admin.errors import Conflict, Failed
from invite_admin.model import Capability
from invite_admin.store.pieces import SAVEPOINTS
from invite_admin.store.writes import FEW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from invite_admin.batch import Batch, Codes, Terms
    from invite_admin.store import Store

COLLISIONS = 5  # tries for codes that nobody has yet
_TAKEN = "23505"
_NO_COPY = "0A000"


class Inserts:
    """Stores codes of one kind.

    Args:
        store: The table in its open transaction.
        terms: What each code is worth.
        advance: Told how many rows were sent, and by a negative number how many were undone.

    Attributes:
        checksum: Of the hashes of all codes that were stored.
    """

    def __init__(self, store: Store, terms: Terms, advance: Callable[[int], None]) -> None:
        self.checksum = 0
        self._store, self._terms, self._advance = store, terms, advance
        self._role = store.shape.ways[Capability.GENERATE].role
        self._writes = store.writes(Capability.GENERATE)

    def anew(self, count: int) -> Iterator[Piece]:
        """Store so many new codes.

        Raises:
            Failed: New codes keep meeting those that exist, or another number was stored.
        """
        size = self._size(count)
        again = self._apart if count > FEW else lambda codes: mint(len(codes))
        for start in range(0, count, size):
            yield self._anew(min(size, count - start), again)

    def exactly(self, batch: Batch) -> Iterator[Piece]:
        """Store exactly these codes.

        Raises:
            Conflict: One of them exists already.
            Failed: The database stored another number than was sent.
        """
        for codes in _gathered(batch.codes, self._size(batch.count)):
            stored = self._tried(codes)
            if stored is None:
                raise Conflict("one of these codes exists already; nothing was stored")
            yield stored

    def _size(self, count: int) -> int:
        return max(self._writes.a_piece, -(-count // SAVEPOINTS))

    def _anew(self, count: int, again: Callable[[Secrets], Secrets]) -> Piece:
        codes = mint(count)
        for _ in range(COLLISIONS):
            stored = self._tried(codes)
            if stored is not None:
                return stored
            codes = again(codes)
        raise Failed("new codes keep meeting codes that exist; nothing was stored")

    def _apart(self, codes: Secrets) -> Secrets:
        """Make anew those of the codes that are taken; all of them where nobody may look."""
        if not self._store.shape.ways[Capability.LOOKUP].available:
            return mint(len(codes))
        hashes = digests(codes)
        taken = self._store.reads.ids_of_hashes(hashes)
        free = {code: None for code, found in zip(codes, hashes, strict=True) if found not in taken}
        while len(free) < len(codes):
            free |= dict.fromkeys(mint(len(codes) - len(free)))
        return Secrets(free)

    def _tried(self, codes: Secrets) -> Piece | None:
        """Store one piece; None where one of its codes is taken already."""
        sent = 0

        def advance(rows: int) -> None:
            nonlocal sent
            sent += rows
            self._advance(rows)

        self._store.session.become(self._role)
        try:
            with self._store.session.attempt(psycopg.Error):
                created = self._writes.create(codes, self._terms, advance)
        except psycopg.Error as error:
            self._advance(-sent)
            return self._failed(error, codes)
        if len(created.ids) != len(codes):
            raise Failed("the database stored fewer codes than were sent; nothing was stored")
        self.checksum += created.checksum
        return Piece(created.ids, codes)

    def _failed(self, error: psycopg.Error, codes: Secrets) -> Piece | None:
        """Go on after a piece that was undone.

        Raises:
            InviteError: It was for another reason than a code that is taken.
        """
        if error.sqlstate == _TAKEN and error.diag.table_name == self._store.shape.table:
            return None
        plain = self._writes.without_copy()
        if error.sqlstate == _NO_COPY and plain is not None:
            self._writes = plain
            return self._tried(codes)
        raise sqlstates.translate(error) from None


def _gathered(codes: Codes, size: int) -> Iterator[Secrets]:
    """Read the text of codes in pieces of about this size."""
    waiting = Secrets()
    for piece in codes:
        waiting += piece.codes
        if len(waiting) >= size:
            yield waiting
            waiting = Secrets()
    if waiting:
        yield waiting
