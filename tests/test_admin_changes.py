"""Update and revoke through the admin functions, and the log that keeps what was done."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from admin import REVOKE, UPDATE, change
from databases import ACTOR, make_code

if TYPE_CHECKING:
    from admin import Admin

NOBODY: Final = "00000000-0000-0000-0000-000000000001"
THEN: Final = datetime(2030, 1, 1, tzinfo=UTC)
UNKNOWN: Final = "P0002 redemption code not found"
IMMUTABLE: Final = "55000 redemption code is immutable"
REDEEMED: Final = "55000 redemption code cannot be revoked"
REVOKED: Final = "55000 redemption code is already revoked"


def test_update(admin: Admin) -> None:
    """Only what is flagged changes; null then means never, or no note."""
    code = admin.database.insert_code(note="old", expires_at=THEN)
    steps: list[dict[str, object]] = [
        {"note": "new"},
        {"expires_at": None},
        {"note": None, "expires_at": THEN},
    ]
    answers = []
    for number, changes in enumerate(steps):
        actor = [*admin.actor[:3], f"r{number}"]
        answers += admin.call(UPDATE, *change(code, **changes), actor=actor)
    assert [row[3:5] for row in answers] == [(THEN, "new"), (None, "new"), (THEN, None)]
    assert admin.database.rows("select expires_at, note from redemption_codes") == [(THEN, None)]


def test_update_brings_an_expired_code_back(admin: Admin) -> None:
    """An expired code can be extended and redeemed; a past expiry is taken as well."""
    code = make_code()
    made = admin.database.insert_code(code, expires_at="2000-01-01Z")
    admin.call(UPDATE, *change(made, expires_at=THEN))
    assert admin.database.redeem(code) is None
    other = admin.database.insert_code()
    assert len(admin.call(UPDATE, *change(other, expires_at="2000-01-01Z"))) == 1


def test_update_refuses(admin: Admin) -> None:
    """Nothing to change and a note over 500 are 22023; an unknown id P0002; what is used, 55000."""
    code, used = make_code(), make_code()
    made, redeemed = admin.database.insert_code(code), admin.database.insert_code(used)
    revoked = admin.database.insert_code(revoked_by=NOBODY, revoked_at=THEN)
    admin.database.redeem(used)
    assert admin.refused(UPDATE, made, None, "n", None, THEN)[:5] == "22023"
    assert admin.refused(UPDATE, *change(made, note="n" * 501))[:5] == "22023"
    assert admin.refused(UPDATE, *change(NOBODY, note="n")) == UNKNOWN
    assert admin.refused(UPDATE, *change(redeemed, note="n")) == IMMUTABLE
    assert admin.refused(UPDATE, *change(revoked, note="n")) == IMMUTABLE
    assert len(admin.call(UPDATE, *change(made, note="ü" * 500))) == 1


def test_audit_of_update(admin: Admin) -> None:
    """The log holds both states; the request id cannot be used again for the same code."""
    code = admin.database.insert_code(note="old")
    admin.call(UPDATE, *change(code, note="new"))
    [(action, before, after)] = admin.audit()
    assert (action, before["note"], after["note"]) == ("redemption_code.update", "old", "new")
    assert {"note"} == {key for key in after if after[key] != before[key]}
    assert admin.refused(UPDATE, *change(code, note="newer"))[:5] == "23505"
    assert admin.database.rows("select note from redemption_codes") == [("new",)]


def test_revoke(admin: Admin) -> None:
    """The row and the log say who revoked it and when; an expired code may be revoked too."""
    code = make_code()
    made = admin.database.insert_code(code, expires_at="2000-01-01Z")
    [row] = admin.call(REVOKE, made)
    [(action, before, after)] = admin.audit()
    assert (made, admin.actor[0], True) == (row[0], row[9], row[10] is not None)
    assert (action, before["revoked_at"]) == ("redemption_code.revoke", None)
    assert row[10] == datetime.fromisoformat(after["revoked_at"])
    assert admin.database.redeem(code) == "revoked_code"


def test_revoke_refuses(admin: Admin) -> None:
    """Unknown, redeemed and already revoked are told apart."""
    code = make_code()
    redeemed, made = admin.database.insert_code(code), admin.database.insert_code()
    admin.database.redeem(code)
    admin.call(REVOKE, made)
    actual = [admin.refused(REVOKE, target) for target in (NOBODY, redeemed, made)]
    assert actual == [UNKNOWN, REDEEMED, REVOKED]


def test_the_log_is_append_only(admin: Admin) -> None:
    """Not even a superuser changes, deletes or empties it."""
    admin.call(REVOKE, admin.database.insert_code())
    tries = (
        "update audit.admin_audit_logs set request_id = 'other'",
        "delete from audit.admin_audit_logs",
        "truncate audit.admin_audit_logs",
    )
    answers = {admin.database.refusal("superuser", sql) for sql in tries}
    assert {("55000", "the audit log is append-only")} == answers


INSERT: Final = (
    "insert into audit.admin_audit_logs (actor_user_id, actor_email, actor_role, action,"
    " target_type, target_id, before_value, after_value, request_id) values (gen_random_uuid(),"
    " %(email)s, 'admin', %(action)s, 'redemption_code', 't', %(before)s, %(after)s, %(request)s)"
)
GOOD: Final[dict[str, str | None]] = {
    "email": ACTOR,
    "action": "redemption_code.create",
    "before": None,
    "after": '{"note": "n"}',
    "request": "r",
}
REFUSED_KEYS: Final = ("code", "code_hash", "token", "secret", "key")


BAD: Final[list[dict[str, str]]] = [
    {"email": ACTOR.upper()},
    {"action": "redemption_code.delete"},
    {"request": ""},
    {"request": "x" * 201},
    *({"before": f'{{"{key}": 1}}'} for key in REFUSED_KEYS),
    *({"after": f'{{"{key}": 1}}'} for key in REFUSED_KEYS),
]


def test_what_the_log_refuses(admin: Admin) -> None:
    """Its owner may add a row, but not one with a secret's key, a foreign action or a bad id."""
    owner = admin.database
    taken = [
        bad for bad in BAD if (owner.refusal("owner", INSERT, {**GOOD, **bad}) or "?")[0] != "23514"
    ]
    assert owner.refusal("owner", INSERT, GOOD) is None
    assert taken == []


def test_a_deleted_actor_stays_in_the_log(admin: Admin) -> None:
    """The log and revoked_by outlive the actor; created_by is emptied."""
    admin.call(REVOKE, admin.database.insert_code(created_by=admin.actor[0]))
    admin.database.execute("delete from identity.users where email = %s", [ACTOR])
    assert [(admin.actor[0], None)] == admin.database.rows(
        "select revoked_by, created_by from redemption_codes"
    )
    assert len(admin.audit()) == 1
