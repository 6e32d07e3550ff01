"""Other people's text made safe to show: in a terminal, in Markdown, in a spreadsheet."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from typing import Final
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import PATIENT

from invite_admin import text

# Default_Ignorable_Code_Point of Unicode 15, without the variation selectors; and Braille's blank.
IGNORABLE: Final = frozenset(
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u3164\ufeff\uffa0\u2800"
    + "".join(
        chr(point)
        for first, last in (
            (0x200B, 0x200F),
            (0x202A, 0x202E),
            (0x2060, 0x206F),
            (0xFFF0, 0xFFF8),
            (0x1BCA0, 0x1BCA3),
            (0x1D173, 0x1D17A),
            (0xE0000, 0xE00FF),
            (0xE01F0, 0xE0FFF),
        )
        for point in range(first, last + 1)
    )
)
UNSEEN: Final = [
    c
    for c in map(chr, range(sys.maxunicode + 1))
    if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") or c in IGNORABLE
]
ACTIVE: Final = set("\\`*_[]<>|~&#!{}$")
any_text = st.text(st.characters(codec=None), max_size=60)


def test_unseen_characters_are_escaped() -> None:
    """No control, format character, mark of direction, lone surrogate or separator gets through."""
    assert {"\x1b", "\x9b", "\x7f", "\u202e", "\u2066", "\ud800", "\x00", "\U000e0041"} <= set(
        UNSEEN
    )
    assert [] == [c for c in UNSEEN if not text.visible(c).isascii() or len(text.visible(c)) < 2]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("a\r\nb\tc", r"a\r\nb\tc"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("\udc80", r"\udc80"),
        ("\U000e0041", r"\U000e0041"),
        ("\u3164\u2800", r"\u3164\u2800"),
        ("\u2764\ufe0f \u845b\U000e0100", "\u2764\ufe0f \u845b\U000e0100"),
        ("plain 007", "plain 007"),
        ("\u6f22\u5b57 \U0001f642 e\u0301 \u00a0", "\u6f22\u5b57 \U0001f642 e\u0301 \u00a0"),
    ],
)
def test_visible(written: str, shown: str) -> None:
    """What is not seen is shown as its escape; what is seen stays as it is."""
    assert shown == text.visible(written)


@PATIENT
@given(any_text)
def test_nothing_unseen_is_left(written: str) -> None:
    """Of any text, only what is seen is left, so the second time nothing changes."""
    shown = text.visible(written)
    assert [] == [c for c in shown if c in UNSEEN]
    assert shown == text.visible(shown)


@PATIENT
@given(any_text)
def test_json_holds_the_text_itself(written: str) -> None:
    """JSON's escapes are read back as the text; none of it reaches a terminal unseen."""
    line = text.json_visible(json.dumps(written, ensure_ascii=False))
    assert written == json.loads(line)
    assert [] == [c for c in line if c in UNSEEN]


@PATIENT
@given(any_text)
def test_markdown_is_inert(written: str) -> None:
    """Every character that Markdown reads is escaped; without the escapes it is the text."""
    cell = text.markdown(written)
    assert text.visible(written) == re.sub(r"\\(.)", r"\1", cell)
    bare = re.sub(r"\\.", "", cell)
    assert set() == ACTIVE & set(bare)


@pytest.mark.parametrize(
    ("written", "cell"),
    [
        ("JYOTISH-****-ABCD", "`JYOTISH-****-ABCD`"),
        ("JYOTISH-ABCD-EFGH", "`JYOTISH-ABCD-EFGH`"),
        ("JYOTISH-****-A`CD", r"JYOTISH-\*\*\*\*-A\`CD"),
        ("a|b", r"a\|b"),
        ("a\nb", r"a\\nb"),
    ],
)
def test_code_span(written: str, cell: str) -> None:
    """A mask keeps its asterisks in a code span; another text there is escaped."""
    assert cell == text.code_span(written)


@pytest.mark.parametrize("first", "=+-@\t\r")
def test_formulas(first: str) -> None:
    """A cell that a spreadsheet would read as a formula is prefixed."""
    assert f"'{first}1+1" == text.spreadsheet(f"{first}1+1")
    assert f"1{first}1" == text.spreadsheet(f"1{first}1")


@pytest.mark.parametrize("cell", ["", "007", "1e5", "'=1", "JYOTISH-****-ABCD", "\u6f22"])
def test_no_formulas(cell: str) -> None:
    """Another cell is left alone."""
    assert cell == text.spreadsheet(cell)


INSTANT: Final = datetime(2026, 12, 31, 16, 0, 0, 5, tzinfo=UTC)


def test_times_for_machines() -> None:
    """An instant has its offset and all its digits; what Python cannot hold passes as text."""
    zone = ZoneInfo("Asia/Shanghai")
    assert "2027-01-01T00:00:00.000005+08:00" == text.rfc3339(INSTANT, zone)
    assert "2026-12-31T16:00:00.000005+00:00" == text.rfc3339(INSTANT, UTC)
    assert "infinity" == text.rfc3339("infinity", zone)


def test_times_for_people() -> None:
    """People get the minute and the offset."""
    assert "2027-01-01 00:00+08:00" == text.short_time(INSTANT, ZoneInfo("Asia/Shanghai"))
    assert "2026-12-31 16:00Z" == text.short_time(INSTANT, UTC)
    assert r"inf\x1bnity" == text.short_time("inf\x1bnity", UTC)


@pytest.mark.parametrize("written", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
def test_the_ends_of_the_calendar(written: str) -> None:
    """The first and the last instant that Python knows are written in UTC, not refused."""
    known = datetime.fromisoformat(written)
    for hours in (-12, 14):
        zone = timezone(timedelta(hours=hours))
        assert known == datetime.fromisoformat(text.rfc3339(known, zone))


def test_offsets_that_rfc_3339_cannot_write() -> None:
    """Before zones were whole minutes, an instant is written in UTC."""
    old = datetime(1850, 1, 1, tzinfo=UTC)
    assert "1850-01-01T00:00:00+00:00" == text.rfc3339(old, ZoneInfo("America/New_York"))


def test_counts() -> None:
    """One code, several codes, thousands with a comma."""
    found = [text.counted(count, "code") for count in (0, 1, 2, 1_000)]
    assert ["0 codes", "1 code", "2 codes", "1,000 codes"] == found
