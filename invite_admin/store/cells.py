"""Cells as SQL: a value written by the server just as ``output`` writes it, in csv or JSON.

``tests/test_export_cells.py`` holds the two against each other.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
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
_ISO: Text = sa.literal_column("""'YYYY-MM-DD"T"HH24:MI:SS.USTZH:TZM'""")
_ISO_UTC: Text = sa.literal_column("""'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'""")
# Between these two every zone's offset is whole minutes, and every local time one that Python has.
_PLAIN = (datetime(1973, 1, 1, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC))
_LENGTHS = [len("2000-01-01T00:00:00+00:00"), len("2000-01-01T00:00:00.000001+00:00")]
# From the first until before the second Python has the instant at all.
_HELD: tuple[ColumnElement[datetime], ...] = (
    sa.literal_column("timestamptz '0001-01-01 00:00Z'"),
    sa.literal_column("timestamptz '10000-01-01 00:00Z'"),
)
_INSTANT = sa.DateTime(timezone=True)


def select(rows: FromClause, written: Written) -> sa.Select[Any]:
    """Return the cells of rows whose columns are labelled with the keys of a row."""
    keys = [column.name for column in rows.c]
    quick = {key: _quick(rows.c[key], written) for key in keys if key in TIMES}
    # OFFSET keeps the server from working out the same text at each mention of it.
    once = sa.select(rows, *(text.label(f"{key}_quick") for key, text in quick.items()))
    found = once.offset(sa.literal_column("0")).subquery()

    def cell(key: str) -> ColumnElement[Any]:
        value = found.c[key]
        if key in quick:
            return _instant(value, found.c[f"{key}_quick"], written)
        return _json(key, value) if written is Written.JSON else _csv(key, value, written)

    return sa.select(*map(cell, keys))


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


def _quick(value: ColumnElement[Any], written: Written) -> Text:
    """Return an instant as the server's JSON has it, without the last zeros of a fraction.

    For most instants that is what ``instant`` returns, at a fraction of the cost.
    """
    t = sa.cast(value, _INSTANT)
    if written is Written.JSON:
        return _to_json(t)
    return sa.func.to_jsonb(t).op("#>>")(sa.literal_column("'{}'"))


def _instant(value: ColumnElement[Any], quick: Text, written: Written) -> ColumnElement[Any]:
    """Return the cell of an instant; of the shape that Python writes, the quick text will do."""
    t, exact = sa.cast(value, _INSTANT), instant(value)
    around = len('""') if written is Written.JSON else 0
    alike = sa.func.octet_length(quick).in_([length + around for length in _LENGTHS])
    other = _to_json(exact) if written is Written.JSON else _guarded(exact, written)
    # Null first: many are, and the other way comes to it by way of everything.
    return sa.case((t.is_(None), sa.null()), (t.between(*_PLAIN) & alike, quick), else_=other)


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
    return sa.case((formula, sa.func.concat("'", value)), (value != "", value))
