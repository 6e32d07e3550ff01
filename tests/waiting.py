"""Bounded waits of the tests: for a line of a process, for a state of the server."""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING, Final

import pooler

if TYPE_CHECKING:
    from collections.abc import Callable

    from databases import Database

LONGEST: Final = 30.0
"""Seconds after which what is awaited is taken to never come, and the test fails."""
_PAUSE: Final = 0.005  # seconds between two looks at the server, which tells nobody by itself

_OTHERS: Final = """
    select pid, coalesce(wait_event_type = 'Lock', false) as waits from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and usename = %s
      and backend_type = 'client backend'
"""
_IN_USE: Final = " and state <> 'idle'" if pooler.wanted() else ""
"""A pooler keeps its connections; what the tool leaves is a transaction, or nothing."""


def until(holds: Callable[[], bool], what: str) -> None:
    """Return once this holds; fail the test where it never does."""
    end = time.monotonic() + LONGEST
    while not holds():
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(_PAUSE)


def read_until(descriptor: int, mark: bytes) -> bytes:
    """Read a stream until this stands in it, and return all that was read."""
    end, found = time.monotonic() + LONGEST, b""
    while mark not in found:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
        piece = os.read(descriptor, 65_536) if ready else b""
        assert piece, f"never came: {mark!r}; what came: {found!r}"
        found += piece
    return found


def connected(database: Database, user: str = "admin_runtime") -> list[int]:
    """Return the server processes that serve this user on this database."""
    return [row[0] for row in database.rows(_OTHERS + _IN_USE, [user])]


def await_blocked(database: Database, user: str = "admin_runtime") -> None:
    """Return once every session of this user, one at least, waits for a lock."""
    query = f"select count(*), count(*) filter (where waits) from ({_OTHERS}{_IN_USE}) as others"

    def waits() -> bool:
        ((all_of_them, blocked),) = database.rows(query, [user])
        return bool(all_of_them and all_of_them == blocked)

    until(waits, "a session that waits for a lock")


def await_gone(database: Database, user: str = "admin_runtime") -> None:
    """Return once none of this user's sessions is left."""
    until(lambda: not connected(database, user), "the end of the session")
