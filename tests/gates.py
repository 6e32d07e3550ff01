"""What the tests of the gate share: who is at it, a crowd, and work that goes on until told."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from waiting import until

from invite_admin.locks import Purpose
from invite_admin.model import PLACES, QUEUE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from databases import Connection, Database

FULL: Final = (PLACES, QUEUE)
HEAVY: Final = 101  # codes: the least that is heavy
WAITS: Final = "two heavy jobs are running; waiting for a place, at most 8 s"
_TAKE: Final = "select pg_try_advisory_xact_lock(%s, n) from generate_series(1, %s) n"
_HELD: Final = """
    select count(*) filter (where classid::bigint = %s),
           count(*) filter (where classid::bigint = %s)
    from pg_locks where locktype = 'advisory' and objsubid = 2
      and database = (select oid from pg_database where datname = current_database())
"""


def crowd(database: Database) -> tuple[int, int]:
    """Return how many heavy jobs run, and how many wait."""
    ((places, tickets),) = database.rows(_HELD, [Purpose.PLACE, Purpose.TICKET])
    return places, tickets - places


def await_crowd(database: Database, running: int, waiting: int) -> None:
    """Return once so many jobs run, and so many wait."""
    until(lambda: crowd(database) == (running, waiting), f"{running} running, {waiting} waiting")


@contextmanager
def crowded(database: Database, running: int, waiting: int) -> Iterator[Connection]:
    """Take the places and tickets of so many jobs, until the end or an earlier commit."""
    with database.connect() as connection:
        connection.execute("begin")
        connection.execute(_TAKE, [Purpose.TICKET, running + waiting])
        connection.execute(_TAKE, [Purpose.PLACE, running])
        yield connection


@contextmanager
def frozen(database: Database) -> Iterator[Connection]:
    """Let whoever writes codes wait, until the end or an earlier commit; reading goes on."""
    with database.connect() as connection:
        connection.execute("begin")
        connection.execute("lock table public.redemption_codes in exclusive mode")
        yield connection
