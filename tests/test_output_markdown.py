"""Markdown as a renderer reads it: what was in the table is what the reader sees."""

from __future__ import annotations

import re
from datetime import UTC
from html import unescape
from typing import Final

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from properties import PATIENT
from reports import NOTES, listing

from invite_admin import text
from invite_admin.output import Style, draw
from invite_admin.report import Layout, Report, Section

RENDERER: Final = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
CELL: Final = re.compile(r"<td[^>]*>(.*?)</td>", re.DOTALL)


def rendered(markdown: str) -> list[list[str]]:
    """Return the cells of a rendered table, row by row, as HTML."""
    html: str = RENDERER.render(markdown)
    return [CELL.findall(row) for row in html.split("<tr>")[2:]]


def seen(cell: str) -> str:
    """Return what a reader sees of a cell; any tag in it stays, and is seen."""
    return unescape(cell)


def test_notes_are_seen_as_they_are() -> None:
    """Pipes, asterisks, links, HTML and entities of a note are read as text."""
    rows = rendered(draw(listing(NOTES), "markdown", Style(UTC)))
    assert [text.visible(note).strip() for note in NOTES] == [seen(row[4]) for row in rows]


def test_masks_keep_their_asterisks() -> None:
    """A mask is a code span, its asterisks in it."""
    rows = rendered(draw(listing(["x"]), "markdown", Style(UTC)))
    assert "<code>JYOTISH-****-ABCD</code>" == rows[0][0]


def test_sections() -> None:
    """The tables of an object are read in the same way, under their headings."""
    report = Report((), [], Layout.OBJECT, (Section("Where", (), [["server", "a|b *c*"]]),))
    markdown = draw(report, "markdown", Style(UTC))
    assert "<h2>Where</h2>" in RENDERER.render(markdown)
    assert [["server", "a|b *c*"]] == [[seen(c) for c in row] for row in rendered(markdown)]


@PATIENT
@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_any_note(note: str) -> None:
    """Any note is seen as it is, blanks at its ends apart, and makes no cell of its own."""
    rows = rendered(draw(listing([note]), "markdown", Style(UTC)))
    assert 1 == len(rows)
    assert " ".join(text.visible(note).split()) == " ".join(seen(rows[0][4]).split())


@PATIENT
@given(st.text("|\\`*_[]<>~&#!{}$ab:/()@.-", max_size=40))
def test_any_markup(note: str) -> None:
    """No mixture of what Markdown reads makes anything but text."""
    rows = rendered(draw(listing([note]), "markdown", Style(UTC)))
    assert [note.strip()] == [seen(row[4]) for row in rows]
