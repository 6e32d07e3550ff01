"""What people paste: which texts are read as a code, an id or a mask, and which are not."""

from __future__ import annotations

import unicodedata
from typing import Final

import pytest
from databases import hash_of
from hypothesis import given
from hypothesis import strategies as st
from properties import PATIENT

from invite_admin import codes
from invite_admin.codes import Kind

CODE: Final = "JYOTISH-ABCD-EFGH"
MASK: Final = "JYOTISH-****-EFGH"
ID: Final = "0f8fad5b-d9cb-469f-a165-70867728950e"
SYMBOLS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
DASHES: Final = (
    "\u00ad\u02d7\u058a\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u207b\u2212\u2500\u2796"
)
EAST_ASIAN_DASHES: Final = "\u2e3a\u301c\u3030\u30fc\ufe31\ufe58\ufe63\uff0d\uff70"
INVISIBLE: Final = (
    "\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u202e\u2060\u2800\u3164\ufe0f\ufeff\x00\x1b"
)
BLANKS: Final = " \t\r\n\u00a0\u2007\u2009\u202f\u3000"


def wide(text: str) -> str:
    """Return a text in full-width characters, as an East Asian keyboard writes it."""
    return "".join(chr(ord(c) + 0xFEE0) for c in text)


def read(text: str) -> tuple[Kind, str, bool] | None:
    """Return what a text is read as: its kind, its value and whether it was folded."""
    name = codes.read_name(text)
    return (name.kind, str(name.value), name.folded) if name else None


@pytest.mark.parametrize("dash", DASHES + EAST_ASIAN_DASHES, ids=lambda c: f"{ord(c):04x}")
def test_other_dashes(dash: str) -> None:
    """A dash that a word processor or another keyboard writes is a hyphen, and is told."""
    assert (Kind.CODE, hash_of(CODE), True) == read(CODE.replace("-", dash))


def test_every_dash_of_unicode() -> None:
    """Whatever Unicode calls a dash is one."""
    every = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) == "Pd"]
    unread = [c for c in every if read(CODE.replace("-", c)) is None]
    assert [] == unread
    assert "-" in every


@pytest.mark.parametrize("text", ["JYOTISH-\u00adABCD\u00ad-EFGH", "JYOTISH\u00ad\u00adABCD-EFGH"])
def test_soft_hyphens_beside_hyphens(text: str) -> None:
    """A soft hyphen beside a hyphen, as web pages have them, makes no second one."""
    assert (Kind.CODE, hash_of(CODE), True) == read(text)


@pytest.mark.parametrize("character", INVISIBLE, ids=lambda c: f"{ord(c):04x}")
def test_invisible_characters(character: str) -> None:
    """What takes no room on the screen is dropped wherever it stands, and is told."""
    for place in range(len(CODE) + 1):
        text = CODE[:place] + character + CODE[place:]
        assert (Kind.CODE, hash_of(CODE), True) == read(text), place


@pytest.mark.parametrize("blank", BLANKS, ids=lambda c: f"{ord(c):04x}")
def test_blanks(blank: str) -> None:
    """Blanks are dropped, as the application drops them, so nothing is to be told."""
    assert (Kind.CODE, hash_of(CODE), False) == read(blank + blank.join(CODE) + blank)


@pytest.mark.parametrize("text", [CODE.lower(), CODE.title(), " jyotish - abcd - efgh "])
def test_case(text: str) -> None:
    """Case is folded, as the application folds it."""
    assert (Kind.CODE, hash_of(CODE), False) == read(text)


def test_full_width() -> None:
    """Full-width letters, digits, hyphens and asterisks are the plain ones."""
    assert (Kind.CODE, hash_of("JYOTISH-AB23-EFGH"), True) == read(wide("jyotish-ab23-efgh"))
    assert (Kind.MASK, MASK, False) == read(wide(MASK))


def test_every_symbol_that_the_redeem_form_takes() -> None:
    """I, O, 0 and 1 are read, since the redeem form takes them; the table decides."""
    assert (Kind.CODE, hash_of("JYOTISH-IO01-IO01"), False) == read("JYOTISH-IO01-IO01")


@pytest.mark.parametrize("text", [MASK, MASK.lower(), f" {MASK}\n", "JYOTISH\u2013****\u2013EFGH"])
def test_masks(text: str) -> None:
    """A mask is read as one, folded as codes are."""
    assert (Kind.MASK, MASK, False) == read(text)


@pytest.mark.parametrize(
    "text",
    [
        ID,
        ID.upper(),
        f"{{{ID}}}",
        f"urn:uuid:{ID}",
        f"URN:UUID:{ID.upper()}",
        f"\ufeff {ID}\r",
        ID.replace("-", "\u2013"),
        wide(ID),
    ],
)
def test_ids(text: str) -> None:
    """An id is read in upper case, in braces, as urn and as it was pasted, and is put plainly."""
    assert (Kind.ID, ID, False) == read(text)


@pytest.mark.parametrize("around", ["{}.", '"{}"', "({}),", "\u2039{}\u203a", "\u300c{}\u300d!"])
def test_what_a_message_puts_around_a_code(around: str) -> None:
    """Quotes, brackets and stops are dropped; the application would refuse them."""
    assert (Kind.CODE, hash_of(CODE), True) == read(around.format(CODE))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "-",
        "\ufeff",
        "JYOTISH",
        "ABCD-EFGH",
        "JYOTISHABCDEFGH",
        "JYOTISH ABCD EFGH",
        "JYOTISH_ABCD_EFGH",
        "JYOTISH--ABCD-EFGH",
        "JYOTISH-ABCD-EFG",
        "JYOTISH-ABCD-EFGHJ",
        "JYOTISH-ABCD-EF*H",
        "JYOTISH-***-EFGH",
        "JYOTISH-****-****",
        "JYOTISH-ABCD-****",
        "J\u042fOTISH-ABCD-EFGH",
        "JYOTISH-ABC\u0663-EFGH",
        "JYOTISH-ABCD-EFG\udc80",
        "KYOTISH-ABCD-EFGH",
        f"{CODE} {CODE}",
        f"{CODE},{CODE}",
        hash_of(CODE),
        ID.replace("-", ""),
        ID[:-1],
        f"{ID}0",
        f"{{{ID}",
        f"{ID}}}",
        ID.replace("-", "", 1) + "-",
        "0f8fad5bd9cb469fa16570867728950e----",
        ID.replace("0", "g", 1),
        " " * 2_000 + CODE,
    ],
)
def test_what_is_no_name(text: str) -> None:
    """What is neither code nor id nor mask is not guessed at; a hash is none of them."""
    assert None is read(text)


def test_a_very_long_text_is_refused_at_once() -> None:
    """Megabytes that Unicode would take long to normalise are no code."""
    assert None is read("a\u0301\u0316" * 2_000_000)


@pytest.mark.parametrize(
    "text", [CODE, f"note {CODE.lower()}!", f"x{CODE}x", wide(CODE), CODE.replace("-", " \u2014 ")]
)
def test_texts_that_hold_a_code(text: str) -> None:
    """A code is found inside a text, however it was pasted; a file's name is then not shown."""
    assert codes.holds_code(text)
    assert "(a name with a code in it)" == codes.shown_path(text)


@pytest.mark.parametrize("text", ["", MASK, ID, "JYOTISH-ABCD", "friday testers", "codes.csv"])
def test_texts_that_hold_none(text: str) -> None:
    """A mask, an id or a part of a code is none."""
    assert not codes.holds_code(text)
    assert text == codes.shown_path(text)


@PATIENT
@given(st.text(st.sampled_from(SYMBOLS), min_size=8, max_size=8), st.data())
def test_pasted_codes(symbols: str, data: st.DataObject) -> None:
    """Any mixture of case, width, dashes, blanks and invisible characters reads as the code."""
    code = f"JYOTISH-{symbols[:4]}-{symbols[4:]}"
    noise = st.text(st.sampled_from(BLANKS + INVISIBLE), max_size=2)
    dashes = st.sampled_from("-" + DASHES + EAST_ASIAN_DASHES)
    pasted = "".join(
        data.draw(noise)
        + (data.draw(dashes) if c == "-" else data.draw(st.sampled_from([c, c.lower(), wide(c)])))
        for c in code
    )
    name = codes.read_name(pasted)
    assert name is not None
    assert (hash_of(code), codes.mask(code)) == (name.value, name.label)


@PATIENT
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    """No text whatever raises, and what is read as a code is one once it is folded."""
    name = codes.read_name(text)
    codes.holds_code(text)
    assert name is None or name.kind in Kind
