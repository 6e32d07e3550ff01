"""Structures half applied, or another's: what cannot be done is found before it is tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
import stock
from checking import codes, finding
from shelf import put

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

CREATE: Final = "public.admin_create_redemption_codes(uuid, text, text, text, jsonb)"
REVOKE: Final = "public.admin_revoke_redemption_code(uuid, text, text, text, uuid)"
UPDATE: Final = (
    "public.admin_update_redemption_code"
    "(uuid, text, text, text, uuid, boolean, text, boolean, timestamptz)"
)
EVERYTHING: Final = frozenset(["read", "lookup", "generate", "update", "revoke"])
READING: Final = frozenset(["read", "lookup"])
MISSING: Final = "is missing, and a direct write would bypass the audit log"
COMMANDS: Final = {
    "read": ["list"],
    "generate": ["generate", "--count", "1", "--points", "1"],
    "update": ["update", "--note", "none such", "--set-note", "x", "--yes"],
    "revoke": ["revoke", "--note", "none such", "--yes"],
}


@dataclass(frozen=True)
class Case:
    """One structure.

    Args:
        step: The step it was before.
        change: The statements that made it what it is.
        able: What can still be done.
        reason: What is said of the rest.
        table: The `table` of the settings.
        login: Who asks.
    """

    step: int
    change: str
    able: frozenset[str] = EVERYTHING
    reason: str = ""
    table: str | None = None
    login: str = "owner"


CASES: Final = {
    "revoke function missing": Case(
        3, f"drop function {REVOKE}", EVERYTHING - {"revoke"}, f"revoke_redemption_code {MISSING}"
    ),
    "update function missing": Case(
        3, f"drop function {UPDATE}", EVERYTHING - {"update"}, f"update_redemption_code {MISSING}"
    ),
    "all functions missing": Case(
        3, f"drop function {CREATE}, {UPDATE}, {REVOKE}", READING, MISSING
    ),
    "audit log alone": Case(
        2,
        "create schema audit; create table audit.admin_audit_logs ()",
        READING,
        f"admin_create_redemption_codes {MISSING}",
    ),
    "one function alone": Case(
        1,
        f"create function {CREATE} returns void language sql as ''",
        READING,
        "not all of them are there",
    ),
    "other arguments": Case(
        3,
        f"drop function {CREATE};"
        "create function public.admin_create_redemption_codes(uuid, text, jsonb)"
        " returns void language sql as ''",
        EVERYTHING - {"generate"},
        "admin_create_redemption_codes takes other arguments than this tool knows",
    ),
    "only other arguments": Case(
        2,
        "create function public.admin_revoke_redemption_code(uuid) returns void language sql as ''",
        READING,
        "admin_revoke_redemption_code takes other arguments",
    ),
    "overloaded": Case(
        3,
        "create function public.admin_create_redemption_codes(jsonb) returns void"
        " language sql as ''",
    ),
    "execute revoked": Case(
        3,
        f"revoke execute on function {REVOKE} from service_role",
        EVERYTHING - {"revoke"},
        "neither this login nor service_role may call public.admin_revoke_redemption_code",
        login="admin_runtime",
    ),
    "no note": Case(
        2,
        "alter table public.redemption_codes drop column note",
        frozenset(),
        "public.redemption_codes lacks the columns note",
    ),
    "no hash, no creator": Case(
        1,
        "alter table public.redemption_codes drop column code_hash, drop column created_by",
        frozenset(),
        "public.redemption_codes lacks the columns code_hash, created_by",
    ),
    "revoked_at alone": Case(
        1,
        "alter table public.redemption_codes add column revoked_at timestamptz",
        EVERYTHING - {"revoke"},
        "public.redemption_codes has no columns revoked_at and revoked_by",
    ),
    "a view": Case(
        2,
        "alter table public.redemption_codes rename to kept;"
        "create view public.redemption_codes as select * from public.kept;"
        "grant all on public.redemption_codes to invite_test_owner",
        frozenset(),
        "public.redemption_codes is not a table",
    ),
    "no table": Case(
        1,
        "drop table public.redemption_codes",
        frozenset(),
        "there is no table public.redemption_codes in this database",
    ),
    "another table": Case(
        2,
        "create schema invites authorization schema_owner;"
        "alter table public.redemption_codes set schema invites;"
        'alter table invites.redemption_codes rename to "Codes"',
        table="invites.Codes",
    ),
    "another table, not there": Case(
        2, "", frozenset(), "there is no table public.codes in this database", table="public.codes"
    ),
    "another schema, not there": Case(
        2, "", frozenset(), "there is no table nowhere.redemption_codes", "nowhere.redemption_codes"
    ),
    "no schema in the setting": Case(2, "", table="redemption_codes"),
}


def check(invite: Invite, case: Case) -> tuple[int, dict[str, Any]]:
    """Return the exit status and the object of `check`."""
    done = invite("check", "--format", "json", login=case.login, settings={"table": case.table})
    return done.exit_code, done.json


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Case:
    """The structure of the test, by its name in CASES."""
    return CASES[request.node.callspec.params["name"]]


@pytest.mark.parametrize(
    ("name", "database"),
    [pytest.param(name, case.step, id=name) for name, case in CASES.items()],
    indirect=["database"],
)
def test_structure(invite: Invite, database: Database, case: Case, name: str) -> None:
    """`check` tells what can be done and why the rest cannot; the commands do exactly that."""
    for statement in filter(None, case.change.split(";")):
        database.execute(statement)
    exit_code, told = check(invite, case)
    assert case.able == {able["name"] for able in told["capabilities"] if able["available"]}, name
    blocked = [able["reason"] for able in told["capabilities"] if not able["available"]]
    assert any(case.reason in reason for reason in blocked) or not case.reason
    assert (5 if blocked else 0) == exit_code
    for need in COMMANDS.keys() - case.able:
        done = invite(*COMMANDS[need], login=case.login, settings={"table": case.table})
        assert (5, "") == (done.exit_code, done.stdout), done.stderr
        assert " is blocked here: " in done.stderr


def test_no_fallback(invite: Invite, database: Database) -> None:
    """Where a function is missing the owner, who could, writes nothing past the audit log."""
    database.execute(f"drop function {CREATE}, {UPDATE}, {REVOKE}")
    made = put(database, "A")
    before = stock.snapshot(database)
    for line in (
        ["generate", "--count", "1", "--points", "1"],
        ["revoke", made, "--yes"],
        ["update", made, "--set-note", "x", "--yes"],
    ):
        done = invite(*line, login="owner")
        assert (5, "") == (done.exit_code, done.stdout)
        assert f"{MISSING}; nothing was changed" in done.stderr
    assert before == stock.snapshot(database)


def test_another_table(invite: Invite, database: Database) -> None:
    """Functions that write the one table do not stand for another that is configured."""
    database.execute("create table public.others (like public.redemption_codes including all)")
    database.execute("alter table public.others owner to schema_owner")
    settings = {"table": "public.others"}
    done = invite("generate", "--count", "1", "--points", "1", login="owner", settings=settings)
    assert (5, "") == (done.exit_code, done.stdout), done.stderr
    assert "the admin functions write public.redemption_codes, not public.others" in done.stderr
    assert 0 == database.value("select count(*) from public.redemption_codes")
    assert 0 == invite("list", login="owner", settings=settings).exit_code


def test_function_that_fails(invite: Invite, database: Database) -> None:
    """What only a call can show is told in one line, and nothing is stored."""
    database.execute("alter table audit.admin_audit_logs rename to gone")
    done = invite("generate", "--count", "1", "--points", "1")
    assert (5, "") == (done.exit_code, done.stdout)
    assert "invite: unsupported: " in done.stderr
    assert 0 == database.value("select count(*) from public.redemption_codes")


@pytest.mark.parametrize(
    ("database", "why"),
    [
        (2, "no actor: there is neither identity.users nor auth.users"),
        (3, f"`generate` is blocked here: {CREATE.partition('(')[0]} needs"),
    ],
    indirect=["database"],
    ids=["step2", "step3"],
)
def test_no_people(invite: Invite, database: Database, why: str) -> None:
    """Where no actor can be looked up nothing is written, and `check` says why."""
    if database.step > 2:
        database.execute("alter table identity.users rename to people")
    database.execute("alter table auth.users rename to people")
    done = invite("generate", "--count", "1", "--points", "1", login="owner")
    assert (5, "") == (done.exit_code, done.stdout)
    assert f"invite: unsupported: {why}" in done.stderr
    exit_code, told = check(invite, Case(3, ""))
    assert 5 == exit_code
    assert (
        "no actor: there is neither identity.users nor auth.users, so no actor can be looked"
        in (finding(told, "actor_blocked")["message"])
    )
    assert "no_admin_flag" not in codes(told)
    assert 0 == invite("list", login="owner").exit_code


@pytest.mark.parametrize("left", ["", "create view public.redemption_codes as select 1"])
def test_moved_table(invite: Invite, database: Database, left: str) -> None:
    """Functions whose table was moved cannot be mended by a setting, and no setting is named."""
    database.execute("create schema invites authorization schema_owner")
    database.execute("alter table public.redemption_codes set schema invites")
    if left:
        database.execute(left)
    moved = "invites.redemption_codes"
    why = "the admin functions write public.redemption_codes, and there is no such table"
    hint = f"ask the application's team; this tool knows no functions that write {moved}"
    exit_code, told = check(invite, Case(3, "", table=moved))
    assert (5, f"generate is BLOCKED: {why}") == (exit_code, told["findings"][0]["message"])
    done = invite(*COMMANDS["generate"], login="owner", settings={"table": moved})
    assert (5, "") == (done.exit_code, done.stdout)
    assert done.stderr.endswith(
        f"invite: unsupported: `generate` is blocked here: {why}; nothing was changed\n"
        f"hint: {hint}\n"
    )
    assert 0 == invite("list", login="owner", settings={"table": moved}).exit_code
