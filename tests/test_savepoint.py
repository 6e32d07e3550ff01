"""Savepoints: what fails is undone, and nothing of it is left with the server."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import psycopg
import pytest
import sqlalchemy as sa
from inside import committed, settings_of
from stock import make_many

if TYPE_CHECKING:
    from databases import Database

    from invite_admin.session import Session

WRITE: Final = sa.text("update public.redemption_codes set credits = credits + 1")
FAIL: Final = sa.text("select 1 / 0")
POINTS: Final = sa.text("select min(credits) from public.redemption_codes")
LOCKS: Final = sa.text(
    "select count(*) from pg_locks where pid = pg_backend_pid() and locktype = 'transactionid'"
)


def fail(session: Session) -> None:
    """Write in a savepoint that fails."""
    with suppress(psycopg.Error), session.attempt(psycopg.Error):
        session.raw(WRITE)
        session.raw(FAIL)


@pytest.mark.parametrize("database", [2], indirect=True)
def test_failures_leave_nothing(database: Database) -> None:
    """However many attempts failed before, a write locks what it needs, and no more."""
    make_many(database, 2)
    with committed(settings_of(database, "owner")) as store:
        for _ in range(50):
            fail(store.session)
        with store.session.attempt(psycopg.Error):
            store.session.raw(WRITE)
        found = [store.session.execute(one).scalar() for one in (POINTS, LOCKS)]
    assert [11, 1] == found  # the transaction's own lock


@pytest.mark.parametrize("database", [2], indirect=True)
def test_one_inside_another(database: Database) -> None:
    """What fails inside leaves what stands around it as it is."""
    make_many(database, 2)
    with committed(settings_of(database, "owner")) as store:
        with store.session.attempt(psycopg.Error):
            store.session.raw(WRITE)
            fail(store.session)
            store.session.raw(WRITE)
        fail(store.session)
        assert 12 == store.session.execute(POINTS).scalar()
    assert [(12,), (12,)] == database.rows("select credits from public.redemption_codes")
