"""Times as people write them: ``2026-12-31``, ``2026-12-31T18:00+08:00``, ``30d``, ``12h``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, timezone
from enum import Enum
from typing import TYPE_CHECKING

from invite_admin.errors import NOTHING_CHANGED, BadInput

if TYPE_CHECKING:
    from datetime import tzinfo

_SPAN = re.compile(r"0*([0-9]+)([dh])")
_LONGEST_SPAN = 9  # digits; more lead out of the calendar, in hours too
_FIVE_DIGITS = re.compile(r"[1-9][0-9]{4,}-[0-9]{2}-[0-9]{2}(T.*)?")  # of a year
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INSTANT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_LAST_DAY = "9999-12-31"
_OUTSIDE = "lies outside the years 1 to 9999"
_LAST_ENDS = "counts the day whole, and the end of that day is past the year 9999"
FORMS = "2026-12-31, 2026-12-31T18:00 (with Z or +08:00), 30d or 12h"


class Meaning(Enum):
    """What an option uses a time for; it decides what a bare day and a span mean."""

    EXPIRY = "expiry"  # a day counts whole; a span lies ahead
    BEFORE = "before"  # a day's start; a span lies ahead
    SINCE = "since"  # a day's start; a span lies behind
    UNTIL = "until"  # a day counts whole; a span lies behind


@dataclass(frozen=True)
class When:
    """A time as it was written, checked, not yet put on the server's clock.

    Attributes:
        instant: The instant with its offset; None for a span.
        span: The distance from the server's now, ahead or behind; None for an instant.
        day: The bare day that was written; None where a time was given.
    """

    instant: datetime | None = None
    span: timedelta | None = None
    day: str | None = None

    def at(self, now: datetime, what: str) -> datetime:
        """Return the instant that is meant, given the server's now.

        Args:
            now: The server's now.
            what: Which time it is, for the message.

        Raises:
            BadInput: The span leads out of the years 1 to 9999.
        """
        if self.span is None:
            assert self.instant is not None  # noqa: S101 - one of the two is always set
            return self.instant
        try:
            return now + self.span
        except OverflowError:
            raise BadInput(f"{what} {_OUTSIDE}; {NOTHING_CHANGED}") from None


NEVER = When()  # as an expiry: none


def read_when(text: str, meaning: Meaning, zone: tzinfo) -> When:
    """Read a time as a person writes it.

    Args:
        text: One of the forms in ``FORMS``.
        meaning: What it is for.
        zone: The time zone of a text that has no offset.

    Raises:
        ValueError: It is none of the forms, no such time exists in the zone, or it exists twice.
            The message never repeats the text.
    """
    try:
        if match := _SPAN.fullmatch(text):
            return When(span=_span(match[1], match[2], meaning))
        if _DATE.fullmatch(text):
            return When(instant=_day(text, meaning, zone), day=text)
        if match := _INSTANT.fullmatch(text):
            naive = datetime.fromisoformat(match[1])
            return When(instant=_with_offset(naive, match[2]) if match[2] else _local(naive, zone))
    except OverflowError:
        raise ValueError(_LAST_ENDS if text == _LAST_DAY else _OUTSIDE) from None
    except ValueError as error:
        raise (
            error
            if isinstance(error, _LocalTimeError)
            else ValueError("is no date or time that exists")
        ) from None
    if _FIVE_DIGITS.fullmatch(text):
        raise ValueError(_OUTSIDE)
    raise ValueError(f"is no time this tool reads; give one like {FORMS}")


_OF_A_DAY = "means a midnight that {}; add a time of day, such as T12:00"


class _LocalTimeError(ValueError):
    """A wall-clock time that the zone does not have exactly once."""


def _span(digits: str, unit: str, meaning: Meaning) -> timedelta:
    if len(digits) > _LONGEST_SPAN:
        raise OverflowError(unit)
    amount = int(digits)
    distance = timedelta(days=amount) if unit == "d" else timedelta(hours=amount)
    return distance if meaning in (Meaning.EXPIRY, Meaning.BEFORE) else -distance


def _day(text: str, meaning: Meaning, zone: tzinfo) -> datetime:
    start = datetime.combine(datetime.fromisoformat(text).date(), time())
    whole = meaning in (Meaning.EXPIRY, Meaning.UNTIL)
    return _local(start + timedelta(days=1) if whole else start, zone, _OF_A_DAY)


def _with_offset(naive: datetime, offset: str) -> datetime:
    if offset == "Z":
        return naive.replace(tzinfo=UTC)
    hours, minutes = int(offset[1:3]), int(offset[4:6])
    if hours > 15 or minutes > 59:  # noqa: PLR2004 - the server reads offsets below 16 hours
        raise ValueError(offset)
    distance = timedelta(hours=hours, minutes=minutes)
    aware = naive.replace(tzinfo=timezone(distance if offset[0] == "+" else -distance))
    aware.astimezone(UTC)  # an overflow is found here, not on the server
    return aware


def _local(naive: datetime, zone: tzinfo, said: str = "{}; give an offset") -> datetime:
    """Put a wall-clock time into its zone; refuse one that is skipped or comes twice."""
    first, second = naive.replace(tzinfo=zone, fold=0), naive.replace(tzinfo=zone, fold=1)
    if first.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != naive:
        raise _LocalTimeError(said.format(f"does not exist in {zone} (the clocks skip it)"))
    if first.utcoffset() != second.utcoffset():
        raise _LocalTimeError(said.format(f"comes twice in {zone} (the clocks go back)"))
    offset = first.utcoffset()
    return first.replace(tzinfo=timezone(offset)) if offset is not None else first
