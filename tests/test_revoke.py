"""What `revoke` does to each code, however it was named, and how it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from databases import ACTOR, TESTERS, make_code, steps
from stock import (
    OPERATORS,
    UNKNOWN_ID,
    audited,
    by_id,
    check_sound,
    make,
    outcomes,
    revoked,
    snapshot,
)

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

KEYS = ["position", "id", "mask", "outcome", "detail"]


@OPERATORS
def test_each_name_has_its_own_outcome(database: Database, invite: Invite, login: str) -> None:
    """Text, id and mask name codes; what can be voided is, the rest is told; exit 4."""
    text, by_mask = make(database), make(database)
    expired, redeemed = make(database, "expired"), make(database, "redeemed")
    gone, unknown = make(database, "revoked"), make_code()
    pasted = make(database)
    names = [
        text.code,
        expired.id.upper(),
        by_mask.mask,
        redeemed.id,
        gone.code,
        unknown,
        UNKNOWN_ID,
        f"  {pasted.code.lower().replace('-', chr(0x2013))}\u200b",
    ]
    done = invite("revoke", "-", "--yes", "--format", "json", stdin="\n".join(names), login=login)
    assert 4 == done.exit_code, done.stderr
    assert [
        (text.id, text.mask, "revoked"),
        (expired.id, expired.mask, "revoked"),
        (by_mask.id, by_mask.mask, "revoked"),
        (redeemed.id, redeemed.mask, "already_redeemed"),
        (gone.id, gone.mask, "already_revoked"),
        (None, f"JYOTISH-****-{unknown[-4:]}", "not_found"),
        (UNKNOWN_ID, None, "not_found"),
        (pasted.id, pasted.mask, "revoked"),
    ] == [(row["id"], row["mask"], row["outcome"]) for row in done.json]
    assert {text.id, expired.id, by_mask.id, gone.id, pasted.id} == revoked(database)
    assert (
        "invite: conflict: 4 named codes not revoked: "
        "1 already_redeemed, 1 already_revoked, 2 not_found"
    ) in done.stderr.splitlines()
    check_sound(database)


@steps(2, 3)
def test_report(database: Database, invite: Invite) -> None:
    """A report has all its keys; its details say who redeemed and when it was revoked."""
    codes = [make(database, status) for status in ("available", "redeemed", "revoked")]
    names = [code.id for code in codes]
    done = invite("revoke", *names, "--yes", "--format", "json", login="owner")
    assert [KEYS] * 3 == [list(row) for row in done.json]
    assert [1, 2, 3] == [row["position"] for row in done.json]
    details = [row["detail"] for row in done.json]
    assert None is details[0]
    assert details[1].startswith(f"by {TESTERS[0]} at 2")
    assert details[2].startswith("at 2")
    actor = database.person(ACTOR)
    query = "select revoked_by from redemption_codes where id = %s"
    assert actor == database.value(query, [codes[0].id])


@OPERATORS
def test_ambiguous_mask(database: Database, invite: Invite, login: str) -> None:
    """A mask that fits several codes names none of them, whatever their status; ids are listed."""
    first = make(database)
    twin = make(database, "revoked", code_mask=first.mask)
    before = snapshot(database)
    done = invite("revoke", first.mask, "--yes", "--format", "json", login=login)
    (row,) = done.json
    assert (4, None, first.mask, "ambiguous") == (
        done.exit_code,
        row["id"],
        row["mask"],
        row["outcome"],
    )
    assert row["detail"] == f"fits several codes: {', '.join(sorted((first.id, twin.id)))}"
    assert before == snapshot(database)


@OPERATORS
def test_batch_with_one_redeemed(database: Database, invite: Invite, login: str) -> None:
    """Of 100 codes of which one was redeemed 99 are voided: exit 0 by filter, then 4 by name."""
    taken = make(database, "redeemed", note="batch")
    free = {make(database, note="batch").id for _ in range(99)}
    other = make(database, note="other")
    done = invite("revoke", "--note", "batch", "--yes", "--format", "jsonl", login=login)
    assert 0 == done.exit_code, done.stderr
    assert {taken.id: "already_redeemed"} | dict.fromkeys(free, "revoked") == by_id(done.jsonl)
    assert free == revoked(database)
    assert "revoked: 99 codes worth 990 points" in done.stderr.splitlines()
    named = "\n".join([taken.id, *sorted(free), other.id])
    again = invite("revoke", "-", "--yes", "--format", "json", stdin=named, login=login)
    assert 4 == again.exit_code
    assert ["already_redeemed", *["already_revoked"] * 99, "revoked"] == outcomes(again)
    assert [str(taken.id)] == [
        row[0]
        for row in database.rows(
            "select id::text from redemption_codes where redeemed_at is not null"
        )
    ]
    check_sound(database)


def test_audit_log(database: Database, invite: Invite) -> None:
    """Each voided code has one audit row, all under the request id that the summary names."""
    codes = [make(database), make(database), make(database, "redeemed")]
    done = invite("revoke", *(code.id for code in codes), "--yes")
    assert sorted(code.id for code in codes[:2]) == audited(database, "revoke")
    query = "select distinct request_id, actor_email from audit.admin_audit_logs"
    ((request_id, email),) = database.rows(query)
    assert (f"request id {request_id}" in done.stderr, ACTOR) == (True, email)


@steps(2, 3)
def test_same_code_twice(database: Database, invite: Invite) -> None:
    """A code that is named twice is voided once and reported twice."""
    code = make(database)
    done = invite("revoke", code.id, code.mask, "--yes", "--format", "json", login="owner")
    assert (0, ["revoked", "revoked"]) == (done.exit_code, outcomes(done))
    assert "revoked: 1 code worth 10 points" in done.stderr.splitlines()
    check_sound(database)


@pytest.mark.parametrize(
    ("database", "login"),
    [(1, "owner"), (1, "superuser"), (1, "admin_runtime"), (2, "admin_runtime"), (3, "reader")],
    indirect=["database"],
)
def test_blocked(database: Database, invite: Invite, login: str) -> None:
    """Where the step or the login cannot void, nothing changes: exit 5, with what is missing."""
    code = make(database)
    before = snapshot(database)
    for more in (["--yes"], ["--dry-run"]):
        done = invite("revoke", code.id, *more, login=login)
        assert (5, "") == (done.exit_code, done.stdout), done.stderr
        assert "invite: unsupported: `revoke` is blocked here:" in done.stderr
        assert "nothing was changed" in done.stderr
    assert before == snapshot(database)
