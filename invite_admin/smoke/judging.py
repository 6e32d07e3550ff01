"""What became of one crowd of people, and whether it met the line. Pure."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from invite_admin import text

if TYPE_CHECKING:
    from collections.abc import Sequence

LINE = 10  # people; up to so many the line must be met, beyond it is only recorded
BUSY_SHARE = 0.02  # of all attempts: so many may end without an answer
TIME_SHARE = 0.95  # of the people: so many must have their points in time
_DIGITS = 4  # of a second, or of a share


class Step(Enum):
    """What a person tries."""

    ONCE = "redeem a code"
    AGAIN = "redeem the same code again"
    RACE = "race two others for one code"


class Answer(Enum):
    """How an attempt ended, its repeats included."""

    REDEEMED = "redeemed"
    REFUSED = "refused"  # as it must be: somebody was faster, or it was the same code again
    BUSY = "busy"
    ERROR = "error"


@dataclass(frozen=True)
class Attempt:
    """What one person tried.

    Attributes:
        step: Which of the steps it was.
        user: The person's id.
        code: The code's id.
        answer: How it ended.
        first: Seconds to the first answer; None where there was no connection to ask on.
        whole: Seconds with the repeats, without the waits for a connection; None likewise.
        balance: The person's points after a redemption; None where there was none.
        why: What was answered in place of a redemption; None where it was one.
    """

    step: Step
    user: str
    code: str
    answer: Answer
    first: float | None = None
    whole: float | None = None
    balance: int | None = None
    why: str | None = None


@dataclass(frozen=True)
class Tier:
    """One crowd; the keys are a promise to scripts. Times are in seconds.

    Attributes:
        tier: How many people were asked for.
        users: How many people took part.
        attempts: All attempts: one each, the same code again, and three in a race.
        redeemed: Those that got their points.
        refused: Those that were refused, as they must be.
        busy: Those that found no connection or only locks, also when repeated.
        errors: Those that ended otherwise.
        double: Codes that were redeemed more than once.
        busy_share: ``busy`` by ``attempts``, from 0 to 1.
        points_credited: What the balances rose by, as the application answered.
        points_expected: What the redeemed codes are worth, as the table has them.
        first_p50: The first answer to a person who redeems, the median; None where none came.
        whole_p50: The same with the tries after busy; these likewise at 95 of 100, and the longest.
        met: Whether the line was met.
    """

    tier: int
    users: int
    attempts: int
    redeemed: int
    refused: int
    busy: int
    errors: int
    double: int
    busy_share: float
    points_credited: int
    points_expected: int
    first_p50: float | None
    first_p95: float | None
    first_max: float | None
    whole_p50: float | None
    whole_p95: float | None
    whole_max: float | None
    met: bool

    def misses(self, p95_seconds: float) -> list[str]:
        """Say in what it missed the line; empty where it met it."""
        late = self.whole_p95 is not None and self.whole_p95 > p95_seconds
        found = {
            text.counted(self.errors, "error"): self.errors > 0,
            f"{text.counted(self.double, 'code')} redeemed twice": self.double > 0,
            f"{self.busy_share:.1%} busy, above {BUSY_SHARE:.0%}": self.busy_share > BUSY_SHARE,
            "nobody was answered": self.whole_p95 is None,
            f"95 of 100 took up to {shown(self.whole_p95)}, above {p95_seconds:g} s": late,
            f"{self.points_credited} points credited, {self.points_expected} expected": (
                self.points_credited != self.points_expected
            ),
        }
        return [what for what, holds in found.items() if holds]

    @property
    def bound(self) -> bool:
        """Whether a miss fails the run: up to the line's size, and for a code redeemed twice."""
        return self.tier <= LINE or self.double > 0


def judge(attempts: Sequence[Attempt], users: int, worth: int, expected: int) -> Tier:
    """Count what a crowd's attempts came to; whether the line was met is not said yet.

    Args:
        attempts: All of them.
        users: How many people took part.
        worth: Points of each code.
        expected: Points of the codes that the table has as redeemed.
    """
    ends = Counter(attempt.answer for attempt in attempts)
    winners = Counter(a.code for a in attempts if a.answer is Answer.REDEEMED)
    once = [a for a in attempts if a.step is Step.ONCE]
    first = sorted(a.first for a in once if a.first is not None)
    whole = sorted(a.whole for a in once if a.whole is not None)
    return Tier(
        tier=users,
        users=users,
        attempts=len(attempts),
        redeemed=ends[Answer.REDEEMED],
        refused=ends[Answer.REFUSED],
        busy=ends[Answer.BUSY],
        errors=ends[Answer.ERROR],
        double=sum(count > 1 for count in winners.values()),
        busy_share=round(ends[Answer.BUSY] / max(len(attempts), 1), _DIGITS),
        points_credited=credited(attempts, worth),
        points_expected=expected,
        first_p50=percentile(first, 0.5),
        first_p95=percentile(first, TIME_SHARE),
        first_max=percentile(first, 1),
        whole_p50=percentile(whole, 0.5),
        whole_p95=percentile(whole, TIME_SHARE),
        whole_max=percentile(whole, 1),
        met=False,
    )


def credited(attempts: Sequence[Attempt], worth: int) -> int:
    """Return what the balances rose by.

    A balance is known only after a redemption, so the first one of each person counts as its code
    is worth.
    """
    balances: dict[str, list[int]] = {}
    for attempt in attempts:
        if attempt.balance is not None:
            balances.setdefault(attempt.user, []).append(attempt.balance)
    return sum(max(known) - min(known) + worth for known in balances.values())


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the value that this share does not exceed; None of nothing.

    Args:
        values: In rising order.
        share: Above 0, at most 1.
    """
    if not values:
        return None
    return round(values[math.ceil(share * len(values)) - 1], _DIGITS)


def shown(seconds: float | None) -> str:
    """Return a time for people; milliseconds below one second."""
    if seconds is None:
        return "no answer"
    return f"{seconds * 1000:,.0f} ms" if seconds < 1 else f"{seconds:.2f} s"
