"""Whether a whole table is what a change waits for, and not one of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from invite_admin.session import Session

# Also one that is only waited for stands before who comes later.
_TABLE_LOCKED = """
select exists (
    select from pg_catalog.pg_locks l
    join pg_catalog.pg_class c on c.oid = l.relation
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where l.locktype = 'relation' and l.pid <> pg_backend_pid()
      and l.database = (select oid from pg_catalog.pg_database where datname = current_database())
      and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
      and n.nspname || '.' || c.relname = any(cast(:tables as text[]))
)
"""


def table_locked(session: Session, tables: Sequence[str]) -> bool:
    """Tell whether others keep one of these tables from us, or wait for that.

    Args:
        session: The open transaction; its own locks do not count.
        tables: Their qualified names.
    """
    return bool(session.execute(sa.text(_TABLE_LOCKED), {"tables": list(tables)}).scalar())
