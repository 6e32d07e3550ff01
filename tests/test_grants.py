"""The GRANT that `check` asks for is the one that is missing: once given, the block is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from checking import codes, finding, told
from databases import ACTOR, LOGINS
from hostile import failure

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

GRANTS: Final = {
    "update, step 1": (1, "", "update", "service_role", True),
    "revoke": (2, "", "revoke", "service_role", True),
    "generate": (2, "revoke insert on T from service_role", "generate", "service_role", True),
    "reading": (2, "revoke select on T from service_role", "read", "", False),
    "lookup": (3, "revoke select on T from service_role", "lookup", "", True),
    "function": (
        3,
        "revoke execute on function public.admin_revoke_redemption_code from service_role",
        "revoke",
        "service_role",
        True,
    ),
    "reading, step 3": (3, "revoke select on T from admin_runtime, service_role", "read", "", True),
}


@pytest.mark.parametrize(
    ("name", "database"),
    [pytest.param(name, case[0], id=name) for name, case in GRANTS.items()],
    indirect=["database"],
)
def test_grants(invite: Invite, database: Database, name: str) -> None:
    """The GRANT to ask for is the one that is missing: once given, nothing of it is blocked."""
    _, change, need, grantee, enough = GRANTS[name]
    if change:
        database.execute(change.replace(" T ", " public.redemption_codes "))
    found = told(invite, 5)
    hint = finding(found, f"{need}_blocked")["hint"]
    grant = hint.removeprefix("ask for: ")
    assert grant.startswith("GRANT ")
    assert grant.endswith(f" TO {grantee or 'YOUR_LOGIN'}")
    database.execute(grant.replace("YOUR_LOGIN", LOGINS["admin_runtime"]))
    after = invite("check", "--format", "json").json
    ways = {way["name"]: way["available"] for way in after["capabilities"]}
    assert enough == ways[need]
    assert enough or "rows_hidden" in codes(after)


INSERTING: Final = """
    revoke insert on public.redemption_codes from service_role;
    grant insert (code_hash, code_mask, credits, expires_at, note, created_by)
    on public.redemption_codes to service_role
"""
UNREADABLE: Final = """
    revoke select on public.redemption_codes from service_role;
    grant select (id, code_mask, credits, expires_at, note, created_at, code_hash)
    on public.redemption_codes to service_role
"""


@pytest.mark.parametrize("database", [1], indirect=True)
@pytest.mark.parametrize(
    ("change", "deed", "given"),
    [
        (INSERTING, "insert id", "INSERT (id, code_hash, "),
        (UNREADABLE, "read redeemed_at", "SELECT (redeemed_at) ON "),
    ],
    ids=["insert", "select"],
)
def test_only_what_lacks(
    invite: Invite, database: Database, change: str, deed: str, given: str
) -> None:
    """Of a direct write's rights those are named that lack, and no others."""
    database.execute(change)
    one = next(way for way in told(invite, 5)["capabilities"] if way["name"] == "generate")
    assert f"service_role may not {deed}" == one["reason"]
    asked = failure(invite("generate", "--count", "1", "--points", "1"))[1]
    assert str(asked).startswith(f"hint: ask for: GRANT {given}")


UNSEEN: Final = "revoke select on identity.users from admin_runtime"
SOME_SEEN: Final = "grant select (id, email) on identity.users to admin_runtime"
UNUSABLE: Final = "revoke usage on schema identity from admin_runtime"


@pytest.mark.parametrize(
    "change",
    [UNSEEN, f"{UNSEEN}; {SOME_SEEN}", UNUSABLE, f"{UNSEEN}; {UNUSABLE}"],
    ids=["table", "columns", "schema", "both"],
)
def test_actor_grant(invite: Invite, database: Database, change: str) -> None:
    """Where the actor cannot be looked up the GRANT to ask for mends it."""
    for statement in change.split(";"):
        database.execute(statement)
    one = finding(told(invite, 5), "actor_blocked")
    assert "may not read identity.users" in one["message"]
    for statement in one["hint"].removeprefix("ask for: ").split("; "):
        database.execute(statement.replace("YOUR_LOGIN", "admin_runtime"))
    assert told(invite)["findings"]
    assert ACTOR in invite("generate", "--count", "1", "--points", "1").stderr


UNAUDITED: Final = "revoke select on audit.admin_audit_logs from admin_runtime, service_role"
UNUSED: Final = "revoke usage on schema audit from admin_runtime"


@pytest.mark.parametrize("change", [UNAUDITED, f"{UNAUDITED}; {UNUSED}"], ids=["table", "both"])
def test_audit_grant(invite: Invite, database: Database, change: str) -> None:
    """Where the audit log cannot be read `check` says what that blocks, and the GRANT mends it."""
    for statement in change.split(";"):
        database.execute(statement)
    one = finding(told(invite, 5), "audit_blocked")
    assert "--request-id is BLOCKED: this login may not read the audit log" == one["message"]
    assert 5 == invite("list", "--request-id", "x").exit_code
    for statement in one["hint"].removeprefix("ask for: ").split("; "):
        database.execute(statement.replace("YOUR_LOGIN", "admin_runtime"))
    assert "audit_blocked" not in codes(told(invite))
    assert 0 == invite("list", "--request-id", "x").exit_code


EN: Final = (
    "- **Choose by `--request-id`, or name a batch by it**: this login lacks a right. Ask for it:"
)
ZH: Final = "- **用 `--request-id` 筛选，或给一批兑换码取名**：这个登录账号缺少权限。请申请："  # noqa: RUF001
WITHOUT_LOG: Final = {
    "en": ("## Blocked here", EN, "`invite list --note"),
    "zh": ("## 这里做不到的事", ZH, "先按备注查一查"),
}
BOUND: Final = {
    "en": ("a policy that shows this login every row.", "policies that let this login read and"),
    "zh": ("还要申请一条能看到全部行的策略。", "还要申请能读写全部行的策略。"),
}


@pytest.mark.parametrize("database", [1], indirect=True)
@pytest.mark.parametrize("language", BOUND)
def test_page_of_a_login_that_policies_bind(
    invite: Invite, database: Database, language: str
) -> None:
    """Beside the GRANT, the operations page asks for the policies without which it is no use."""
    database.execute("revoke all on public.redemption_codes from invite_test_blind")
    heading = WITHOUT_LOG[language][0]
    done = invite("runbook", "--lang", language, login="blind", settings={"write_role": None})
    blocked = done.stdout.partition(heading)[2]
    reading, writing = BOUND[language]
    assert (2, 2) == (blocked.count(reading), blocked.count(writing)), blocked


LOG_GRANT: Final = (
    "GRANT SELECT (actor_user_id, actor_email, action, target_type, target_id, after_value, "
    "request_id, created_at) ON audit.admin_audit_logs TO YOUR_LOGIN;"
)


@pytest.mark.parametrize("language", WITHOUT_LOG)
@pytest.mark.parametrize("login", ["admin_runtime", "reader"])
def test_page_without_the_audit_log(
    invite: Invite, database: Database, login: str, language: str
) -> None:
    """The operations page gives no advice that needs the log, and lists the GRANT to ask for."""
    database.execute(f"{UNAUDITED}, invite_test_reader")
    heading, bullet, instead = WITHOUT_LOG[language]
    page, _, blocked = invite("runbook", "--lang", language, login=login).stdout.partition(heading)
    told = f"{bullet}\n\n  ```sql\n  {LOG_GRANT}\n  ```"
    assert (True, 1 if login == "admin_runtime" else 4) == (
        blocked.strip().endswith(told),
        blocked.count("```sql"),
    )
    assert (0, login == "admin_runtime") == (page.count("friday-1"), instead in page)
    database.execute(LOG_GRANT.replace("YOUR_LOGIN", LOGINS[login]))
    after = invite("runbook", "--lang", language, login=login).stdout
    assert (bullet in after, instead in after) == (False, False)
    assert (login == "admin_runtime") == ("`--request-id friday-1`" in after)
