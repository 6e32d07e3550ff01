"""A savepoint of which nothing is left once its block has ended."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import DBAPIError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import sqlalchemy as sa

_NAME: Final = "attempt"  # the innermost of a name is the one that is meant


@contextmanager
def savepoint(connection: sa.Connection) -> Iterator[None]:
    """Undo what stands inside where it fails.

    SQLAlchemy's own savepoint stays open after a rollback, and the next one nests in it: after some
    thousand failures each write holds a lock for all of them, and the server's table of locks is
    full, for everybody.

    Raises:
        DBAPIError: The savepoint cannot be set.
        InvalidRequestError: The connection was lost before.
    """
    connection.exec_driver_sql(f"savepoint {_NAME}")
    try:
        yield
    except BaseException:
        with suppress(DBAPIError, InvalidRequestError):  # the first failure is what is told
            undone = f"rollback to savepoint {_NAME}; release savepoint {_NAME}"
            connection.exec_driver_sql(undone)
        raise
    connection.exec_driver_sql(f"release savepoint {_NAME}")
