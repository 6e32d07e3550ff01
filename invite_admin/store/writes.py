"""The two ways to write: straight into the table, or through the admin functions.

Each method changes one set of codes, in a savepoint of its caller, by as few statements as go.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import sqlalchemy as sa

from invite_admin import catalogue
from invite_admin.codes import digests, masks
from invite_admin.errors import Failed
from invite_admin.store.bulk import Created, Rows, checksum, copied, new_ids
from invite_admin.store.table import array_of, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from invite_admin.batch import Terms
    from invite_admin.codes import Secrets
    from invite_admin.model import Actor, Change
    from invite_admin.session import Session

CODES_A_CALL = 100  # the create function refuses more
_VOIDED = "revoked_at = now(), revoked_by = cast(:actor as uuid)"
FEW = 500  # codes up to which one INSERT takes them
A_CREATE = 2_000  # codes a statement
A_COPY = 50_000  # codes a COPY


class Writes(Protocol):
    """What can be done to codes, whichever way it goes."""

    @property
    def a_piece(self) -> int:
        """How many codes ``create`` is best given at once, where there are that many."""

    def create(self, codes: Secrets, terms: Terms, advance: Callable[[int], None]) -> Created:
        """Store codes; ``advance`` is told how many were sent."""

    def without_copy(self) -> Writes | None:
        """Return the same without COPY; None where it uses none."""

    def revoke(self, ids: Sequence[str]) -> set[str]:
        """Void codes; return the ids of those that were."""

    def update(self, ids: Sequence[str], change: Change) -> set[str]:
        """Change codes; return the ids of those that were."""


@dataclass(frozen=True)
class DirectWrites:
    """Writes into the table itself, for steps 1 and 2.

    Attributes:
        session: The open transaction, already in the role that writes.
        table: The table.
        actor: Becomes ``created_by`` and ``revoked_by``.
        revocable: Whether the table has ``revoked_at``.
        copies: Whether many codes go by COPY, which row-level security refuses.
    """

    session: Session
    table: sa.TableClause
    actor: Actor
    revocable: bool
    copies: bool = True

    @property
    def a_piece(self) -> int:
        """How many codes ``create`` is best given at once, where there are that many."""
        return A_COPY if self.copies else A_CREATE

    def without_copy(self) -> DirectWrites | None:
        """Return the same without COPY; None where it uses none."""
        return replace(self, copies=False) if self.copies else None

    def create(self, codes: Secrets, terms: Terms, advance: Callable[[int], None]) -> Created:
        """Store codes under ids made here, so that they pair by position."""
        if self.copies and len(codes) > FEW:
            rows = Rows(codes, terms, self.actor.id, advance)
            return copied(self.session, quoted(self.table), rows)
        ids, hashes = new_ids(len(codes)), digests(codes)
        statement = sa.text(
            f"""insert into {quoted(self.table)}
                    (id, code_hash, code_mask, credits, expires_at, note, created_by)
                select id, hash, mask, :points, :expires_at, :note, cast(:actor as uuid)
                from unnest(cast(:ids as uuid[]), cast(:hashes as text[]), cast(:masks as text[]))
                     as new (id, hash, mask)"""
        )
        result = self.session.raw(
            statement,
            {
                "ids": ids,
                "hashes": list(hashes),
                "masks": masks(codes),
                "points": terms.points,
                "expires_at": terms.expires_at,
                "note": terms.note,
                "actor": self.actor.id,
            },
        )
        advance(len(codes))
        return Created(ids if result.rowcount == len(ids) else [], checksum(hashes))

    def revoke(self, ids: Sequence[str]) -> set[str]:
        """Void those of the codes that are neither redeemed nor revoked."""
        return self._set(_VOIDED, ids, {"actor": self.actor.id})

    def update(self, ids: Sequence[str], change: Change) -> set[str]:
        """Change those of the codes that are neither redeemed nor revoked."""
        parts = [("expires_at", change.set_expires), ("note", change.set_note)]
        assignments = ", ".join(f"{name} = :{name}" for name, wanted in parts if wanted)
        values = {name: getattr(change, name) for name, wanted in parts if wanted}
        return self._set(assignments, ids, values)

    def void(self, ids: Sequence[str]) -> int:
        """Void those of the codes that are neither redeemed nor revoked; return how many."""
        return self.session.raw(
            self._statement(_VOIDED), {"ids": array_of(ids), "actor": self.actor.id}
        ).rowcount

    def _set(self, assignments: str, ids: Sequence[str], values: dict[str, Any]) -> set[str]:
        statement = self._statement(assignments, "returning c.id::text")
        return set(self.session.raw(statement, {"ids": array_of(ids), **values}).scalars())

    def _statement(self, assignments: str, rest: str = "") -> sa.TextClause:
        """Change what is unused; whoever runs it waits for no lock, or for a single code's."""
        unused = "c.redeemed_at is null" + (" and c.revoked_at is null" if self.revocable else "")
        return sa.text(
            f"""update {quoted(self.table)} c set {assignments}
                where c.id = any(cast(:ids as uuid[])) and {unused} {rest}"""
        )


@dataclass(frozen=True)
class FunctionWrites:
    """Writes through the admin functions, which keep the audit log, for step 3.

    Attributes:
        session: The open transaction, already in the role that may call them.
        actor: Who acts.
        request_id: The audit log's name for this command.
    """

    session: Session
    actor: Actor
    request_id: str
    a_piece = A_CREATE

    def without_copy(self) -> None:
        """Return None: no function uses COPY."""

    def create(self, codes: Secrets, terms: Terms, advance: Callable[[int], None]) -> Created:
        """Store codes, ``A_CREATE`` a statement, however many go into one savepoint."""
        ids: list[str] = []
        total = 0
        for start in range(0, len(codes), A_CREATE):
            some = codes[start : start + A_CREATE]
            hashes = digests(some)
            ids += self._created(some, hashes, terms)
            total += checksum(hashes)
            advance(len(some))
        return Created(ids, total)

    def _created(self, codes: Sequence[str], hashes: Sequence[str], terms: Terms) -> list[str]:
        """Store codes, at most ``CODES_A_CALL`` a call; the function answers in input order."""
        starts = range(0, len(codes), CODES_A_CALL)
        each = (slice(start, start + CODES_A_CALL) for start in starts)
        calls = ",".join(_call(codes[some], hashes[some], terms) for some in each)
        items = "jsonb_array_elements(cast(:calls as jsonb))"
        statement = self._over(items, catalogue.CREATE, "each.item")
        rows = self.session.raw(statement, {"calls": f"[{calls}]", **self._who()}).all()
        if [row.code_mask for row in rows] != masks(codes):
            raise Failed(
                "the database answered with other codes than were sent; nothing was stored"
            )
        return [row.id for row in rows]

    def revoke(self, ids: Sequence[str]) -> set[str]:
        """Void codes; the first that cannot be fails the statement."""
        return self._each(catalogue.REVOKE, "each.item", ids, {})

    def update(self, ids: Sequence[str], change: Change) -> set[str]:
        """Change codes; the first that cannot be fails the statement."""
        values = {
            "set_note": change.set_note,
            "note": change.note,
            "set_expires": change.set_expires,
            "expires_at": change.expires_at,
        }
        arguments = (
            "each.item, cast(:set_note as boolean), cast(:note as text), "
            "cast(:set_expires as boolean), cast(:expires_at as timestamptz)"
        )
        return self._each(catalogue.UPDATE, arguments, ids, values)

    def _each(
        self, function: str, arguments: str, ids: Sequence[str], values: dict[str, Any]
    ) -> set[str]:
        statement = self._over("unnest(cast(:ids as uuid[]))", function, arguments)
        rows = self.session.raw(statement, {"ids": array_of(ids), **values, **self._who()})
        answered = [row.id for row in rows]
        if sorted(answered) != sorted(ids):
            raise Failed(
                "the database answered with other codes than were sent; nothing was changed"
            )
        return set(answered)

    def _over(self, items: str, function: str, arguments: str) -> sa.TextClause:
        """Call a function once an item of a set, in order, in one statement."""
        return sa.text(
            f"""select f.id::text as id, f.code_mask
                from {items} with ordinality as each (item, number)
                cross join lateral public.{function}(
                    cast(:actor_id as uuid), cast(:actor_email as text),
                    cast(:actor_role as text), cast(:request_id as text), {arguments}
                ) with ordinality as f
                order by each.number, f.ordinality"""
        )

    def _who(self) -> dict[str, str]:
        return {
            "actor_id": self.actor.id,
            "actor_email": self.actor.email,
            "actor_role": self.actor.role,
            "request_id": self.request_id,
        }


def _call(codes: Sequence[str], hashes: Sequence[str], terms: Terms) -> str:
    """Return the codes of one call as the create function takes them."""
    expires_at = terms.expires_at.isoformat() if terms.expires_at else None
    shared = {"credits": terms.points, "expiresAt": expires_at, "note": terms.note}
    return json.dumps(
        [
            {"codeHash": found, "codeMask": shown, **shared}
            for shown, found in zip(masks(codes), hashes, strict=True)
        ]
    )
