"""Tables for people, and Markdown: aligned, within the terminal, nothing read as markup."""

from __future__ import annotations

import json
import re
from datetime import UTC
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import PATIENT
from reports import CONTROLS, LIKE_NUMBERS, LIKE_VALUES, NOTES, WIDE, listing
from wcwidth import wcswidth

from invite_admin import text
from invite_admin.errors import BadInput
from invite_admin.output import Style, check_held, draw
from invite_admin.output.tables import HELD, NARROWEST
from invite_admin.report import Cell, Column, Layout, Report, Section

if TYPE_CHECKING:
    from collections.abc import Iterator

LAYOUTS: Final = pytest.mark.parametrize("layout", [Layout.ROWS, Layout.RECORDS])
TERMINAL: Final = Style(UTC, terminal=True)


def widest(drawn: str) -> int:
    """Return how many columns of a terminal the widest line takes; -1 for a control character."""
    lines = [wcswidth(line) for line in drawn.split("\n")]
    return -1 if min(lines) < 0 else max(lines)


def cells(line: str) -> list[str]:
    """Split a line of a Markdown table at the bars that are not escaped."""
    return [cell.strip() for cell in re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]]


@pytest.mark.parametrize("note", [*LIKE_NUMBERS, *LIKE_VALUES])
@LAYOUTS
@pytest.mark.parametrize("form", ["table", "markdown"])
def test_texts_that_look_like_values(note: str, layout: Layout, form: str) -> None:
    """A note that looks like a number, a truth or a date is shown as it is."""
    drawn = draw(listing([note], layout), form, Style(UTC))
    shown = text.markdown(note) if form == "markdown" else note
    assert shown in drawn.replace("|", " ").split()


@LAYOUTS
@pytest.mark.parametrize("width", [60, 72, 80, 132, 200])
def test_no_line_is_wider_than_the_terminal(layout: Layout, width: int) -> None:
    """Whatever the notes hold, no line is wider than the terminal, wide characters counted."""
    assert (
        0
        < widest(draw(listing(NOTES, layout), "table", Style(UTC, terminal=True, width=width)))
        <= width
    )


@LAYOUTS
def test_eighty_columns_in_a_pipe(layout: Layout) -> None:
    """Without a terminal a list takes eighty columns."""
    assert 0 < widest(draw(listing(NOTES, layout), "table", Style(UTC))) <= 80


@pytest.mark.parametrize("width", [1, 5, 20, 30, 50])
def test_narrow_terminals(width: int) -> None:
    """Where rows do not fit, each code is laid out in lines, with room for a dozen columns."""
    drawn = draw(listing(NOTES), "table", Style(UTC, terminal=True, width=width))
    assert drawn.startswith("mask        JYOTISH-****")
    assert 0 < widest(drawn) <= max(width, len("expires at  ") + NARROWEST)
    assert len(NOTES) == len(re.findall(r"(?m)^mask  ", drawn))


def test_a_line_to_copy_is_never_broken() -> None:
    """A command line stays one line, however narrow the terminal is."""
    line = " ".join(["psql", *["word"] * 40])
    drawn = draw(Report((Column("psql", Cell.LINE),), [(line,)], Layout.RECORDS), "table", TERMINAL)
    assert f"psql  {line}\n" == drawn


def test_records_leave_out_what_has_no_value() -> None:
    """A record names what there is."""
    drawn = draw(listing(["a note"], Layout.RECORDS), "table", TERMINAL)
    names = [line.split("  ")[0] for line in drawn.splitlines()]
    assert ["id", "mask", "status", "points", "expires at", "note", "created at"] == names


@pytest.mark.parametrize("note", WIDE)
def test_wide_characters_are_aligned(note: str) -> None:
    """What stands right of wide or combining characters begins in the same column."""
    report = Report(
        (Column("email"), Column("status")), [(note[:9], "available"), ("x", "available")]
    )
    lines = draw(report, "table", Style(UTC, width=200)).splitlines()
    starts = {wcswidth(line.partition("available")[0]) for line in lines[2:]}
    assert 1 == len(starts)


def test_nothing_is_lost_in_wrapped_notes() -> None:
    """A note that is broken into lines is all there, a base letter with its accent."""
    drawn = draw(listing(["e\u0301" * 90]), "table", TERMINAL)
    assert 90 == drawn.count("e\u0301")
    assert [] == re.findall(r"(?m)(?:^|\s)\u0301", drawn)


@PATIENT
@given(st.text(st.characters(codec="utf-8"), max_size=120), st.integers(NARROWEST, 60))
def test_any_note_in_a_table(note: str, width: int) -> None:
    """Any note keeps all its characters but blanks, and no line gets wider than the terminal."""
    drawn = draw(Report((Column("n", Cell.PROSE),), [(note,)]), "table", Style(UTC, width=width))
    kept = "".join(drawn.split("\n", 2)[2].split())
    assert "".join(text.visible(note).split()) == kept
    assert widest(drawn) <= width


@LAYOUTS
@pytest.mark.parametrize("form", ["table", "markdown"])
def test_no_control_character_gets_through(layout: Layout, form: str) -> None:
    """ESC, C1, marks of direction, NUL and line ends are shown as escapes."""
    drawn = draw(listing(CONTROLS, layout), form, TERMINAL)
    assert [] == [c for c in drawn if not c.isprintable() and c != "\n"]


def test_markdown_cells() -> None:
    """Every row has as many cells as the heading, and each is the text, escaped."""
    drawn = draw(listing(NOTES), "markdown", Style(UTC))
    heading, rule, *rows = map(cells, drawn.splitlines())
    assert ["mask", "status", "points", "expires at", "note"] == heading
    assert [":--", ":--", "--:", ":--", ":--"] == [re.sub("-{2,}", "--", cell) for cell in rule]
    assert [text.markdown(note).strip() for note in NOTES] == [row[4] for row in rows]
    assert {"`JYOTISH-****-ABCD`"} == {row[0] for row in rows}


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_no_rows(form: str) -> None:
    """Without rows there is the heading alone."""
    drawn = draw(listing([]), form, TERMINAL)
    assert 2 == len(drawn.splitlines())
    assert "expires at" in drawn


def test_no_records() -> None:
    """Without records there is nothing."""
    assert "" == draw(listing([], Layout.RECORDS), "table", TERMINAL)


def test_numbers_for_people() -> None:
    """Numbers stand right, with commas; a share is a percentage."""
    report = Report((Column("n", Cell.NUMBER),), [(5,), (1_000_000,), (0.125,)])
    drawn = draw(report, "table", Style(UTC)).splitlines()
    assert ["        5", "1,000,000", "    12.5%"] == drawn[2:]


@pytest.mark.parametrize(
    ("form", "shown"),
    [("table", ["yes", "no"]), ("markdown", ["| yes |", "| no  |"])],
)
def test_yes_and_no(form: str, shown: list[str]) -> None:
    """People read yes or no where JSON has a boolean."""
    report = Report((Column("on"),), [(True,), (False,)])
    assert shown == draw(report, form, Style(UTC)).splitlines()[2:]
    assert [{"on": True}, {"on": False}] == json.loads(draw(report, "json", Style(UTC)))


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_an_object_for_people(form: str) -> None:
    """An object is drawn as its sections, wrapped and escaped as lists are."""
    rows = [["server", "\u6f22\u5b57 " * 40], ["1,000", "\x1b[31m|"]]
    sections = (
        Section("Where", (), rows),
        Section("Can", ("what", "how"), rows),
        Section("None", ("a", "b"), []),
    )
    drawn = draw(Report((), [], Layout.OBJECT, sections), form, TERMINAL)
    assert [True] * 4 == [word in drawn for word in ("Where", "Can", "None", "1,000")]
    assert (form == "markdown") or 0 < widest(drawn) <= 80
    assert "\x1b" not in drawn


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_what_a_table_holds(form: str) -> None:
    """A table of more rows than it holds is refused, never cut; no row is read beyond."""
    read = 0

    def rows() -> Iterator[tuple[int]]:
        nonlocal read
        for read in range(1, HELD + 10):
            yield (read,)

    with pytest.raises(BadInput, match="more than 10,000 rows") as caught:
        draw(Report((Column("n"),), rows()), form, Style(UTC))
    assert HELD + 1 == read
    assert "use --format csv, json or jsonl, or --limit" == caught.value.hint


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "json", "jsonl"])
def test_checking_before_a_change(form: str) -> None:
    """What writes asks before it does: tables hold ten thousand rows, the others any number."""
    check_held(form, HELD)
    if form in ("csv", "json", "jsonl"):
        check_held(form, HELD + 1)
        return
    with pytest.raises(BadInput, match=f"10,001 rows are more than format {form} holds"):
        check_held(form, HELD + 1)
