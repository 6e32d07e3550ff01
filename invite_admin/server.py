"""The first statement of every transaction: it sets the bounds, and asks the server who it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    import psycopg

    from invite_admin.settings import Timeouts

_OPENING = """
select {settings}, now() as now, clock_timestamp() as clock, current_database()::text as database,
       session_user::text as login, pg_backend_pid() as backend,
       pg_is_in_recovery() as standby,
       current_setting('default_transaction_read_only') = 'on' as read_only,
       current_setting('server_version') as version,
       current_setting('role') as role
"""


@dataclass(frozen=True)
class Server:
    """The server a session talks to.

    Attributes:
        address: ``host:port``, or ``socket FOLDER``; no user and no password.
        database: The database's name.
        login: The role that logged in.
        version: The server's version, such as ``15.18``.
        number: The same as a number, such as 150018.
        standby: Whether it is a standby, on which nothing can be written.
        read_only: Whether transactions are read-only by a setting of login, database or server.
        pooled: Whether a pooler stands between.
        now: The transaction's time, by the server's clock.
        clock: The wall-clock time when the transaction was opened, by the server's clock.
    """

    address: str
    database: str
    login: str
    version: str
    number: int
    standby: bool
    read_only: bool
    pooled: bool
    now: datetime
    clock: datetime

    @property
    def barred(self) -> tuple[str, ...]:
        """What keeps it, or every session of this login, from writing; empty where nothing does."""
        return ("standby",) * self.standby + ("read_only",) * self.read_only


def lock_wait(timeouts: Timeouts) -> float:
    """Return how many seconds a lock is waited for: its own bound is met before a statement's."""
    return min(timeouts.lock, timeouts.statement - 0.5)


def opening(timeouts: Timeouts, *, writing: bool) -> tuple[str, dict[str, str]]:
    """Return the one statement that sets all there is to set, and its values."""
    values = {
        "lock_timeout": f"{lock_wait(timeouts) * 1_000:.0f}ms",
        "statement_timeout": f"{timeouts.statement}s",
        "idle_in_transaction_session_timeout": f"{timeouts.idle}s",
        "timezone": "UTC",
        "datestyle": "ISO, MDY",
        "row_security": "on",
        "quote_all_identifiers": "off",  # the catalogue's names are compared as plain text
        # A command that was killed must not go on waiting in front of a deploy's ALTER.
        "client_connection_check_interval": "1s",
    }
    if not writing:
        values["transaction_read_only"] = "on"
    calls = ", ".join(f"set_config('{name}', :{name}, true)" for name in values)
    return _OPENING.format(settings=calls), values


def describe(info: psycopg.ConnectionInfo, row: Any) -> Server:  # noqa: ANN401 - a row of SQLAlchemy's
    """Describe the server from the answer to ``opening``."""
    host = info.host or info.hostaddr
    address = f"socket {host}" if host.startswith("/") else f"{host}:{info.port}"
    return Server(
        address=address,
        database=row.database,
        login=row.login,
        version=row.version.split()[0],
        number=info.server_version,
        standby=row.standby,
        read_only=row.read_only,
        pooled=row.backend != info.backend_pid,
        now=row.now,
        clock=row.clock,
    )
