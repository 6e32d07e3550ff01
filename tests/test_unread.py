"""A login that may write, and may not read every column: what is changed has to be read first."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

import click
import pages
import pytest
import stock
from checking import told
from databases import steps

from invite_admin.cli import cli
from invite_admin.options import DatabaseCommand

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

TABLE: Final = "public.redemption_codes"
COLUMNS: Final = (
    "id, code_mask, credits, expires_at, created_by, created_at, redeemed_by, redeemed_email,"
    " redeemed_at, revoked_at, revoked_by"
)
CHANGES: Final = {
    2: f"revoke select on {TABLE} from invite_test_reader;"
    f"grant select ({COLUMNS}) on {TABLE} to invite_test_reader;"
    f"grant insert, update on {TABLE} to invite_test_reader",
    3: f"revoke select (note) on {TABLE} from admin_runtime;"
    f"revoke select on {TABLE} from service_role",
}
LOGINS: Final = {2: "reader", 3: "admin_runtime"}
WHY: Final = "this login may not read note"
HINT: Final = f"ask for: GRANT SELECT (note) ON {TABLE} TO YOUR_LOGIN"


@pytest.fixture
def unread(database: Database) -> str:
    """The login that may write and may not read the notes."""
    for statement in CHANGES[database.step].split(";"):
        database.execute(statement)
    return LOGINS[database.step]


@steps(2, 3)
def test_what_is_looked_up_is_read_too(invite: Invite, database: Database, unread: str) -> None:
    """Who reads the hash and not the rest finds no code by its text."""
    role = {2: "invite_test_reader", 3: "admin_runtime"}[database.step]
    database.execute(f"grant select (code_hash) on {TABLE} to {role}")
    found = told(invite, 5, login=unread)
    assert [WHY] == [way["reason"] for way in found["capabilities"] if way["name"] == "lookup"]
    assert 5 == invite("show", "JYOTISH-FAKE-FAKE", login=unread).exit_code


@steps(2, 3)
def test_what_is_changed_is_read_first(invite: Invite, unread: str) -> None:
    """Codes can be made; to change them is blocked where reading is, and by the same reason."""
    found = told(invite, 5, login=unread)
    able = {way["name"]: way["reason"] for way in found["capabilities"]}
    hash_too = "this login cannot read the hash, so a code's text cannot be looked up"
    assert hash_too == able.pop("lookup")
    assert {"read": WHY, "generate": None, "update": WHY, "revoke": WHY} == able
    first = found["findings"][0]
    assert ("read_blocked", f"read is BLOCKED: {WHY}", HINT) == (
        first["code"],
        first["message"],
        first["hint"],
    )


@steps(2, 3)
def test_commands(invite: Invite, database: Database, unread: str) -> None:
    """`generate` says that the batch cannot be voided here, and nothing that would then fail."""
    made = stock.make(database)
    done = invite("generate", "--count", "2", "--points", "1", login=unread)
    assert (0, f"they cannot be voided here: {WHY}") == (
        done.exit_code,
        done.stderr.splitlines()[-1],
    )
    assert 3 == database.value(f"select count(*) from {TABLE}")
    before = stock.snapshot(database)
    for command in (["revoke", made.id, "--yes"], ["update", made.id, "--set-note", "x", "--yes"]):
        done = invite(*command, login=unread)
        assert (5, "") == (done.exit_code, done.stdout)
        assert done.stderr.endswith(
            f"writes: blocked\ninvite: unsupported: `read` is blocked here: {WHY}; "
            f"nothing was changed\nhint: {HINT}\n"
        )
    assert before == stock.snapshot(database)


def used(page: str) -> set[str]:
    """Return the commands of a page that act on its own database."""
    words = [shlex.split(step.command) for step in pages.steps_of(page)]
    return {line[1] for line in words if line[0] == "invite" and line[1] != "--sandbox"}


@pytest.mark.parametrize("language", ["en", "zh"])
@steps(2, 3)
def test_page(invite: Invite, unread: str, language: str) -> None:
    """The operations page has what can be done, and no other command."""
    page = invite("runbook", "--lang", language, login=unread).stdout
    assert {"check", "generate"} == used(page)
    assert f"they cannot be voided here: {WHY}\n" in page
    assert 3 == page.count("GRANT SELECT (note) ON public.redemption_codes TO YOUR_LOGIN;\n")


EVERYTHING: Final = {
    "check",
    "generate",
    "list",
    "redemptions",
    "show",
    "update",
    "revoke",
    "stats",
}
USED: Final = {
    (1, "owner"): EVERYTHING - {"revoke"},
    (2, "owner"): EVERYTHING,
    (3, "admin_runtime"): EVERYTHING,
    (3, "reader"): EVERYTHING - {"generate", "update", "revoke"},
    (3, "blind"): {"check"},
    (3, "app_runtime"): {"check"},
}


@pytest.mark.parametrize(("database", "login"), USED, indirect=["database"])
def test_every_command_of_a_page(invite: Invite, database: Database, login: str) -> None:
    """Whatever a login may do, what a command of its page declares to need is there."""
    found = invite("check", "--format", "json", login=login).json
    able = {way["name"] for way in found["capabilities"] if way["available"]}
    names = used(invite("runbook", login=login).stdout)
    assert USED[database.step, login] == names
    for name in names:
        command = cli.get_command(click.Context(cli), name)
        assert isinstance(command, DatabaseCommand)
        assert set(map(str, command.needs)) <= able, name
