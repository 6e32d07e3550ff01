"""Tries again what may succeed a moment later, with jitter and a bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import tenacity

from invite_admin.errors import InviteError

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST, LONGEST = 0.2, 5.0  # seconds between two tries of what failed, doubling
LOOKS = (0.15, 0.25)  # seconds between two looks at what others hold
IN_ALL = 30.0  # seconds for all tries of a transaction
CONNECTS = 3  # times the connect timeout: how long a server is waited for in all

_Result = TypeVar("_Result")


def retried(
    work: Callable[[], _Result],
    say: Callable[[str], None],
    seconds: float,
    *,
    passing: Callable[[InviteError], bool] = lambda error: error.transient,
) -> _Result:
    """Do it, again where it failed for a moment.

    Args:
        work: What to do.
        say: Told before each wait.
        seconds: How long all tries together may take.
        passing: Tells which failures are worth another try.

    Raises:
        InviteError: The last failure.
    """

    def again(error: BaseException) -> bool:
        return isinstance(error, InviteError) and passing(error)

    def told(state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        pause = state.next_action.sleep if state.next_action else 0.0
        # What is true of the codes the last failure says; after a lost COMMIT this one cannot.
        why = error.reason if isinstance(error, InviteError) else error
        say(f"{why}; trying again in {pause:.1f} s")

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception(again),
        wait=tenacity.wait_exponential(multiplier=FIRST, max=LONGEST)
        + tenacity.wait_random(0, FIRST),
        stop=tenacity.stop_before_delay(seconds),
        before_sleep=told,
        reraise=True,
    )(work)


def polled(free: Callable[[], bool], seconds: float) -> bool:
    """Look again and again until something is free; False where it was not in time.

    Args:
        free: Looks.
        seconds: How long to go on.
    """
    return tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda found: not found),
        wait=tenacity.wait_random(*LOOKS),
        stop=tenacity.stop_before_delay(seconds),
        retry_error_callback=lambda _state: False,
    )(free)
