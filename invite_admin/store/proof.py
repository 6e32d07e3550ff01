"""Reads a batch back before it is handed over: a trigger may have stored other values.

The server counts and sums; no code is sent for it. All rows of a batch, and no others, have the
time of its transaction: ``created_at`` is ``now()`` by default (migrations_readonly/1_base.sql).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import sqlalchemy as sa

from invite_admin.codes import digests
from invite_admin.model import Capability, Filters, Status
from invite_admin.store.bulk import SUMMED
from invite_admin.store.table import CodesTable, quoted

if TYPE_CHECKING:
    from invite_admin.batch import Batch
    from invite_admin.store import Store

_COUNT = """
count(*) filter (
    where credits = :points and expires_at is not distinct from cast(:expires_at as timestamptz)
      and note is not distinct from cast(:note as text)
)
"""
_SUM = f"coalesce(sum(('x' || left(code_hash, {SUMMED}))::bit({4 * SUMMED})::bigint), 0)"


def proved(store: Store, batch: Batch, checksum: int) -> bool:
    """Tell whether a batch is in the table as it was sent; what nobody may read is believed.

    Args:
        store: The table in the transaction that made the batch.
        batch: The batch.
        checksum: Of the hashes that were sent.
    """
    # Another batch may share its microsecond; then each code is asked.
    return _summed(store, batch, checksum) or _each(store, batch)


def _each(store: Store, batch: Batch) -> bool:
    ways, count = store.shape.ways, batch.count
    if ways[Capability.READ].available:
        now, changed = standing(store, batch)
        if (now.total(), changed) != (count, 0):
            return False
    return not ways[Capability.LOOKUP].available or there(store, batch) == (count, count)


def _summed(store: Store, batch: Batch, checksum: int) -> bool:
    """Ask for counts and sums over the rows that have this transaction's time."""
    expected: dict[str | None, dict[str, int]] = {}
    seen, looked_up = (store.shape.ways[need] for need in (Capability.READ, Capability.LOOKUP))
    if seen.available:
        expected[seen.role] = {_COUNT: batch.count}
    timed = "created_at" in store.shape.readable(looked_up.role)
    if looked_up.available and timed:
        expected.setdefault(looked_up.role, {})[_SUM] = checksum
    if looked_up.available and not timed and there(store, batch) != (batch.count, batch.count):
        return False
    return all(
        _asked(store, batch, role, list(parts)) == list(parts.values())
        for role, parts in expected.items()
    )


def _asked(store: Store, batch: Batch, role: str | None, parts: list[str]) -> list[int]:
    """Ask for some numbers about the rows of this transaction, in one statement."""
    store.session.become(role)
    terms, table = batch.terms, quoted(CodesTable(store.shape, role).table)
    query = sa.text(f"select {', '.join(parts)} from {table} where created_at = now()")
    wanted = {"points": terms.points, "expires_at": terms.expires_at, "note": terms.note}
    return list(store.session.execute(query, wanted if _COUNT in parts else {}).one())


def standing(store: Store, batch: Batch) -> tuple[Counter[Status], int]:
    """Count a stored batch by what its codes are now, and those that have other terms now."""
    role = store.shape.ways[Capability.READ].role
    table, terms = CodesTable(store.shape, role), batch.terms
    differs = sa.or_(
        table.c.created_at != batch.created_at,
        table.c.credits != terms.points,
        table.c.expires_at.is_distinct_from(terms.expires_at),
        table.c.note.is_distinct_from(terms.note),
    )
    query = sa.select(
        table.status().label("status"),
        sa.func.count().label("codes"),
        sa.func.count().filter(differs).label("different"),
    ).group_by(table.status())
    store.session.become(role)
    now: Counter[Status] = Counter()
    changed = 0
    for piece in batch.codes:
        chosen = table.where(Filters(ids=tuple(piece.ids)))
        for row in store.session.execute(query.where(*chosen)):
            now[Status(row.status)] += row.codes
            changed += row.different
    return now, changed


def there(store: Store, batch: Batch) -> tuple[int, int]:
    """Count those codes of a batch that the table has, by their hashes, and those with their ids.

    Where a copy of its file was resumed, the codes have other ids.
    """
    found = own = 0
    for piece in batch.codes:
        hashes = digests(piece.codes)
        ids = store.reads.ids_of_hashes(hashes)
        found += len(ids)
        own += sum(ids.get(h) == i for h, i in zip(hashes, piece.ids, strict=True))
    return found, own
