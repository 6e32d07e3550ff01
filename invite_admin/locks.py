"""Our advisory locks, each kept to the end of the transaction that took it."""

from __future__ import annotations

import hashlib
from enum import IntEnum
from typing import TYPE_CHECKING

import psycopg
import sqlalchemy as sa

if TYPE_CHECKING:
    from invite_admin.session import Session

_TAKE_ANY = """
select number from generate_series(1, :numbers) as number
where pg_try_advisory_xact_lock(:purpose, number) limit 1
"""
# An advisory lock of two integers has objsubid 2, and the first of them is its classid.
_HELD = """
select classid::bigint as purpose, count(*) as held from pg_catalog.pg_locks
where locktype = 'advisory' and objsubid = 2 and granted
  and classid::bigint = any(cast(:purposes as bigint[]))
  and database = (select oid from pg_catalog.pg_database where datname = current_database())
group by classid
"""


class Purpose(IntEnum):
    """The first of the two integers of our advisory locks.

    The application takes locks of one bigint key only, so the two never meet.
    """

    REQUEST = 0x494E5601  # one request id of one actor
    TICKET = 0x494E5602  # at the gate for heavy work, to wait or to run
    PLACE = 0x494E5603  # behind the gate, to run
    LIMITS = 0x494E5604  # the last count against the issuing limits, to COMMIT


def take(session: Session, purpose: Purpose, key: str) -> bool:
    """Take a lock, if nobody else has it.

    Args:
        session: The transaction that keeps it.
        purpose: What it is for.
        key: What is locked; any text.
    """
    query = sa.text("select pg_try_advisory_xact_lock(:purpose, :number)")
    return bool(session.execute(query, _numbered(purpose, key)).scalar())


def wait(session: Session, purpose: Purpose, key: str) -> bool:
    """Take such a lock, waited for as long as the lock timeout; tell whether it was had."""
    query = sa.text("select pg_advisory_xact_lock(:purpose, :number)")
    try:
        with session.attempt(psycopg.errors.LockNotAvailable):
            session.raw(query, _numbered(purpose, key))
    except psycopg.errors.LockNotAvailable:
        return False
    return True


def take_any(session: Session, purpose: Purpose, numbers: int) -> int | None:
    """Take the first free one of numbered locks; never wait.

    Args:
        session: The transaction that keeps it.
        purpose: What they are for.
        numbers: How many there are.

    Returns:
        Its number, from 1; None where others have all of them.
    """
    values = {"purpose": int(purpose), "numbers": numbers}
    found = session.execute(sa.text(_TAKE_ANY), values).scalar()
    return None if found is None else int(found)


def held(session: Session, *purposes: Purpose) -> dict[Purpose, int]:
    """Count the locks that are held in this database now, by what they are for."""
    values = {"purposes": [int(purpose) for purpose in purposes]}
    found = {row.purpose: row.held for row in session.execute(sa.text(_HELD), values)}
    return {purpose: found.get(int(purpose), 0) for purpose in purposes}


def _numbered(purpose: Purpose, key: str) -> dict[str, int]:
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big", signed=True)
    return {"purpose": int(purpose), "number": number}
