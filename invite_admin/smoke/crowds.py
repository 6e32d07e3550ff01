"""One crowd: everybody redeems at the same moment, then once more, then three race for one code."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from invite_admin.errors import Failed
from invite_admin.smoke.judging import Answer, Step
from invite_admin.smoke.pool import WAIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from invite_admin.model import Actor
    from invite_admin.smoke.judging import Attempt
    from invite_admin.smoke.people import Code, People

RACERS = 3
TICK = 1.0  # seconds
A_LOOK = 0.02  # seconds between two looks whether all have ended
STOPPING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


def run_crowd(
    people: People, crowd: Sequence[Actor], codes: Sequence[Code], tick: Callable[[], None]
) -> list[Attempt]:
    """Let a crowd redeem.

    Args:
        people: Plays them.
        crowd: Who takes part, ``RACERS`` or more.
        codes: One code for each of them, and one to race for.
        tick: Called when they begin, when the race begins, and each second meanwhile.
    """
    *own, prize = codes
    attempts = _at_once(people, list(zip(crowd, own, strict=True)), _once_and_again, tick)
    racers = [(person, prize) for person in crowd[:RACERS]]
    return attempts + _at_once(people, racers, _race, tick)


def _once_and_again(people: People, person: Actor, code: Code) -> list[Attempt]:
    once = people.redeem(person, code, Step.ONCE)
    if once.answer is not Answer.REDEEMED or people.stopped.is_set():
        return [once]
    return [once, people.redeem(person, code, Step.AGAIN)]


def _race(people: People, person: Actor, code: Code) -> list[Attempt]:
    return [people.redeem(person, code, Step.RACE)]


def _at_once(
    people: People,
    pairs: Sequence[tuple[Actor, Code]],
    act: Callable[[People, Actor, Code], list[Attempt]],
    tick: Callable[[], None],
) -> list[Attempt]:
    """Let each person act on a code, all from the same moment on.

    Raises:
        Failed: They could not begin together within ``WAIT`` seconds.
    """
    start = threading.Barrier(len(pairs) + 1, timeout=WAIT)

    def begin(person: Actor, code: Code) -> list[Attempt]:
        start.wait()
        return act(people, person, code)

    with _signals(signal.SIG_BLOCK), ThreadPoolExecutor(len(pairs)) as crew:
        try:
            acting = [crew.submit(begin, person, code) for person, code in pairs]
            start.wait()
            _await(acting, tick)
        except BaseException as error:
            start.abort()  # first: whoever waits there is waited for when this block ends
            people.stop()
            if isinstance(error, threading.BrokenBarrierError):
                raise Failed("this machine was too busy to let all begin at one moment") from None
            raise
    return [attempt for future in acting for attempt in future.result()]


def _await(acting: Sequence[Future[list[Attempt]]], tick: Callable[[], None]) -> None:
    """Return once all have ended."""
    due = 0.0
    while not all(future.done() for future in acting):
        if time.monotonic() >= due:
            tick()
            due = time.monotonic() + TICK
        with _signals(signal.SIG_UNBLOCK):
            time.sleep(A_LOOK)


@contextmanager
def _signals(how: int) -> Iterator[None]:
    """Block what stops the tool, or let it come, inside.

    Raised while threads begin or are waited for, it would leave behind a lock that they need.
    """
    before = signal.pthread_sigmask(how, STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
