"""The admin functions: whom they let in, and what they make."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import pytest
from admin import CREATE, REVOKE, UPDATE, change, wanted
from databases import ACTOR, BANNED, NO_ADMIN

if TYPE_CHECKING:
    from admin import Admin

NOT_ADMIN: Final = ("42501", "administrator access required")
NOBODY: Final = "00000000-0000-0000-0000-000000000001"
THEN: Final = datetime(2030, 1, 1, tzinfo=UTC)
"""An expiry in the future."""


def test_create(admin: Admin) -> None:
    """A hundred codes come back in input order, made by the actor in one instant."""
    asked = wanted(100, expiresAt="2030-01-01T00:00:00Z", note="beta")
    made = admin.call(CREATE, asked)
    expected = [(code["codeMask"], code["credits"]) for code in json.loads(asked)]
    assert expected == [row[1:3] for row in made]
    assert {(THEN, "beta", *[None] * 5)} == {(*row[3:5], *row[6:]) for row in made}
    query = (
        "select count(*), count(distinct created_at), min(created_by::text) from redemption_codes"
    )
    assert [(100, 1, str(admin.actor[0]))] == admin.database.rows(query)


def test_audit_of_create(admin: Admin) -> None:
    """Each code has one row in the log, which names actor, request and code, and no hash."""
    made = admin.call(CREATE, wanted(2), actor=[admin.actor[0], f" {ACTOR.upper()} ", "admin", "r"])
    query = (
        "select actor_user_id, actor_email, actor_role, action, target_type, target_id, request_id,"
        " before_value from audit.admin_audit_logs order by after_value ->> 'credits'"
    )
    who = (admin.actor[0], ACTOR, "admin", "redemption_code.create", "redemption_code")
    assert [(*who, str(row[0]), "r", None) for row in made] == admin.database.rows(query)
    after = admin.audit()[0][2]
    keys = {"code_mask", "credits", "expires_at", "note", "revoked_at", "revoked_by"}
    assert keys == after.keys()


def test_create_in_several_calls(admin: Admin) -> None:
    """Five calls in one statement under one request id: 500 codes in order, 500 rows in the log."""
    batches = [wanted(100) for _ in range(5)]
    query = (
        "select f.code_mask from unnest(%s::jsonb[]) with ordinality b (codes, batch)"
        f" cross join lateral {CREATE}(%s, %s, %s, %s, b.codes) with ordinality f"
        " order by batch, f.ordinality"
    )
    with admin.database.acting("admin_runtime", "service_role") as connection:
        masks = connection.execute(query.encode(), [batches, *admin.actor]).fetchall()
    assert [code["codeMask"] for batch in batches for code in json.loads(batch)] == [
        row[0] for row in masks
    ]
    logged = "select count(*), count(distinct request_id) from audit.admin_audit_logs"
    assert admin.database.rows(logged) == [(500, 1)]


def test_create_again_under_the_same_request_id(admin: Admin) -> None:
    """The request id does not make it idempotent: a second batch is made."""
    admin.call(CREATE, wanted(2))
    admin.call(CREATE, wanted(2))
    assert admin.database.value("select count(*) from redemption_codes") == 4


def test_create_is_all_or_nothing(admin: Admin) -> None:
    """A batch too small or too large, or with one bad code in it, leaves no row anywhere."""
    good = json.loads(wanted(2))
    bad = {
        "23514": [good[0], {**good[1], "credits": 0}],
        "23502": [good[0], {**good[1], "codeHash": None}],
        "23505": [good[0], good[0]],
        "22P02": [good[0], {**good[1], "credits": "1.5"}],
    }
    sizes = [None, "[]", "{}", "null", wanted(101)]
    assert list(bad) == [admin.refused(CREATE, json.dumps(codes))[:5] for codes in bad.values()]
    assert [admin.refused(CREATE, size)[:5] for size in sizes] == ["22023"] * 5
    assert admin.database.value("select count(*) from redemption_codes") == 0
    assert admin.audit() == []


def test_nothing_limits_points_and_note_of_a_new_code(admin: Admin) -> None:
    """The functions take what the tool itself must refuse."""
    admin.call(CREATE, wanted(1, credits=2_147_483_647, note="n" * 501, expiresAt="2000-01-01Z"))
    assert admin.database.value("select count(*) from redemption_codes") == 1


def test_who_is_no_admin(admin: Admin) -> None:
    """A wrong id, role, e-mail, a ban or a mere claim of the role is refused, in the same words."""
    people = {email: admin.database.person(email) for email in (ACTOR, BANNED, NO_ADMIN)}
    strangers = [
        (NOBODY, ACTOR, "admin", "r"),
        (None, ACTOR, "admin", "r"),
        (people[ACTOR], NO_ADMIN, "admin", "r"),
        (people[ACTOR], None, "admin", "r"),
        (people[ACTOR], ACTOR, "user,admin", "r"),
        (people[ACTOR], ACTOR, None, "r"),
        (people[BANNED], BANNED, "admin", "r"),
        (people[NO_ADMIN], NO_ADMIN, "admin", "r"),
    ]
    code = admin.database.insert_code()
    calls: list[tuple[str, list[object]]] = [
        (CREATE, [wanted(1)]),
        (UPDATE, change(code, note="n")),
        (REVOKE, [code]),
    ]
    answers = {
        admin.refused(name, *args, actor=actor) for actor in strangers for name, args in calls
    }
    assert {" ".join(NOT_ADMIN)} == answers


@pytest.mark.parametrize(
    ("columns", "let_in"),
    [
        ("role = 'admin'", True),
        ("role = 'user,admin,editor'", True),
        ("role = 'administrator'", False),
        ("role = 'Admin'", False),
        ("role = 'user, admin'", False),
        ("email = ' OPS@Example.com '", True),
        ("banned = true, ban_expires = now() - interval '1 second'", True),
        ("banned = true, ban_expires = now() + interval '1 hour'", False),
        ("ban_expires = now() + interval '1 hour'", True),
    ],
)
def test_who_is_an_admin(admin: Admin, columns: str, *, let_in: bool) -> None:
    """The role list holds exactly admin, e-mails are compared folded, and a ban may have ended."""
    admin.database.execute(f"update identity.users set {columns} where email = %s", [ACTOR])
    code = admin.database.insert_code()
    if let_in:
        assert len(admin.call(REVOKE, code)) == 1
    else:
        assert " ".join(NOT_ADMIN) == admin.refused(REVOKE, code)


def test_request_id(admin: Admin) -> None:
    """It has 1 to 200 characters."""
    actor = admin.actor[:3]
    bad = [admin.refused(CREATE, wanted(1), actor=[*actor, i])[:5] for i in (None, "", "x" * 201)]
    assert bad == ["22023"] * 3
    assert len(admin.call(CREATE, wanted(1), actor=[*actor, "ü" * 200])) == 1


def test_a_missing_grant_has_another_message(admin: Admin) -> None:
    """admin_runtime without SET ROLE gets the SQLSTATE of a stranger, in the server's words."""
    query = f"select * from {CREATE}(%s, %s, %s, %s, '[]')"
    answer = admin.database.refusal("admin_runtime", query, admin.actor)
    assert answer == ("42501", "permission denied for function admin_create_redemption_codes")
