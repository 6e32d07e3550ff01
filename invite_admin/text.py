"""Other people's text made safe to show: in a terminal, in Markdown, in a spreadsheet."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import tzinfo

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&#!{}])")
_PLAIN_MASK = re.compile(r"[A-Za-z0-9*-]+")
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, bidi marks, lone surrogates, separators


def visible(text: str) -> str:
    """Show control and invisible characters as escapes, so that none reaches a terminal."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(c) if unicodedata.category(c) in _UNSEEN else c for c in text)


def markdown(text: str) -> str:
    """Escape a text for one cell of a Markdown table."""
    return _MARKDOWN.sub(r"\\\1", visible(text))


def code_span(text: str) -> str:
    """Put a mask into a code span, where its asterisks stay asterisks."""
    return f"`{text}`" if _PLAIN_MASK.fullmatch(text) else markdown(text)


def spreadsheet(text: str) -> str:
    """Keep a spreadsheet from reading a cell as a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def rfc3339(value: datetime | str, zone: tzinfo) -> str:
    """Write an instant with its offset; one that Python cannot hold is text already."""
    return value if isinstance(value, str) else _in(value, zone).isoformat()


def short_time(value: datetime | str, zone: tzinfo) -> str:
    """Write an instant for people, to the minute, with its offset."""
    if isinstance(value, str):
        return visible(value)
    return _in(value, zone).isoformat(sep=" ", timespec="minutes").replace("+00:00", "Z")


def counted(count: int, thing: str) -> str:
    """Write a count with its noun: ``1 code``, ``1,000 codes``."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def _in(value: datetime, zone: tzinfo) -> datetime:
    try:
        return value.astimezone(zone)
    except OverflowError:  # the first and the last day that Python knows
        return value.astimezone(UTC)
