"""The few connections that the people of a test share, each wait on them bounded."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import psycopg

from invite_admin import sqlstates
from invite_admin.errors import InviteError, Unavailable
from invite_admin.settings import USERS_URL_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

POOL = 10  # connections
WAIT = 8.0  # seconds for a connection, and for one answer
GRACE = 1.0  # seconds in which the server tells of its own bound
BUSY: Final = frozenset({"53300", "55P03", "57014"})


class NoConnectionError(Exception):
    """No connection was free in time."""


class Pool:
    """At most so many connections, each made when it is first needed and kept.

    Args:
        parameters: libpq's.
        size: How many at most.

    Attributes:
        most: The most that were open at once.
    """

    def __init__(self, parameters: Mapping[str, str], size: int = POOL) -> None:
        self._parameters, self.size = dict(parameters), size
        self._free = threading.Semaphore(size)
        self._idle: list[psycopg.Connection[Any]] = []
        self._made: list[psycopg.Connection[Any]] = []
        self._counting, self.most = threading.Lock(), 0

    @contextmanager
    def connection(self, seconds: float = WAIT) -> Iterator[psycopg.Connection[Any]]:
        """Give a connection in autocommit mode, and take it back.

        Raises:
            NoConnectionError: None was free in time, or the server has none.
            psycopg.Error: The server cannot be reached, or refuses the login.
        """
        end = time.monotonic() + seconds
        if not self._free.acquire(timeout=max(seconds, 0)):
            raise NoConnectionError
        made = None
        try:
            with suppress(IndexError):
                made = self._idle.pop()
            made = made or self._counted(self._connect(end - time.monotonic()))
            yield made
        finally:
            if made is not None and not made.closed:
                self._idle.append(made)
            self._free.release()

    @contextmanager
    def told(self) -> Iterator[psycopg.Connection[Any]]:
        """Give a connection likewise, for what is asked before any code is made.

        Raises:
            InviteError: The server cannot be reached, or refuses.
        """
        try:
            with self.connection() as connection, bounded(connection, WAIT):
                yield connection
        except NoConnectionError:
            raise Unavailable(
                f"{USERS_URL_VARIABLE}: no connection within {WAIT:g} s; nothing was changed"
            ) from None
        except (psycopg.Error, ValueError, OSError) as error:
            raise named(error) from None

    def warm(self, count: int) -> None:
        """Make so many connections beforehand, as an application has them; failures come later."""
        with suppress(NoConnectionError, psycopg.Error), ExitStack() as stack:
            for _ in range(count):
                stack.enter_context(self.connection())

    def close(self) -> None:
        """Close the connections that are not in use; the next one who needs one makes it anew."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _connect(self, seconds: float) -> psycopg.Connection[Any]:
        bound = {**self._parameters, "connect_timeout": str(max(2, int(seconds)))}
        try:
            return psycopg.connect(**bound, autocommit=True, prepare_threshold=None)  # type: ignore[arg-type]
        except psycopg.errors.ConnectionTimeout:
            raise NoConnectionError from None
        except psycopg.OperationalError as error:
            if error.sqlstate in BUSY or re.search(sqlstates.FULL, str(error)):
                raise NoConnectionError from None
            raise

    def _counted(self, new: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
        with self._counting:
            self._made = [*(made for made in self._made if not made.closed), new]
            self.most = max(self.most, len(self._made))
        return new


@contextmanager
def bounded(connection: psycopg.Connection[Any], seconds: float) -> Iterator[threading.Event]:
    """Hang up where nothing is answered: a pooler may hold a statement that no server has seen.

    Yields what is set when that happens, a little later than the server's own bound.
    """
    hung = threading.Event()

    def hang_up() -> None:
        hung.set()
        with (
            suppress(psycopg.Error, OSError),  # where the server was the first to hang up
            socket.socket(fileno=os.dup(connection.fileno())) as line,
        ):
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds + GRACE, hang_up)
    timer.start()
    try:
        yield hung
    finally:
        timer.cancel()


def named(error: Exception) -> InviteError:
    """Return what a person is told of a failure on the users' connections."""
    if isinstance(error, psycopg.Error) and error.sqlstate:
        told = sqlstates.translate(error)
    else:
        told = sqlstates.translate_connecting(error)
    return type(told)(f"{USERS_URL_VARIABLE}: {told.message}", hint=told.hint)
