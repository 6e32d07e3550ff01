"""What the tests of crashes share: where a process dies, how it is settled, what must then hold."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
from batches import hashes, line, redeem_all
from databases import LOGINS, hash_of
from waiting import await_gone

if TYPE_CHECKING:
    from pathlib import Path

    from databases import Database
    from tool import Invite, Result

CODES: Final = 12
NONE, BROKEN, WHOLE = "none", "broken", "whole"
YES, NO, PERHAPS = "yes", "no", "perhaps"
BLIND: Final = """
    alter table audit.admin_audit_logs enable row level security;
    revoke select on audit.admin_audit_logs from service_role;
    revoke select on public.redemption_codes from service_role;
"""
"""Row-level security hides the audit log, and hashes cannot be read; codes can be made still."""
BATCHES: Final = "invite_admin.store.batches:Batches."
COMMIT: Final = "invite_admin.session:Session.commit"
Arm = tuple[str, str, str | float]
BEFORE: Final[Arm] = (COMMIT, "before", "die")
AFTER: Final[Arm] = (COMMIT, "after", "die")
EITHER: Final = pytest.mark.parametrize("arm", [BEFORE, AFTER], ids=["not stored", "stored"])
"""A run that died before its batch was stored, and one after."""


@dataclass(frozen=True)
class Point:
    """A place where `generate --output FILE` is killed, and what it leaves.

    Attributes:
        name: As the page calls it.
        arm: Where to die.
        pending: What FILE.pending is then: NONE, BROKEN or WHOLE.
        final: Whether FILE is there.
        stored: Whether the batch is.
    """

    name: str
    arm: Arm
    pending: str
    final: str
    stored: str


POINTS: Final = (
    Point("before its first write", (f"{BATCHES}begin", "before", "die"), NONE, NO, NO),
    Point("the request id locked", (f"{BATCHES}begin", "after", "die"), NONE, NO, NO),
    Point("the codes inserted", (f"{BATCHES}make", "after", "die"), NONE, NO, NO),
    Point(
        "the pending file half written",
        ("invite_admin.files:NewFile.write", "before", "write half and die"),
        BROKEN, NO, NO,
    ),
    Point("the pending file written", ("os:fsync", "before", "die"), WHOLE, NO, NO),
    Point("the pending file synced", ("os:fsync", "after", "die"), WHOLE, NO, NO),
    Point(
        "the pending file and its folder synced",
        ("invite_admin.draft:Draft.finish", "after", "die"),
        WHOLE, NO, NO,
    ),
    Point("before COMMIT", (COMMIT, "before", "die"), WHOLE, NO, NO),
    Point("COMMIT sent", (COMMIT, "before", "commit and die"), WHOLE, NO, PERHAPS),
    Point("COMMIT answered", (COMMIT, "after", "die"), WHOLE, NO, YES),
    Point(
        "the result half written",
        ("invite_admin.files:NewFile.write", "before 3", "write half and die"),
        WHOLE, NO, YES,
    ),
    Point("the result beside its name", ("os:link", "before", "die"), WHOLE, NO, YES),
    Point("the result named", ("os:link", "after", "die"), WHOLE, YES, YES),
    Point("before the pending file goes", ("invite_admin.pending:remove", "before", "die"),
          WHOLE, YES, YES),
    Point("the pending file gone", ("invite_admin.pending:remove", "after", "die"),
          NONE, YES, YES),
)  # fmt: skip


def armed(*arms: Arm) -> dict[str, str | None]:
    """Return the environment of a process that dies there."""
    return {"INVITE_TEST_ARMS": json.dumps(arms)}


def pending_of(path: Path) -> Path:
    """Return the pending file of a result file."""
    return path.with_name(f"{path.name}.pending")


def lying(path: Path) -> str:
    """Tell what the pending file of a result file is: NONE, BROKEN or WHOLE."""
    try:
        text = pending_of(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return NONE
    return WHOLE if text.count("\n") == CODES + 2 else BROKEN


def killed(invite: Invite, path: Path, login: str, *arms: Arm) -> None:
    """Make a batch in a process that dies at this point."""
    command = line(CODES, 7, "--output", str(path))
    assert -9 == invite(*command, login=login, env=armed(*arms)).exit_code


def resumed(invite: Invite, path: Path, login: str, *arms: Arm) -> Result:
    """Run the one command that settles a batch."""
    return invite("generate", "--resume", str(pending_of(path)), login=login, env=armed(*arms))


def recover(invite: Invite, database: Database, path: Path, login: str) -> None:
    """Do what the page says after a crash, and check all that must then hold."""
    await_gone(database, database_user(login))
    if pending_of(path).exists():
        done = resumed(invite, path, login)
        if done.exit_code == 2:
            assert "is no whole pending file" in done.stderr
            pending_of(path).unlink()
        else:
            assert 0 == done.exit_code, done.stderr
            assert path.exists()
    check(invite, database, path)


def check(invite: Invite, database: Database, *paths: Path) -> list[dict[str, Any]]:
    """Assert that exactly the codes of these files are live, each once, and nothing else lies."""
    made = [
        json.loads(text)
        for path in paths
        if path.exists()
        for text in path.read_text(encoding="utf-8").splitlines()
    ]
    assert {code["id"]: hash_of(code["code"]) for code in made} == hashes(database)
    assert len(made) == len(hashes(database))
    assert len(made) in {CODES * number for number in range(len(paths) + 1)}
    assert [None] * len(made) == redeem_all(database, [code["code"] for code in made])
    left = {entry.name for entry in invite.folder.iterdir()} - {"invite.toml"}
    assert {path.name for path in paths if path.exists()} == left
    return made


def clear(database: Database, *paths: Path) -> None:
    """Forget the batches, so that the next fault begins with an empty table and folder."""
    for path in paths:
        path.unlink(missing_ok=True)
    database.execute("delete from public.credit_transactions")
    database.execute("update public.profiles set credits = 0")
    database.execute("delete from public.redemption_codes")


def blind(database: Database) -> None:
    """Hide from admin_runtime and service_role what tells whether a batch is stored."""
    for statement in BLIND.strip().rstrip(";").split(";"):
        database.execute(statement)
    seen = "select count(*) from audit.admin_audit_logs"
    with database.acting("admin_runtime") as connection:
        assert (0,) == connection.execute(seen.encode()).fetchone()


def database_user(login: str) -> str:
    """Return the role that a login is."""
    return LOGINS[login]
