"""Invite codes as text: mint, normalise, hash, mask. Pure; standard library only.

The form is the Jyotisha application's: its redeem form refuses every other one.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
import uuid
from dataclasses import dataclass, field
from enum import Enum

PREFIX = "JYOTISH"
ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # 32 symbols; no I, O, 0, 1
GROUP = 4
BITS = 2 * GROUP * 5  # 32 symbols are 5 bits each
MASK_PREFIX = f"{PREFIX}-{'*' * GROUP}-"
FORM = f"{PREFIX}-{'X' * GROUP}-{'X' * GROUP}"

_CODE = re.compile(rf"{PREFIX}-[A-Z0-9]{{{GROUP}}}-[A-Z0-9]{{{GROUP}}}")
_MASK = re.compile(rf"{PREFIX}-\*{{{GROUP}}}-[A-Z0-9]{{{GROUP}}}")
_DASHES = dict.fromkeys(
    map(ord, "\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\u30fc"), "-"
)


class Secret(str):
    """A text whose repr is blank, so that no traceback, log or debugger line shows it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<secret>"


class Kind(Enum):
    """How a person named a code."""

    CODE = "code"
    ID = "id"
    MASK = "mask"


@dataclass(frozen=True)
class Name:
    """What a person gave to name one code.

    Attributes:
        kind: Which of the three ways it is.
        value: The code's hash, its id as text, or its mask. The plain code is not kept.
        label: What may be shown of it: the mask, or the id.
        folded: True where the text had to be folded further than the application folds it, so
            that the application would refuse it as it was typed.
    """

    kind: Kind
    value: str = field(repr=False)
    label: str
    folded: bool = False


def mint(count: int, *, apart_from: frozenset[str] = frozenset()) -> list[Secret]:
    """Return ``count`` new random codes, no two of them equal and none in ``apart_from``."""
    minted: dict[Secret, None] = {}
    while len(minted) < count:
        symbols = "".join(secrets.choice(ALPHABET) for _ in range(2 * GROUP))
        code = Secret(f"{PREFIX}-{symbols[:GROUP]}-{symbols[GROUP:]}")
        if code not in apart_from:
            minted[code] = None
    return list(minted)


def digest(code: str) -> Secret:
    """Return the hash that the table keeps: lower-case hex SHA-256 of the whole code in UTF-8."""
    return Secret(hashlib.sha256(code.encode()).hexdigest())


def mask(code: str) -> str:
    """Return what may be shown of a code: its prefix and its last four symbols."""
    return MASK_PREFIX + code[-GROUP:]


def read_name(text: str) -> Name | None:
    """Read a code, an id or a mask, folding what people paste; None where it is none of them."""
    folded = _fold(text)
    if _CODE.fullmatch(folded):
        return Name(Kind.CODE, digest(folded), mask(folded), folded != _as_the_application(text))
    if _MASK.fullmatch(folded):
        return Name(Kind.MASK, folded, folded)
    try:
        identity = str(uuid.UUID(folded)) if len(folded) == len(str(uuid.UUID(int=0))) else None
    except ValueError:
        return None
    return Name(Kind.ID, identity, identity) if identity else None


def holds_code(text: str) -> bool:
    """Tell whether a text has a whole code in it, however it was pasted."""
    return _CODE.search(_fold(text)) is not None


def _fold(text: str) -> str:
    """Drop blanks and invisible characters, make every dash a hyphen, widths and cases one."""
    plain = unicodedata.normalize("NFKC", text.translate(_DASHES)).translate(_DASHES)
    kept = (c for c in plain if not c.isspace() and unicodedata.category(c) not in ("Cf", "Cc"))
    return "".join(kept).upper()


def _as_the_application(text: str) -> str:
    """Normalise as the application does: drop white space, then upper-case."""
    return "".join(text.split()).upper()
