"""One open transaction; every statement of the tool goes through it.

Every failure leaves it as one of ours.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
import sqlalchemy as sa
from psycopg.pq import TransactionStatus
from sqlalchemy.exc import DBAPIError, InvalidRequestError

from invite_admin import errors, sqlstates
from invite_admin.copyout import UNBOUND, CopyOut
from invite_admin.patient import GRACE, NoAnswer, Patient
from invite_admin.savepoint import savepoint
from invite_admin.server import describe, lock_wait, opening

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sqlalchemy.engine import CursorResult

    from invite_admin.settings import Settings


class Session:
    """One open transaction.

    Attributes:
        server: What the server said of itself when the transaction was opened.
        lock_wait: Seconds that a lock is waited for.
    """

    def __init__(self, connection: sa.Connection, settings: Settings, *, writing: bool) -> None:
        self._connection = connection
        self._driver = _driver_of(connection)
        self._settings, self.lock_wait = settings, lock_wait(settings.timeouts)
        statement, values = opening(settings.timeouts, writing=writing)
        row = self.execute(sa.text(statement), values).one()
        self._driver.expect(settings.timeouts.statement + GRACE)
        self.server = describe(self._driver.info, row)
        self._own_role: str = row.role
        self._role: str | None = None

    def execute(self, statement: sa.Executable, values: Any = None) -> CursorResult[Any]:  # noqa: ANN401 - as SQLAlchemy takes them
        """Run one statement.

        Raises:
            InviteError: By its SQLSTATE; the transaction is then of no more use.
        """
        with told():
            return self._connection.execute(statement, values)

    def stream(self, statement: sa.Select[Any], size: int) -> Iterator[Any]:
        """Yield the rows of a query from a server-side cursor, ``size`` rows a fetch."""
        # On the statement alone: the connection would keep the options for all that follow.
        streamed = statement.execution_options(stream_results=True, yield_per=size)
        with told(), self._connection.execute(streamed) as result:
            for rows in result.partitions():
                yield from rows

    def copy_out(
        self, query: sa.Select[Any], options: str, done: Callable[[int], None]
    ) -> Iterator[bytes]:
        """Yield the rows of a query in pieces, made by the server.

        The server's own timeout would run while the reader reads, so it is off for the rest of the
        transaction: it bounds here how long the server may send nothing. A reader that is stopped
        is bounded by the server, where the network tells it.

        Args:
            query: Selects the cells.
            options: What COPY makes of them.
            done: Told how many more rows were taken.

        Raises:
            InviteError: By its SQLSTATE.
        """
        idle = 1_000 * self._settings.timeouts.idle
        self.execute(sa.text(UNBOUND), {"idle": str(idle)})
        plain = query.compile(dialect=self._connection.dialect).construct_expanded_state()
        copy = f"copy ({plain.statement}) to stdout ({options})"
        copied = CopyOut(self._driver, self._settings.timeouts.statement)
        with told():
            yield from copied.rows(copy, plain.parameters, done)

    def become(self, role: str | None) -> None:
        """Act as ``role`` from here on in this transaction; None means the login itself.

        Raises:
            Denied: No such role exists, or the login may not take it.
        """
        if role == self._role:
            return
        try:
            self._connection.execute(
                sa.text("select set_config('role', :role, true)"), {"role": role or self._own_role}
            )
        except DBAPIError as error:
            raise _role_refused(error, role) from None
        self._role = role

    @contextmanager
    def attempt(self, *expected: type[psycopg.Error]) -> Iterator[None]:
        """Run what stands inside in a savepoint, undone where it fails.

        Args:
            expected: The driver's errors that the caller tells apart himself.

        Raises:
            psycopg.Error: One of these.
            InviteError: By its SQLSTATE; any other failure.
        """
        try:
            with savepoint(self._connection):
                yield
        except DBAPIError as error:
            driver = _driver_error(error)
            if isinstance(driver, expected) and not self._driver.closed:
                raise driver from None
            raise _failure(driver) from None
        except InvalidRequestError:  # the connection was lost before, in the savepoint's own words
            raise _failure(psycopg.OperationalError()) from None

    def raw(self, statement: sa.Executable, values: Any = None) -> CursorResult[Any]:  # noqa: ANN401 - as SQLAlchemy takes them
        """Run one statement inside ``attempt``, which tells its failures apart."""
        return self._connection.execute(statement, values)

    def copy(self, statement: str, blocks: Iterable[bytes]) -> int:
        """Run one ``COPY … FROM STDIN`` inside ``attempt``; return how many rows were stored."""
        with self._driver.cursor() as cursor:
            with cursor.copy(statement.encode()) as copy:
                for block in blocks:
                    copy.write(block)
            return cursor.rowcount

    def cluster(self) -> str | None:
        """Return PostgreSQL's identifier of the server's data; None where it may not be asked."""
        try:
            with self.attempt(psycopg.Error):
                query = sa.text("select system_identifier::text from pg_control_system()")
                return str(self.raw(query).scalar())
        except psycopg.Error:
            return None

    def spoken_of(self) -> None:
        """Leave out the general word on a wait: a person was told what is waited for."""
        self._driver.hush()

    def bound(self, name: str, seconds: int) -> None:
        """Set one of the server's timeouts for the rest of the transaction."""
        self.execute(
            sa.text("select set_config(:name, :value, true)"),
            {"name": name, "value": f"{seconds}s"},
        )
        if name == "statement_timeout":
            self._driver.expect(seconds + GRACE)

    def planner(self, **settings: str) -> None:
        """Set planner settings for the rest of the transaction, where its estimates mislead it."""
        calls = ", ".join(f"set_config('{name}', :{name}, true)" for name in settings)
        self.execute(sa.text(f"select {calls}"), settings)

    def settle(self) -> None:
        """Check every deferred constraint now, so that COMMIT has nothing left to refuse."""
        self.execute(sa.text("set constraints all immediate"))

    def prove(self) -> None:
        """Find a connection that died, or a transaction that was given up, before COMMIT is sent.

        Raises:
            InviteError: Nothing was stored.
        """
        self.execute(sa.text("select 1"))
        if self._driver.info.transaction_status is not TransactionStatus.INTRANS:
            raise errors.Failed("the transaction had been given up; nothing was stored")

    def commit(self) -> None:
        """Make the changes true.

        Raises:
            InviteError: Nothing was stored.
            OutcomeUnknown: COMMIT was sent and no answer came.
        """
        self._driver.expect(self._settings.timeouts.statement, "waiting for the answer to COMMIT")
        try:
            self._connection.commit()
        except DBAPIError as error:
            raise _commit_failed(_driver_error(error)) from None


def _driver_of(connection: sa.Connection) -> Patient:
    driver = connection.connection.driver_connection
    assert isinstance(driver, Patient)  # noqa: S101 - as `database` makes them
    return driver


@contextmanager
def told() -> Iterator[None]:
    """Turn what the driver raises inside into one of our failures."""
    try:
        yield
    except DBAPIError as error:
        raise _failure(_driver_error(error)) from None
    except psycopg.Error as error:
        raise _failure(error) from None
    except InvalidRequestError:  # SQLAlchemy's word for a connection that was lost before
        raise _failure(psycopg.OperationalError()) from None


def _failure(error: psycopg.Error) -> errors.InviteError:
    """Return what a person is told of a driver's error outside COMMIT."""
    if isinstance(error, NoAnswer):
        return error.told()
    return sqlstates.translate(error)


def _driver_error(error: DBAPIError) -> psycopg.Error:
    return error.orig if isinstance(error.orig, psycopg.Error) else psycopg.OperationalError()


def _role_refused(error: DBAPIError, role: str | None) -> errors.InviteError:
    driver = _driver_error(error)
    if driver.sqlstate == "22023":
        return errors.Denied(
            f"write_role {role} does not exist on this server; nothing was changed"
        )
    if driver.sqlstate == "42501":
        return errors.Denied(
            f"this login may not take the role {role}; nothing was changed",
            hint="correct write_role, or see what `invite check` says of it",
        )
    return _failure(driver)


def _commit_failed(error: psycopg.Error) -> errors.InviteError:
    """Tell a refused COMMIT from one whose answer never came."""
    state = error.sqlstate or ""
    if state and not state.startswith(("08", "57P")):
        told_as = sqlstates.translate(error)
        return type(told_as)(f"COMMIT was refused, nothing was stored: {told_as.message}")
    return errors.OutcomeUnknown(
        "the connection was lost after COMMIT was sent; whether it was stored is not known"
    )
