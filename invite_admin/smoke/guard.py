"""The operator's own connection during a test: it keeps the place at the gate, and looks around."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import psycopg
import sqlalchemy as sa

from invite_admin.database import Database
from invite_admin.errors import BadInput
from invite_admin.locks import Purpose
from invite_admin.settings import URL_VARIABLE, USERS_URL_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from invite_admin.run import Run
    from invite_admin.session import Session
    from invite_admin.smoke.pool import Pool

IDLE = 300  # seconds; between two crowds nothing is asked on this connection
_SELF: Final = """
select pg_backend_pid() as pid, d.oid::bigint as database,
       extract(epoch from pg_postmaster_start_time())::text as started,
       current_setting('max_connections')::integer as max_connections
from pg_catalog.pg_database d where d.datname = current_database()
"""
# An open transaction holds the lock of its virtual id, which every login may see; its state and
# its age it may not. What was seen once in a transaction is thrown away before the next look.
_LOOK: Final = """
select count(*) as connections,
       count(*) filter (where exists (select from pg_catalog.pg_locks l
                                      where l.pid = a.pid and not l.granted)) as lock_waits,
       count(*) filter (where exists (select from pg_catalog.pg_locks l
                                      where l.pid = a.pid and l.locktype = 'virtualxid'
                                        and l.granted)) as transactions
from pg_catalog.pg_stat_activity a
where a.datname = current_database() and a.pid <> pg_backend_pid()
"""
_SEEN: Final = """
select exists (
    select from pg_catalog.pg_locks l
    join pg_catalog.pg_database d on d.oid = l.database and d.datname = current_database()
    where l.locktype = 'advisory' and l.objsubid = 2 and l.granted
      and l.classid::bigint = %s and l.objid::bigint = %s and l.pid = %s
      and d.oid::bigint = %s and extract(epoch from pg_postmaster_start_time())::text = %s)
"""


@dataclass(frozen=True)
class Sample:
    """What the server was doing at one moment.

    Attributes:
        tier: How many people were redeeming.
        second: Seconds since they began.
        connections: Connections to this database, besides the one that looks.
        lock_waits: Those that waited for a lock.
        transactions: Those with an open transaction.
    """

    tier: int
    second: float
    connections: int
    lock_waits: int
    transactions: int


class Guard:
    """Keeps the ticket and the place of a test in one open transaction, which locks no table.

    Args:
        session: The transaction.
        ticket: The ticket's number.

    Attributes:
        samples: What was seen.
        not_sampled: Why nothing more was; None where it was.
        max_connections: As the server has it.
    """

    def __init__(self, session: Session, ticket: int) -> None:
        self._session, self._ticket = session, ticket
        self._self = session.execute(sa.text(_SELF)).one()
        self.max_connections: int = self._self.max_connections
        self.samples: list[Sample] = []
        self.not_sampled: str | None = None
        self._began = time.monotonic()

    def prove(self, pool: Pool) -> None:
        """Find the ticket from the users' connection.

        Raises:
            BadInput: It is not seen there: the two URLs lead to two databases.
            InviteError: The users cannot connect.
        """
        own = self._self
        values = (int(Purpose.TICKET), self._ticket, own.pid, own.database, own.started)
        with pool.told() as connection:
            seen = connection.execute(_SEEN, values).fetchone()
        if not seen or not seen[0]:
            raise BadInput(
                f"{URL_VARIABLE} and {USERS_URL_VARIABLE} do not lead to one database; "
                "no code was made",
                hint="both must name the same server, its primary, and the same database",
            )

    def begin(self) -> None:
        """Count the seconds from here on."""
        self._began = time.monotonic()

    def sample(self, tier: int) -> None:
        """Look once, where this login may."""
        if self.not_sampled is not None:
            return
        second = round(time.monotonic() - self._began, 3)
        try:
            with self._session.attempt(psycopg.Error):
                self._session.raw(sa.text("select pg_stat_clear_snapshot()"))
                found = self._session.raw(sa.text(_LOOK)).one()
        except psycopg.Error as error:
            self.not_sampled = f"the server refused it to this login (SQLSTATE {error.sqlstate})"
            return
        self.samples.append(
            Sample(tier, second, found.connections, found.lock_waits, found.transactions)
        )


@contextmanager
def guarding(run: Run) -> Iterator[Guard]:
    """Enter the gate, and stay inside until the block ends.

    Raises:
        Busy: Too many heavy jobs are there already.
    """
    database = Database(run.settings, lambda _line: None)
    with database.transaction(writing=False, patient=False) as session:
        session.bound("idle_in_transaction_session_timeout", IDLE)
        ticket = run.gate.enter(session)
        yield Guard(session, ticket)
