"""What the server writes, csv or JSON, is byte for byte what Python writes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from itertools import cycle
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import pytest
from databases import steps
from inside import opened, settings_of
from reports import CONTROLS, FORMULAS, LIKE_NUMBERS, LIKE_VALUES, LONG, MARKUP, WIDE

from invite_admin import columns
from invite_admin.model import Filters, Redemptions, Sort
from invite_admin.output import Style, draw, emit
from invite_admin.report import Report, Written

if TYPE_CHECKING:
    from databases import Database

    from invite_admin.store import Store

HEADS: Final = ("", *"=+-@\t\r\n\"', \\\ufeff\x01")
BODIES: Final = ("", "x", 'say "no"', "a,b", "a\nb", "a\rb", "a\r\nb", "\\.", "\\N", "%s", "'';--")
REPORTED: Final = (*FORMULAS, *LIKE_NUMBERS, *LIKE_VALUES, *CONTROLS, *WIDE, *LONG, *MARKUP)
STORABLE: Final = [text for text in REPORTED if not {"\x00", "\ud800"} & set(text)]
TEXTS: Final = [*(head + body for head in HEADS for body in BODIES), *STORABLE]
INSTANTS: Final = (
    *("infinity", "-infinity", "4714-11-24 BC", "0044-03-15 12:00:00.5 BC", "0001-12-31 BC"),
    *("0001-01-01", "0001-01-01 11:59:59.999999", "0001-01-02", "0999-12-31 23:59:59.1"),
    *("1800-01-01", "1900-12-31 15:54:16.999999", "1900-12-31 15:54:17", "1940-06-01 12:00"),
    *("1969-12-31 23:59:59.9", "1972-01-07 00:44:29", "1972-01-07 00:44:30", "1973-01-01"),
    *("1986-05-03 18:00", "1991-09-14 16:00", "1999-12-31 23:59:59.999999", "2000-02-29"),
    *("2011-12-30 09:59:59.999999", "2011-12-30 10:00", "2026-01-01 00:00:00.000001"),
    *("2026-03-08 06:59:59.999999", "2026-03-08 07:00", "2026-03-29 01:00", "2026-04-04 15:00"),
    *("2026-11-01 05:59:59.999999", "2026-11-01 06:00", "2026-10-03 15:29:59.12", "2026-07-01"),
    *("2037-12-31 23:59:59", "2038-01-19 03:14:08", "2101-07-01", "2500-07-01 12:34:56.789"),
    *("9999-07-01", "9999-12-29 23:59:59.999999", "9999-12-30", "9999-12-31 11:00"),
    *("9999-12-31 23:59:59.999999", "10000-01-01", "12345-06-07 08:09:10.1112", "294276-12-31"),
    # As long as an ordinary time with its microseconds, but for what Python has not.
    *("0044-03-15 12:00:00.123 BC", "12345-06-07 08:09:10.11121", "1899-12-31 00:00:00.123"),
    "2026-05-06 07:08:09.1234",  # with JSON's quotes too, but for its last zeros
)
ZONES: Final = (
    *("UTC", "Asia/Shanghai", "America/New_York", "Asia/Kathmandu", "America/St_Johns"),
    *("Pacific/Apia", "Pacific/Chatham", "Africa/Monrovia", "Australia/Lord_Howe"),
    *("Europe/Dublin", "Etc/GMT+12", "Pacific/Kiritimati"),
)
FORMS: Final = ("csv", "json", "jsonl")
SOMEBODY: Final = "00000000-0000-4000-8000-000000000000"


def in_utc(instant: str) -> str:
    """Say that an instant is in UTC; PostgreSQL 18 takes no zone after infinity."""
    return instant if instant.endswith("infinity") else f"{instant} UTC"


def fill(database: Database) -> None:
    """Store 300 codes with hostile texts and odd times."""
    texts, times = cycle(TEXTS), cycle(INSTANTS)
    for number in range(300):
        values = {
            "note": None if number % 11 == 0 else next(texts),
            "created_at": in_utc(next(times)),
            "expires_at": None if number % 5 == 0 else in_utc(next(times)),
        }
        if number % 2:
            values |= {"redeemed_at": in_utc(next(times)), "redeemed_by": SOMEBODY}
            values |= {"redeemed_email": next(texts)}
        elif database.step > 1 and number % 3:
            values |= {"revoked_at": in_utc(next(times)), "revoked_by": SOMEBODY}
        database.insert_code(**values)


def by_python(report: Report, form: str, style: Style) -> str:
    """Return a report that Python writes from the rows."""
    return draw(Report(report.columns, list(report.rows)), form, style)


def by_server(report: Report, form: str, style: Style) -> str:
    """Return a report whose rows the server writes; Python has none of them."""
    memory = Memory()
    assert report.export is not None
    assert report.export(Written.CSV, style.zone, lambda _rows: None) is not None
    emit(replace(report, rows=()), form, memory, style)
    return memory.taken.decode()


class Memory:
    """A sink that keeps what it is given."""

    terminal = False

    def __init__(self) -> None:
        self.taken = b""

    def write(self, data: bytes) -> None:
        """Keep some bytes."""
        self.taken += data

    def flush(self) -> None:
        """Do nothing: nothing is held back."""

    def finish(self) -> None:
        """Do nothing: every byte was kept."""

    def discard(self) -> None:
        """Forget them."""
        self.taken = b""


def listed(store: Store) -> Report:
    """Return what `list` reports."""
    rows = store.reads.rows(Filters(), sort=Sort.CREATED, reverse=False, limit=None)
    return Report(columns.CODE, rows, export=rows.export)


def redeemed(store: Store) -> Report:
    """Return what `redemptions` reports."""
    rows = store.reads.redemptions(Redemptions(), limit=None)
    return Report(columns.REDEEMED, rows, export=rows.export)


@steps()
@pytest.mark.parametrize("form", FORMS)
def test_every_cell(database: Database, form: str) -> None:
    """300 hostile codes are written alike, guarded and raw, with the mark and without."""
    fill(database)
    for raw in (False, True):
        style = Style(UTC, raw=raw, bom=raw)
        for report in (listed, redeemed):
            with opened(settings_of(database, "owner")) as store:
                expected = by_python(report(store), form, style)
                assert expected == by_server(report(store), form, style)


@pytest.mark.parametrize("form", FORMS)
def test_nothing(database: Database, form: str) -> None:
    """No row at all is written alike."""
    style = Style(UTC)
    with opened(settings_of(database, "owner")) as store:
        assert by_python(listed(store), form, style) == by_server(listed(store), form, style)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("zone", ZONES)
def test_every_time(database: Database, zone: str, form: str) -> None:
    """Times are written alike in every zone: when clocks change, and where Python has no time."""
    fill(database)
    style = Style(ZoneInfo(zone))
    with opened(settings_of(database, "owner")) as store:
        expected = by_python(listed(store), form, style)
        assert expected == by_server(listed(store), form, style)
