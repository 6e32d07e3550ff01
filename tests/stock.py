"""Codes in every state a change can meet, and what must hold of a database after each run."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
from databases import make_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from databases import Connection, Database
    from tool import Result

PAST: Final = "2000-01-01Z"
UNKNOWN_ID: Final = "00000000-0000-4000-8000-000000000000"

OPERATORS: Final = pytest.mark.parametrize(
    ("database", "login"),
    [
        pytest.param(step, login, id=f"step{step}-{login}")
        for step, login in (
            (2, "owner"),
            (2, "superuser"),
            (3, "admin_runtime"),
            (3, "owner"),
            (3, "superuser"),
        )
    ],
    indirect=["database"],
)
"""Run a test on each step that can revoke, as each login that may."""

BOTH_WAYS: Final = pytest.mark.parametrize(
    ("database", "login"),
    [
        pytest.param(2, "owner", id="direct"),
        pytest.param(3, "admin_runtime", id="functions"),
    ],
    indirect=["database"],
)
"""Run a test once on direct writes and once through the admin functions."""

_REVOKE: Final = (
    "update public.redemption_codes set revoked_at = now(), revoked_by = id where id = %s"
)
_AUDITED: Final = """
    insert into audit.admin_audit_logs (actor_user_id, actor_email, actor_role, action,
        target_type, target_id, request_id)
    values (%s, 'ops@example.com', 'admin', 'redemption_code.revoke',
        'redemption_code', %s, 'earlier')
"""
_BROKEN: Final = """
    select c.id, 'redeemed without its ledger row' from public.redemption_codes c
    where c.redeemed_at is not null and 1 <> (
        select count(*) from public.credit_transactions t
        where t.redemption_code_id = c.id and t.amount = c.credits and t.user_id = c.redeemed_by)
    union all
    select t.redemption_code_id, 'a ledger row without its redemption'
    from public.credit_transactions t left join public.redemption_codes c
        on c.id = t.redemption_code_id and c.redeemed_at is not null where c.id is null
    union all
    select p.id, 'a balance that is not the sum of the ledger' from public.profiles p
    where p.credits <> (select coalesce(sum(t.amount), 0)
                        from public.credit_transactions t where t.user_id = p.id)
"""
_UNAUDITED: Final = """
    union all
    select c.id, 'revoked and audited another number of times'
    from public.redemption_codes c
    where (c.revoked_at is not null)::int <> (
        select count(*) from audit.admin_audit_logs a
        where a.target_id = c.id::text and a.action = 'redemption_code.revoke')
"""


@dataclass(frozen=True)
class Made:
    """One code of a test, with the text that the tool never sees again."""

    id: str
    code: str

    @property
    def mask(self) -> str:
        """What the tool may show of it."""
        return f"JYOTISH-****-{self.code[-4:]}"


def make(database: Database, status: str = "available", **columns: object) -> Made:
    """Insert one code in this status; one that is redeemed was redeemed as testers do."""
    code = make_code()
    if status == "expired":
        columns = {"expires_at": PAST, **columns}
    made = Made(str(database.insert_code(code, **columns)), code)
    if status == "redeemed":
        assert database.redeem(code) is None
    if status == "revoked":
        database.execute(_REVOKE, [made.id])
        if database.step > 2:
            database.execute(_AUDITED, [made.id, made.id])
    return made


MANY: Final = """
insert into public.redemption_codes (code_hash, code_mask, credits, note)
select encode(sha256(%s::bytea || n::text::bytea), 'hex'), 'JYOTISH-****-AAAA', 10, %s
from generate_series(1, %s) n
"""


def make_many(database: Database, count: int, note: str = "many") -> list[str]:
    """Insert so many codes past the tool; return their ids in order."""
    made = database.rows(f"{MANY} returning id::text", [note, note, count])
    return sorted(row[0] for row in made)


def fill(database: Database, count: int) -> None:
    """Insert so many likewise, of which the tests' own process holds nothing."""
    database.execute(MANY, ["many", "many", count])


@contextmanager
def locking(database: Database, ids: Sequence[str]) -> Iterator[Connection]:
    """Hold the locks of these rows until the end, unless the block ends them before."""
    with database.connect() as connection:
        connection.execute("begin")
        lock = "select from public.redemption_codes where id = any(%s::uuid[]) for update"
        connection.execute(lock, [list(ids)])
        yield connection


def outcomes(result: Result) -> list[str]:
    """Return the outcomes of a report in JSON, in its order."""
    return [row["outcome"] for row in result.json]


def by_id(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Return the outcome of each id of a report in JSON."""
    return {row["id"]: row["outcome"] for row in rows}


def snapshot(database: Database) -> list[tuple[Any, ...]]:
    """Return every row of the table with the transaction that wrote it last, in id order."""
    return database.rows("select c.xmin::text, c.* from public.redemption_codes c order by c.id")


def audited(database: Database, action: str) -> list[str]:
    """Return the ids of the codes with an audit row of this action, in the order written."""
    query = "select target_id from audit.admin_audit_logs where action = %s order by ctid"
    return [row[0] for row in database.rows(query, [f"redemption_code.{action}"])]


def revoked(database: Database) -> set[str]:
    """Return the ids of all codes that are revoked."""
    query = "select id::text from public.redemption_codes where revoked_at is not null"
    return {row[0] for row in database.rows(query)}


def check_sound(database: Database) -> None:
    """Assert what must hold of codes, ledger, balances and audit log after every run."""
    query = _BROKEN + (_UNAUDITED if database.step > 2 else "")
    assert [] == database.rows(query)
