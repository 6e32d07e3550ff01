"""A server or a pooler that takes a statement and does not answer: waited for, and then left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest
from batches import line, stored
from hostile import failure
from incall import call
from lossy import Cut, lossy
from pooler import pooling, program

if TYPE_CHECKING:
    from cluster import Cluster
    from databases import Database
    from tool import Invite

NEXT = (
    "hint: it may hang, or a pooler in front of it have no connection free; run the command again "
    "once it answers"
)


def left(seconds: int) -> str:
    """Return the line of a command that waited so long."""
    return (
        f"unavailable: the server gave no answer for {seconds} s, so it was left; "
        "nothing was changed"
    )


def test_spoken_of(
    invite: Invite,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Whoever waits is told for how long; a moment after the server's own bound it ends."""
    monkeypatch.setattr("invite_admin.session.GRACE", 2)
    with lossy(database.url("admin_runtime"), Cut.HANG, 8_000) as wire:
        env, settings = {"INVITE_DATABASE_URL": wire.url}, {"timeouts": {"statement": 2}}
        command = line(99, 1, "--output", "codes.csv")
        assert 7 == call(invite, *command, env=env, settings=settings)
    assert wire.broken
    told = capfd.readouterr().err.splitlines()
    assert [f"invite: {left(4)}", NEXT] == told[-2:]
    assert 1 == told.count("waiting for the server's answer, at most 4 s")
    assert (0, []) == (stored(database), list(invite.folder.glob("codes*")))


@pytest.mark.parametrize("sent", [2_500, 4_000, 6_000, 8_000, 10_000])
def test_wherever_it_hangs(
    invite: Invite,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    sent: int,
) -> None:
    """In the first statement, in a savepoint or in a role's change: every wait has its end."""
    monkeypatch.setattr("invite_admin.session.GRACE", 0)
    with lossy(database.url("admin_runtime"), Cut.HANG, sent) as wire:
        env = {"INVITE_DATABASE_URL": wire.url}
        settings = {"timeouts": {"statement": 1, "connect": 1}}
        assert 7 == call(invite, *line(99, 1, "--output", "codes.csv"), env=env, settings=settings)
    assert wire.broken
    assert [f"invite: {left(1)}", NEXT] == capfd.readouterr().err.splitlines()[-2:]
    assert (0, []) == (stored(database), list(invite.folder.glob("codes*")))


@pytest.mark.skipif(program() is None, reason="*** PGBOUNCER IS NOT INSTALLED ***")
def test_a_pooler_without_a_connection(
    invite: Invite, database: Database, cluster: Cluster
) -> None:
    """It takes the login and holds the first statement back: that is no server that went away."""
    with pooling(cluster.parameters, pool=1) as way:
        invite.database = database.by_way_of(way)
        with psycopg.connect(invite.database.url("admin_runtime")) as other:
            other.execute("select 1")
            done = invite("check", settings={"timeouts": {"connect": 1}})
        assert (7, (left(1), NEXT)) == (done.exit_code, failure(done))
        assert 0 == invite("check").exit_code


@pytest.mark.parametrize(
    "command",
    [["list"], ["stats"], ["check"], line(3), ["revoke", "--points", "5", "--yes"]],
    ids=lambda words: words[0],
)
def test_where_nothing_more_is_known(
    invite: Invite, database: Database, command: list[str]
) -> None:
    """A table that is locked lets nobody ask what it is; the database is named all the same."""
    name = database.value("select current_database()")
    with database.acting("superuser") as blocking:
        blocking.execute("lock table public.redemption_codes in access exclusive mode")
        done = invite(*command, settings={"timeouts": {"lock": 1}})
    place, login, told, hint = done.stderr.splitlines()
    assert (8, "") == (done.exit_code, done.stdout)
    assert (True, True) == (place.startswith("on "), place.endswith(f", database {name}"))
    assert "login admin_runtime" == login
    assert "invite: busy: a row or the table stayed locked longer than the lock timeout" in told
    assert "hint: run the command again" == hint
