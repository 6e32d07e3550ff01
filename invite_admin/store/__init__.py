"""The only SQL on the codes table: what can be asked of it and what can be done to it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg

from invite_admin import catalogue, sqlstates
from invite_admin.codes import Kind, mask, mint
from invite_admin.errors import Failed, Unavailable
from invite_admin.judge import read_shape
from invite_admin.model import Capability, Minted, Outcome, Row, Status
from invite_admin.store.actors import find_actor
from invite_admin.store.pieces import Changed, Pieces
from invite_admin.store.reads import REDEMPTION_KEYS, Found, Reads
from invite_admin.store.table import CodesTable
from invite_admin.store.writes import DirectWrites, FunctionWrites, Writes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from invite_admin.codes import Name, Secret
    from invite_admin.database import Session
    from invite_admin.model import Actor, Change, Terms
    from invite_admin.settings import Settings
    from invite_admin.shape import Shape

__all__ = ["REDEMPTION_KEYS", "Found", "Result", "Store", "look"]

A_CREATE = 2_000  # codes a statement
COLLISIONS = 5  # tries for codes that nobody has yet
_TAKEN = "23505"


@dataclass(frozen=True)
class Result:
    """What became of one code of a change; ``row`` as it is now, None where there is none."""

    id: str
    outcome: Outcome
    row: Row | None


def look(session: Session, settings: Settings) -> Shape:
    """Ask the catalogue, before anything else is done, what there is and what may be done."""
    return read_shape(catalogue.ask(session, settings), settings)


class Store:
    """The codes table in one open transaction.

    Args:
        session: The open transaction.
        shape: What there is.
        settings: The lock timeout and the configured actor.
        say: Told what a person should know while it happens.

    Attributes:
        reads: What can be asked.
        request_id: The audit log's name for what this command writes; None where the table has
            no audit log.
    """

    def __init__(
        self, session: Session, shape: Shape, settings: Settings, say: Callable[[str], None]
    ) -> None:
        self.session, self.shape = session, shape
        self.reads = Reads(session, shape)
        self.request_id = f"invite-{uuid.uuid4()}" if shape.by_functions else None
        self._settings, self._say = settings, say
        self._found: Actor | None = None

    @property
    def actor(self) -> Actor:
        """Who acts; looked up once.

        Raises:
            InviteError: As ``find_actor`` says.
        """
        if self._found is None:
            self._found = find_actor(self.session, self.shape, self._settings.require_actor())
        return self._found

    def require(self, needs: Iterable[Capability]) -> None:
        """Refuse before anything is sent what cannot be done here.

        Raises:
            InviteError: A need is blocked, the actor is refused, or this is a standby.
        """
        wanted = tuple(needs)
        self.shape.require(wanted)
        if any(need.writes for need in wanted):
            if self.session.server.standby:
                raise Unavailable(
                    "this server is a standby, which allows reading only; nothing was changed",
                    hint="connect to the primary (target_session_attrs=read-write in the URL)",
                )
            _ = self.actor

    def require_lookup(self, names: Iterable[Name]) -> None:
        """Refuse names that are a code's text where the hash cannot be read.

        Raises:
            Unsupported: Nobody here may read the hash; that is not the same as not found.
        """
        if any(name.kind is Kind.CODE for name in names):
            self.shape.require([Capability.LOOKUP])

    def generate(self, count: int, terms: Terms) -> list[Minted]:
        """Store ``count`` new codes, all or none of them.

        Raises:
            Failed: The database stored another number than was sent.
        """
        writes = self._writes(Capability.GENERATE)
        stored: list[Minted] = []
        while len(stored) < count:
            piece = min(A_CREATE, count - len(stored))
            stored += self._create(writes, piece, terms, {m.code for m in stored})
        return stored

    def revoke(self, rows: Sequence[Row]) -> dict[str, Result]:
        """Void those of the codes that can be; the result by id."""
        return self._change(Capability.REVOKE, rows, Outcome.REVOKED)

    def update(self, rows: Sequence[Row], change: Change) -> dict[str, Result]:
        """Change those of the codes that can be and differ; the result by id."""
        same = {row.id for row in rows if _unused(row) and change.leaves(row)}
        results = self._change(
            Capability.UPDATE, [row for row in rows if row.id not in same], Outcome.UPDATED, change
        )
        unchanged = {
            row.id: Result(row.id, Outcome.UNCHANGED, row) for row in rows if row.id in same
        }
        return results | unchanged

    def _create(
        self, writes: Writes, count: int, terms: Terms, earlier: set[Secret]
    ) -> list[Minted]:
        """Store one statement's worth; codes that are taken already are made anew."""
        for _ in range(COLLISIONS):
            codes = mint(count, apart_from=frozenset(earlier))
            try:
                with self.session.attempt():
                    ids = writes.create(codes, terms)
            except psycopg.Error as error:
                if error.sqlstate == _TAKEN and error.diag.table_name == self.shape.table:
                    continue
                raise sqlstates.translate(error) from None
            if len(ids) != count:
                raise Failed("the database stored fewer codes than were sent; nothing was stored")
            return [
                Minted(identity, code, mask(code))
                for identity, code in zip(ids, codes, strict=True)
            ]
        raise Failed("new codes keep meeting codes that exist; nothing was stored")

    def _change(
        self,
        need: Capability,
        rows: Sequence[Row],
        done: Outcome,
        change: Change | None = None,
    ) -> dict[str, Result]:
        sent = [row.id for row in rows if _unused(row)]
        changed = Changed()
        if sent:
            writes = self._writes(need)
            act = writes.revoke if change is None else (lambda ids: writes.update(ids, change))
            changed = Pieces(self.session, self._settings.timeouts.lock, self._say).run(sent, act)
        now = self.reads.by_id([row.id for row in rows])
        return {
            row.id: Result(row.id, _outcome(row.id, now, changed, done), now.get(row.id))
            for row in rows
        }

    def _writes(self, need: Capability) -> Writes:
        actor = self.actor
        role = self.shape.ways[need].role
        self.session.become(role)
        if self.request_id is not None:
            return FunctionWrites(self.session, actor, self.request_id)
        table = CodesTable(self.shape, role).table
        return DirectWrites(self.session, table, actor, self.shape.has("revoked_at"))


def _unused(row: Row) -> bool:
    return row.status in (Status.AVAILABLE, Status.EXPIRED)


def _outcome(identity: str, now: dict[str, Row], changed: Changed, done: Outcome) -> Outcome:
    """Say what became of a code, from what was done and from what it is now."""
    if identity in changed.done:
        return done
    row = now.get(identity)
    if row is None:
        return Outcome.NOT_FOUND
    if row.status is Status.REDEEMED:
        return Outcome.ALREADY_REDEEMED
    if row.status is Status.REVOKED:
        return Outcome.ALREADY_REVOKED
    if identity in changed.locked:
        return Outcome.BUSY
    raise Failed(
        "the database left unused codes as they were and gave no reason; nothing was changed"
    )
