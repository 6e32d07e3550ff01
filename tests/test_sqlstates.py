"""What an SQLSTATE of the server becomes: exit code, one line, no word of the server's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from batches import line
from hostile import SERVER_TEXT, failure, turn_on
from stock import BOTH_WAYS, make, make_many, outcomes, snapshot

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

FAILED, BAD, MISSING, CONFLICT, UNSUPPORTED = 1, 2, 3, 4, 5
DENIED, UNAVAILABLE, BUSY = 6, 7, 8

WORDS = {
    FAILED: "failed",
    BAD: "bad input",
    MISSING: "not found",
    CONFLICT: "conflict",
    UNSUPPORTED: "unsupported",
    DENIED: "denied",
    UNAVAILABLE: "unavailable",
    BUSY: "busy",
}
BY_STATE = {
    FAILED: ("23514", "23502", "23503", "53100", "58030", "XX000", "P0001", "F0000", "ZZ999"),
    BAD: ("22023", "22001", "22P02"),
    MISSING: ("P0002",),
    CONFLICT: ("55000", "23505"),
    UNSUPPORTED: ("42P01", "42703", "42883", "0A000", "3F000"),
    DENIED: ("42501", "28000", "28P01"),
    UNAVAILABLE: ("08006", "08P01", "57P01", "57P03", "53300", "3D000", "25006", "25P03", "57014"),
    BUSY: ("55P03",),
}
REFUSING = """
    create or replace function audit.require_admin(
        p_actor_user_id uuid, p_actor_email text, p_actor_role text, p_request_id text
    ) returns void language plpgsql as $$
    begin
      raise exception 'administrator access required'
        using errcode = '42501', detail = 'of the server';
    end $$
"""
SHARED = (
    *((FAILED, "XX000"), (FAILED, "53100"), (FAILED, "58030"), (UNSUPPORTED, "42P01")),
    *((UNSUPPORTED, "42883"), (UNSUPPORTED, "0A000"), (DENIED, "42501"), (UNAVAILABLE, "25006")),
    *((UNAVAILABLE, "08006"), (UNAVAILABLE, "53300"), (UNAVAILABLE, "57014"), (CONFLICT, "55006")),
    *((BAD, "22021"), (BAD, "22P05")),
)
STATES = [(code, state) for code, states in BY_STATE.items() for state in states]


def test_each_state_while_generating(database: Database, invite: Invite) -> None:
    """Each class of failures has its exit code and its word, and stores nothing.

    Those that are tried again, a deadlock and a serialization failure, have tests of their own.
    """
    found: list[tuple[int, str]] = []
    for code, state in STATES:
        turn_on(database, state)
        done = invite("generate", "--count", "2", "--points", "5")
        line, _ = failure(done)
        assert line.startswith(f"{WORDS[code]}: "), line
        assert "; nothing was" in line
        assert "" == done.stdout
        found.append((done.exit_code, state))
    assert STATES == found
    assert [] == snapshot(database)


def test_a_pooler_that_breaks_off(database: Database, invite: Invite) -> None:
    """PgBouncer without a place, or one that pools by statement, is no server that is away."""
    turn_on(database, "08P01")
    line, hint = failure(invite("generate", "--count", "2", "--points", "5"))
    told = "unavailable: the server, or a pooler before it, broke off; nothing was changed"
    assert f"{told} (SQLSTATE 08P01)" == line
    assert (
        "hint: a pooler may have no connection free, or pool by statement; its log says it" == hint
    )


@BOTH_WAYS
def test_states_of_a_change(database: Database, invite: Invite, login: str) -> None:
    """A state that is no single code's matter ends a change, and no code is changed."""
    codes = [make(database) for _ in range(3)]
    before = snapshot(database)
    for code, state in SHARED:
        turn_on(database, state)
        for named in ([c.id for c in codes], ["--points", "10"]):
            done = invite("revoke", *named, "--yes", login=login)
            assert (code, "") == (done.exit_code, done.stdout)
            line, _ = failure(done)
            assert line.startswith(f"{WORDS[code]}: ")
            assert line.endswith(f"nothing was changed (SQLSTATE {state})")
    assert before == snapshot(database)


@BOTH_WAYS
def test_a_lock_that_never_comes_free(database: Database, invite: Invite, login: str) -> None:
    """A server that answers each try with a lock or a deadlock leaves each code busy."""
    codes = [make(database) for _ in range(3)]
    for state in ("55P03", "40P01"):
        turn_on(database, state)
        options = ("--set-note", "new", "--yes", "--format", "json")
        done = invite("update", *(c.id for c in codes), *options, login=login)
        assert (CONFLICT, ["busy"] * 3) == (done.exit_code, outcomes(done))
        assert "conflict: 3 named codes not updated: 3 busy" == failure(done)[0]


def test_refused_actor(database: Database, invite: Invite) -> None:
    """42501 with the functions' own words is the actor's matter, any other a missing right."""
    code = make(database)
    turn_on(database, "42501")
    assert "lacks a right" in failure(invite("revoke", code.id, "--yes"))[0]
    database.execute("drop function public.turn_on() cascade")
    database.execute(REFUSING)
    done = invite("revoke", code.id, "--yes")
    line, hint = failure(done)
    assert DENIED == done.exit_code
    assert "does not accept the actor as an administrator; nothing was changed" in line
    assert hint is not None
    assert "invite check" in hint
    assert "of the server" not in done.stderr


def test_request_id_used_again(database: Database, invite: Invite) -> None:
    """The unique key of the audit log is a conflict, not a collision of codes."""
    database.execute("create unique index on audit.admin_audit_logs (actor_user_id, action)")
    done = invite("generate", "--count", "2", "--points", "5")
    assert (CONFLICT, "") == (done.exit_code, done.stdout)
    assert failure(done)[0].startswith("conflict: ")
    assert [] == snapshot(database)


def test_code_that_exists(database: Database, invite: Invite) -> None:
    """A collision on the table itself is tried anew, and given up after a few times."""
    turn_on(database, "23505", table="redemption_codes")
    done = invite("generate", "--count", "2", "--points", "5")
    line = "failed: new codes keep meeting codes that exist; nothing was stored"
    assert (FAILED, line) == (done.exit_code, failure(done)[0])


@pytest.mark.parametrize("command", [("list",), ("stats",), ("show", "JYOTISH-****-AAAA")])
def test_table_locked_for_reading(database: Database, invite: Invite, command: tuple[str]) -> None:
    """A reader that meets an ALTER waits at most the lock timeout, and ends with exit 8."""
    with database.connect() as connection:
        connection.execute("begin")
        connection.execute("lock table public.redemption_codes in access exclusive mode")
        done = invite(*command, settings={"timeouts": {"lock": 1}})
    assert (BUSY, "") == (done.exit_code, done.stdout)
    assert failure(done)[0].startswith("busy: a row or the table stayed locked longer")


SLOW: Final = """
create function slow() returns trigger language plpgsql as $$
begin perform pg_sleep(9); return new; end $$;
create trigger slow before insert or update on redemption_codes
for each row execute function slow()
"""


@pytest.mark.parametrize("command", [line(2), ["revoke", "--points", "10", "--yes"]])
def test_statement_timeout(database: Database, invite: Invite, command: list[str]) -> None:
    """A statement that takes longer than the settings allow ends with exit 7."""
    make_many(database, 2)
    before = snapshot(database)
    database.execute(SLOW)
    done = invite(*command, settings={"timeouts": {"statement": 1}})
    assert before == snapshot(database)
    assert UNAVAILABLE == done.exit_code
    told, hint = failure(done)
    assert told.startswith("unavailable: the statement took longer than allowed")
    assert (
        "hint: [timeouts] statement in the settings is the bound; before it, somebody cancelled "
        "the statement"
    ) == hint
    assert SERVER_TEXT not in done.stderr
