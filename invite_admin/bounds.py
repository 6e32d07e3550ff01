"""Bounds a wait that neither the server nor the operating system bounds."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

SILENT = 3.0  # seconds before a wait is spoken of


class TimeUp(Exception):
    """The wait lasted as long as it may."""


@contextmanager
def bounded(
    seconds: float, say: Callable[[str], None], waiting: str
) -> Iterator[Callable[[], None]]:
    """Let what stands inside take at most ``seconds``; say that it waits.

    Yields:
        Called between two waits: the bound holds for each of them, and begins anew.

    Args:
        seconds: The bound.
        say: Told after a moment what is waited for.
        waiting: What is waited for, as in ``waiting for the answer``.

    Raises:
        TimeUp: The bound was reached.
    """
    silent = min(SILENT, seconds)
    begun = time.monotonic()

    def anew() -> None:
        nonlocal begun
        begun = time.monotonic()

    def ring(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's signature
        waited = time.monotonic() - begun
        if waited >= seconds:
            raise TimeUp
        if waited >= silent:
            say(f"{waiting}, at most {seconds:g} s")
        signal.setitimer(signal.ITIMER_REAL, (seconds if waited >= silent else silent) - waited)

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, silent)
    try:
        yield anew
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
