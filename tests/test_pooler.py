"""PgBouncer in transaction mode between tool and server: nothing outlives a transaction."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg
import pytest
from batches import check_paired, line, stored
from pooled import NOT_POOLED, reason_against
from pooler import POOL, pooling, program
from stock import locking, outcomes, revoked
from tap import tapped
from waiting import await_blocked, await_gone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cluster import Cluster
    from databases import Database
    from tool import Invite

SESSION_LEVEL: Final = ("prepare ", "deallocate", "listen ", "pg_advisory_lock(", "set session")
PATIENT: Final = {"timeouts": {"lock": 600, "statement": 600, "idle": 600}}


@pytest.fixture(scope="module")
def way(cluster: Cluster) -> Iterator[dict[str, str]]:
    """The parameters, for libpq, that lead through a pooler to the tests' server."""
    if program() is None:
        pytest.skip("*** PGBOUNCER IS NOT INSTALLED: nothing is tried through a pooler ***")
    if cluster.way is not None:
        yield cluster.way
        return
    with pooling(cluster.parameters) as made:
        yield made


@pytest.fixture
def through(invite: Invite, database: Database, way: dict[str, str]) -> Invite:
    """The tool, which reaches the database through the pooler."""
    invite.database = database.by_way_of(way)
    return invite


def test_a_day(through: Invite, database: Database) -> None:
    """Codes are made, listed, counted and revoked; `check` says that a pooler stands between."""
    made = through(*line(2_500, 7, "--note", "x", "--format", "json"))
    check_paired(database, made.json)
    rows = through("list", "--note", "x", "--format", "jsonl").jsonl
    assert {code["id"] for code in made.json} == {row["id"] for row in rows}
    done = through("revoke", *(code["id"] for code in made.json[:9]), "--yes")
    assert 0 == done.exit_code, done.stderr
    assert {code["id"] for code in made.json[:9]} == revoked(database)
    check = through("check", "--format", "json").json
    assert "a pooler stands between" in str(check["findings"])


def test_nothing_of_a_session(through: Invite, way: dict[str, str]) -> None:
    """No statement is prepared under a name, and nothing is set beyond a transaction."""
    assert through.database is not None
    with tapped(through.database.url("admin_runtime")) as (url, heard):
        for command in (line(400), ["list"], ["stats"], ["revoke", "--points", "7", "--yes"]):
            done = through(*command, env={"INVITE_DATABASE_URL": url})
            assert 0 == done.exit_code, done.stderr
    parsed = [content.partition(b"\0")[0] for content in heard.of("P")]
    assert (True, {b""}) == (len(parsed) > 10, set(parsed))
    told = [text.lower() for text in heard.statements()]
    assert [] == [text for text in told if any(word in text for word in SESSION_LEVEL)]
    named = {part for part in heard.startup[-1][8:].decode().split("\0")[::2] if part}
    assert {"user", "database", "application_name", "client_encoding"} >= named
    assert way["port"] not in url


def test_settings_end_with_the_transaction(through: Invite, database: Database) -> None:
    """Neither role nor timeouts are left on the server's connections, which others use next."""
    assert 0 == through(*line(3)).exit_code
    assert through.database is not None
    names = ("role", "lock_timeout", "statement_timeout", "transaction_read_only", "timezone")
    query = "select " + ", ".join(f"current_setting('{name}')" for name in names)
    with database.connect("admin_runtime") as fresh:
        expected = fresh.execute(query.encode()).fetchall()
    with psycopg.connect(through.database.url("admin_runtime"), prepare_threshold=None) as used:
        assert expected == used.execute(query.encode()).fetchall()


def test_more_commands_than_connections(through: Invite, database: Database) -> None:
    """Commands wait for a connection that is free; none fails, and none meets another's state."""
    with ThreadPoolExecutor(2 * POOL) as pool:
        runs = [pool.submit(through, *line(20, n + 1)) for n in range(3 * POOL)]
        assert [0] * 3 * POOL == [run.result().exit_code for run in runs]
    assert 3 * POOL * 20 == stored(database)
    points = database.rows("select credits, count(*)::int from redemption_codes group by 1")
    assert {n + 1: 20 for n in range(3 * POOL)} == dict(points)


def test_a_killed_generate_holds_no_lock(through: Invite, database: Database) -> None:
    """A batch whose command was killed while it held its request id is made by the next."""
    command = line(3, 7, "--request-id", "again")
    with database.acting("superuser") as blocking:
        blocking.execute("lock table public.redemption_codes in share mode")
        with through.start(*command, settings=PATIENT) as process:
            await_blocked(database)
            process.kill()
        await_gone(database)
    done = through(*command)
    assert (0, 3) == (done.exit_code, stored(database)), done.stderr


def test_a_killed_revoke_holds_no_lock(through: Invite, database: Database) -> None:
    """Codes that a killed command had locked are revoked by the next."""
    ids = sorted(str(database.insert_code()) for _ in range(2))
    with locking(database, ids[1:]):
        with through.start("revoke", *ids, "--yes", settings=PATIENT) as process:
            await_blocked(database)
            process.kill()
        await_gone(database)
        assert ["revoked"] == outcomes(through("revoke", ids[0], "--yes", "--format", "json"))
    assert ids[:1] == sorted(revoked(database))


def test_the_list_of_exceptions_is_of_today() -> None:
    """Each test that is not run through the pooler exists, and has its reason."""
    here = Path(__file__).parent
    known: set[str] = set()
    for path in here.rglob("test_*.py"):
        tree = ast.parse(path.read_text())
        known |= {path.name} | {
            f"{path.name}::{node.name}" for node in tree.body if isinstance(node, ast.FunctionDef)
        }
    assert set() == set(NOT_POOLED) - known
    assert [] == [name for name, reason in NOT_POOLED.items() if len(reason.split()) < 4]
    assert None is reason_against("tests/test_pooler.py::test_a_day")
