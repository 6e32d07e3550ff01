"""Opens the one transaction of a command, with its role and timeouts, and ends it.

Every statement of the tool goes through a ``Session``; every failure leaves it as one of ours.
"""

from __future__ import annotations

import logging
import warnings
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import psycopg
import sqlalchemy as sa
from psycopg.adapt import Loader
from psycopg.pq import TransactionStatus
from psycopg.types.string import TextLoader
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from invite_admin import conninfo, sqlstates
from invite_admin.patient import Patient
from invite_admin.retries import CONNECTS, retried
from invite_admin.session import Session, told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from psycopg.abc import AdaptContext, Buffer

    from invite_admin.settings import Settings


_QUIET = "invite"


class _QuietDialect(PGDialect_psycopg):
    """psycopg's, but it asks the server nothing: what it would learn is for reflection and DDL."""

    supports_statement_cache = True

    def initialize(self, connection: sa.Connection) -> None:
        """Ask nothing."""


# A library's own words on a lost connection would go to standard error, traceback and all.
logging.getLogger().addHandler(logging.NullHandler())
registry.register(f"postgresql.{_QUIET}", __name__, _QuietDialect.__name__)


class Database:
    """Where a command acts; connects anew for each transaction.

    Args:
        settings: Where to, as whom, with which timeouts.
        say: Told what a person should know about the connection.

    Raises:
        BadInput: No database is configured, or the URL cannot be read.
    """

    def __init__(self, settings: Settings, say: Callable[[str], None]) -> None:
        self.settings = settings
        self._say = say
        parameters = conninfo.parameters(settings, say)
        self._connects = CONNECTS * int(parameters["connect_timeout"])
        self._engine = sa.create_engine(
            f"postgresql+{_QUIET}://",
            creator=_creator(parameters, say),
            poolclass=NullPool,
            isolation_level="READ COMMITTED",
            use_native_hstore=False,
            hide_parameters=True,
        )

    def _connect(self, *, patient: bool) -> sa.Connection:
        """Connect; a server that is starting or failing over is waited for, within bounds."""

        def once() -> sa.Connection:
            with told():
                return self._engine.connect()

        if not patient:
            return once()
        return retried(once, self._say, self._connects)

    @contextmanager
    def transaction(self, *, writing: bool, patient: bool = True) -> Iterator[Session]:
        """Connect and open one transaction; it is rolled back unless ``commit`` was called.

        Args:
            writing: False makes the server refuse every write.
            patient: False tries to connect once only.

        Raises:
            InviteError: The server cannot be reached, or refuses the login.
        """
        connection = self._connect(patient=patient)
        driver = connection.connection.driver_connection
        try:
            yield Session(connection, self.settings, writing=writing)
        finally:
            _close(connection, driver)


class _TolerantLoader(Loader):
    """Reads a timestamptz; one that Python cannot hold stays text, so one bad row kills no list."""

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        kind = psycopg.adapters.get_loader(oid, self.format)
        assert kind is not None  # noqa: S101 - psycopg knows the type
        self._loader = kind(oid, context)

    def load(self, data: Buffer) -> Any:  # noqa: ANN401 - a datetime, or text
        try:
            return self._loader.load(data)
        except psycopg.DataError:
            text = bytes(data).decode()
            return text.replace(" ", "T", 1) if text[:1].isdigit() else text


def _creator(parameters: dict[str, str], say: Callable[[str], None]) -> Callable[[], Patient]:
    def connect() -> Patient:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # psycopg's advice on GSSAPI is not for operators
                driver = Patient.connect(**parameters, prepare_threshold=None)  # type: ignore[arg-type]
        except (psycopg.Error, ValueError, OSError) as error:  # names that cannot be resolved
            raise sqlstates.translate_connecting(error) from None
        driver.say = say
        driver.expect(int(parameters["connect_timeout"]))  # a pooler may have no connection free
        driver.adapters.register_loader("timestamptz", _TolerantLoader)
        driver.adapters.register_loader("uuid", TextLoader)  # an id is text all over the tool
        return driver

    return connect


def _close(connection: sa.Connection, driver: Any) -> None:  # noqa: ANN401 - SQLAlchemy's word for it
    """Roll back what was not committed and disconnect, whatever state the connection is in."""
    if driver.info.transaction_status is TransactionStatus.ACTIVE:  # a COPY that was not read out
        driver.close()
    with suppress(SQLAlchemyError, psycopg.Error):
        connection.close()
    driver.close()
