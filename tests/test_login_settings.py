"""What ALTER ROLE … SET gives a login to begin with: another role, or read-only transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from batches import line, stored
from checking import codes, finding, told
from hostile import failure
from shelf import put

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

READ_ONLY: Final = (
    "unavailable: transactions are read-only here (default_transaction_read_only is on); "
    "nothing was changed"
)
RESET: Final = "ALTER ROLE YOUR_LOGIN RESET default_transaction_read_only"


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


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (
            "alter role admin_runtime in database {} set default_transaction_read_only = on",
            "transactions of this login are read-only by a setting",
        ),
        ("revoke select on identity.users from admin_runtime", "this login lacks a right"),
    ],
    ids=["read only", "no users"],
)
def test_page_where_nothing_can_be_written(
    invite: Invite, database: Database, what: str, why: str
) -> None:
    """What keeps a login from every change stands on its page, as `check` finds it."""
    database.execute(what.format(database.name))
    _, _, blocked = invite("runbook").stdout.partition("## Blocked here")
    assert f"- **Every change**: {why}" in blocked
    one = told(invite, 5)["findings"][0]
    assert ("blocked", True) == (one["level"], one["code"] in ("read_only", "actor_blocked"))
    if "GRANT" in one["hint"] and "select" in what:
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


@pytest.mark.parametrize("place", ["role", "database"])
def test_read_only(invite: Invite, database: Database, place: str) -> None:
    """A login whose transactions are read-only reads; what writes is refused, and `check` says so.

    What an administrator has set is respected, and told apart from a standby.
    """
    made = put(database, "A")
    if place == "role":
        alter(database, "set default_transaction_read_only = on")
    else:
        database.execute(f"alter database {database.name} set default_transaction_read_only = on")
    one = finding(told(invite, 5), "read_only")
    assert ("blocked", True) == (one["level"], RESET in one["hint"])
    assert "standby" not in codes(told(invite, 5))
    for command in (line(), [*line(), "--dry-run"], ["revoke", made, "--yes"]):
        done = invite(*command)
        said, hint = failure(done)
        assert (7, READ_ONLY) == (done.exit_code, said)
        assert (True, False) == (RESET in (hint or ""), "standby" in done.stderr)
    assert (0, 1) == (invite("list").exit_code, stored(database))
