"""Makes batches of codes, all or none of each, and tells later whether one was stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from invite_admin import locks, text
from invite_admin.batch import Batch, Held
from invite_admin.codes import space
from invite_admin.errors import NOTHING_CHANGED, Busy, Failed, OverLimit
from invite_admin.locks import Purpose
from invite_admin.model import Capability, Filters
from invite_admin.store.inserts import Inserts
from invite_admin.store.proof import proved, there
from invite_admin.store.requests import count_made, made_by_others, made_under

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from invite_admin.batch import Keeper, Piece, Terms
    from invite_admin.model import Row
    from invite_admin.store import Store
    from invite_admin.store.requests import Made

FIRST = 100  # codes by which an earlier batch is known
SPARSE = 10  # a batch may take one in so many of the free codes
MOST = 2**38  # rows that can be stored: a table of PostgreSQL ends at 2^45 bytes, a row has 2^7
_MARK = """
select pg_current_xact_id()::text as transaction,
       left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) as timeline
"""


class Batches:
    """The batches of one open transaction.

    Args:
        store: The table in that transaction.
        keep: Returns what keeps the codes of a batch as they are stored; the batch has none yet.

    Attributes:
        transaction: This transaction's id, by which the server tells its fate; None before
            ``begin``.
        timeline: The server's timeline then; another one means a failover since.
    """

    def __init__(
        self, store: Store, keep: Callable[[Batch], Keeper] = lambda _batch: Held()
    ) -> None:
        self._store, self._keep = store, keep
        self.transaction: str | None = None
        self.timeline: str | None = None

    def begin(self, request_id: str | None = None) -> None:
        """Take the lock of the request id, which is kept until the transaction has ended.

        Args:
            request_id: The id; None for the store's own new one.

        Raises:
            Busy: Another command with this id is still running.
        """
        self._store.request_id = request_id or self._store.request_id
        self.lock(self._store.request_id)
        mark = self._store.session.execute(sa.text(_MARK)).one()
        self.transaction, self.timeline = mark.transaction, mark.timeline

    def lock(self, request_id: str) -> None:
        """Wait until no transaction of this request id and actor is open any more.

        Raises:
            Busy: Another is open still when the lock timeout is spent.
        """
        session, key = self._store.session, f"{self._store.actor.id} {request_id}"
        if locks.take(session, Purpose.REQUEST, key):
            return
        bound = f"at most {session.lock_wait:g} s"
        self._store.say(f"another run with this request id has not ended; waiting for it, {bound}")
        session.spoken_of()
        if not locks.wait(session, Purpose.REQUEST, key):
            raise Busy(
                f"another run with this request id has not ended; {NOTHING_CHANGED}",
                hint="run the command again once that run has ended",
            )

    def made(self, request_id: str) -> list[Made]:
        """Return the first codes that this actor made under a request id, by the audit log.

        Raises:
            InviteError: As ``requests.made_under`` says.
        """
        store = self._store
        return made_under(store.session, store.shape, request_id, store.actor, FIRST)

    def choice(self, request_id: str, made_at: datetime, *, new: bool = False) -> tuple[str, ...]:
        """Write the filter that chooses a batch: by its request id, else by its time.

        Args:
            request_id: The id; it serves where the audit log has it, and has it alone.
            made_at: When the batch was made.
            new: Whether nobody else can have used the id.
        """
        store = self._store
        alone = store.shape.traced and (new or self._alone(request_id))
        return ("--request-id", request_id) if alone else text.made_at(made_at)

    def _alone(self, request_id: str) -> bool:
        """Tell whether this actor, and nobody else, made codes under a request id."""
        session, shape, actor = self._store.session, self._store.shape, self._store.actor
        used = self.made_count(request_id) > 0
        return used and not made_by_others(session, shape, request_id, actor)

    def made_count(self, request_id: str, ids: Sequence[str] | None = None) -> int:
        """Count what this actor made under a request id; ``ids`` counts only these, None all."""
        store = self._store
        return count_made(store.session, store.shape, request_id, store.actor, ids)

    def rows(self, made: Sequence[Made]) -> dict[str, Row]:
        """Return the codes that were made, as they are now, by id."""
        return self._store.reads.by_id([m.id for m in made])

    def require_free(self, count: int) -> None:
        """Refuse to take so many of the free codes that guesses would begin to hit.

        Raises:
            OverLimit: That is more than one in ``SPARSE`` of them.
        """
        free = space()
        if free - SPARSE * count < MOST and self._store.shape.ways[Capability.READ].available:
            free -= self._store.reads.stats(Filters(), by=None, zone="UTC")[0][1]
        if SPARSE * count > free:
            raise OverLimit(
                f"{count:,} codes are more than a tenth of the {free:,} that are still free, and "
                "who guesses would soon hit one; nothing was made",
                hint=f"make at most {free // SPARSE:,}",
            )

    def make(
        self, count: int, terms: Terms, advance: Callable[[int], None] = lambda _rows: None
    ) -> Batch:
        """Store ``count`` new codes, all or none of them.

        Args:
            count: How many.
            terms: What each is worth.
            advance: Told how many rows were sent, and by a negative number how many were undone.

        Raises:
            Failed: The database stored another number than was sent, or other values.
        """
        inserts = self._inserts(count, terms, advance)
        batch = Batch(
            request_id=self._store.request_id,
            actor=self._store.actor.email,
            created_at=self._store.session.server.now,
            terms=terms,
            count=count,
            codes=Held(),
        )
        return self._kept(batch, inserts.anew(count), inserts)

    def store(self, batch: Batch, advance: Callable[[int], None] = lambda _rows: None) -> Batch:
        """Store exactly these codes; return them under the ids they have now.

        Raises:
            Conflict: One of them exists already.
            Failed: The database stored another number than was sent, or other values.
        """
        inserts = self._inserts(batch.count, batch.terms, advance)
        batch = replace(
            batch,
            request_id=self._store.request_id,
            created_at=self._store.session.server.now,
        )
        return self._kept(batch, inserts.exactly(batch), inserts)

    def stored(self, batch: Batch) -> bool | None:
        """Tell whether a batch is in the table as it was made; None where that is not clear.

        Codes that were deleted since do not count against it.
        """
        shape = self._store.shape
        if shape.traced and (made := self.made_count(batch.request_id)):
            # By their ids: another batch may have taken the same request id since.
            known = sum(self.made_count(batch.request_id, piece.ids) for piece in batch.codes)
            return made == known == batch.count or None
        # The log knows nothing of what was written before there was one.
        if not shape.ways[Capability.LOOKUP].available:
            return False if shape.traced else None
        found, own = there(self._store, batch)
        if not found:
            return False
        return own == found or None

    def committed(self, transaction: str, timeline: str) -> bool | None:
        """Ask the server for a transaction's fate; None where it cannot know it."""
        mark = self._store.session.execute(sa.text(_MARK)).one()
        if mark.timeline != timeline:
            return None
        query = sa.text("select pg_xact_status(cast(:transaction as xid8))")
        fate = str(self._store.session.execute(query, {"transaction": transaction}).scalar())
        return {"committed": True, "aborted": False}.get(fate)

    def _inserts(self, count: int, terms: Terms, advance: Callable[[int], None]) -> Inserts:
        self._store.allow_time(count)
        return Inserts(self._store, terms, advance)

    def _kept(self, batch: Batch, pieces: Iterable[Piece], inserts: Inserts) -> Batch:
        """Keep a batch as it is stored, then read it back.

        Raises:
            Failed: The database stored other values.
        """
        kept = self._keep(batch)
        for piece in pieces:
            kept.add(piece)
            del piece  # before the next one is made, so that there is one at a time
        batch = replace(batch, codes=kept)
        if not proved(self._store, batch, inserts.checksum):
            raise Failed("the database stored other values than were sent; nothing was stored")
        return batch
