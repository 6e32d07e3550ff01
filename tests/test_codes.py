"""Codes as text: their form, hash and mask, and how what people paste is read."""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import TYPE_CHECKING, Final

from databases import hash_of, make_code

from invite_admin import codes

if TYPE_CHECKING:
    import pytest

CODE: Final = "JYOTISH-ABCD-EFGH"
MASK: Final = "JYOTISH-****-EFGH"
ID: Final = "0f8fad5b-d9cb-469f-a165-70867728950e"
FORM: Final = re.compile(r"JYOTISH-[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}")


def test_minted_codes_have_the_form() -> None:
    """Every code has the prefix, two groups of four, and none of the symbols people confuse."""
    minted = codes.mint(2_000)
    assert [] == [code for code in minted if not FORM.fullmatch(code)]


def test_minted_codes_use_the_whole_alphabet() -> None:
    """All 32 symbols come up in every place, so that a code has its 40 bits."""
    minted = [code.replace("-", "")[-8:] for code in codes.mint(2_000)]
    alphabet = set("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")
    assert [alphabet] * 8 == [set(symbols) for symbols in zip(*minted, strict=True)]
    assert 40 == codes.BITS


def test_minted_codes_are_distinct(monkeypatch: pytest.MonkeyPatch) -> None:
    """A code that comes up again is not given out."""
    drawn = iter([bytes([0] * 16), bytes([0] * 8), bytes([33] * 8)])
    monkeypatch.setattr(secrets, "token_bytes", lambda _: next(drawn))
    assert ["JYOTISH-AAAA-AAAA", "JYOTISH-BBBB-BBBB"] == codes.mint(2)


def test_minting_none() -> None:
    """No codes are an empty list."""
    assert [] == codes.mint(0)


def test_hash_of_the_whole_code() -> None:
    """The hash is SHA-256 of prefix, hyphens and symbols, in lower-case hex."""
    code = make_code()
    assert hashlib.sha256(code.encode()).hexdigest() == codes.digest(code)
    assert hash_of(code) == codes.digest(code)


def test_mask_shows_the_last_group() -> None:
    """A mask is the prefix, four asterisks and the last four symbols."""
    assert MASK == codes.mask(CODE)


def test_secrets_have_a_blank_repr() -> None:
    """Neither a code, nor its hash, nor a name that holds the hash shows itself in a traceback."""
    name = codes.read_name(CODE)
    shown = repr([codes.Secret(CODE), codes.digest(CODE), codes.mint(1), name])
    assert "<secret>" in shown
    assert [] == [s for s in (CODE, codes.digest(CODE), "ABCD") if s in shown]
