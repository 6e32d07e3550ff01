"""The only SQL on the codes table: what can be asked of it and what can be done to it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from invite_admin import catalogue
from invite_admin.admin import AUDIT_TABLE
from invite_admin.codes import Kind
from invite_admin.errors import BadInput
from invite_admin.judge import read_shape
from invite_admin.model import Capability, Group, Outcome, Result
from invite_admin.store import outcomes
from invite_admin.store.actors import find_accounts, find_actor
from invite_admin.store.batches import Batches
from invite_admin.store.issued import Issued
from invite_admin.store.pieces import Changed, Pieces, group_of
from invite_admin.store.reads import REDEMPTION_KEYS, Found, Reads
from invite_admin.store.requests import made_under
from invite_admin.store.steady import require_same
from invite_admin.store.table import CodesTable
from invite_admin.store.writes import DirectWrites, FunctionWrites, Writes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from invite_admin.batch import Terms
    from invite_admin.codes import Name
    from invite_admin.model import Actor, Change, Filters, Row
    from invite_admin.session import Session
    from invite_admin.settings import Settings
    from invite_admin.shape import Shape

__all__ = ["REDEMPTION_KEYS", "Batches", "Found", "Issued", "Store", "look"]

MANY = 100  # codes; a statement about more may take longer (what is heavy, the gate says)
LONG_STATEMENT = 900  # seconds
_GIVING = {"note": "give --note", "expires_at": "give --expires"}


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
        say: Told what a person should know while it happens.
        request_id: The name of what this command writes; the audit log has it where there is one.
    """

    def __init__(
        self, session: Session, shape: Shape, settings: Settings, say: Callable[[str], None]
    ) -> None:
        self.session, self.shape = session, shape
        self.reads = Reads(session, shape)
        self.request_id = f"invite-{uuid.uuid4()}"
        self._settings, self.say = settings, say
        self._found: Actor | None = None
        tables = [shape.name, *([AUDIT_TABLE] if shape.by_functions else [])]
        self._pieces = Pieces(session, session.lock_wait, say, tables)
        self._voided = 0

    @property
    def actor(self) -> Actor:
        """Who acts; looked up once.

        Raises:
            InviteError: As ``find_actor`` says.
        """
        if self._found is None:
            self._found = find_actor(self.session, self.shape, self._settings.require_actor())
        return self._found

    def accounts(self, named: Sequence[str]) -> list[Actor]:
        """Return test accounts, named by e-mail address or id.

        Raises:
            InviteError: As ``find_accounts`` says.
        """
        return find_accounts(self.session, self.shape, named)

    def require(self, needs: Iterable[Capability]) -> None:
        """Refuse before anything is sent what cannot be done here.

        Raises:
            InviteError: A need is blocked, the actor is refused, or nothing can be written here:
                on a standby, or where a setting makes transactions read-only.
        """
        wanted = tuple(needs)
        self.shape.require(wanted)
        if any(need.writes for need in wanted):
            _ = self.actor

    def settle(self) -> None:
        """Check, once all is written, deferred constraints and that no deploy came between."""
        self.session.settle()
        require_same(self.session, self._settings, self.shape)

    def require_lookup(self, names: Iterable[Name]) -> None:
        """Refuse names that are a code's text where the hash cannot be read.

        Raises:
            Unsupported: Nobody here may read the hash; that is not the same as not found.
        """
        if any(name.kind is Kind.CODE for name in names):
            self.shape.require([Capability.LOOKUP])

    def require_terms(self, terms: Terms) -> None:
        """Refuse a batch without what the table demands; an admin function may fill it itself.

        Raises:
            BadInput: It has no note, or no expiry, and the column must have a value.
        """
        left_out = {"note": terms.note is None, "expires_at": terms.expires_at is None}
        missing = [name for name in self.shape.facts.demanded if left_out.get(name)]
        if missing and not self.shape.by_functions:
            raise BadInput(
                f"{self.shape.name} wants a value in {', '.join(missing)}; nothing was changed",
                hint=" and ".join(_GIVING[name] for name in missing),
            )

    @property
    def named(self) -> str | None:
        """The request id where the audit log keeps it, else None."""
        return self.request_id if self.shape.by_functions else None

    def made_under(self, request_id: str) -> tuple[str, ...]:
        """Return the ids of the codes that were made under a request id.

        Raises:
            InviteError: As ``requests.made_under`` says.
        """
        return tuple(m.id for m in made_under(self.session, self.shape, request_id))

    def allow_time(self, count: int) -> None:
        """Let a statement about many codes take longer."""
        if count > MANY:
            self.session.bound(
                "statement_timeout", max(LONG_STATEMENT, self._settings.timeouts.statement)
            )

    def groups(self, filters: Filters) -> Iterator[Group]:
        """Yield the codes that a change by filter is about, read in one moment, in id order."""
        count = self.reads.count(filters)
        # Else it expects that only some of the rows are fetched, and seeks each one by its id.
        self.session.planner(cursor_tuple_fraction="1", enable_indexscan="off")
        yield from self.reads.groups(filters, group_of(count))
        self.session.planner(enable_indexscan="on")

    def grouped(self, masks: Mapping[str, str]) -> list[Group]:
        """Return codes that were named, by id and mask, likewise."""
        size, ordered = group_of(len(masks)), sorted(masks)
        pieces = [ordered[start : start + size] for start in range(0, len(ordered), size)]
        return [Group(ids, [masks[i] for i in ids], [None] * len(ids)) for ids in pieces]

    def expect(self, count: int) -> AbstractContextManager[None]:
        """Deal out time and savepoints for so many codes, changed inside by several calls."""
        self.allow_time(count)
        return self._pieces.dealt(count, seeking=count > MANY and not self.shape.by_functions)

    def sweep(self, group: Group) -> bool:
        """Void all codes of a group in one statement, or none of them; direct writes only.

        Once all groups are done, ``check_swept`` must say that the database did it.
        """
        if self.shape.by_functions or None in group.points:
            return False
        writes = self.writes(Capability.REVOKE)
        assert isinstance(writes, DirectWrites)  # noqa: S101 - the other way was left above
        done = self._pieces.whole(len(group.ids), lambda: writes.void(group.ids))
        self._voided += len(group.ids) if done else 0
        return done

    def check_swept(self, groups: Callable[[], Iterable[Group]]) -> None:
        """Read back what ``sweep`` did, by one count together with what ``revoke`` did.

        Args:
            groups: Returns the groups for which it returned True.

        Raises:
            Failed: The database says that it changed codes, and did not.
        """
        if self.reads.revoked_by(self.actor.id) == self._voided:
            return
        # Perhaps the database only writes another time or actor than it is told.
        if any(self.reads.revoked_among(group.ids) != len(group.ids) for group in groups()):
            raise outcomes.not_done()

    def revoke(self, rows: Sequence[Row]) -> dict[str, Result]:
        """Void those of the codes that can be; the result by id."""
        return self._change(Capability.REVOKE, rows, Outcome.REVOKED)

    def update(self, rows: Sequence[Row], change: Change) -> dict[str, Result]:
        """Change those of the codes that can be and differ; the result by id."""
        same = {row.id for row in rows if outcomes.unused(row) and change.leaves(row)}
        results = self._change(
            Capability.UPDATE, [row for row in rows if row.id not in same], Outcome.UPDATED, change
        )
        unchanged = {
            row.id: Result(row.id, Outcome.UNCHANGED, row) for row in rows if row.id in same
        }
        return results | unchanged

    def _change(
        self,
        need: Capability,
        rows: Sequence[Row],
        done: Outcome,
        change: Change | None = None,
    ) -> dict[str, Result]:
        sent = [row.id for row in rows if outcomes.unused(row)]
        changed = Changed()
        if sent:
            writes = self.writes(need)
            act = writes.revoke if change is None else (lambda ids: writes.update(ids, change))

            def still(ids: Sequence[str]) -> list[str]:
                now = self.reads.by_id(ids)
                self.writes(need)  # the one who reads may be another role
                return [i for i in ids if i in now and outcomes.unused(now[i])]

            changed = self._pieces.run(sent, act, still)
            self._voided += len(changed.done) if change is None else 0
        changed.kept = outcomes.revoked if change is None else change.leaves
        now = self.reads.by_id([row.id for row in rows])
        return {row.id: outcomes.result(row.id, now, changed, done) for row in rows}

    def writes(self, need: Capability) -> Writes:
        """Act as the role that writes, and return the way to write."""
        actor = self.actor
        role = self.shape.ways[need].role
        self.session.become(role)
        if self.shape.by_functions:
            return FunctionWrites(self.session, actor, self.request_id)
        table = CodesTable(self.shape, role).table
        return DirectWrites(self.session, table, actor, self.shape.has("revoked_at"))
