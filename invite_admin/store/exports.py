"""The rows of a query: as values, or in a format that the server writes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import sqlalchemy as sa

from invite_admin import text
from invite_admin.store import cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import tzinfo

    from invite_admin.report import Written
    from invite_admin.session import Session

A_FETCH = 1_000  # rows
# Two a month from 1970 to 2070: whatever a zone's clocks do, some of these show it.
_PROBES = [datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=15) * n for n in range(2_435)]


class Rows:
    """The rows of one query.

    Args:
        session: The open transaction.
        role: Who reads; None means the login.
        query: Selects columns labelled with the keys of a row.
    """

    def __init__(self, session: Session, role: str | None, query: sa.Select[Any]) -> None:
        self._session, self._role, self._query = session, role, query

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows as values, from a server-side cursor."""
        self._session.become(self._role)
        return self._session.stream(self._query, A_FETCH)

    def export(
        self, written: Written, zone: tzinfo, done: Callable[[int], None]
    ) -> Iterator[bytes] | None:
        """Yield the rows as the server writes them, as ``report.Export`` has it."""
        if zone is not UTC and not _settled(self._session, zone):
            return None
        # The rows are put in order before they are written: what is sorted stays small.
        query = cells.select(self._query.subquery(), written, utc=zone is UTC)
        self._session.become(self._role)
        return self._session.copy_out(query, cells.OPTIONS[written], done)


class _ZonesDifferError(Exception):
    """The server has other rules for a time zone than Python has."""


def _settled(session: Session, zone: tzinfo) -> bool:
    """Set the session's time zone; False where the server would write other times than Python."""
    try:
        with session.attempt(psycopg.DataError):
            _set_zone(session, zone)
    except (_ZonesDifferError, psycopg.DataError):  # DataError: it has no such zone
        return False
    return True


def _set_zone(session: Session, zone: tzinfo) -> None:
    """Set the session's time zone, and ask the server how it then writes some instants.

    The two take the rules of a zone from different places, of different ages.
    """
    session.raw(sa.text("select set_config('timezone', :zone, true)"), {"zone": str(zone)})
    kind = sa.DateTime(timezone=True)
    probe = sa.func.unnest(sa.cast(_PROBES, sa.ARRAY(kind))).column_valued("probe")
    written = session.raw(sa.select(cells.instant(probe))).scalars()
    if list(written) != [text.rfc3339(probe, zone) for probe in _PROBES]:
        raise _ZonesDifferError
