"""Changes many codes in one transaction, so that each code's outcome is its own.

Codes go in id order, so that two commands cannot deadlock, in pieces, each in a savepoint. A piece
that fails is undone. What others used meanwhile is taken out of it; else it is halved until the
failing code, locked or refused, stands alone. Nothing waits for a lock but such a single code, and
all waits of a command together last at most the lock timeout. Where a whole table is locked, as
while an index is made, every code would seem to be: that ends it, and so do more refused codes than
``REFUSALS``.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg
import sqlalchemy as sa

from invite_admin import sqlstates
from invite_admin.errors import NOTHING_CHANGED, Busy, Failed
from invite_admin.store.locked import table_locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from invite_admin.model import Row
    from invite_admin.session import Session

    Act = Callable[[Sequence[str]], set[str]]  # changes codes; returns the ids that it changed
    Sieve = Callable[[Sequence[str]], list[str]]  # returns the ids that can still be changed

SAVEPOINTS = 60  # PostgreSQL keeps 64 subtransactions of a session in shared memory
SMALLEST, LARGEST = 50, 20_000  # codes a savepoint; the second bounds the memory of both sides
A_GROUP = 10_000  # codes
REFUSALS = 1_000  # codes a command; more of them have a cause in common
_NO_WAIT = 1  # ms; 0 would mean without a bound


@dataclass
class Changed:
    """What became of the codes, by id; ``kept`` tells whether a row has what it was to get.

    ``refused`` has the SQLSTATE of each code that the database does not let be changed.
    """

    done: set[str] = field(default_factory=set)
    locked: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
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


def _parts(piece: list[str], state: str, unused: Sieve) -> list[list[str]]:
    """Return what to try of a piece that failed: it without what others used, else its halves."""
    if state in sqlstates.USED:
        left = unused(piece)
        if len(left) < len(piece):
            return [left] if left else []
    half = len(piece) // 2
    return [piece[:half], piece[half:]]


class Pieces:
    """Runs one kind of change over many codes.

    Args:
        session: The open transaction.
        seconds: How long all waits for locks together may last.
        say: Told when the command begins to wait.
        tables: The qualified names of the tables that a change writes to.
    """

    def __init__(
        self,
        session: Session,
        seconds: float,
        say: Callable[[str], None],
        tables: Sequence[str],
    ) -> None:
        self._session = session
        self._budget = seconds * 1000.0  # ms left
        self._say = say
        self._tables = tables
        self._told = False
        self._wrote = False
        self._refusals = 0
        self._size: int | None = None

    @contextmanager
    def dealt(self, count: int, *, seeking: bool) -> Iterator[None]:
        """Deal out savepoints for so many codes, changed inside by several calls.

        Args:
            count: How many codes; else each call of ``run`` goes by its own.
            seeking: Whether the planner must be told to find codes by their ids; else it reads the
                whole table for each group.
        """
        self._size = size_of(count)
        if seeking:
            self._session.planner(enable_seqscan="off")
        yield
        if seeking:
            self._session.planner(enable_seqscan="on")

    def whole(self, count: int, change: Callable[[], int]) -> bool:
        """Change all of so many codes, or none; ``change`` returns how many it changed.

        Returns:
            False where a code is locked, refused or was changed by somebody else.

        Raises:
            InviteError: What is no matter of a single code; nothing was changed.
        """
        self._lock_timeout(_NO_WAIT)
        try:
            with self._session.attempt(psycopg.Error):
                _require(whole=change() == count)
        except _TooFewError:
            return False
        except psycopg.Error as error:
            if sqlstates.of_a_row(error.sqlstate):
                return False
            raise sqlstates.translate(error) from None
        self._wrote = True
        return True

    def run(self, ids: Sequence[str], change: Act, unused: Sieve) -> Changed:
        """Change the codes with these ids.

        Args:
            ids: The codes.
            change: Changes some of them, in their order.
            unused: Asked where the database says that one of them was used meanwhile.

        Raises:
            Busy: A whole table stayed locked; nothing was changed.
            Failed: More codes are refused than one command finds out; nothing was changed.
            InviteError: What is no matter of a single code; nothing was changed.
        """
        ordered = sorted(ids)
        size = self._size or size_of(len(ordered))
        pending = deque(ordered[start : start + size] for start in range(0, len(ordered), size))
        changed = Changed()
        self._lock_timeout(_NO_WAIT)
        while pending:
            piece = pending.popleft()
            state = self._try(piece, change, changed)
            if state is None:
                continue
            if len(piece) > 1:
                pending.extendleft(_parts(piece, state, unused)[::-1])
            elif state in sqlstates.LOCKED:
                self._wait(piece, change, changed)
            else:
                self._refuse(piece, state, changed)
        return changed

    def _try(self, piece: Sequence[str], change: Act, changed: Changed) -> str | None:
        """Change one piece in a savepoint; return the SQLSTATE of a failure that halving finds."""
        try:
            with self._session.attempt(psycopg.Error):
                changed.done |= change(piece)
        except psycopg.Error as error:
            if sqlstates.of_a_row(error.sqlstate):
                return error.sqlstate
            raise sqlstates.translate(error) from None
        self._wrote = True
        return None

    def _wait(self, piece: Sequence[str], change: Act, changed: Changed) -> None:
        """Wait for the one locked code, as long as the command still may."""
        if self._budget < _NO_WAIT:
            self._leave(piece, changed)
            return
        if not self._told:
            what = "the table" if self._table_locked() else "a code"
            bound = f"at most {self._budget / 1000:g} s"
            self._say(f"{what} is in use elsewhere; waiting for it, {bound}")
            self._session.spoken_of()
            self._told = True
        self._lock_timeout(int(self._budget))
        began = time.monotonic()
        state = self._try(piece, change, changed)
        self._budget -= (time.monotonic() - began) * 1000.0
        self._lock_timeout(_NO_WAIT)
        if state in sqlstates.LOCKED:
            self._leave(piece, changed)
        elif state is not None:
            self._refuse(piece, state, changed)

    def _refuse(self, piece: Sequence[str], state: str, changed: Changed) -> None:
        """Leave the one refused code as it is, unless there are too many of them."""
        changed.refused |= dict.fromkeys(piece, state)
        self._refusals += state not in sqlstates.USED
        if self._refusals > REFUSALS:
            raise Failed(
                f"the database refuses more than {REFUSALS:,} of these codes; {NOTHING_CHANGED} "
                f"(SQLSTATE {state})",
                hint="ask the application's team for the rule; a narrower filter, or a file of "
                "fewer codes, changes those that it allows",
            )

    def _leave(self, piece: Sequence[str], changed: Changed) -> None:
        """Leave the one locked code as it is, unless the table is what is locked."""
        if self._table_locked():
            raise Busy(
                "the table stayed locked longer than the lock timeout; nothing was changed",
                hint="run the command again once that has ended; a deploy, perhaps",
            )
        changed.locked.update(piece)

    def _table_locked(self) -> bool:
        """Tell whether others keep a whole table from us; not once we have written to it."""
        return not self._wrote and table_locked(self._session, self._tables)

    def _lock_timeout(self, milliseconds: int) -> None:
        self._session.execute(
            sa.text("select set_config('lock_timeout', :bound, true)"),
            {"bound": f"{milliseconds}ms"},
        )
