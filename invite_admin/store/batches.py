"""Makes batches of codes, all or none of each, and tells later whether one was stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import sqlalchemy as sa

from invite_admin import sqlstates
from invite_admin.codes import digest, mask, mint
from invite_admin.errors import Busy, Conflict, Failed
from invite_admin.model import Batch, Capability, Minted
from invite_admin.session import Purpose
from invite_admin.store.requests import made_under

if TYPE_CHECKING:
    from collections.abc import Sequence

    from invite_admin.codes import Secret
    from invite_admin.model import Row, Terms
    from invite_admin.store import Store
    from invite_admin.store.requests import Made
    from invite_admin.store.writes import Writes

A_CREATE = 2_000  # codes a statement
COLLISIONS = 5  # tries for codes that nobody has yet
_TAKEN = "23505"
_MARK = """
select pg_current_xact_id()::text as transaction,
       left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) as timeline
"""


class Batches:
    """The batches of one open transaction.

    Args:
        store: The table in that transaction.

    Attributes:
        transaction: This transaction's id, by which the server tells its fate; None before
            ``begin``.
        timeline: The server's timeline then; another one means a failover since.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
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
        if session.try_lock(Purpose.REQUEST, key):
            return
        self._store.say("another run with this request id has not ended; waiting for its end")
        if not session.lock(Purpose.REQUEST, key):
            raise Busy(
                "another run with this request id has not ended; this one changed nothing",
                hint="run the command again once that run has ended",
            )

    def made(self, request_id: str) -> list[Made]:
        """Return what this actor made under a request id, as the audit log has it.

        Raises:
            InviteError: As ``requests.made_under`` says.
        """
        store = self._store
        return made_under(store.session, store.shape, request_id, store.actor)

    def rows(self, made: Sequence[Made]) -> dict[str, Row]:
        """Return the codes that were made, as they are now, by id."""
        return self._store.reads.by_id([m.id for m in made])

    def make(self, count: int, terms: Terms) -> Batch:
        """Store ``count`` new codes, all or none of them.

        Raises:
            Failed: The database stored another number than was sent.
        """
        self._store.allow_time(count)
        writes = self._store.writes(Capability.GENERATE)
        minted: list[Minted] = []
        while len(minted) < count:
            piece = min(A_CREATE, count - len(minted))
            minted += self._anew(writes, piece, terms, {m.code for m in minted})
        return self._checked(self._batch(terms, minted))

    def store(self, batch: Batch) -> Batch:
        """Store exactly these codes; return them under the ids they have now.

        Raises:
            Conflict: One of them exists already.
            Failed: The database stored another number than was sent.
        """
        self._store.allow_time(len(batch.codes))
        writes = self._store.writes(Capability.GENERATE)
        codes = [minted.code for minted in batch.codes]
        minted: list[Minted] = []
        for start in range(0, len(codes), A_CREATE):
            piece = codes[start : start + A_CREATE]
            stored = self._piece(writes, piece, batch.terms)
            if stored is None:
                raise Conflict("one of these codes exists already; nothing was stored")
            minted += stored
        return self._checked(self._batch(batch.terms, minted))

    def stored(self, batch: Batch) -> bool | None:
        """Tell whether a batch is in the table: all of it, none of it, or None for unknown."""
        shape = self._store.shape
        if shape.by_functions and shape.audit.available:
            # By their ids: another batch may have taken the same request id since.
            made = {made.id for made in self.made(batch.request_id)}
            return made == {minted.id for minted in batch.codes} or (None if made else False)
        if shape.ways[Capability.LOOKUP].available:
            hashes = [str(digest(minted.code)) for minted in batch.codes]
            found = self._store.reads.count_of_hashes(hashes)
        else:
            return None
        return {len(batch.codes): True, 0: False}.get(found)

    def committed(self, transaction: str, timeline: str) -> bool | None:
        """Ask the server for a transaction's fate; None where it cannot know it."""
        mark = self._store.session.execute(sa.text(_MARK)).one()
        if mark.timeline != timeline:
            return None
        query = sa.text("select pg_xact_status(cast(:transaction as xid8))")
        fate = str(self._store.session.execute(query, {"transaction": transaction}).scalar())
        return {"committed": True, "aborted": False}.get(fate)

    def _checked(self, batch: Batch) -> Batch:
        """Read a batch back: a trigger or a function may have stored other values.

        Raises:
            Failed: It did.
        """
        ways, reads = self._store.shape.ways, self._store.reads
        terms, count = batch.terms, len(batch.codes)
        if ways[Capability.READ].available:
            rows = reads.by_id([minted.id for minted in batch.codes])
            same = sum(
                (row.points, row.expires_at, row.note)
                == (terms.points, terms.expires_at, terms.note)
                for row in rows.values()
            )
            count = min(count, same)
        if ways[Capability.LOOKUP].available:
            hashes = [str(digest(minted.code)) for minted in batch.codes]
            count = min(count, reads.count_of_hashes(hashes))
        if count != len(batch.codes):
            raise Failed("the database stored other values than were sent; nothing was stored")
        return batch

    def _batch(self, terms: Terms, minted: Sequence[Minted]) -> Batch:
        return Batch(
            request_id=self._store.request_id,
            actor=self._store.actor.email,
            created_at=self._store.session.server.now,
            terms=terms,
            codes=tuple(minted),
        )

    def _anew(self, writes: Writes, count: int, terms: Terms, earlier: set[Secret]) -> list[Minted]:
        """Store one statement's worth; codes that are taken already are made anew."""
        for _ in range(COLLISIONS):
            stored = self._piece(writes, mint(count, apart_from=frozenset(earlier)), terms)
            if stored is not None:
                return stored
        raise Failed("new codes keep meeting codes that exist; nothing was stored")

    def _piece(self, writes: Writes, codes: Sequence[Secret], terms: Terms) -> list[Minted] | None:
        """Store one statement's worth; None where one of the codes is taken already."""
        try:
            with self._store.session.attempt():
                ids = writes.create(codes, terms)
        except psycopg.Error as error:
            if error.sqlstate == _TAKEN and error.diag.table_name == self._store.shape.table:
                return None
            raise sqlstates.translate(error) from None
        if len(ids) != len(codes):
            raise Failed("the database stored fewer codes than were sent; nothing was stored")
        return [
            Minted(identity, code, mask(code)) for identity, code in zip(ids, codes, strict=True)
        ]
