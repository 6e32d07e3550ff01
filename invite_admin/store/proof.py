"""Reads a batch back before it is handed over: a trigger may have stored other values.

The server counts and sums; no code is sent for it. All rows of a batch, and no others, have the
time of its transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from invite_admin.codes import digests
from invite_admin.model import Capability
from invite_admin.store.bulk import SUMMED
from invite_admin.store.table import CodesTable, quoted

if TYPE_CHECKING:
    from invite_admin.model import Batch
    from invite_admin.store import Store

_COUNT = """
select count(*) from {table}
where created_at = now() and credits = :points
  and expires_at is not distinct from cast(:expires_at as timestamptz)
  and note is not distinct from cast(:note as text)
"""
_SUM = f"""
select coalesce(sum(('x' || left(code_hash, {SUMMED}))::bit({4 * SUMMED})::bigint), 0)
from {{table}} where created_at = now()
"""


def proved(store: Store, batch: Batch, checksum: int) -> bool:
    """Tell whether a batch is in the table as it was sent; what nobody may read is believed.

    Args:
        store: The table in the transaction that made the batch.
        batch: The batch.
        checksum: Of the hashes that were sent.
    """
    ways = store.shape.ways
    seen = ways[Capability.READ]
    if seen.available and _counted(store, batch, seen.role) != batch.count:
        return False
    seen = ways[Capability.LOOKUP]
    if not seen.available:
        return True
    if "created_at" not in store.shape.readable(seen.role):
        return there(store, batch) == batch.count
    store.session.become(seen.role)
    query = sa.text(_SUM.format(table=_name(store, seen.role)))
    return bool(store.session.execute(query).scalar() == checksum)


def there(store: Store, batch: Batch) -> int:
    """Count those codes of a batch that the table has, by their hashes."""
    return sum(len(store.reads.taken(digests(piece.codes))) for piece in batch.codes)


def _counted(store: Store, batch: Batch, role: str | None) -> int:
    store.session.become(role)
    terms = batch.terms
    values = {"points": terms.points, "expires_at": terms.expires_at, "note": terms.note}
    query = sa.text(_COUNT.format(table=_name(store, role)))
    return int(store.session.execute(query, values).scalar_one())


def _name(store: Store, role: str | None) -> str:
    return quoted(CodesTable(store.shape, role).table)
