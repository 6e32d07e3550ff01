"""Other people's text made safe to show: in a terminal, in Markdown, in a spreadsheet."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import tzinfo

FLAGS = ("--sandbox",)  # options without a value in the command lines that hints name
FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&#!{}$])")
_PLAIN_MASK = re.compile(r"[A-Za-z0-9*-]+")
# Unicode's controls, format characters (bidi marks among them), lone surrogates, separators; and
# what it calls Default_Ignorable_Code_Point, but for variation selectors: those belong to the
# character before them, as in many emoji. Braille's blank looks like one and is none to Unicode.
_BEYOND = (
    r"\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4"
    r"\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufeff\uffa0"
    r"\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_UNSEEN = re.compile(rf"[\x00-\x1f{_BEYOND}]")
_UNSEEN_IN_JSON = re.compile(f"[{_BEYOND}]")  # the rest of them JSON escapes itself


def visible(text: str) -> str:
    """Show control and invisible characters as escapes, so that none reaches a terminal."""
    return _UNSEEN.sub(_escaped, text)


def json_visible(lines: str) -> str:
    """Write the invisible characters inside lines of JSON as JSON's own escapes."""
    if lines.isascii() and "\x7f" not in lines:
        return lines
    return _UNSEEN_IN_JSON.sub(lambda match: json.dumps(match[0])[1:-1], lines)


def markdown(text: str) -> str:
    """Escape a text for one cell of a Markdown table."""
    return _MARKDOWN.sub(r"\\\1", visible(text))


def code_span(text: str) -> str:
    """Put a mask into a code span, where its asterisks stay asterisks."""
    return f"`{text}`" if _PLAIN_MASK.fullmatch(text) else markdown(text)


def spreadsheet(text: str) -> str:
    """Keep a spreadsheet from reading a cell as a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def rfc3339(value: datetime | str, zone: tzinfo) -> str:
    """Write an instant with its offset; one that Python cannot hold is text already."""
    return value if isinstance(value, str) else _in(value, zone).isoformat()


def short_time(value: datetime | str, zone: tzinfo) -> str:
    """Write an instant for people, to the minute, with its offset."""
    if isinstance(value, str):
        return visible(value)
    return _in(value, zone).isoformat(sep=" ", timespec="minutes").replace("+00:00", "Z")


def made_at(instant: datetime) -> tuple[str, ...]:
    """Write the filter that chooses what was made at one instant, as all of a batch is."""
    return made_between(instant, instant)


def made_between(first: datetime, last: datetime) -> tuple[str, ...]:
    """Write the filter that chooses what was made from one instant to another, both included.

    The server counts microseconds.
    """
    try:
        after = last + timedelta(microseconds=1)
    except OverflowError:  # the last instant of the year 9999
        after = last
    return "--created-since", first.isoformat(), "--created-until", after.isoformat()


def attached(words: Iterable[str]) -> list[str]:
    """Write a value that looks like an option in one word with the option before it."""
    found = [""]
    for word in words:
        last = found[-1]
        takes = last.startswith("--") and "=" not in last and last not in FLAGS
        if takes and word.startswith("--"):
            found[-1] = f"{last}={word}"
        else:
            found.append(word)
    return found[1:]


def counted(count: int, thing: str) -> str:
    """Write a count with its noun: ``1 code``, ``1,000 codes``."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "surrogatepass").decode("ascii")


def _in(value: datetime, zone: tzinfo) -> datetime:
    """Put an instant into a zone, or into UTC where RFC 3339 cannot write the zone's offset."""
    try:
        local = value.astimezone(zone)
    except OverflowError:  # the first and the last day that Python knows
        return value.astimezone(UTC)
    offset = local.utcoffset()
    return local if offset is None or not offset.seconds % 60 else value.astimezone(UTC)
