"""The tool changes data only: no command sends DDL or takes a lock stronger than writing rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import psycopg
import pytest
from stock import make
from tap import tapped

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

LOGINS: Final = pytest.mark.parametrize(
    ("database", "login"),
    [(1, "owner"), (2, "superuser"), (3, "admin_runtime"), (3, "owner"), (3, "superuser")],
    indirect=["database"],
)
VERBS: Final = frozenset(
    {"select", "insert", "update", "with", "begin", "commit", "rollback", "savepoint", "release"}
    | {"set", "show", "declare", "fetch", "close", "copy"}
)
_NO_DDL: Final = """
    create function public.no_ddl() returns event_trigger language plpgsql as $$
    begin raise exception 'DDL was sent: %', tg_tag; end $$;
    create event trigger no_ddl on ddl_command_start execute function public.no_ddl();
"""
TABLES: Final = {
    1: ("public.redemption_codes", "public.profiles", "auth.users", "public.credit_transactions"),
    3: ("identity.users", "audit.admin_audit_logs"),
}


def everything(invite: Invite, login: str, url: str, code_id: str, step: int) -> None:
    """Run every command once with each way to end, as far as this step knows them."""
    commands = [
        ("generate", "--count", "101", "--points", "5", "--expires", "1d", "--format", "jsonl"),
        ("generate", "--count", "1", "--points", "5", "--dry-run"),
        ("list",),
        ("list", "--format", "csv", "--sort", "status", "--search", "x"),
        ("redemptions", "--user", "tester01@example.com"),
        ("stats", "--by", "day"),
        ("show", code_id),
        ("update", code_id, "--set-note", "new", "--set-expires", "never", "--yes"),
        ("update", "--points", "5", "--set-note", "x", "--dry-run"),
        *([("revoke", code_id, "--dry-run"), ("revoke", code_id, "--yes")] if step > 1 else []),
        ("check",),
    ]
    settings = {"timeouts": {"lock": 1}}
    for command in commands:
        env = {"INVITE_DATABASE_URL": url}
        done = invite(*command, login=login, env=env, settings=settings)
        blocked = command == ("check",) and step == 1
        assert (5 if blocked else 0) == done.exit_code, (command, done.stderr)


@LOGINS
def test_no_ddl(database: Database, invite: Invite, login: str) -> None:
    """Every command succeeds where all DDL fails, and sends nothing but what reads and writes."""
    code = make(database)
    database.execute(_NO_DDL)
    with tapped(database.url(login)) as (url, heard):
        everything(invite, login, url, code.id, database.step)
        statements = heard.statements()
    first = {match[0].lower() for text in statements if (match := re.search(r"\w+", text))}
    assert set() == first - VERBS
    assert {"select", "begin", "commit", "savepoint"} <= first
    with pytest.raises(psycopg.errors.RaiseException, match="DDL was sent: CREATE TABLE"):
        database.execute("create table public.proof (id int)")


@LOGINS
def test_no_strong_lock(database: Database, invite: Invite, login: str) -> None:
    """No command takes a lock on a table that is stronger than ROW EXCLUSIVE."""
    code = make(database)
    tables = [name for step, names in TABLES.items() if step <= database.step for name in names]
    with database.connect() as holder:
        holder.execute("begin")
        for table in tables:
            # This lets ROW EXCLUSIVE pass, and stops itself and all that is stronger.
            holder.execute(f"lock table {table} in share update exclusive mode".encode())
        everything(invite, login, database.url(login), code.id, database.step)
