"""Admin functions that run without the rights they need: found before they are called."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest
import stock
from checking import told
from shelf import put
from test_structures import COMMANDS, CREATE, REVOKE, UPDATE

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

FUNCTIONS: Final = {"generate": CREATE, "update": UPDATE, "revoke": REVOKE}
CODES: Final = "public.redemption_codes"
LOG: Final = "audit.admin_audit_logs"
OWNER: Final = "alter function F owner to invite_test_reader"  # who passes row-level security
WRITING: Final = f"{OWNER}; grant insert, update on {CODES} to invite_test_reader"
BLINDED: Final = "revoke select on identity.users from invite_test_reader"
LOG_BOUND: Final = (
    f"alter table {LOG} enable row level security; alter table {LOG} force row level security;"
    f"create policy p on {LOG} for select using (true)"
)
BOUND_BUT_OPEN: Final = (
    f"alter table {CODES} force row level security;"
    f"create policy p on {CODES} to schema_owner using (true)"
)
OWN_TEAM: Final = "ask the application's team; the table's owner owns it by their migration"
BOUND: Final = "ask the application's team; the function cannot write as it is"
POWERLESS: Final = {
    "security invoker": (
        "alter function F security invoker",
        "F is SECURITY INVOKER, and this tool knows it as SECURITY DEFINER",
        "ask the application's team; by their migration it has its owner's rights",
    ),
    "an owner without any right": (
        "alter function F owner to app_runtime",
        f"the owner of F may not read {CODES}",
        OWN_TEAM,
    ),
    "an owner who only reads": (OWNER, f"the owner of F may not DEED {CODES}", OWN_TEAM),
    "an owner without the log": (WRITING, f"the owner of F may not insert into {LOG}", OWN_TEAM),
    "an owner without the users": (
        f"{WRITING}; grant insert on {LOG} to invite_test_reader; {BLINDED}",
        "the owner of F may not read identity.users",
        OWN_TEAM,
    ),
    "an owner without a policy": (
        f"grant select on {CODES} to app_runtime; alter function F owner to app_runtime",
        f"row-level security on {CODES} binds the owner of F, too",
        BOUND,
    ),
    "forced": (
        f"alter table {CODES} force row level security",
        f"row-level security on {CODES} binds the owner of F, too",
        BOUND,
    ),
    "forced on the log": (
        LOG_BOUND,
        f"row-level security on {LOG} binds the owner of F, too",
        BOUND,
    ),
}
POWERFUL: Final = {
    "superuser": "alter function F owner to current_user",
    "a member of the table's owner": "alter function F owner to invite_test_owner",
    "forced, with a policy": BOUND_BUT_OPEN,
}


def alter(database: Database, change: str) -> None:
    """Make a change, once for each function where it is about one."""
    for statement in change.split(";"):
        for signature in FUNCTIONS.values() if " F " in statement else [""]:
            database.execute(statement.replace(" F ", f" {signature} "))


@pytest.mark.parametrize("name", POWERLESS)
def test_powerless(invite: Invite, database: Database, name: str) -> None:
    """`check` says which right is lacking, and each command ends before the function is called."""
    change, why, hint = POWERLESS[name]
    alter(database, change)
    put(database, "A")
    before = stock.snapshot(database)
    found = told(invite, 5)
    blocked = {w["name"]: w["reason"] for w in found["capabilities"] if not w["available"]}
    deeds = {"generate": "insert into", "update": "update", "revoke": "update"}
    reasons = {
        need: re.sub(r"\bF\b", signature.partition("(")[0], why).replace("DEED", deeds[need])
        for need, signature in FUNCTIONS.items()
    }
    assert reasons == blocked
    assert [("blocked", f"{need}_blocked", hint) for need in reasons] == [
        (one["level"], one["code"], one["hint"]) for one in found["findings"][:3]
    ]
    for need, reason in reasons.items():
        done = invite(*COMMANDS[need])
        assert (5, "") == (done.exit_code, done.stdout)
        assert done.stderr.endswith(
            f"invite: unsupported: `{need}` is blocked here: {reason}; nothing was changed\n"
            f"hint: {hint}\n"
        )
    assert before == stock.snapshot(database)


@pytest.mark.parametrize("name", POWERFUL)
def test_powerful(invite: Invite, database: Database, name: str) -> None:
    """An owner with every right will do, whoever it is."""
    alter(database, POWERFUL[name])
    made = put(database, "A")
    assert [True] * 5 == [way["available"] for way in told(invite)["capabilities"]]
    assert 0 == invite("generate", "--count", "2", "--points", "1").exit_code
    assert 0 == invite("update", made, "--set-note", "x", "--yes").exit_code
    assert 0 == invite("revoke", made, "--yes").exit_code


PAGES: Final = {
    "en": ("## Blocked here", "- **Void codes**: an admin function runs without the rights"),
    "zh": ("## 这里做不到的事", "管理函数执行时没有它需要的权限"),
}


@pytest.mark.parametrize("language", PAGES)
def test_page(invite: Invite, database: Database, language: str) -> None:
    """The operations page leaves out what the function cannot do, and says so at its end."""
    database.execute(f"alter function {REVOKE} security invoker")
    heading, why = PAGES[language]
    page, _, blocked = invite("runbook", "--lang", language).stdout.partition(heading)
    assert (1, True) == (blocked.count("- **"), why in blocked)
    assert (False, True) == ("invite revoke" in page, "invite update" in page)
