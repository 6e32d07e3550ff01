"""Rows of the audit log that are about no code, under the request id of a batch."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

import pytest
from batches import line, stored
from databases import ACTOR
from hostile import failure
from stock import UNKNOWN_ID, revoked

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

ID: Final = "friday 1"
OTHER: Final = "another@example.com"
ROW: Final = """
    insert into audit.admin_audit_logs (actor_user_id, actor_email, actor_role, action,
        target_type, target_id, request_id)
    select coalesce((select id from identity.users where email = %(actor)s), gen_random_uuid()),
        %(actor)s, 'admin', 'redemption_code.create', %(type)s, %(target)s, %(request)s
"""
TARGETS: Final = pytest.mark.parametrize(
    ("kind", "target"),
    [
        ("other", "42"),
        ("other", UNKNOWN_ID),
        ("redemption_code", "notauuid"),
        ("redemption_code", ""),
        ("redemption_code", UNKNOWN_ID[:-1]),
        ("redemption_code", f"{UNKNOWN_ID}0"),
        ("redemption_code", f"{UNKNOWN_ID[:-1]}\n"),
        ("redemption_code", f"-{UNKNOWN_ID[1:]}"),
    ],
)
WHO: Final = pytest.mark.parametrize("who", [ACTOR, OTHER])


def add_foreign(database: Database, who: str, kind: str, target: str) -> None:
    """Add a row about something else, as an application's other part might write it."""
    database.execute(ROW, {"actor": who, "type": kind, "target": target, "request": ID})


@WHO
@TARGETS
def test_the_batch_alone(
    database: Database, invite: Invite, who: str, kind: str, target: str
) -> None:
    """Every command finds what the id made, and nothing more; the voiding one printed works."""
    done = invite(*line(5, 7, "--request-id", ID, "--format", "json"))
    made = {code["id"] for code in done.json}
    add_foreign(database, who, kind, target)
    by_id = ("--request-id", ID, "--format", "json")
    assert made == {row["id"] for row in invite("list", *by_id).json}
    assert [5] == [row["issued"] for row in invite("stats", *by_id).json]
    dry = invite("revoke", *by_id, "--dry-run")
    assert (0, ["would_revoke"] * 5) == (dry.exit_code, [row["outcome"] for row in dry.json])
    again = invite(*line(5, 7, "--request-id", ID))
    assert (4, "", 5) == (again.exit_code, again.stdout, stored(database))
    told, hint = failure(again)
    assert told.startswith("conflict: that request id made 5 codes already, which never expire;")
    assert f"invite revoke --request-id '{ID}' voids them" in str(hint)
    [printed] = [text for text in done.stderr.splitlines() if "  invite revoke" in text]
    voided = invite(*shlex.split(printed)[1:], "--yes")
    assert (0, made) == (voided.exit_code, revoked(database)), voided.stderr


@WHO
@TARGETS
def test_an_id_that_made_no_code(
    database: Database, invite: Invite, who: str, kind: str, target: str
) -> None:
    """Such a row alone is no batch: the id is free, fits no code, and a batch under it is named."""
    add_foreign(database, who, kind, target)
    listed = invite("list", "--request-id", ID, "--format", "json")
    assert (0, []) == (listed.exit_code, listed.json)
    assert 3 == invite("revoke", "--request-id", ID, "--yes").exit_code
    assert 0 == invite(*line(2, 7, "--request-id", ID, "--output", "codes.csv")).exit_code
    assert ["codes.csv"] == [path.name for path in invite.folder.glob("codes*")]
    assert 2 == len(invite("list", "--request-id", ID, "--format", "json").json)
