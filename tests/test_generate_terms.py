"""`generate`: its terms, what it says of them, and what it refuses before it connects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest
from batches import GENERATORS, check_nothing, check_paired, line, stored
from connecting import BRIEF
from databases import ACTOR, BANNED, NO_ADMIN, steps

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

NO_NUMBERS: Final = (
    *("0", "00", "-1", "+1", "1.0", "1.5", "1e3", "1_000", "1,000", " 1", "1 ", "", "x", "0x10"),
    *("\u0661", "\uff11", "\u00b2", "\u2460", "1\u0661", "inf", "nan", "1\n", "-"),
)
NOBODY: Final = "postgresql://nobody@127.0.0.1:1/nothing"


@GENERATORS
def test_dry_run(invite: Invite, database: Database, login: str) -> None:
    """A dry run says what would happen; nothing is shown, stored, audited or written."""
    path = invite.folder / "codes.csv"
    for more in ((), ("--output", str(path))):
        done = invite(*line(3, 1500, "--expires", "30d", "--dry-run", *more), login=login)
        assert (0, "") == (done.exit_code, done.stdout)
        assert "would make 3 codes of 1,500 points each, 4,500 points in all" in done.stderr
        assert "nothing was made" in done.stderr
        assert "expires: 2" in done.stderr
    assert (0, False) == (stored(database), path.exists())
    if database.step > 2:
        assert 0 == database.value("select count(*) from audit.admin_audit_logs")


def test_dry_run_refusals(invite: Invite) -> None:
    """A dry run is refused where the real one would be."""
    assert 6 == invite(*line(3, 1, "--dry-run"), env={"INVITE_ACTOR": BANNED}).exit_code
    assert 5 == invite(*line(3, 1, "--dry-run"), settings={"write_role": None}).exit_code
    assert 2 == invite(*line(3, 1, "--dry-run", "--expires", "2001-01-01")).exit_code


EXPIRIES: Final = {
    "2999-12-31": ("2999-12-31 16:00", "through 2999-12-31, until 3000-01-01T00:00:00+08:00"),
    "2999-12-31T18:00": ("2999-12-31 10:00", "expires: 2999-12-31T18:00:00+08:00"),
    "2999-12-31T18:00:05.25": ("2999-12-31 10:00:05.25", "expires: 2999-12-31T18:00:05.250000+08"),
    "2999-12-31T18:00Z": ("2999-12-31 18:00", "expires: 3000-01-01T02:00:00+08:00"),
    "2999-12-31T18:00-05:30": ("2999-12-31 23:30", "expires: 3000-01-01T07:30:00+08:00"),
}


@pytest.mark.parametrize("when", EXPIRIES)
def test_expiry(invite: Invite, database: Database, when: str) -> None:
    """An expiry means an instant in the configured zone, and is echoed with its offset."""
    instant, echo = EXPIRIES[when]
    done = invite(*line(1, 1, "--expires", when), settings={"timezone": "Asia/Shanghai"})
    assert (0, True) == (done.exit_code, echo in done.stderr)
    assert "never expire" not in done.stderr
    assert re.search(r"batch: created at \S+\+08:00", done.stderr)
    query = "select expires_at = %s::timestamp at time zone 'UTC' from public.redemption_codes"
    assert database.value(query, [instant])


@pytest.mark.parametrize(("span", "interval"), [("30d", "30 days"), ("12h", "12 hours")])
def test_span(invite: Invite, database: Database, span: str, interval: str) -> None:
    """A span counts from the server's now, which is the batch's time of creation."""
    assert 0 == invite(*line(2, 1, "--expires", span)).exit_code
    query = "select expires_at - created_at = %s::interval from public.redemption_codes"
    assert [(True,), (True,)] == database.rows(query, [interval])


@pytest.mark.parametrize("more", [(), ("--expires", "never")], ids=["none", "never"])
def test_never(invite: Invite, database: Database, more: tuple[str, ...]) -> None:
    """Codes that never expire are stored so, and warned of."""
    done = invite(*line(1, 1, *more))
    assert "warning: these codes never expire" in done.stderr
    assert [(None,)] == database.rows("select expires_at from public.redemption_codes")


PAST: Final = ("2001-01-01", "2001-01-01T00:00Z", "0d", "0h")


@pytest.mark.parametrize("when", PAST)
def test_past_expiry(invite: Invite, database: Database, when: str) -> None:
    """An expiry that is not in the future by the server's clock is refused."""
    done = invite(*line(1, 1, "--expires", when))
    check_nothing(database, done, 2)
    assert "is not in the future" in done.stderr


NO_TIMES: Final = ("2999-02-30", "2999-13-01", "tomorrow", "2999-01-01T25:00", "1w", "999999d9", "")


@pytest.mark.parametrize("when", NO_TIMES)
def test_no_time(invite_alone: Invite, when: str) -> None:
    """What is no time is refused before connecting."""
    done = invite_alone(*line(1, 1, "--expires", when))
    assert (2, "") == (done.exit_code, done.stdout)
    assert done.stderr.startswith("invite: bad input: --expires ")


@pytest.mark.parametrize("option", ["--count", "--points"])
@pytest.mark.parametrize("number", NO_NUMBERS)
def test_no_number(invite_alone: Invite, option: str, number: str) -> None:
    """What is no plain whole number from 1 on is refused before connecting, and not repeated."""
    other = "--points" if option == "--count" else "--count"
    done = invite_alone("generate", f"{option}={number}", other, "1")
    told = f"invite: bad input: {option} must be a whole number from 1 on, in the digits 0-9"
    assert (2, "", told) == (done.exit_code, done.stdout, done.stderr.splitlines()[0])


LIMITS: Final = {
    "points": (line(1, 1_000_001), {}, "at most 1,000,000 points"),
    "count": (line(10_001, 1), {}, "at most 10,000 codes"),
    "many digits": (line(int("9" * 30), 1), {}, "at most 10,000 codes"),
    "own points": (line(1, 51), {"points_per_code": 50}, "at most 50 points"),
    "own count": (line(4, 1), {"codes_per_batch": 3}, "at most 3 codes"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(invite_alone: Invite, name: str) -> None:
    """What is over a limit of the tool is refused before connecting."""
    asked, limits, told = LIMITS[name]
    done = invite_alone(*asked, settings={"limits": limits} if limits else None)
    assert (9, "", True) == (done.exit_code, done.stdout, told in done.stderr)


def test_at_the_limits(invite: Invite, database: Database) -> None:
    """What is just within the limits is made."""
    limits = {"codes_per_batch": 3, "points_per_code": 2_000_000}
    done = invite(*line(3, 2_000_000), settings={"limits": limits})
    assert 0 == done.exit_code, done.stderr
    assert [(3, 6_000_000)] == database.rows(
        "select count(*), sum(credits) from public.redemption_codes"
    )


def test_held_formats(invite: Invite, database: Database) -> None:
    """More codes than a table holds are refused, unless the format streams."""
    limits = {"limits": {"codes_per_batch": 10_001}}
    check_nothing(database, invite(*line(10_001, 1), settings=limits), 2)


@pytest.mark.parametrize("note", ["x" * 501, "a\tb", "a\nb", "a\x1bb", "\u202eabc", "abc\x7f"])
def test_no_note(invite_alone: Invite, note: str) -> None:
    """A note that is too long or holds control characters is refused before connecting."""
    done = invite_alone(*line(1, 1, "--note", note))
    assert (2, True) == (done.exit_code, "bad input: --note must" in done.stderr)


@pytest.mark.parametrize("note", ["x" * 500, "\u597d" * 500, "  \u00e9t\u00e9  ", "   ", ""])
def test_note(invite: Invite, database: Database, note: str) -> None:
    """A note is stored trimmed, and an empty one not at all."""
    assert 0 == invite(*line(1, 1, "--note", note)).exit_code
    assert [(note.strip() or None,)] == database.rows("select note from public.redemption_codes")


def test_no_actor(invite_alone: Invite) -> None:
    """Without an actor nothing is made, and no server is asked."""
    url = {"INVITE_DATABASE_URL": NOBODY}
    done = invite_alone(*line(), env=url, settings={"actor": None})
    assert (2, True) == (done.exit_code, "no actor is configured" in done.stderr)
    assert 7 == invite_alone(*line(), env=url, settings=BRIEF).exit_code


@steps()
@pytest.mark.parametrize("login", ["admin_runtime", "owner"])
def test_unknown_actor(invite: Invite, database: Database, login: str) -> None:
    """An actor that the database does not know makes nothing."""
    done = invite(*line(), login=login, env={"INVITE_ACTOR": "nobody@example.com"})
    check_nothing(database, done, 6)
    assert "the actor nobody@example.com is not in " in done.stderr


ROLES: Final = {
    ("admin", False, None): 0,
    ("user,admin", False, None): 0,
    ("admin", False, "2999-01-01"): 0,
    ("admin", True, "2001-01-01"): 0,
    ("admin", True, None): 6,
    ("admin", True, "2999-01-01"): 6,
    ("user", False, None): 6,
    ("", False, None): 6,
    ("superadmin", False, None): 6,
    ("Admin", False, None): 6,
    ("user, admin", False, None): 6,
}


@pytest.mark.parametrize("login", ["admin_runtime", "superuser"])
def test_actor_rule(invite: Invite, database: Database, login: str) -> None:
    """Who may act is exactly whom the admin functions take; another is told why before a call."""
    change = "update identity.users set role = %s, banned = %s, ban_expires = %s where email = %s"
    found = {}
    for account in ROLES:
        database.execute(change, [*account, ACTOR])
        done = invite(*line(1), login=login)
        found[account] = done.exit_code
        assert done.exit_code == 0 or f"the actor {ACTOR} is " in done.stderr
    assert ROLES == found
    assert list(ROLES.values()).count(0) == stored(database)


def test_actors_refused(invite: Invite, database: Database) -> None:
    """A banned admin and one who is none make nothing; case and blanks in an address are folded."""
    for actor, why in ((BANNED, "is banned"), (NO_ADMIN, "is no administrator")):
        done = invite(*line(), env={"INVITE_ACTOR": actor})
        check_nothing(database, done, 6)
        assert why in done.stderr
    made = invite(*line(2, 1, "--format", "json"), settings={"actor": f" {ACTOR.upper()} "})
    check_paired(database, made.json)


@steps()
def test_unknown_write_role(invite: Invite, database: Database) -> None:
    """A write role that does not exist is a refusal that names it."""
    done = invite(*line(), env={"INVITE_WRITE_ROLE": "invite_test_no_role"})
    check_nothing(database, done, 6)
    assert "write_role invite_test_no_role does not exist" in done.stderr


def test_foreign_write_role(invite: Invite, database: Database) -> None:
    """A write role that the login may not take is a refusal with the GRANT to ask for."""
    done = invite(*line(), env={"INVITE_WRITE_ROLE": "schema_owner"})
    check_nothing(database, done, 6)
    assert "may not take the write_role schema_owner" in done.stderr
    assert "GRANT schema_owner TO " in done.stderr


@steps()
def test_no_write_role(invite: Invite, database: Database) -> None:
    """A login that needs the write role is told the line to add."""
    done = invite(*line(), settings={"write_role": None})
    check_nothing(database, done, 5)
    assert 'hint: add write_role = "service_role" to the settings' in done.stderr


@steps()
@pytest.mark.parametrize(("login", "exit_code"), [("app_runtime", 5), ("reader", 5), ("blind", 6)])
def test_other_logins(invite: Invite, database: Database, login: str, exit_code: int) -> None:
    """A login without the right, or from which rows may be hidden, makes nothing."""
    check_nothing(database, invite(*line(), login=login), exit_code)
