"""Reads what COPY TO STDOUT sends, with a bound on every wait for the server."""

from __future__ import annotations

import selectors
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus

from invite_admin.bounds import SILENT
from invite_admin.patient import NoAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from psycopg.pq.abc import PGresult

    from invite_admin.patient import Patient

A_PIECE = 65_536  # bytes gathered before they are passed on
# Compiling the many short expressions of an export costs more than it saves.
UNBOUND = """
select set_config('statement_timeout', '0', true), set_config('jit', 'off', true),
       set_config('tcp_user_timeout', :idle, true)
"""


class CopyOut:
    """One COPY TO STDOUT on a connection.

    psycopg's own reader holds the connection's lock between two rows, and reads the rest before
    it lets go; a command that stops half-way must disconnect at once.

    Args:
        driver: The connection; where not every row was read, all that is left is to close it.
        patience: Seconds in which the server must send something.
    """

    def __init__(self, driver: Patient, patience: float) -> None:
        self._connection, self._driver = driver.pgconn, driver
        self._cursor = psycopg.ClientCursor(driver)
        self._patience = patience
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._connection.socket, selectors.EVENT_READ)

    def rows(
        self, copy: str, values: Mapping[str, Any], done: Callable[[int], None]
    ) -> Iterator[bytes]:
        """Yield the rows as they come, in pieces of whole rows.

        Args:
            copy: A COPY of a SELECT with psycopg's placeholders.
            values: Its values; psycopg quotes them into the text, for COPY takes none.
            done: Told after each piece how many rows it had.

        Raises:
            psycopg.Error: The server refused or failed; NoAnswer where it sent nothing for too
                long.
        """
        with self._selector:
            self._connection.send_query(self._cursor.mogrify(copy, values).encode())
            self._flush()
            self._expect(ExecStatus.COPY_OUT)
            yield from self._pieces(done)
            self._expect(ExecStatus.COMMAND_OK)
            while self._connection.get_result():  # until the connection takes statements again
                pass

    def _pieces(self, done: Callable[[int], None]) -> Iterator[bytes]:
        piece, count = bytearray(), 0
        while row := self._row():
            piece += row
            count += 1
            if len(piece) >= A_PIECE:
                yield bytes(piece)
                done(count)
                piece, count = bytearray(), 0
        yield bytes(piece)
        done(count)

    def _row(self) -> memoryview | None:
        """Return the next row, None after the last."""
        while True:
            size, row = self._connection.get_copy_data(1)
            if size:
                return row if size > 0 else None
            self._wait()

    def _expect(self, status: ExecStatus) -> None:
        """Wait for a result of this status, which a COPY has at its begin and at its end."""
        while self._connection.is_busy():
            self._wait()
        result = self._connection.get_result()
        if result is None or result.status != status:
            raise _failure(result)

    def _flush(self) -> None:
        """Send the whole statement."""
        either = selectors.EVENT_READ | selectors.EVENT_WRITE
        self._selector.modify(self._connection.socket, either)
        while self._connection.flush():
            self._wait()
        self._selector.modify(self._connection.socket, selectors.EVENT_READ)

    def _wait(self) -> None:
        """Wait until something was received, or can be sent."""
        moment = min(SILENT, self._patience)
        if not self._selector.select(moment):
            self._driver.tell(self._patience)
            if not self._selector.select(self._patience - moment):
                raise NoAnswer(self._patience)
        self._connection.consume_input()


def _failure(result: PGresult | None) -> psycopg.Error:
    return error_from_result(result) if result else psycopg.OperationalError()
