"""All waits for locks of one command together last at most one lock timeout."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final

import pytest
from databases import LOGINS
from inside import committed, opened, settings_of
from stock import BOTH_WAYS, locking, make_many, revoked, snapshot
from tool import TIMEOUT
from waiting import await_blocked, read_until

from invite_admin.errors import Busy
from invite_admin.model import Capability, Outcome
from invite_admin.settings import Timeouts
from invite_admin.store import pieces

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

NO_WAIT = 1  # ms
CODES: Final = "public.redemption_codes"
AUDIT: Final = "audit.admin_audit_logs"
WAITS: Final = "the table is in use elsewhere; waiting for it, at most"
BUSY: Final = [
    "invite: busy: the table stayed locked longer than the lock timeout; nothing was changed",
    "hint: run the command again once that has ended; a deploy, perhaps",
]
CHANGES: Final = {
    "revoke-csv": ("revoke", "--format", "csv"),
    "revoke-json": ("revoke", "--format", "json"),
    "update": ("update", "--set-note", "new"),
}
TABLES: Final = pytest.mark.parametrize(
    ("database", "login", "table"),
    [
        pytest.param(2, "owner", CODES, id="direct"),
        pytest.param(3, "admin_runtime", CODES, id="functions"),
        pytest.param(3, "admin_runtime", AUDIT, id="audit"),
    ],
    indirect=["database"],
)


def spied_bounds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by each lock timeout (in ms) under which a change waits."""
    bounds: list[int] = []
    original = pieces.Pieces._lock_timeout

    def spied(self: pieces.Pieces, milliseconds: int) -> None:
        if milliseconds != NO_WAIT:
            bounds.append(milliseconds)
        original(self, milliseconds)

    monkeypatch.setattr(pieces.Pieces, "_lock_timeout", spied)
    return bounds


@BOTH_WAYS
def test_one_lock_timeout_for_five_locked_codes(
    database: Database, monkeypatch: pytest.MonkeyPatch, login: str
) -> None:
    """Five locked codes of 300 cost one wait of the whole lock timeout; 295 are voided."""
    ids = make_many(database, 300)
    held, said, bounds = ids[::60], list[str](), spied_bounds(monkeypatch)
    settings = settings_of(database, login, Timeouts(lock=1))
    with locking(database, held), committed(settings, said) as store:
        results = store.revoke(list(store.reads.by_id(ids).values()))
    assert set(held) == {i for i, r in results.items() if r.outcome is Outcome.BUSY}
    assert set(ids) - set(held) == revoked(database)
    assert ["a code is in use elsewhere; waiting for it, at most 1 s"] == said
    assert [1000] == bounds


@BOTH_WAYS
def test_each_wait_leaves_less_for_the_next(
    database: Database, monkeypatch: pytest.MonkeyPatch, login: str
) -> None:
    """What one wait took is taken from the next; when nothing is left, nothing waits."""
    ids = make_many(database, 7)
    bounds, said = spied_bounds(monkeypatch), list[str]()
    ticks = count()
    clock = SimpleNamespace(monotonic=lambda: next(ticks) / 128)  # each wait takes 7.8125 ms
    monkeypatch.setattr(pieces, "time", clock)
    with locking(database, ids[:6]), opened(settings_of(database, login)) as store:
        writes = store.writes(Capability.REVOKE)
        budget = pieces.Pieces(store.session, 4 / 128, said.append, [store.shape.name])
        changed = budget.run(ids, writes.revoke, list)
    assert [31, 23, 15, 7] == bounds
    assert (set(ids[:6]), {ids[6]}) == (changed.locked, changed.done)
    assert 1 == len(said)


@TABLES
def test_locked_table(
    database: Database, monkeypatch: pytest.MonkeyPatch, login: str, table: str
) -> None:
    """Where an index is made the table is waited for once, and no code is looked at alone."""
    ids = make_many(database, 300)
    said, bounds = list[str](), spied_bounds(monkeypatch)
    with database.acting("superuser") as deploy:
        deploy.execute(f"lock table {table} in share mode")
        with opened(settings_of(database, login, Timeouts(lock=1)), said) as store:
            rows = list(store.reads.by_id(ids).values())
            with pytest.raises(Busy, match="nothing was changed"):
                store.revoke(rows)
    assert ([1000], [f"{WAITS} 1 s"]) == (bounds, said)


@TABLES
@pytest.mark.parametrize("change", CHANGES)
def test_locked_table_told(
    database: Database, invite: Invite, login: str, table: str, change: str
) -> None:
    """A change that meets a deploy ends with exit 8, says so, and changed nothing."""
    make_many(database, 300)
    before = snapshot(database)
    command, short = (*CHANGES[change], "--points", "10", "--yes"), {"timeouts": {"lock": 1}}
    with database.acting("superuser") as deploy:
        deploy.execute(f"lock table {table} in share mode")
        done = invite(*command, login=login, settings=short)
    assert (8, "", BUSY) == (done.exit_code, done.stdout, done.stderr.splitlines()[-2:])
    assert before == snapshot(database)


@TABLES
def test_table_freed_in_time(database: Database, invite: Invite, login: str, table: str) -> None:
    """A deploy that ends within the lock timeout is waited for, and all is changed."""
    ids = make_many(database, 300)
    long = {"timeouts": {"lock": 50}}
    command = ("revoke", "--points", "10", "--yes")
    with database.connect() as deploy:
        deploy.execute("begin")
        deploy.execute(f"lock table {table} in share mode")
        with invite.start(*command, login=login, settings=long) as process:
            assert process.stderr is not None
            read_until(process.stderr.fileno(), f"{WAITS} 50 s".encode())
            await_blocked(database, LOGINS[login])
            deploy.execute("commit")
            process.communicate(timeout=TIMEOUT)
    assert (0, set(ids)) == (process.returncode, revoked(database))


@pytest.mark.parametrize("login", ["admin_runtime"])
def test_deploy_that_waits_for_us(database: Database, login: str) -> None:
    """A deploy that came after our first code keeps us from none; a held code is busy alone."""
    ids = make_many(database, 3)
    settings = settings_of(database, login, Timeouts(lock=1))
    with (
        locking(database, [ids[1]]),
        ThreadPoolExecutor(1) as deploying,
        database.acting("owner") as deploy,
    ):
        with committed(settings) as store:
            rows = store.reads.by_id(ids)
            results = store.revoke([rows[ids[0]]])
            lock = deploying.submit(deploy.execute, f"lock table {CODES} in share mode")
            await_blocked(database, LOGINS["owner"])
            results |= store.revoke([rows[ids[1]], rows[ids[2]]])
        lock.result(TIMEOUT)
    outcomes = [results[i].outcome for i in ids]
    assert [Outcome.REVOKED, Outcome.BUSY, Outcome.REVOKED] == outcomes


def test_a_statement_shorter_than_the_lock(database: Database, invite: Invite) -> None:
    """However short a statement may be, what is locked is busy and the others are done."""
    ids = make_many(database, 5)
    with locking(database, ids[:1]):
        settings = {"timeouts": {"statement": 1, "lock": 5}}
        done = invite("revoke", "--points", "10", "--yes", "--format", "json", settings=settings)
    found = {row["id"]: row["outcome"] for row in done.json}
    assert (8, set(ids[1:])) == (done.exit_code, revoked(database)), done.stderr
    assert {ids[0]: "busy"} == {code: what for code, what in found.items() if what != "revoked"}
    assert "a code is in use elsewhere; waiting for it, at most 0.5 s" in done.stderr
