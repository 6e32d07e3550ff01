"""Follows what is redeemed: looks, waits, looks again; each redemption once, the oldest first."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from invite_admin.errors import Busy, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

WINDOW = timedelta(minutes=15)  # how late after its own time a redemption may be committed
FIRST, LONGEST = 30.0, 1800.0  # seconds until the next look while the database is away
BACK = "the database answers again"


@dataclass(frozen=True)
class Look:
    """One look at the table, in a transaction of its own.

    Attributes:
        now: The server's time.
        since: Yields what was redeemed at an instant or later, the oldest first.
    """

    now: datetime
    since: Callable[[datetime], Iterator[Any]]


class Known:
    """What was told already, as long as a look can meet it again."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._by_age: list[tuple[datetime, str]] = []

    def add(self, row: Any) -> bool:  # noqa: ANN401 - a row of the table
        """Take in a redemption; tell whether it was new."""
        if row.id in self._ids:
            return False
        self._ids.add(row.id)
        if isinstance(row.redeemed_at, datetime):  # else infinity, which no look leaves behind
            heapq.heappush(self._by_age, (row.redeemed_at, row.id))
        return True

    def forget(self, before: datetime) -> None:
        """Forget what no look asks for any more."""
        while self._by_age and self._by_age[0][0] < before:
            self._ids.remove(heapq.heappop(self._by_age)[1])


class Watch:
    """Looks again and again.

    Args:
        look: Opens one look.
        interval: Seconds between two looks.
        pause: Waits so many seconds.
        say: Told when the database goes away, and when it is back.
    """

    def __init__(
        self,
        look: Callable[[], AbstractContextManager[Look]],
        interval: float,
        pause: Callable[[float], None],
        say: Callable[[str], None],
    ) -> None:
        self._look, self._interval, self._pause, self._say = look, interval, pause, say
        self._known = Known()
        self._bound = datetime.min  # noqa: DTZ901 - `begin` sets it
        self._wait = 0.0  # seconds of the last wait for a database that is away

    def begin(self, start: Callable[[datetime], datetime | None]) -> None:
        """Find out where to begin.

        Args:
            start: Given the server's now, says from when on to tell; None for what is not to be
                seen yet, which also takes in what began before and is committed later.
        """

        def first(look: Look) -> Iterator[Any]:
            asked = start(look.now)
            self._bound = asked or look.now - WINDOW
            if asked is None:
                for row in look.since(self._bound):
                    # A look's snapshot is younger than its now: what came between is news.
                    if not _is_after(row.redeemed_at, look.now):
                        self._known.add(row)
            return iter(())

        list(self._looked(first, BACK))

    def rows(self) -> Iterator[Any]:
        """Yield each redemption once, for ever.

        Raises:
            InviteError: What waiting does not help against.
        """
        while True:
            yield from self._looked(self._news, f"{BACK}; nothing was missed")
            self._pause(self._interval)

    def _news(self, look: Look) -> Iterator[Any]:
        for row in look.since(self._bound):
            if self._known.add(row):
                yield row
            if isinstance(row.redeemed_at, datetime):
                self._reached(min(row.redeemed_at, look.now))
        self._reached(look.now)

    def _reached(self, instant: datetime) -> None:
        """Move the bound behind what was told, which stands also where the look then fails."""
        self._bound = max(self._bound, instant - WINDOW)
        self._known.forget(self._bound)

    def _looked(self, use: Callable[[Look], Iterator[Any]], back: str) -> Iterator[Any]:
        """Look once; while the database is away, again after ever longer waits.

        Args:
            use: Yields what is told of a look.
            back: What is said once the database is back.
        """
        while True:
            try:
                with self._look() as look:
                    yield from use(look)
                break
            except (Unavailable, Busy) as error:
                self._wait = min(2 * self._wait, LONGEST) if self._wait else FIRST
                self._say(f"{error.message}; looking again in {_shown(self._wait)}")
                self._pause(self._wait)
        if self._wait:
            self._wait = 0.0
            self._say(back)


def _is_after(redeemed_at: datetime | str, now: datetime) -> bool:
    return isinstance(redeemed_at, datetime) and redeemed_at > now


def _shown(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 60 else f"{seconds / 60:g} min"  # noqa: PLR2004 - a minute
