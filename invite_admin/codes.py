"""Invite codes as text: mint, normalise, hash, mask. Pure; standard library only.

The form is the Jyotisha application's: its redeem form refuses every other one.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from dataclasses import dataclass, field
from enum import Enum
from string import ascii_uppercase, digits
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIX = "JYOTISH"
ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # 32 symbols
ABSENT = sorted(set(ascii_uppercase + digits).difference(ALPHABET))  # too like others in print
GROUP = 4
BITS = 2 * GROUP * 5  # 32 symbols are 5 bits each
LENGTH = len(PREFIX) + 2 * (1 + GROUP)
MASK_PREFIX = f"{PREFIX}-{'*' * GROUP}-"
ALONE = "perhaps one column was sorted without the others; name the codes alone instead"
FORM = f"{PREFIX}-{'X' * GROUP}-{'X' * GROUP}"
_BLANK = f"{PREFIX}-{'?' * GROUP}-{'?' * GROUP}"

_AROUND = re.compile(r"^[^A-Z0-9{]+|[^A-Z0-9}]+$")  # quotes, brackets and stops of a message
_CODE = re.compile(rf"{PREFIX}-[A-Z0-9]{{{GROUP}}}-[A-Z0-9]{{{GROUP}}}")
_MASK = re.compile(rf"{PREFIX}-\*{{{GROUP}}}-[A-Z0-9]{{{GROUP}}}")
_ID = re.compile(r"(?:URN:UUID:)?(\{)?([0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12})(?(1)\})")
_LONGEST = 1_000  # characters of a text that may still be a code; the rest of it is blanks
_SOFT_HYPHEN = re.compile("-?\u00ad+-?")
# Stand for a hyphen, though Unicode does not call them dashes: minus signs, the hyphen bullet,
# the long vowel mark of Japanese, box drawing.
_DASHES = frozenset("\u02d7\u2043\u2212\u2500\u2501\u2796\u30fc")
# Take no room on the screen, though Unicode does not call them format characters.
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, range(0xFE00, 0xFE10)))
)


class Secret(str):
    """A text whose repr is blank, so that no traceback, log or debugger line shows it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<secret>"


class Secrets(list[str]):
    """Many such texts, plain ones for speed; only the repr of them all is blank."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self)} secrets>"


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
        foreign: True where it has a symbol that no code has, such as 0.
        mask: What the row of a file that has the id calls the code's mask; None where it does not.
        line: The row's line; None where the name comes from elsewhere.
    """

    kind: Kind
    value: str = field(repr=False)
    label: str
    folded: bool = False
    foreign: bool = False
    mask: str | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)


def mint(count: int) -> Secrets:
    """Return ``count`` new random codes, no two of them equal."""
    minted: dict[str, None] = {}
    while len(minted) < count:
        minted |= dict.fromkeys(_drawn(count - len(minted)))
    return Secrets(minted)


def _drawn(count: int) -> list[str]:
    """Draw codes; each symbol is as likely as another, for their number divides 256."""
    table = (ALPHABET * (256 // len(ALPHABET))).encode()
    return filled(_BLANK, secrets.token_bytes(2 * GROUP * count).translate(table), count)


def filled(form: str, symbols: bytes, count: int) -> list[str]:
    """Return a form many times, its ``?`` replaced by one symbol after the other.

    All texts are made at once, place by place: that costs a third of making one by one.

    Args:
        form: The form, in ASCII.
        symbols: As many ASCII characters as there are ``?`` to replace.
        count: How many times.
    """
    line = f"{form}\n".encode()
    places = [place for place, character in enumerate(line) if character == ord("?")]
    lines = bytearray(line * count)
    for number, place in enumerate(places):
        lines[place :: len(line)] = symbols[number :: len(places)]
    return lines.decode().splitlines()


def space() -> int:
    """Return how many codes there can be."""
    return int(len(ALPHABET) ** (2 * GROUP))


def digest(code: str) -> Secret:
    """Return the hash that the table keeps: lower-case hex SHA-256 of the whole code in UTF-8."""
    return Secret(hashlib.sha256(code.encode()).hexdigest())


def digests(codes: Iterable[str]) -> Secrets:
    """Return the hashes of many codes."""
    return Secrets([hashlib.sha256(code.encode()).hexdigest() for code in codes])


def mask(code: str) -> str:
    """Return what may be shown of a code: its prefix and its last four symbols."""
    return MASK_PREFIX + code[-GROUP:]


def masks(codes: Iterable[str]) -> list[str]:
    """Return the masks of many codes."""
    return [MASK_PREFIX + code[-GROUP:] for code in codes]


def read_name(text: str) -> Name | None:
    """Read a code, an id or a mask, folding what people paste; None where it is none of them."""
    if len(text) > _LONGEST:
        return None
    folded = _AROUND.sub("", _fold(text))
    if _CODE.fullmatch(folded):
        return Name(
            Kind.CODE,
            digest(folded),
            mask(folded),
            folded=folded != _as_the_application(text),
            foreign=not set(ABSENT).isdisjoint(folded[len(PREFIX) :]),
        )
    if _MASK.fullmatch(folded):
        return Name(Kind.MASK, folded, folded)
    if match := _ID.fullmatch(folded):
        identity = match[2].lower()
        return Name(Kind.ID, identity, identity)
    return None


def holds_code(text: str) -> bool:
    """Tell whether a text has a whole code in it, however it was pasted."""
    return _CODE.search(_fold(text)) is not None


def shown_path(path: object) -> str:
    """Return the name of a file to show; one that has a whole code in it is not repeated."""
    return "(a name with a code in it)" if holds_code(str(path)) else str(path)


def _fold(text: str) -> str:
    """Drop blanks and invisible characters, make every dash a hyphen, widths and cases one."""
    plain = map(_dash, unicodedata.normalize("NFKC", text))
    kept = _SOFT_HYPHEN.sub("-", "".join(c for c in plain if not c.isspace()))
    return "".join(c for c in kept if not _unseen(c)).upper()


def _dash(character: str) -> str:
    dash = unicodedata.category(character) == "Pd" or character in _DASHES
    return "-" if dash else character


def _unseen(character: str) -> bool:
    return unicodedata.category(character) in ("Cf", "Cc") or character in _INVISIBLE


def _as_the_application(text: str) -> str:
    """Normalise as the application does: drop white space, then upper-case."""
    return "".join(text.split()).upper()
