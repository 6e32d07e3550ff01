"""The structure that the sandbox and the tests load is the one the tool was written for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from databases import ACTOR, TESTERS, make_code, steps

if TYPE_CHECKING:
    from databases import Database

TABLE: Final = "public.redemption_codes"
HASH: Final = "0" * 64
SOMEBODY: Final = "00000000-0000-0000-0000-000000000001"

COLUMNS: Final = [
    ("id", "uuid", True, "gen_random_uuid()"),
    ("code_hash", "text", True, None),
    ("code_mask", "text", True, None),
    ("credits", "integer", True, None),
    ("expires_at", "timestamp with time zone", False, None),
    ("note", "text", False, None),
    ("created_by", "uuid", False, None),
    ("created_at", "timestamp with time zone", True, "now()"),
    ("redeemed_by", "uuid", False, None),
    ("redeemed_email", "text", False, None),
    ("redeemed_at", "timestamp with time zone", False, None),
]
REVOKED_COLUMNS: Final = [
    ("revoked_at", "timestamp with time zone", False, None),
    ("revoked_by", "uuid", False, None),
]
INDEXES: Final = {
    f"CREATE UNIQUE INDEX redemption_codes_pkey ON {TABLE} USING btree (id)",
    f"CREATE UNIQUE INDEX redemption_codes_code_hash_key ON {TABLE} USING btree (code_hash)",
    f"CREATE INDEX redemption_codes_created_at_idx ON {TABLE} USING btree (created_at DESC)",
}
REVOKED_INDEX: Final = (
    "CREATE INDEX redemption_codes_revoked_at_idx ON public.redemption_codes"
    " USING btree (revoked_at) WHERE (revoked_at IS NOT NULL)"
)


@steps()
def test_columns(database: Database) -> None:
    """The columns have the types, nullability and defaults of the step, in this order."""
    actual = database.rows(
        "select attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid)"
        " from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum"
        f" where attrelid = '{TABLE}'::regclass and attnum > 0 and not attisdropped order by attnum"
    )
    assert COLUMNS + (REVOKED_COLUMNS if database.step > 1 else []) == actual


@steps()
def test_indexes(database: Database) -> None:
    """The indexes are the step's, and no more."""
    query = f"select pg_get_indexdef(indexrelid) from pg_index where indrelid = '{TABLE}'::regclass"
    actual = {row[0] for row in database.rows(query)}
    assert INDEXES | ({REVOKED_INDEX} if database.step > 1 else set()) == actual


@steps()
def test_row_level_security(database: Database) -> None:
    """It is enabled and not forced; only step 3 has a policy, and no step a trigger."""
    flags = (
        "select relrowsecurity, relforcerowsecurity, pg_get_userbyid(relowner)::text,"
        " exists (select from pg_trigger where tgrelid = c.oid and not tgisinternal)"
        f" from pg_class c where oid = '{TABLE}'::regclass"
    )
    policies = (
        "select polcmd, polpermissive, polroles::regrole[]::text, pg_get_expr(polqual, polrelid)"
        f" from pg_policy where polrelid = '{TABLE}'::regclass"
    )
    expected = [("r", True, "{admin_runtime}", "true")] if database.step == 3 else []
    assert database.rows(flags) == [(True, False, "schema_owner", False)]
    assert expected == database.rows(policies)


@steps()
def test_foreign_keys(database: Database) -> None:
    """Only created_by refers to a person; redeemed_by and revoked_by outlive theirs."""
    query = (
        "select pg_get_constraintdef(oid) from pg_constraint"
        f" where conrelid = '{TABLE}'::regclass and contype = 'f'"
    )
    expected = "FOREIGN KEY (created_by) REFERENCES auth.users(id) ON DELETE SET NULL"
    assert [(expected,)] == database.rows(query)


@steps()
def test_everything_belongs_to_the_owner_and_nothing_to_public(database: Database) -> None:
    """Each table and function belongs to schema_owner, and PUBLIC may run no function."""
    strangers = database.rows(
        "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = relnamespace"
        " where nspname in ('public', 'auth', 'identity', 'audit')"
        " and relowner <> 'schema_owner'::regrole"
    )
    functions = database.rows(
        "select p.oid::regprocedure::text from pg_proc p"
        " join pg_namespace n on n.oid = pronamespace"
        " where nspname in ('public', 'auth', 'identity', 'audit')"
        " and (proowner <> 'schema_owner'::regrole or proacl is null or exists"
        " (select from aclexplode(proacl) where grantee = 0))"
    )
    assert (strangers, functions) == ([], [])


REFUSED: Final[dict[str, tuple[str, dict[str, object]]]] = {
    "no points": ("23514", {"credits": 0}),
    "negative points": ("23514", {"credits": -1}),
    "points missing": ("23502", {"credits": None}),
    "hash of capitals": ("23514", {"code_hash": "A" * 64}),
    "hash too short": ("23514", {"code_hash": "0" * 63}),
    "hash with a line end": ("23514", {"code_hash": HASH + "\n"}),
    "hash missing": ("23502", {"code_hash": None}),
    "hash twice": ("23505", {"code_hash": HASH}),
    "foreign mask": ("23514", {"code_mask": "OTHER-****-ABCD"}),
    "mask without stars": ("23514", {"code_mask": "JYOTISH-ABCD-EFGH"}),
    "redeemer alone": ("23514", {"redeemed_by": SOMEBODY}),
    "redeemed_at alone": ("23514", {"redeemed_at": "2026-01-01Z"}),
    "unknown creator": ("23503", {"created_by": SOMEBODY}),
}
REVOKE_REFUSED: Final[dict[str, tuple[str, dict[str, object]]]] = {
    "revoker alone": ("23514", {"revoked_by": SOMEBODY}),
    "revoked_at alone": ("23514", {"revoked_at": "2026-01-01Z"}),
    "redeemed and revoked": (
        "23514",
        {
            "redeemed_by": SOMEBODY,
            "redeemed_at": "2026-01-01Z",
            "revoked_by": SOMEBODY,
            "revoked_at": "2026-01-01Z",
        },
    ),
}
TAKEN: Final[list[dict[str, object]]] = [
    {"credits": 2_147_483_647, "note": "x" * 501},
    {"expires_at": "2000-01-01Z"},
    {"expires_at": "infinity"},
    {"redeemed_by": SOMEBODY, "redeemed_at": "2026-01-01Z", "redeemed_email": None},
    {"redeemed_email": "nobody@example.com"},
]


@steps()
def test_what_a_row_may_hold(database: Database) -> None:
    """Each rule of the table refuses with its SQLSTATE; what has no rule is taken."""
    wanted = REFUSED | (REVOKE_REFUSED if database.step > 1 else {})
    database.insert_code(code_hash=HASH)
    for columns in TAKEN:
        database.insert_code(None, **columns)
    actual = {}
    for name, (_, columns) in wanted.items():
        with pytest.raises(Exception, match="constraint") as caught:
            database.insert_code(None, **columns)
        actual[name] = getattr(caught.value, "sqlstate", None)
    assert {name: sqlstate for name, (sqlstate, _) in wanted.items()} == actual


@steps()
def test_people(database: Database) -> None:
    """Everybody in auth.users has a profile without points; it goes with its person."""
    people = "auth.users u left join public.profiles p using (id)"
    found = database.rows(f"select count(*), count(p.id), sum(credits) from {people}")
    assert found == [(33, 33, 0)]
    database.execute("update auth.users set email = 'new@example.com' where email = %s", [ACTOR])
    assert database.value("select count(*) from profiles where email = 'new@example.com'") == 1
    database.execute("delete from auth.users where email = 'new@example.com'")
    assert database.value("select count(*) from profiles") == 32


def test_identity_is_copied(database: Database) -> None:
    """What happens to a person in identity.users happens in auth.users; e-mails are unique."""
    database.execute("insert into identity.users (email) values ('Kit@example.com')")
    assert database.rows("select role, banned from identity.users where email = 'Kit@example.com'")[
        0
    ] == ("user", False)
    again = "insert into identity.users (email) values (' kIT@example.com ')"
    assert (database.refusal("superuser", again) or ("",))[0] == "23505"
    kit = database.person("Kit@example.com")
    database.execute("update identity.users set email = 'kim@example.com' where id = %s", [kit])
    assert kit == database.person("kim@example.com")
    database.execute("delete from identity.users where id = %s", [kit])
    assert database.value("select count(*) from auth.users where id = %s", [kit]) == 0


@steps()
def test_deleting_a_person_keeps_the_code(database: Database) -> None:
    """Ledger and profile go; the code still says who redeemed it, and forgets who made it."""
    code, gone = make_code(), database.person(TESTERS[0])
    made = database.insert_code(code, created_by=gone)
    assert database.redeem(code) is None
    schema = "identity" if database.step == 3 else "auth"
    database.execute(f"delete from {schema}.users where id = %s", [gone])
    left = "select (select count(*) from profiles where id = %s), count(*) from credit_transactions"
    kept = "select redeemed_by, redeemed_email, redeemed_at is not null, created_by"
    assert database.rows(left, [gone]) == [(0, 0)]
    assert [(gone, TESTERS[0], True, None)] == database.rows(
        f"{kept} from redemption_codes where id = %s", [made]
    )
