"""Who waits for a request id that another run holds: told for how long, and ended in one line."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest
from batches import line, stored
from databases import ACTOR
from hostile import failure
from waiting import await_blocked

from invite_admin.locks import Purpose, _numbered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from databases import Database
    from tool import Invite

ID: Final = "friday-1"
BUSY: Final = (
    "busy: another run with this request id has not ended; nothing was changed",
    "hint: run the command again once that run has ended",
)


@contextmanager
def held(database: Database, name: str = ID) -> Iterator[None]:
    """Hold a request id of the actor's, as a run of his does."""
    user = database.value("select id::text from identity.users where email = %s", [ACTOR])
    key = _numbered(Purpose.REQUEST, f"{user} {name}")
    with database.acting("superuser") as other:
        other.execute("select pg_advisory_xact_lock(%s, %s)", [key["purpose"], key["number"]])
        yield


@pytest.mark.parametrize(
    ("timeouts", "bound"),
    [({"lock": 1}, "1"), ({"statement": 1}, "0.5"), ({"lock": 9, "statement": 2}, "1.5")],
)
def test_the_bound(
    invite: Invite, database: Database, timeouts: dict[str, int], bound: str
) -> None:
    """It is the lock's that is met, however short a statement's is; both are said truly."""
    command = line(3, 1, "--request-id", ID, "--output", "codes.csv")
    with held(database):
        done = invite(*command, settings={"timeouts": timeouts})
    said = "another run with this request id has not ended; waiting for it, at most"
    assert (8, 0, BUSY) == (done.exit_code, stored(database), failure(done))
    assert f"{said} {bound} s" in done.stderr.splitlines()
    assert 0 == invite(*command).exit_code


def test_cancelled(invite: Invite, database: Database) -> None:
    """A wait that an administrator cancels on the server ends in one line as well."""
    command = line(3, 1, "--request-id", ID)
    cancel = "select count(pg_cancel_backend(pid)) from pg_stat_activity where wait_event = %s"
    with held(database), ThreadPoolExecutor(1) as pool:
        running = pool.submit(invite, *command, settings={"timeouts": {"lock": 50}})
        await_blocked(database)
        assert 1 == database.value(cancel, ["advisory"])
        done = running.result()
    told = "unavailable: the statement took longer than allowed, or was cancelled"
    assert (7, 0, "") == (done.exit_code, stored(database), done.stdout)
    assert failure(done)[0].startswith(told)
