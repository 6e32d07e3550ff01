"""What ALTER ROLE … SET gives a login to begin with: another role, or read-only transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from batches import line, stored
from checking import codes, finding, told
from hostile import failure
from shelf import put
from test_unread import used

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

READ_ONLY: Final = "transactions are read-only (default_transaction_read_only is on)"
HINT: Final = (
    "`\\drds` in psql shows for which role and database it is set; if it is not meant, ask for: "
    "ALTER ROLE YOUR_LOGIN [IN DATABASE NAME] RESET default_transaction_read_only, or where no "
    "role stands there: ALTER DATABASE NAME RESET default_transaction_read_only"
)


def alter(database: Database, what: str, login: str = "admin_runtime") -> None:
    """Change what a login begins with, in this database alone."""
    database.execute(f"alter role {login} in database {database.name} {what}")


@pytest.mark.parametrize("write_role", ["service_role", None])
def test_starting_role(invite: Invite, database: Database, write_role: str | None) -> None:
    """Where a session begins as another role, the login's own rights still count."""
    alter(database, "set role = 'service_role'")
    settings = {"write_role": write_role}
    found = told(invite, settings=settings)
    assert "admin_runtime" == found["login"]
    assert [True] * 5 == [way["available"] for way in found["capabilities"]]
    done = invite(*line(2), settings=settings)
    assert (0, 2) == (done.exit_code, stored(database)), done.stderr
    assert "login admin_runtime, actor ops@example.com, writes: admin function as service_role" in (
        done.stderr
    )
    assert 0 == invite("revoke", "--points", "7", "--yes", settings=settings).exit_code


def test_starting_role_without_rights(invite: Invite, database: Database) -> None:
    """A session that begins as a role without rights acts as the write role, else as the login."""
    database.execute("grant authenticated to admin_runtime")
    try:
        alter(database, "set role = 'authenticated'")
        made = put(database, "A")
        found = told(invite, settings={"write_role": "service_role"})
        ways = {way["name"]: way["via"] for way in found["capabilities"]}
        assert "direct as service_role" == ways["read"]
        alone = invite("list", "--format", "json", settings={"write_role": None})
        assert [made] == [row["id"] for row in alone.json]
        assert "reads: direct as admin_runtime" in alone.stderr
    finally:
        database.execute("revoke authenticated from admin_runtime")


def test_starting_role_without_the_users(invite: Invite, database: Database) -> None:
    """Only where neither role may read the users the actor cannot be looked up."""
    alter(database, "set role = 'service_role'")
    database.execute("revoke select on identity.users from admin_runtime")
    hint = finding(told(invite, 5), "actor_blocked")["hint"]
    database.execute(hint.removeprefix("ask for: ").replace("YOUR_LOGIN", "admin_runtime"))
    assert told(invite)["findings"]


@pytest.mark.parametrize("login", ["admin_runtime", "owner"])
def test_page_of_a_starting_role(invite: Invite, database: Database, login: str) -> None:
    """The operations page is made for such a login too, without a role's name in it."""
    database.execute("grant authenticated to admin_runtime, invite_test_owner")
    try:
        name = "invite_test_owner" if login == "owner" else login
        alter(database, "set role = 'authenticated'", name)
        for settings in ({"write_role": None, "actor": None}, {}, {"write_role": "authenticated"}):
            done = invite("runbook", login=login, settings=settings)
            assert (0, "") == (done.exit_code, done.stderr.partition("on ")[0])
            assert (False, False) == (name in done.stdout, "does not exist here" in done.stdout)
    finally:
        database.execute("revoke authenticated from admin_runtime, invite_test_owner")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_page_of_a_read_only_login(invite: Invite, database: Database, language: str) -> None:
    """Its page has no command that writes, and says once what keeps it from every change."""
    alter(database, "set default_transaction_read_only = on")
    page = invite("runbook", "--lang", language).stdout
    heading, why, exit_code = {
        "en": (
            "## Blocked here",
            "- **Every change**: transactions of this login",
            "status 7 says",
        ),
        "zh": ("## 这里做不到的事", "这个登录账号的事务被设置为只读", "退出码 7 表示"),
    }[language]
    page, _, blocked = page.partition(heading)
    assert {"check", "list", "redemptions", "show", "stats"} == used(page)
    assert (1, True) == (blocked.count("- **"), why in blocked)
    assert (True, True) == (exit_code in page, f"hint: {HINT}\n```" in page)


def test_page_of_a_login_without_the_users(invite: Invite, database: Database) -> None:
    """What keeps a login from every change stands on its page, as `check` finds it."""
    database.execute("revoke select on identity.users from admin_runtime")
    _, _, blocked = invite("runbook").stdout.partition("## Blocked here")
    assert "- **Every change**: this login lacks a right" in blocked
    one = told(invite, 5)["findings"][0]
    assert ("blocked", "actor_blocked") == (one["level"], one["code"])
    assert one["hint"].removeprefix("ask for: ") in blocked


def test_page_without_the_write_role(invite: Invite) -> None:
    """Where the settings lack the role that the login may take, no right is asked for."""
    without = {"write_role": None}
    _, _, blocked = invite("runbook", settings=without).stdout.partition("## Blocked here")
    assert 4 == blocked.count("the settings name no `write_role`, and this login may take a role")
    assert "GRANT" not in blocked
    assert 'hint: add write_role = "service_role" to the settings' in (
        invite("check", settings=without).stderr
    )


def test_quoted_identifiers(invite: Invite, database: Database) -> None:
    """A login whose sessions quote every name finds the functions all the same."""
    alter(database, "set quote_all_identifiers = on")
    assert [True] * 5 == [way["available"] for way in told(invite)["capabilities"]]
    done = invite(*line(2))
    assert (0, 2) == (done.exit_code, stored(database)), done.stderr


PLACES: Final = {
    "role in the database": ("alter role admin_runtime in database {name}", 0),
    "role": ("alter role admin_runtime", 0),
    "database": ("alter database {name}", 1),
}


@pytest.mark.parametrize("place", PLACES)
def test_read_only(invite: Invite, database: Database, place: str) -> None:
    """A login whose transactions are read-only reads; what writes is refused, and `check` says so.

    What an administrator has set is respected, and told apart from a standby.
    """
    statement = PLACES[place][0].format(name=database.name)
    database.execute(f"{statement} set default_transaction_read_only = on")
    try:
        made = put(database, "A")
        found = told(invite, 7)
        first = {"level": "unavailable", "code": "read_only", "message": READ_ONLY, "hint": HINT}
        assert first == found["findings"][0]
        blocked = {way["name"]: way["reason"] for way in found["capabilities"] if way["reason"]}
        assert dict.fromkeys(["generate", "update", "revoke"], READ_ONLY) == blocked
        assert set() == {"standby", "generate_blocked", "update_blocked"} & set(codes(found))
        for need, command in (
            ("generate", line()),
            ("generate", [*line(), "--dry-run"]),
            ("revoke", ["revoke", made, "--yes"]),
        ):
            done = invite(*command)
            why = f"unavailable: `{need}` is blocked here: {READ_ONLY}; nothing was changed"
            assert (7, (why, f"hint: {HINT}")) == (done.exit_code, failure(done))
        assert (0, 1) == (invite("list").exit_code, stored(database))
    finally:
        database.execute(f"{statement} reset default_transaction_read_only")


@pytest.mark.parametrize("place", PLACES)
def test_what_to_ask_for(invite: Invite, database: Database, place: str) -> None:
    """The statement that the hint names takes the setting back where it was made."""
    begin, number = PLACES[place]
    statement = begin.format(name=database.name)
    database.execute(f"{statement} set default_transaction_read_only = on")
    try:
        hint = told(invite, 7)["findings"][0]["hint"]
        asked = hint.partition("ask for: ")[2].split(", or where no role stands there: ")[number]
        asked = asked.replace("YOUR_LOGIN", "admin_runtime")
        if place == "role":
            asked = asked.replace("[IN DATABASE NAME] ", "")
        asked = asked.replace("[", "").replace("]", "").replace("NAME", database.name)
        database.execute(asked)
        assert "read_only" not in codes(told(invite))
    finally:
        database.execute(f"{statement} reset default_transaction_read_only")
