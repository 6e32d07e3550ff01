"""The gate for heavy work: two run, four wait, more are refused; what is light never enters."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import pytest
import sqlalchemy as sa
from batches import line, stored
from checking import told
from databases import steps
from gates import FULL, HEAVY, WAITS, crowd, crowded
from inside import opened, settings_of
from stock import BOTH_WAYS, make_many, revoked, snapshot
from terminal import terminal
from tool import TIMEOUT
from waiting import read_until, until

from invite_admin.errors import Busy
from invite_admin.gate import Gate
from invite_admin.locks import Purpose

if TYPE_CHECKING:
    from cluster import Cluster
    from databases import Database
    from tool import Invite

HEAVY_ONES: Final = {
    "generate": line(HEAVY, 1),
    "revoke": ["revoke", "--points", "10", "--yes"],
    "update": ["update", "--points", "10", "--set-note", "other", "--yes"],
}
LIGHT_ONES: Final = {
    "generate": line(HEAVY - 1, 1),
    "dry run": line(HEAVY, 1, "--dry-run"),
    "list": ["list"],
    "check": ["check"],
    "dry revoke": ["revoke", "--points", "10", "--dry-run"],
    "revoke": ["revoke", "--points", "5", "--yes"],
    "update": ["update", "--points", "5", "--set-note", "other", "--yes"],
}
FULL_HOUSE: Final = [
    "invite: busy: two heavy jobs are running and four are waiting; nothing was changed",
    "hint: come back in 2 s",
]


@BOTH_WAYS
@pytest.mark.parametrize("verb", HEAVY_ONES)
def test_refused_at_once(database: Database, invite: Invite, login: str, verb: str) -> None:
    """Where two run and four wait, heavy work is refused before any row is touched."""
    make_many(database, HEAVY)
    before = snapshot(database)
    with crowded(database, *FULL):
        done = invite(*HEAVY_ONES[verb], login=login)
    assert (8, FULL_HOUSE) == (done.exit_code, done.stderr.splitlines()[-2:])
    assert before == snapshot(database)


@BOTH_WAYS
@pytest.mark.parametrize("verb", HEAVY_ONES)
def test_with_one_place_left(database: Database, invite: Invite, login: str, verb: str) -> None:
    """With a place left it is done, says nothing of the gate, and leaves the place."""
    make_many(database, HEAVY)
    with crowded(database, 1, 4):
        done = invite(*HEAVY_ONES[verb], login=login)
        assert (1, 4) == crowd(database)
    assert 0 == done.exit_code, done.stderr
    assert "heavy" not in done.stderr


@pytest.mark.parametrize("verb", LIGHT_ONES)
def test_light_work(database: Database, invite: Invite, verb: str) -> None:
    """What concerns up to 100 codes, or changes nothing, passes by a gate that is full."""
    make_many(database, HEAVY)
    make_many(database, HEAVY - 1, "few")
    database.execute("update redemption_codes set credits = 5 where note = 'few'")
    with crowded(database, *FULL):
        done = invite(*LIGHT_ONES[verb])
    assert 0 == done.exit_code, done.stderr


def test_what_is_left_as_it_is_counts_not(database: Database, invite: Invite) -> None:
    """A set of 101 of which one is voided already is light."""
    ids = make_many(database, HEAVY)
    assert 0 == invite("revoke", ids[0], "--yes").exit_code
    with crowded(database, *FULL):
        done = invite("revoke", "--points", "10", "--yes")
    assert (0, set(ids)) == (done.exit_code, revoked(database)), done.stderr


@pytest.mark.parametrize("login", ["admin_runtime", "owner"])
def test_a_place_in_time(database: Database, invite: Invite, login: str) -> None:
    """A job that waits says so once, and runs when a place is free; no timeout runs meanwhile."""
    short = {"timeouts": {"lock": 1, "statement": 1, "idle": 1}}
    waiting = "select now() - min(xact_start) > interval '2 s' from pg_stat_activity"
    ours = "where datname = current_database() and position('advisory' in query) > 0 and pid <> %s"
    with (
        crowded(database, 2, 0) as others,
        invite.start(*line(HEAVY, 1), login=login, settings=short) as process,
    ):
        assert process.stderr is not None
        read_until(process.stderr.fileno(), WAITS.encode() + b"\n")
        assert (2, 1) == crowd(database)
        pid = others.info.backend_pid
        until(lambda: bool(database.value(f"{waiting} {ours}", [pid])), "a wait of 2 s")
        others.execute("commit")
        _, said = process.communicate(timeout=TIMEOUT)
    assert (0, HEAVY) == (process.returncode, stored(database)), said
    assert b"waiting" not in said


@BOTH_WAYS
@pytest.mark.parametrize("how", ["filter", "named", "limited"])
def test_the_table_is_free_meanwhile(
    database: Database, invite: Invite, login: str, how: str
) -> None:
    """A change that waits for a place holds no lock on the codes, so a deploy goes on."""
    ids = make_many(database, HEAVY)
    (invite.folder / "names").write_text("\n".join(ids))
    names = ["--from-file", "names"] if how == "named" else ["--points", "10"]
    limits = {"limits": {"points_open": 10_000}} if how == "limited" else {}
    held = "select mode from pg_locks where relation = 'public.redemption_codes'::regclass"
    command = ["update", *names, "--set-expires", "30d", "--set-note", "new", "--yes"]
    with (
        crowded(database, 2, 0) as others,
        invite.start(*command, login=login, settings=limits) as process,
    ):
        assert process.stderr is not None
        read_until(process.stderr.fileno(), WAITS.encode() + b"\n")
        assert (2, 1) == crowd(database)
        assert [] == database.rows(held)
        others.execute("commit")
        _, said = process.communicate(timeout=TIMEOUT)
    new = database.value("select count(*) from redemption_codes where note = 'new'")
    assert (0, HEAVY) == (process.returncode, new), said


ROLE: Final = "service_role"


@pytest.mark.parametrize("before", [None, ROLE])
@pytest.mark.parametrize("inside", [None, ROLE])
@pytest.mark.parametrize("after", [None, ROLE])
def test_role_after_the_approach(
    database: Database, before: str | None, inside: str | None, after: str | None
) -> None:
    """Whoever acts before and while the work is counted, the next one to act is who should."""
    with opened(settings_of(database)) as store:
        session = store.session
        session.become(before)
        with Gate.approach(session):
            session.become(inside)
        session.become(after)
        acts = session.execute(sa.text("select current_user::text")).scalar_one()
    assert (after or "admin_runtime") == acts


def test_no_place_in_time(database: Database, invite: Invite) -> None:
    """After 8 s without a place it is refused, and nothing was made."""
    with crowded(database, 2, 3):
        done = invite(*line(HEAVY, 1))
    assert [
        WAITS,
        "invite: busy: two heavy jobs are still running after 8 s; nothing was changed",
        "hint: come back in 2 s",
    ] == done.stderr.splitlines()[-3:]
    assert (8, 0) == (done.exit_code, stored(database))


@pytest.mark.parametrize("answer", ["y", "n"])
def test_while_a_person_thinks(database: Database, invite: Invite, answer: str) -> None:
    """The question is asked outside of the gate, and the change enters after the answer."""
    ids = make_many(database, HEAVY)
    with crowded(database, *FULL) as others, terminal(invite, "revoke", "--points", "10") as asked:
        asked.read("[y/N]")
        others.execute("commit")
        assert (0, 0) == crowd(database)
        asked.press(f"{answer}\n")
        done = asked.end()
    assert (0, set(ids)) == (done.exit_code, revoked(database)) or "n" == answer
    assert done.exit_code == (0 if "y" == answer else 1)


def test_refused_after_the_question(database: Database, invite: Invite) -> None:
    """A gate that is full when the answer comes refuses, and nothing was changed."""
    make_many(database, HEAVY)
    with terminal(invite, "revoke", "--points", "10") as asked:
        asked.read("[y/N]")
        with crowded(database, *FULL):
            asked.press("y\n")
            done = asked.end()
    assert (8, FULL_HOUSE) == (done.exit_code, done.stderr.splitlines()[-2:])
    assert set() == revoked(database)


def test_later_parts_of_a_job(database: Database) -> None:
    """Once a job had its place, its next transaction waits for one and is never refused."""
    settings = settings_of(database)
    said: list[str] = []
    gate, stranger = Gate(said.append), Gate(said.append)
    with opened(settings) as store:
        assert 1 == gate.enter(store.session)
    with (
        crowded(database, *FULL) as others,
        opened(settings) as store,
        ThreadPoolExecutor(1) as pool,
    ):
        with pytest.raises(Busy, match="four are waiting"):
            stranger.enter(store.session)
        entered = pool.submit(gate.enter, store.session)
        until(lambda: bool(said), "word of the wait")
        others.execute("commit")
        assert 1 == entered.result(TIMEOUT)
        assert (1, 0) == crowd(database)
    assert ["two heavy jobs are running; the rest of this one waits for a place"] == said[:1]


@steps()
def test_check(database: Database, invite: Invite) -> None:
    """`check` counts who runs and who waits, on every step, and says whether it is full."""
    exit_code = 0 if database.step > 2 else 5
    expected = {"running_at_most": 2, "waiting_at_most": 4}
    for running, waiting, full in ((0, 0, False), (1, 0, False), (2, 3, False), (2, 4, True)):
        with crowded(database, running, waiting):
            found = told(invite, exit_code)["gate"]
        counted = {"running": running, "waiting": waiting, "full": full}
        assert expected | counted == found
    with crowded(database, *FULL):
        shown = invite("check").stdout
    assert ["running  2 of 2", "waiting  4 of 4", "full     yes: another one is refused"] == [
        line for line in shown.splitlines() if line.startswith(("running", "waiting", "full"))
    ]


def test_whose_locks_do_not_count(database: Database, invite: Invite, cluster: Cluster) -> None:
    """Jobs on another database, and locks of one bigint key, are no jobs on this one."""
    other = cluster.create(3)
    try:
        with crowded(other, *FULL), database.connect() as application:
            key = "select pg_advisory_lock((%s::bigint << 32) + n) from generate_series(1, 6) n"
            for purpose in (Purpose.TICKET, Purpose.PLACE):
                application.execute(key, [purpose])
            gate = told(invite)["gate"]
            assert (0, 0, False) == (gate["running"], gate["waiting"], gate["full"])
            assert 0 == invite(*line(HEAVY, 1)).exit_code
    finally:
        cluster.drop(other)
