"""Who may do what with the structure at each step, and what row-level security hides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from databases import ACTOR, LOGINS, steps

if TYPE_CHECKING:
    from databases import Database

DENIED: Final = "42501"
READABLE: Final = (
    "id, code_mask, credits, expires_at, note, created_at, redeemed_by, redeemed_email, redeemed_at"
)
STATEMENTS: Final = {
    "all columns": "select * from public.redemption_codes",
    "eleven columns": f"select {READABLE}, revoked_at, revoked_by from public.redemption_codes",
    "code_hash": "select code_hash from public.redemption_codes",
    "created_by": "select created_by from public.redemption_codes",
    "insert": "insert into public.redemption_codes (code_hash, code_mask, credits)"
    " values (repeat('0', 64), 'JYOTISH-****-ABCD', 1)",
    "update": "update public.redemption_codes set note = 'n'",
    "delete": "delete from public.redemption_codes",
    "for update": "select id from public.redemption_codes for update",
    "redeem_code": "select * from public.redeem_code(repeat('0', 64))",
    "auth.users": "select id, email from auth.users",
}
AUDITED_STATEMENTS: Final = STATEMENTS | {
    "function": "select id from public.admin_revoke_redemption_code"
    f"(%(actor)s, '{ACTOR}', 'admin', 'r', %(code)s)",
    "audit": "select id from audit.admin_audit_logs",
    "audit insert": "insert into audit.admin_audit_logs (actor_user_id, actor_email, actor_role,"
    " action, target_type, target_id, request_id) values (gen_random_uuid(), 'a', 'admin',"
    " 'redemption_code.create', 'redemption_code', 't', 'r')",
    "identity.users": "select id, email, role, banned, ban_expires from identity.users",
}
ACCOUNTS: Final = {
    "superuser": ("superuser", None),
    "schema_owner": ("owner", "schema_owner"),
    "owner": ("owner", None),
    "admin_runtime": ("admin_runtime", None),
    "service_role": ("admin_runtime", "service_role"),
    "app_runtime": ("app_runtime", None),
    "authenticated": ("app_runtime", "authenticated"),
}
EVERYTHING: Final = frozenset(AUDITED_STATEMENTS)
NOTHING: Final = frozenset[str]()
DIRECT_WRITER: Final = frozenset(
    ["all columns", "eleven columns", "code_hash", "created_by", "insert"]
)
RIGHTS: Final = {
    "superuser": EVERYTHING,
    "schema_owner": EVERYTHING,
    "owner": EVERYTHING,
    "admin_runtime": NOTHING,
    "service_role": DIRECT_WRITER | {"auth.users"},
    "app_runtime": NOTHING,
    "authenticated": frozenset(["redeem_code"]),
}
AUDITED_RIGHTS: Final = RIGHTS | {
    "admin_runtime": frozenset(["eleven columns", "audit", "identity.users"]),
    "service_role": DIRECT_WRITER | {"function", "audit"},
}


def tried(database: Database, account: str) -> dict[str, str]:
    """Try and undo each statement as this account; return SQLSTATEs, empty where it works."""
    login, role = ACCOUNTS[account]
    params = {"actor": database.person(ACTOR), "code": database.insert_code()}
    statements = AUDITED_STATEMENTS if database.step == 3 else STATEMENTS
    answers = {}
    for name, sql in statements.items():
        existing = sql if database.step > 1 else sql.replace(", revoked_at, revoked_by", "")
        answers[name] = (database.refusal(login, existing, params, role=role) or ("",))[0]
    return answers


@steps()
def test_who_may_do_what(database: Database) -> None:
    """Every account may do what the step grants it, and gets 42501 for everything else."""
    rights = AUDITED_RIGHTS if database.step == 3 else RIGHTS
    actual = {account: tried(database, account) for account in ACCOUNTS}
    expected = {
        account: {name: "" if name in rights[account] else DENIED for name in answers}
        for account, answers in actual.items()
    }
    assert expected == actual


def test_roles(database: Database) -> None:
    """Logins inherit nothing and have one group each; only service_role passes policies."""
    flags = (
        "select rolname, rolcanlogin, rolinherit, rolbypassrls, rolsuper, rolcreaterole"
        " from pg_roles where rolname = any(%s) order by 1"
    )
    members = (
        "select member::regrole::text, roleid::regrole::text from pg_auth_members"
        " where member = any(%s::regrole[]) order by 1"
    )
    names = ["admin_runtime", "app_runtime", "authenticated", "schema_owner", "service_role"]
    assert database.rows(flags, [names]) == [
        ("admin_runtime", True, False, False, False, False),
        ("app_runtime", True, False, False, False, False),
        ("authenticated", False, True, False, False, False),
        ("schema_owner", False, True, False, False, False),
        ("service_role", False, True, True, False, False),
    ]
    assert database.rows(members, [names]) == [
        ("admin_runtime", "service_role"),
        ("app_runtime", "authenticated"),
    ]


READERS: Final = {
    name: ACCOUNTS.get(name, (name, None))
    for name in ("superuser", "owner", "admin_runtime", "service_role", "reader", "blind")
}
HIDDEN: Final = """
with applying as (
  select polpermissive, pg_get_expr(polqual, polrelid) as qualification from pg_policy
  where polrelid = 'public.redemption_codes'::regclass and polcmd in ('r', '*') and exists (
    select from unnest(polroles) r where r = 0 or pg_has_role(current_user, r, 'usage')
  )
)
select active, active and not (
  exists (select from applying where polpermissive and qualification = 'true')
  and not exists (select from applying where not polpermissive)
) from row_security_active('public.redemption_codes') as active
"""


def test_which_rows_may_be_hidden(database: Database) -> None:
    """Only a login without a policy is blind, though its flag is set for another too."""
    database.insert_code()
    found = {}
    for account, (login, role) in READERS.items():
        with database.acting(login, role) as connection:
            row = connection.execute(HIDDEN.encode()).fetchone()
            codes = connection.execute("select id from public.redemption_codes").fetchall()
        found[account] = (*(row or ()), len(codes))
    assert found == {
        "superuser": (False, False, 1),
        "owner": (False, False, 1),
        "admin_runtime": (True, False, 1),
        "service_role": (False, False, 1),
        "reader": (False, False, 1),
        "blind": (True, True, 0),
    }


@steps()
def test_silence_of_row_level_security(database: Database) -> None:
    """A login with rights and no policy sees nothing, changes nothing and hears nothing."""
    database.insert_code()
    with database.acting("blind") as connection:
        assert len(connection.execute("select * from public.redemption_codes").fetchall()) == 0
        update = "update public.redemption_codes set note = 'changed'"
        assert connection.execute(update).rowcount == 0
    assert [row[0] for row in database.rows("select note from redemption_codes")] == [None]


def test_what_row_level_security_refuses(database: Database) -> None:
    """It cannot be switched off by admin_runtime, and where it is active COPY fails."""
    off = "select set_config('row_security', 'off', true); select id from public.redemption_codes"
    copy = "copy public.redemption_codes (code_hash, code_mask, credits) from stdin"
    assert (database.refusal("admin_runtime", off) or ("",))[0] == DENIED
    assert (database.refusal("blind", copy) or ("",))[0] == "0A000"
    with (
        database.acting("admin_runtime", "service_role") as connection,
        connection.cursor().copy(copy) as lines,
    ):
        lines.write_row(["0" * 64, "JYOTISH-****-ABCD", 1])
    assert database.value("select count(*) from redemption_codes") == 1


def test_logins_of_the_tests(database: Database) -> None:
    """Each login of the tests can log in, as itself."""
    for name, role in LOGINS.items():
        with database.connect(name) as connection:
            assert (role,) == connection.execute("select current_user::text").fetchone()
