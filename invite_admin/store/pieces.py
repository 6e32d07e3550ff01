"""Changes many codes in one transaction, so that each code's outcome is its own.

Codes go in id order, so that two commands cannot deadlock, in pieces, each in a savepoint. A piece
that fails is undone and halved until the failing code stands alone. Nothing waits for a lock but
such a single code, and all waits of a command together last at most the lock timeout.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg
import sqlalchemy as sa

from invite_admin import sqlstates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from invite_admin.model import Row
    from invite_admin.session import Session

SAVEPOINTS = 60  # PostgreSQL keeps 64 subtransactions of a session in shared memory
SMALLEST, LARGEST = 50, 20_000  # codes a savepoint; the second bounds the memory of both sides
A_GROUP = 10_000  # codes
REFUSED = frozenset({"55000", "P0002"})
_NO_WAIT = 1  # ms; 0 would mean without a bound


@dataclass
class Changed:
    """What became of the codes, by id; ``kept`` tells whether a row has what it was to get."""

    done: set[str] = field(default_factory=set)
    locked: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    kept: Callable[[Row], bool] = lambda _row: True


class _TooFewError(Exception):
    """A change of a whole piece left some of its codes."""


def _require(*, whole: bool) -> None:
    if not whole:
        raise _TooFewError


def size_of(count: int) -> int:
    """Return how many codes go into one savepoint where so many are to be changed."""
    return min(max(SMALLEST, -(-count // SAVEPOINTS)), LARGEST)


def group_of(count: int) -> int:
    """Return how many are read, changed and told together: some whole savepoints."""
    size = size_of(count)
    return size * -(-A_GROUP // size)


class Pieces:
    """Runs one kind of change over many codes.

    Args:
        session: The open transaction.
        seconds: How long all waits for locks together may last.
        say: Told when the command begins to wait.

    Attributes:
        size: Codes a savepoint; None means by the number of codes in one call of ``run``.
    """

    def __init__(self, session: Session, seconds: float, say: Callable[[str], None]) -> None:
        self._session = session
        self._budget = seconds * 1000.0  # ms left
        self._say = say
        self._told = False
        self.size: int | None = None

    def whole(self, count: int, change: Callable[[], int]) -> bool:
        """Change all of so many codes, or none; ``change`` returns how many it changed.

        Returns:
            False where a code is locked or was changed by somebody else.

        Raises:
            InviteError: What is no matter of a single code; nothing was changed.
        """
        self._lock_timeout(_NO_WAIT)
        try:
            with self._session.attempt():
                _require(whole=change() == count)
        except _TooFewError:
            return False
        except psycopg.Error as error:
            if error.sqlstate in REFUSED | sqlstates.LOCKED:
                return False
            raise sqlstates.translate(error) from None
        return True

    def run(self, ids: Sequence[str], change: Callable[[Sequence[str]], set[str]]) -> Changed:
        """Change the codes with these ids; ``change`` returns the ids it changed.

        Raises:
            InviteError: What is no matter of a single code; nothing was changed.
        """
        ordered = sorted(ids)
        size = self.size or size_of(len(ordered))
        pending = deque(ordered[start : start + size] for start in range(0, len(ordered), size))
        changed = Changed()
        self._lock_timeout(_NO_WAIT)
        while pending:
            piece = pending.popleft()
            state = self._try(piece, change, changed)
            if state is None:
                continue
            if len(piece) > 1:
                half = len(piece) // 2
                pending.extendleft((piece[half:], piece[:half]))
            elif state in REFUSED:
                changed.refused.update(piece)
            else:
                self._wait(piece, change, changed)
        return changed

    def _try(
        self,
        piece: Sequence[str],
        change: Callable[[Sequence[str]], set[str]],
        changed: Changed,
    ) -> str | None:
        """Change one piece in a savepoint; return the SQLSTATE of a failure that halving finds."""
        try:
            with self._session.attempt():
                done = change(piece)
        except psycopg.Error as error:
            if error.sqlstate in REFUSED | sqlstates.LOCKED:
                return error.sqlstate
            raise sqlstates.translate(error) from None
        changed.done |= done
        changed.refused |= set(piece) - done
        return None

    def _wait(
        self,
        piece: Sequence[str],
        change: Callable[[Sequence[str]], set[str]],
        changed: Changed,
    ) -> None:
        """Wait for the one locked code, as long as the command still may."""
        if self._budget < _NO_WAIT:
            changed.locked.update(piece)
            return
        if not self._told:
            self._say(
                f"a code is in use elsewhere; waiting for it, at most {self._budget / 1000:g} s"
            )
            self._told = True
        self._lock_timeout(int(self._budget))
        began = time.monotonic()
        state = self._try(piece, change, changed)
        self._budget -= (time.monotonic() - began) * 1000.0
        self._lock_timeout(_NO_WAIT)
        if state in REFUSED:
            changed.refused.update(piece)
        elif state is not None:
            changed.locked.update(piece)

    def _lock_timeout(self, milliseconds: int) -> None:
        self._session.execute(
            sa.text("select set_config('lock_timeout', :bound, true)"),
            {"bound": f"{milliseconds}ms"},
        )
