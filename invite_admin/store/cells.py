"""Cells of csv as SQL: a value written by the server just as ``output`` writes it.

``tests/test_export_cells.py`` holds the two against each other.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from invite_admin.store.table import HARMLESS, TIMES
from invite_admin.text import FORMULA

Text = ColumnElement[str]

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


def cell(key: str, value: ColumnElement[Any], *, raw: bool) -> ColumnElement[Any]:
    """Return the cell of one key of a row; null is an empty cell.

    Args:
        key: The key.
        value: Its value.
        raw: Whether a formula goes without its guard.
    """
    if key in TIMES:
        return instant(value, raw=raw)
    if key in HARMLESS:
        return value
    return _guarded(sa.cast(value, sa.Text), raw=raw)


def instant(value: ColumnElement[Any], *, raw: bool) -> Text:
    """Return an instant as ``text.rfc3339`` writes it, in the session's time zone."""
    t = sa.cast(value, _INSTANT)
    in_utc = sa.func.timezone("UTC", t)
    written = sa.cast(in_utc, sa.Text)
    beyond = sa.func.regexp_replace(written, r"^(\S+) (\S+)( BC)?$", r"\1T\2+00\3")
    whole_minutes = sa.func.mod(sa.extract("timezone", t), 60) == 0
    local = _without_zeros(sa.func.to_char(t, _ISO))
    return sa.case(
        (t.is_(None), sa.null()),
        (t.between(*_PLAIN), local),
        ((t < _HELD[0]) | (t >= _HELD[1]), _guarded(beyond, raw=raw)),
        (whole_minutes & sa.extract("year", t).between(1, 9999), local),
        else_=_without_zeros(sa.func.to_char(in_utc, _ISO_UTC)),
    )


def _without_zeros(written: ColumnElement[Any]) -> Text:
    """Leave the microseconds out where there are none, as Python does."""
    return sa.func.replace(written, ".000000", "")


def _guarded(value: ColumnElement[Any], *, raw: bool) -> Text:
    """Keep a spreadsheet from reading a cell as a formula, as ``text.spreadsheet`` does.

    An empty text is made null, for COPY would put it into quotes.
    """
    if raw:
        return sa.func.nullif(value, "")
    formula = sa.func.ascii(value).in_([ord(first) for first in FORMULA])
    return sa.case((formula, sa.func.concat("'", value)), (value != "", value))
