"""A connection whose every wait for the server has a bound, and is spoken of.

The server's own timeouts bound what it works on. They bound neither a server whose process hangs
nor a pooler that holds a statement back until it has a connection free.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

from invite_admin.bounds import TimeUp, bounded
from invite_admin.errors import NOTHING_CHANGED, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from psycopg.abc import PQGen

Result = TypeVar("Result")

GRACE = 10  # seconds after the server's own bound, in which its word of it may arrive
ANSWER = "waiting for the server's answer"


class NoAnswer(psycopg.OperationalError):
    """The server sent nothing for as long as the bound; the connection is closed then.

    Args:
        seconds: The bound.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def told(self) -> Unavailable:
        """Return what a person is told of it outside COMMIT."""
        return Unavailable(
            f"the server gave no answer for {self.seconds:g} s, so it was left; {NOTHING_CHANGED}",
            hint="it may hang, or a pooler in front of it have no connection free; run the command "
            "again once it answers",
        )


class Patient(psycopg.Connection[Any]):
    """A connection that waits as long as it was told to, and says so once.

    Attributes:
        say: Told what a person should know.
    """

    _seconds: float | None = None
    _waiting = ANSWER
    _said = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - psycopg's own
        super().__init__(*args, **kwargs)
        self.say: Callable[[str], None] = lambda _line: None

    def expect(self, seconds: float, waiting: str = ANSWER) -> None:
        """Bound each wait from here on.

        Args:
            seconds: The bound.
            waiting: What a person is told after a moment.
        """
        self._seconds, self._waiting = seconds, waiting

    def wait(self, gen: PQGen[Result], *args: Any, **kwargs: Any) -> Result:  # noqa: ANN401 - psycopg's own
        """Wait for the server as psycopg does, and no longer than the bound.

        Raises:
            NoAnswer: The bound was reached.
        """
        if self._seconds is None or threading.current_thread() is not threading.main_thread():
            return super().wait(gen, *args, **kwargs)  # signals, which bound it, are the main's
        try:
            with bounded(self._seconds, self._once, self._waiting):
                return super().wait(gen, *args, **kwargs)
        except TimeUp:
            self.pgconn.finish()
            raise NoAnswer(self._seconds) from None

    def hush(self) -> None:
        """Say nothing of the waits to come: a person knows."""
        self._said = self._waiting

    def tell(self, seconds: float) -> None:
        """Say that the server is waited for, where somebody else bounds that."""
        self._once(f"{ANSWER}, at most {seconds:g} s")

    def _once(self, line: str) -> None:
        if self._waiting != self._said:
            self._said = self._waiting
            self.say(line)
