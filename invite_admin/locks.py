"""Our advisory locks, each kept to the end of the transaction that took it."""

from __future__ import annotations

import hashlib
from enum import IntEnum
from typing import TYPE_CHECKING

import sqlalchemy as sa

if TYPE_CHECKING:
    from invite_admin.session import Session

_TAKE = """
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


def wait(session: Session, purpose: Purpose, key: str) -> None:
    """Take a lock; wait the lock timeout.

    Args:
        session: The transaction that keeps it.
        purpose: What it is for.
        key: What is locked; any text.

    Raises:
        Busy: Somebody else keeps it longer than that.
    """
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big", signed=True)
    session.execute(
        sa.text("select pg_advisory_xact_lock(:purpose, :number)"),
        {"purpose": int(purpose), "number": number},
    )


def take(session: Session, purpose: Purpose, numbers: int = 1) -> int | None:
    """Take the first free one of numbered locks; never wait.

    Args:
        session: The transaction that keeps it.
        purpose: What they are for.
        numbers: How many there are.

    Returns:
        Its number, from 1; None where others have all of them.
    """
    values = {"purpose": int(purpose), "numbers": numbers}
    found = session.execute(sa.text(_TAKE), values).scalar()
    return None if found is None else int(found)


def held(session: Session, *purposes: Purpose) -> dict[Purpose, int]:
    """Count the locks that are held in this database now, by what they are for."""
    values = {"purposes": [int(purpose) for purpose in purposes]}
    found = {row.purpose: row.held for row in session.execute(sa.text(_HELD), values)}
    return {purpose: found.get(int(purpose), 0) for purpose in purposes}
