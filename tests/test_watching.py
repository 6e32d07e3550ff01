"""The watch's rhythm and memory, on a clock that does not run."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from invite_admin.errors import Busy, Denied, InviteError, Unavailable
from invite_admin.watching import Look, Watch

if TYPE_CHECKING:
    from collections.abc import Iterator

NOON: Final = datetime(2030, 1, 1, 12, tzinfo=UTC)
MINUTE: Final = timedelta(minutes=1)
ENDLESS: Final = 2_000  # waits
LADDER: Final = [30, 60, 120, 240, 480, 960, 1800, 1800]


class Redeemed(NamedTuple):
    """A row as a look yields it."""

    id: str
    redeemed_at: datetime | str


@dataclass
class Beta:
    """A table that is looked at, on a clock that only a wait moves.

    Args:
        now: The time.
        rows: What was redeemed and committed so far.
        whole: Whether the next look yields all; else the server is lost after half of the rows.
        failures: How the next looks end; None for a look that succeeds.
        waits: Each wait, in seconds.
        said: Each line that a person was told.
    """

    now: datetime = NOON
    rows: list[Redeemed] = field(default_factory=list)
    whole: bool = True
    failures: list[InviteError | None] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    @contextmanager
    def look(self) -> Iterator[Look]:
        """Open one look."""
        failure = self.failures.pop(0) if self.failures else None
        if failure:
            raise failure
        yield Look(self.now, self._since)

    def _since(self, start: datetime) -> Iterator[Redeemed]:
        found = [row for row in self.rows if str(row.redeemed_at) >= str(start)]
        found.sort(key=lambda row: str(row.redeemed_at))
        if not self.whole:
            self.whole = True
            yield from found[: len(found) // 2]
            raise Unavailable("lost")
        yield from found

    def pause(self, seconds: float) -> None:
        """Let this time pass; what is awaited comes soon, or the test fails."""
        assert len(self.waits) < ENDLESS
        self.waits.append(seconds)
        self.now += timedelta(seconds=seconds)

    def watch(self, since: datetime | None = None) -> Watch:
        """Begin a watch, now or since."""
        made = Watch(self.look, 5, self.pause, self.said.append)
        made.begin(lambda _now: since)
        return made

    def redeem(self, name: str, at: datetime | str) -> None:
        """Commit a redemption that has this time."""
        self.rows.append(Redeemed(name, at))


@pytest.mark.parametrize("kind", [Unavailable, Busy])
def test_backoff(kind: type[InviteError]) -> None:
    """30 s doubling to 30 min while the database is away; the first success clears it."""
    beta = Beta()
    rows = beta.watch().rows()
    beta.failures = [*(kind("away") for _ in LADDER), None, kind("away again")]
    beta.redeem("a", NOON)
    assert "a" == next(rows).id
    assert LADDER == beta.waits
    beta.redeem("b", beta.now)
    assert "b" == next(rows).id
    assert [*LADDER, 5, 30] == beta.waits
    shown = ["30 s", "1 min", "2 min", "4 min", "8 min", "16 min", "30 min", "30 min"]
    back = "the database answers again; nothing was missed"
    assert [
        *(f"away; looking again in {wait}" for wait in shown),
        back,
        "away again; looking again in 30 s",
    ] == beta.said


def test_away_for_weeks() -> None:
    """However often the database was away, the wait stays at 30 min."""
    beta = Beta()
    rows = beta.watch().rows()
    beta.failures = [Unavailable("away") for _ in range(1_500)]
    beta.redeem("a", NOON)
    assert "a" == next(rows).id
    assert [*LADDER[:6], *[1800] * 1_494] == beta.waits


def test_away_at_the_beginning() -> None:
    """A watch that is started while the database is away begins once it is back."""
    beta = Beta(failures=[Unavailable("away")])
    beta.watch()
    assert [30] == beta.waits
    # What was redeemed meanwhile is not told, so nothing is promised of it.
    assert ["away; looking again in 30 s", "the database answers again"] == beta.said


def test_what_waiting_does_not_help() -> None:
    """Any other failure ends it at once."""
    beta = Beta()
    rows = beta.watch().rows()
    beta.failures = [Denied("no right")]
    with pytest.raises(Denied):
        next(rows)
    assert [] == beta.waits


def test_late_ones() -> None:
    """What is committed up to fifteen minutes late is told, also what began before the watch."""
    beta = Beta()
    beta.redeem("before", NOON - MINUTE)
    rows = beta.watch().rows()
    beta.redeem("began before", NOON - 10 * MINUTE)
    beta.redeem("a", NOON)
    assert ["began before", "a"] == [row.id for row in islice(rows, 2)]
    beta.now += 60 * MINUTE
    beta.redeem("b", beta.now)
    assert "b" == next(rows).id
    beta.redeem("late", beta.now - 14 * MINUTE)
    assert "late" == next(rows).id


def test_between_the_servers_now_and_what_the_first_look_sees() -> None:
    """What is redeemed after the server's now is told, also where the first look has it already."""
    beta = Beta()
    beta.redeem("just then", NOON)
    beta.redeem("endless", "infinity")
    beta.redeem("after", NOON + timedelta(microseconds=1))
    rows = beta.watch().rows()
    assert "after" == next(rows).id
    beta.redeem("later", NOON + MINUTE)
    assert "later" == next(rows).id


def test_since_is_a_bound() -> None:
    """With --since nothing older is told, however late it was committed."""
    beta = Beta()
    rows = beta.watch(NOON).rows()
    beta.redeem("older", NOON - MINUTE)
    beta.redeem("a", NOON)
    beta.redeem("b", NOON + MINUTE)
    assert ["a", "b"] == [row.id for row in islice(rows, 2)]


def test_a_look_that_fails_half_way() -> None:
    """What a look told before it failed is not told again, and its rest is told by the next."""
    beta = Beta(whole=False)
    for number in range(600):
        beta.redeem(f"{number:03}", NOON - (600 - number) * MINUTE)
    rows = beta.watch(NOON - 600 * MINUTE).rows()
    assert [f"{n:03}" for n in range(600)] == [row.id for row in islice(rows, 600)]
    assert [30] == beta.waits


def test_the_infinite() -> None:
    """A redemption whose time no calendar holds is told once as well."""
    beta = Beta()
    rows = beta.watch().rows()
    beta.redeem("z", "infinity")
    assert "z" == next(rows).id
    beta.redeem("a", beta.now)
    assert "a" == next(rows).id


def test_memory() -> None:
    """It remembers what the window holds, and no more."""
    beta = Beta()
    for number in range(1000):
        beta.redeem(f"{number:04}", NOON + number * MINUTE)
    beta.now += 999 * MINUTE
    watch = beta.watch(NOON)
    assert 1000 == len(list(islice(watch.rows(), 1000)))
    assert 15 + 1 + 1 == len(watch._known._ids)  # both ends count, and the one that is being told
