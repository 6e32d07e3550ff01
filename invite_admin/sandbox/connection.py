"""Connections to the embedded server, whatever libpq's environment says."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from invite_admin.errors import Busy, Failed, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection

_CONNECT_SECONDS = 10
_CONNECTION_LOST = ("08", "57")
_BOUNDS = "set lock_timeout = '5s'; set statement_timeout = '60s'"


@contextmanager
def without_libpq_variables() -> Iterator[None]:
    """Take PG* out of the environment for a while: some, as PGHOSTADDR, win over a URL."""
    taken = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PG")}
    try:
        yield
    finally:
        os.environ.update(taken)


@contextmanager
def connected(url: str) -> Iterator[Connection[Any]]:
    """Give a connection in autocommit mode, bounded in every wait, and close it.

    Raises:
        Unavailable: The server cannot be reached, or ended the connection.
        Busy: Somebody else held a lock for more than five seconds.
        Failed: The server refused a statement; the message holds the SQLSTATE alone, because
            PostgreSQL's own may hold a code's hash.
    """
    import psycopg  # noqa: PLC0415 - heavy; only a command that runs needs it

    try:
        with without_libpq_variables():
            connection = psycopg.connect(url, autocommit=True, connect_timeout=_CONNECT_SECONDS)
        with connection:
            connection.execute(_BOUNDS)
            yield connection
    except psycopg.errors.LockNotAvailable:
        raise Busy("somebody else holds what this needs in the sandbox") from None
    except psycopg.Error as error:
        if error.sqlstate is None or error.sqlstate.startswith(_CONNECTION_LOST):
            raise Unavailable(
                "the sandbox's server does not answer",
                hint="`invite sandbox stop` ends it; the next command starts it again",
            ) from None
        raise Failed(f"the sandbox's server refused (SQLSTATE {error.sqlstate})") from None
