"""csv, json and jsonl: exact values, guarded cells, one row as it comes."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import Mock
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import PATIENT
from reports import FORMULAS, NOTES, listing

from invite_admin import columns
from invite_admin.output import FORMATS, Style, draw, emit
from invite_admin.report import Cell, Column, Layout, Report

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAIN: Final = Style(UTC)
any_note = st.text(st.characters(codec="utf-8"), max_size=30)


def rows_of(text: str) -> list[dict[str, str]]:
    """Read csv as Python does."""
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_csv_is_read_back_as_it_was() -> None:
    """With --raw every note comes back, line ends, quotes and commas included."""
    text = draw(listing(NOTES), "csv", Style(UTC, raw=True))
    assert NOTES == [row["note"] for row in rows_of(text)]


@PATIENT
@given(st.lists(any_note, min_size=1, max_size=5))
def test_any_note_in_csv(notes: list[str]) -> None:
    """So it is with any text."""
    text = draw(listing(notes), "csv", Style(UTC, raw=True))
    assert notes == [row["note"] for row in rows_of(text)]


def test_formulas_are_guarded() -> None:
    """Cells that a spreadsheet would run are prefixed, others and numbers are not."""
    told = [row["note"] for row in rows_of(draw(listing([*FORMULAS, "1=1", "x"]), "csv", PLAIN))]
    assert [*(f"'{note}" for note in FORMULAS), "1=1", "x"] == told
    report = Report((Column("n", Cell.NUMBER), Column("t", Cell.TIME)), [(-5, "-infinity")])
    assert "n,t\n-5,'-infinity\n" == draw(report, "csv", PLAIN)


def test_the_mark_that_excel_wants() -> None:
    """--bom stands once, before the first heading; without it there is none."""
    text = draw(listing(["a", "b"]), "csv", Style(UTC, bom=True))
    assert (1, 0) == (text.count("\ufeff"), text.index("\ufeff"))
    assert "\ufeff" not in draw(listing(["a"]), "csv", PLAIN)


def test_csv_values() -> None:
    """No value is an empty cell; times have offsets; a list is JSON; lines end as in Unix."""
    kinds = (Column("a"), Column("b", Cell.TIME), Column("c"), Column("d"), Column("e"))
    row = (None, datetime(2026, 1, 1, tzinfo=UTC), [{"k": "\u00e9"}], True, 0.5)
    text = draw(Report(kinds, [row]), "csv", Style(ZoneInfo("Asia/Shanghai")))
    assert 'a,b,c,d,e\n,2026-01-01T08:00:00+08:00,"[{""k"": ""\u00e9""}]",true,0.5\n' == text


def test_csv_on_a_terminal() -> None:
    """A person who looks at csv sees escapes; a file gets the text itself."""
    shown = draw(listing(["\x1b[31m\u202e"]), "csv", Style(UTC, terminal=True))
    assert r"\x1b[31m\u202e" in shown
    assert "\x1b" not in shown
    assert "\x1b[31m\u202e" in draw(listing(["\x1b[31m\u202e"]), "csv", PLAIN)


def test_bytes_that_are_no_text() -> None:
    """What a database of SQL_ASCII holds beside UTF-8 is shown in an export, which goes on."""
    pieces = [b'"a\xff"\n"\xc3\xa9"\n', b'"\x7f"\n', b""]
    report = Report((Column("note"),), [], export=lambda *_: iter(pieces))
    taken: list[bytes] = []
    emit(report, "jsonl", Mock(write=taken.append), PLAIN)
    assert (
        '{"note": "a\\udcff"}\n{"note": "\u00e9"}\n{"note": "\\u007f"}\n'
        == b"".join(taken).decode()
    )


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json_holds_notes_exactly(form: str) -> None:
    """Every note is read back exactly, formulas without a prefix, nothing unseen in the text."""
    text = draw(listing(NOTES), form, PLAIN)
    found = json.loads(text) if form == "json" else list(map(json.loads, text.splitlines()))
    assert NOTES == [row["note"] for row in found]
    assert [] == [c for c in text if not c.isprintable() and c != "\n"]


def test_json_values() -> None:
    """All keys in order, null where there is none, numbers as numbers, text always as text."""
    text = draw(listing(["007", None]), "json", PLAIN)
    first, second = json.loads(text)
    assert [column.key for column in columns.CODE] == list(first) == list(second)
    assert ("007", 5, None, None) == (
        first["note"],
        first["points"],
        first["expires_at"],
        second["note"],
    )
    assert "2026-01-01T12:00:00+00:00" == first["created_at"]


def test_no_rows() -> None:
    """Nothing is an empty array, no line, a heading alone."""
    report = listing([])
    assert [] == json.loads(draw(report, "json", PLAIN))
    assert "" == draw(report, "jsonl", PLAIN)
    assert [] == rows_of(draw(report, "csv", PLAIN))


def test_an_object() -> None:
    """A report of one object is that object, not an array of it."""
    report = Report((Column("a"), Column("b")), [(1, [{"c": None}])], Layout.OBJECT)
    expected = {"a": 1, "b": [{"c": None}]}
    assert expected == json.loads(draw(report, "json", PLAIN))
    assert '{"a": 1, "b": [{"c": null}]}\n' == draw(report, "jsonl", PLAIN)


@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_rows_stream(form: str) -> None:
    """A row is written before the next one is read, so a million rows take no memory."""
    read: list[int] = []

    def rows() -> Iterator[tuple[Any, ...]]:
        for number in range(3):
            read.append(number)
            yield (number,)

    pieces = FORMATS[form](Report((Column("n", Cell.NUMBER),), rows()), PLAIN)
    seen = ""
    while "1" not in seen:
        seen += next(pieces)
    assert [0, 1] == read
