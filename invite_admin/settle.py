"""Finds out what became of a batch whose COMMIT was never answered."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from invite_admin.database import Database
from invite_admin.errors import Busy, InviteError, Unavailable
from invite_admin.retries import retried
from invite_admin.store import Batches, Store, look

if TYPE_CHECKING:
    from invite_admin.batch import Batch
    from invite_admin.run import Run

REACH = 60  # seconds in which a server that comes back is asked


def was_stored(run: Run, batch: Batch, before: Batches) -> bool | None:
    """Tell whether a batch was stored; None where it cannot be known.

    The lock of the request id is taken first: the transaction that sent COMMIT holds it until it
    has ended, so that a look too early is impossible.

    Args:
        run: The call; told what is being waited for.
        batch: The batch.
        before: The batches of the lost transaction.
    """
    run.say(f"no answer to COMMIT; looking whether the batch is there, at most {REACH} s")
    end = time.monotonic() + REACH

    def once() -> bool | None:
        left = max(1, round(end - time.monotonic()))
        known = run.settings.timeouts
        timeouts = replace(known, connect=min(known.connect, left), lock=left, statement=left)
        settings = replace(run.settings, timeouts=timeouts)
        database = Database(settings, lambda _line: None)
        with database.transaction(writing=False, patient=False) as session:
            if session.server.standby:
                raise Unavailable("only a standby answers")
            batches = Batches(Store(session, look(session, settings), settings, run.say))
            batches.lock(batch.request_id)
            found = batches.stored(batch)
            if not found and before.transaction and before.timeline:
                fate = batches.committed(before.transaction, before.timeline)
                return found if fate is None else fate
            return found

    try:
        return retried(once, run.say, REACH, passing=lambda e: isinstance(e, Unavailable | Busy))
    except InviteError:
        return None
