"""What `update` does to each code: new expiry, new note, nothing written where nothing changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from databases import make_code, steps
from stock import BOTH_WAYS, OPERATORS, audited, check_sound, make, outcomes, snapshot

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

KEYS = ["position", "id", "mask", "outcome", "detail", "expires_at", "note"]
DAY = "2999-12-30"
UNTIL = "2999-12-31T00:00:00+00:00"
JSON = ("--yes", "--format", "json")


def stored(database: Database, code_id: str) -> tuple[Any, ...]:
    """Return expiry (in UTC) and note of a code as they are stored."""
    query = (
        "select to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD'), note"
        " from redemption_codes where id = %s"
    )
    (row,) = database.rows(query, [code_id])
    return row


@OPERATORS
def test_each_name_has_its_own_outcome(database: Database, invite: Invite, login: str) -> None:
    """What is neither redeemed nor revoked is changed, the rest is told and left; exit 4."""
    free, expired = make(database), make(database, "expired", note="old")
    redeemed, gone = make(database, "redeemed"), make(database, "revoked", note="kept")
    twin = make(database)
    make(database, code_mask=twin.mask)
    unknown = make_code()
    named = [free.id, redeemed.id, gone.id, expired.code, twin.mask]
    change = ["--set-note", " Friday ", "--set-expires", DAY]
    done = invite("update", *named, unknown, *change, *JSON, login=login)
    assert 4 == done.exit_code, done.stderr
    assert [KEYS] * 6 == [list(row) for row in done.json]
    new, none = [UNTIL, "Friday"], [None, None]
    assert [
        ["updated", *new],
        ["already_redeemed", *none],
        ["already_revoked", None, "kept"],
        ["updated", *new],
        ["ambiguous", *none],
        ["not_found", *none],
    ] == [[row["outcome"], row["expires_at"], row["note"]] for row in done.json]
    assert [("2999-12-31", "Friday")] * 2 == [stored(database, c.id) for c in (free, expired)]
    assert (None, "kept") == stored(database, gone.id)
    check_sound(database)


@OPERATORS
def test_expired_code_lives_again(database: Database, invite: Invite, login: str) -> None:
    """An expired code that gets a later expiry, or none, can be redeemed."""
    for expiry in ("1d", "never"):
        code = make(database, "expired")
        assert "expired_code" == database.redeem(code.code)
        done = invite("update", code.id, "--set-expires", expiry, "--yes", login=login)
        assert 0 == done.exit_code, done.stderr
        assert None is database.redeem(code.code)
    check_sound(database)


@OPERATORS
def test_unchanged_is_not_written(database: Database, invite: Invite, login: str) -> None:
    """A code that has its values already keeps its row version and gets no audit row; exit 0."""
    same = make(database, note="x", expires_at=UNTIL)
    other = make(database, note="y", expires_at=UNTIL)
    before = {row[1]: row for row in snapshot(database)}
    change = ["--set-note", "x", "--set-expires", DAY]
    done = invite("update", same.id, other.id, *change, *JSON, login=login)
    assert (0, ["unchanged", "updated"]) == (done.exit_code, outcomes(done))
    after = {str(row[1]): row for row in snapshot(database)}
    assert before == {**before, next(k for k in before if str(k) == same.id): after[same.id]}
    assert ("2999-12-31", "x") == stored(database, other.id)
    if database.step > 2:
        assert [other.id] == audited(database, "update")


@BOTH_WAYS
def test_one_value_leaves_the_other(database: Database, invite: Invite, login: str) -> None:
    """--set-note keeps the expiry, --set-expires the note; an empty note removes it."""
    code = make(database, note="x", expires_at=UNTIL)
    assert 0 == invite("update", code.id, "--set-note", "y", "--yes", login=login).exit_code
    assert ("2999-12-31", "y") == stored(database, code.id)
    assert 0 == invite("update", code.id, "--set-expires", "never", "--yes", login=login).exit_code
    assert (None, "y") == stored(database, code.id)
    done = invite("update", code.id, "--set-note", "", *JSON, login=login)
    assert (0, None) == (done.exit_code, done.json[0]["note"])
    assert (None, None) == stored(database, code.id)


@BOTH_WAYS
def test_filter(database: Database, invite: Invite, login: str) -> None:
    """A filter changes what it fits and can be changed, and ends with exit 0."""
    codes = [make(database, status, note="b") for status in ("available", "expired", "redeemed")]
    other = make(database, note="other")
    done = invite("update", "--note", "b", "--set-note", "c", *JSON, login=login)
    assert (0, 3) == (done.exit_code, len(done.json)), done.stderr
    notes = [stored(database, code.id)[1] for code in (*codes, other)]
    assert ["c", "c", "b", "other"] == notes
    assert "left as they are: 1 already_redeemed" in done.stderr.splitlines()


@steps(1)
def test_base_step(database: Database, invite: Invite) -> None:
    """Before codes could be revoked, they can be updated all the same."""
    codes = [make(database, "expired"), make(database, "redeemed")]
    named = [code.id for code in codes]
    done = invite("update", *named, "--set-expires", DAY, *JSON, login="owner")
    assert (4, ["updated", "already_redeemed"]) == (done.exit_code, outcomes(done))
    assert "2999-12-31" == stored(database, codes[0].id)[0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ([], "no new value was given; nothing was changed"),
        (["--set-note", "x" * 501], "--set-note must have at most 500 characters"),
        (["--set-note", "a\x07b"], "--set-note must not hold control or invisible characters"),
        (["--set-note", "see jyotish-aaaa-bbbb"], "--set-note must not hold an invite code"),
        (["--set-expires", "2000-01-01"], "is not in the future; nothing was changed"),
        (["--set-expires", "soon"], "--set-expires is no time this tool reads"),
    ],
)
def test_refused_values(database: Database, invite: Invite, change: list[str], told: str) -> None:
    """A value that cannot be meant is refused with exit 2, and nothing changes."""
    code = make(database)
    before = snapshot(database)
    done = invite("update", code.id, "--yes", *change)
    assert (2, "") == (done.exit_code, done.stdout)
    assert told in done.stderr
    assert before == snapshot(database)


@pytest.mark.parametrize(
    ("database", "login"),
    [(1, "admin_runtime"), (2, "admin_runtime"), (3, "reader")],
    indirect=["database"],
)
def test_blocked(database: Database, invite: Invite, login: str) -> None:
    """A login that may not update is told which right to ask for; exit 5."""
    code = make(database)
    before = snapshot(database)
    done = invite("update", code.id, "--set-note", "x", "--yes", login=login)
    assert (5, "") == (done.exit_code, done.stdout), done.stderr
    assert "invite: unsupported: `update` is blocked here:" in done.stderr
    assert before == snapshot(database)
