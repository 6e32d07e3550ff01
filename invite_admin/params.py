"""Click parameter types. What they refuse, they refuse before connecting and without quoting it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import click

from invite_admin import codes
from invite_admin.errors import OverLimit
from invite_admin.paths import Refusal
from invite_admin.whens import FORMS, NEVER, Meaning, When, read_when

if TYPE_CHECKING:
    from invite_admin.run import Run

SMALLEST_CROWD, LARGEST_CROWD = 3, 100  # people
REQUEST_ID_LENGTH = 200  # characters, as the audit log has it
SHORTEST_INTERVAL, LONGEST_INTERVAL = 3, 86_400  # seconds; a look costs the server something
NOTE_LENGTH = 500  # characters; the database has no limit of its own everywhere
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
# Words of Persian, Hindi and Mongolian, Han characters and many emoji are spelled with these.
_JOINERS = re.compile("[\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_INTERVAL = re.compile(r"([0-9]{1,6})([smh])")
_DIGITS = re.compile(r"[0-9]+")
_LARGEST = 2**63 - 1  # PostgreSQL's bigint
_ENOUGH = 20  # digits that make a number larger than any bound


class WholeNumber(click.ParamType[int]):
    """A whole number from 1 on, in plain ASCII digits.

    Args:
        limit: The name of the tool's own limit in the settings; None means that there is none.
        unit: What is counted, for the message over the limit.
    """

    name = "number"

    def __init__(self, limit: str | None = None, unit: str = "") -> None:
        self._limit, self._unit = limit, unit

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - Click's signature
        """Return the number; refuse signs, fractions, exponents and other scripts' digits."""
        if isinstance(value, int):
            return value
        number = _whole(value)
        if number < 1:
            raise Refusal("must be a whole number from 1 on, in the digits 0-9", ctx, param)
        if self._limit and ctx:
            most = getattr(_run(ctx).preferences.limits, self._limit)
            if number > most:
                raise OverLimit(
                    f"at most {most:,} {self._unit} are allowed; nothing was changed",
                    hint=f"{self._limit} of [limits] in the settings is the bound",
                )
        if number > _LARGEST:
            raise Refusal(f"must be a whole number from 1 to {_LARGEST:,}", ctx, param)
        return number


class Note(click.ParamType[str]):
    """A free label: trimmed, at most ``NOTE_LENGTH`` characters, none invisible, no code."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - Click's signature
        """Return the trimmed text."""
        text = _typed(value).strip()
        if len(text) > NOTE_LENGTH:
            raise Refusal(f"must have at most {NOTE_LENGTH} characters", ctx, param)
        if _hides(text):
            raise Refusal("must not hold control or invisible characters", ctx, param)
        return _no_code(text, param, ctx)


class Search(click.ParamType[str]):
    """A text to look for; a whole code is refused, for it would be sent to the server."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - Click's signature
        """Return the text as it is, if PostgreSQL can hold it."""
        text = _typed(value)
        if not text.strip() or "\x00" in text or not _encodable(text):
            raise Refusal("must be text, and not empty", ctx, param)
        return _no_code(text, param, ctx)


class RequestId(Search):
    """A request id: 1 to 200 characters, no control characters."""

    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - Click's signature
        """Return the trimmed id."""
        text = super().convert(value, param, ctx).strip()
        if len(text) > REQUEST_ID_LENGTH or not text.isprintable() or _hides(text):
            raise Refusal(f"must have 1 to {REQUEST_ID_LENGTH} printable characters", ctx, param)
        return text


class User(Search):
    """A person: an e-mail address, or a user id."""

    name = "user"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - Click's signature
        """Return the trimmed address or id."""
        text = super().convert(value, param, ctx).strip()
        if "@" not in text and not _UUID.fullmatch(text):
            raise Refusal("must be an e-mail address or a user id", ctx, param)
        return text


class Time(click.ParamType[When]):
    """A time as people write it; see ``whens``.

    Args:
        meaning: What the option uses it for.
    """

    name = "when"

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> When:  # noqa: ANN401 - Click's signature
        """Return the time, not yet put on the server's clock."""
        if isinstance(value, When):
            return value
        assert ctx is not None  # noqa: S101 - Click always passes it while parsing
        try:
            return read_when(value, self._meaning, _run(ctx).preferences.timezone)
        except ValueError as error:
            raise Refusal(str(error), ctx, param) from None


class Expiry(Time):
    """An expiry, or ``never``; None stands for never."""

    def __init__(self) -> None:
        super().__init__(Meaning.EXPIRY)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - Click's signature
        """Return the time, or ``NEVER``."""
        return NEVER if value in ("never", NEVER) else super().convert(value, param, ctx)


class Interval(click.ParamType[int]):
    """The time between two looks, in seconds: ``5s``, ``1m`` or ``1h``."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - Click's signature
        """Return the seconds, ``SHORTEST_INTERVAL`` or more, and at most a day."""
        if isinstance(value, int):
            return value
        match = _INTERVAL.fullmatch(value)
        seconds = int(match[1]) * {"s": 1, "m": 60, "h": 3_600}[match[2]] if match else 0
        if not SHORTEST_INTERVAL <= seconds <= LONGEST_INTERVAL:
            why = f"must be {SHORTEST_INTERVAL}s or more and at most a day, such as 5s or 1m"
            raise Refusal(why, ctx, param)
        return seconds


class CrowdSize(click.ParamType[int]):
    """How many people redeem at once: three at least, for three race for one code."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - Click's signature
        """Return the number, from ``SMALLEST_CROWD`` to ``LARGEST_CROWD``."""
        if isinstance(value, int):
            return value
        number = _whole(value)
        if not SMALLEST_CROWD <= number <= LARGEST_CROWD:
            bounds = f"from {SMALLEST_CROWD} to {LARGEST_CROWD}"
            raise Refusal(f"must be a whole number {bounds}, in the digits 0-9", ctx, param)
        return number


COUNT = WholeNumber("codes_per_batch", "codes in a batch")
POINTS = WholeNumber("points_per_code", "points a code")
NUMBER = WholeNumber()
CROWD_SIZE = CrowdSize()
WHEN_FORMS = FORMS


def _run(ctx: click.Context) -> Run:
    found: Run = ctx.obj
    return found


def _whole(text: str) -> int:
    """Return the number, 0 where it is none; one that is too large keeps its first digits only."""
    digits = text.lstrip("0")
    return int(digits[:_ENOUGH]) if _DIGITS.fullmatch(digits) else 0


def _typed(value: object) -> str:
    """Return what was typed, as UTF-8 also where the locale knows no more than ASCII."""
    try:
        return os.fsencode(str(value)).decode()
    except UnicodeError:
        return str(value)


def _hides(text: str) -> bool:
    """Tell whether a text has characters that nobody sees, or nothing else than joiners."""
    from invite_admin.text import visible  # noqa: PLC0415 - not for the help

    bare = _JOINERS.sub("", text)
    return visible(bare) != bare or bool(text and not bare.strip())


def _no_code(text: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
    if codes.holds_code(text):
        raise Refusal(
            "must not hold an invite code; look codes up with `invite show -`", ctx, param
        )
    return text


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
