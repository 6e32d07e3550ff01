"""Cells as SQL: a value written by the server just as ``output`` writes it, in csv or JSON.

``tests/test_export_cells.py`` holds the two against each other.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.sql.elements import ColumnElement

from invite_admin.report import DIVIDER, Written
from invite_admin.store.table import HARMLESS, NUMBERS, TIMES
from invite_admin.text import FORMULA

if TYPE_CHECKING:
    from sqlalchemy.sql.selectable import FromClause

Text = ColumnElement[str]

# The quote is never needed: JSON has it only as an escape, as it has the divider.
_JSON_OPTIONS = f"format csv, delimiter E'\\x{ord(DIVIDER):02x}', quote E'\\x02', null 'null'"
OPTIONS = {Written.CSV: "format csv", Written.RAW: "format csv", Written.JSON: _JSON_OPTIONS}
_QUOTE: Text = sa.literal_column("""'"'""")
_SPACE: Text = sa.literal_column("' '")
_T: Text = sa.literal_column("'T'")
_MINUTES: Text = sa.literal_column("':00'")
_LETTER: Text = sa.literal_column("""'A' collate "C\"""")
_ISO: Text = sa.literal_column("""'YYYY-MM-DD"T"HH24:MI:SS.USTZH:TZM'""")
_ISO_UTC: Text = sa.literal_column("""'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'""")
# Between these two every zone's offset is whole minutes, and every local time one that Python has.
_PLAIN = (datetime(1973, 1, 1, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC))
# From the first until before the second Python has the instant at all.
_HELD: tuple[ColumnElement[datetime], ...] = (
    sa.literal_column("timestamptz '0001-01-01 00:00Z'"),
    sa.literal_column("timestamptz '10000-01-01 00:00Z'"),
)
_INSTANT = sa.DateTime(timezone=True)


def select(rows: FromClause, written: Written, *, utc: bool) -> sa.Select[Any]:
    """Return the cells of rows whose columns are labelled with the keys of a row.

    Args:
        rows: The rows.
        written: How they are written.
        utc: Whether the session's time zone is UTC.
    """

    def cell(key: str, value: ColumnElement[Any]) -> ColumnElement[Any]:
        if key in TIMES:
            return _instant(value, written, utc=utc)
        return _json(key, value) if written is Written.JSON else _csv(key, value, written)

    return sa.select(*(cell(column.name, column) for column in rows.c))


def instant(value: ColumnElement[Any]) -> Text:
    """Return an instant as ``text.rfc3339`` writes it, in the session's time zone."""
    t = sa.cast(value, _INSTANT)
    in_utc = sa.func.timezone("UTC", t)
    written = sa.cast(in_utc, sa.Text)
    beyond = sa.func.regexp_replace(written, r"^(\S+) (\S+)( BC)?$", r"\1T\2+00\3")
    whole_minutes = sa.func.mod(sa.extract("timezone", t), 60) == 0
    local = _without_zeros(sa.func.to_char(t, _ISO))
    return sa.case(
        (t.between(*_PLAIN), local),
        ((t < _HELD[0]) | (t >= _HELD[1]), beyond),
        (whole_minutes & sa.extract("year", t).between(1, 9999), local),
        else_=_without_zeros(sa.func.to_char(in_utc, _ISO_UTC)),
    )


def _instant(value: ColumnElement[Any], written: Written, *, utc: bool) -> ColumnElement[Any]:
    """Return the cell of an instant.

    The server's own text of an instant costs a fraction of ``instant``. It leaves out the last
    zeros of microseconds, and so is what Python writes where there are none, or six digits.
    """
    t, exact = sa.cast(value, _INSTANT), instant(value)
    alike = (t == sa.cast(t, _to(0))) | (t != sa.cast(t, _to(5)))
    other = _to_json(exact) if written is Written.JSON else _guarded(exact, written)
    # One after the other: only between these two can every instant be rounded. Null comes first,
    # for many are, and it would come to nothing by way of everything.
    quick = sa.case((t.between(*_PLAIN), alike), else_=sa.false())
    return sa.case((t.is_(None), sa.null()), (quick, _own(t, written, utc=utc)), else_=other)


def _own(t: ColumnElement[Any], written: Written, *, utc: bool) -> Text:
    """Return the server's own text of an instant."""
    if written is Written.JSON:
        return _to_json(t)
    if not utc:
        return sa.func.to_jsonb(t).op("#>>")(sa.literal_column("'{}'"))
    date_and_time = sa.func.replace(sa.cast(t, sa.Text), _SPACE, _T)
    return date_and_time.concat(_MINUTES)


def _to(digits: int) -> TIMESTAMP:
    """Return the type of instants that are rounded to so many digits of a second."""
    return TIMESTAMP(timezone=True, precision=digits)


def _csv(key: str, value: ColumnElement[Any], written: Written) -> ColumnElement[Any]:
    """Return the cell of one key of a row in csv; null is an empty cell."""
    return value if key in HARMLESS else _guarded(sa.cast(value, sa.Text), written)


def _json(key: str, value: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return the cell of one key of a row in JSON; COPY writes null."""
    if key in NUMBERS:
        return value
    if key in HARMLESS:
        return _QUOTE.concat(value).concat(_QUOTE)
    return _to_json(sa.cast(value, sa.Text))


def _to_json(value: ColumnElement[Any]) -> Text:
    return sa.cast(sa.func.to_json(value), sa.Text)


def _without_zeros(written: ColumnElement[Any]) -> Text:
    """Leave the microseconds out where there are none, as Python does."""
    return sa.func.replace(written, ".000000", "")


def _guarded(value: ColumnElement[Any], written: Written) -> Text:
    """Keep a spreadsheet from reading a cell as a formula, as ``text.spreadsheet`` does.

    An empty text is made null, for COPY would put it into quotes.
    """
    if written is Written.RAW:
        return sa.func.nullif(value, "")
    formula = sa.func.ascii(value).in_([ord(first) for first in FORMULA])
    # All of these come before the letters, as most values do not; one comparison tells.
    return sa.case(
        (value >= _LETTER, value), (formula, sa.func.concat("'", value)), (value != "", value)
    )
