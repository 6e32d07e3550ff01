"""The gate for heavy work: two jobs run at a time on a database, and four wait for a place.

Six tickets and two places are advisory locks of this database, taken without waiting and kept to
the end of the transaction: whoever ends, or is killed, gives them back. A job takes any free
ticket, or is refused; then it tries the places in turn until one is free.

A ticket shows in ``pg_locks`` as ``locktype = 'advisory'``, ``database`` this database's oid,
``classid = Purpose.TICKET``, ``objid`` its number from 1, and ``objsubid = 2``, which marks the
form of two integers; a place likewise, under ``Purpose.PLACE``. Every login may read them there.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from invite_admin import locks
from invite_admin.errors import Busy
from invite_admin.locks import Purpose
from invite_admin.model import PLACES, QUEUE, Crowd
from invite_admin.retries import polled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from invite_admin.session import Session

HEAVY = 100  # codes; work on more is heavy (how long a statement may take, the store says)
TICKETS = PLACES + QUEUE
PATIENCE = 8.0  # seconds that a job waits for a place
_AGAIN = "come back in 2 s"
_REST = "two heavy jobs are running; the rest of this one waits for a place"


class _ReadError(Exception):
    """All was read; what was locked for it can be let go."""


class Gate:
    """One command's way to its places, a new one in each of its transactions.

    Args:
        say: Told when it waits.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._admitted = False

    @staticmethod
    @contextmanager
    def approach(session: Session) -> Iterator[None]:
        """Read inside how much work there is; no table stays locked by it.

        PostgreSQL keeps a reader's lock to the end of the transaction, unless the savepoint in
        which it was taken is undone. That undoes a change of role as well, so it begins and ends
        as the login.
        """
        session.become(None)
        with suppress(_ReadError), session.attempt():
            yield
            raise _ReadError
        session.become(None)

    def admit(self, session: Session, codes: int) -> None:
        """Enter with work on this many codes; what is light needs no place.

        Raises:
            Busy: As ``enter`` says.
        """
        if codes > HEAVY:
            self.enter(session)

    def enter(self, session: Session) -> int:
        """Take a ticket and a place, which the open transaction keeps to its end.

        Once a command had its place, its later transactions are parts of the same job: they are
        never refused, and wait until a place is free.

        Args:
            session: The transaction; nothing that others wait for may be locked in it yet.

        Returns:
            The number of the ticket, from 1.

        Raises:
            Busy: All tickets are taken, or no place became free in time; nothing was done.
        """
        ticket = self._ticket(session)
        self._place(session)
        self._admitted = True
        return ticket

    def _ticket(self, session: Session) -> int:
        while (ticket := locks.take_any(session, Purpose.TICKET, TICKETS)) is None:
            if not self._admitted:
                raise Busy(
                    "two heavy jobs are running and four are waiting; nothing was changed",
                    hint=_AGAIN,
                )
            self._say(_REST)
            polled(lambda: not self.crowd(session).full, PATIENCE)
        return ticket

    def _place(self, session: Session) -> None:
        def taken() -> bool:
            return locks.take_any(session, Purpose.PLACE, PLACES) is not None

        if taken():
            return
        first = f"two heavy jobs are running; waiting for a place, at most {PATIENCE:g} s"
        self._say(_REST if self._admitted else first)
        while not polled(taken, PATIENCE):
            if not self._admitted:
                raise Busy(
                    f"two heavy jobs are still running after {PATIENCE:g} s; nothing was changed",
                    hint=_AGAIN,
                )
            self._say(_REST)

    @staticmethod
    def crowd(session: Session) -> Crowd:
        """Return who is at the gate now; a job that runs holds a ticket and a place."""
        held = locks.held(session, Purpose.TICKET, Purpose.PLACE)
        running = held[Purpose.PLACE]
        return Crowd(running, max(held[Purpose.TICKET] - running, 0))
