"""The issuing limits: what counts, what is refused, when there is room again, who may not count."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import pytest
from batches import BOTH_WAYS, line, stored
from databases import make_code
from gates import crowded
from hostile import failure
from limiting import ENOUGH, limits, said
from stock import PAST, make, snapshot
from tap import tapped

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

NAMES: Final = pytest.mark.parametrize("name", ENOUGH)
INSERTING: Final = re.compile(r"insert into|admin_create", re.IGNORECASE)


def ago(database: Database, count: int, minutes: float, **columns: object) -> datetime:
    """Insert codes of 10 points that were made so long ago; return when."""
    query = "select now() - make_interval(secs => %s)"
    made: datetime = database.value(query, [minutes * 60])
    for _ in range(count):
        database.insert_code(make_code(), created_at=made, **columns)
    return made


@BOTH_WAYS
@NAMES
def test_exactly(invite: Invite, database: Database, login: str, name: str) -> None:
    """A limit lets through what just fits, and refuses one code more."""
    own = limits(**{name: ENOUGH[name]})
    assert 0 == invite(*line(4, 7), login=login, settings=own).exit_code
    before = snapshot(database)
    refused = invite(*line(7, 7), login=login, settings=own)
    assert (9, "", before) == (refused.exit_code, refused.stdout, snapshot(database))
    each = 1 if name == "codes_per_hour" else 7
    counts = f"{4 * each} of {10 * each} used, {7 * each} wanted, {each} too many"
    assert f"invite: over a limit: {name}: {counts}; nothing was changed" == said(refused)[0]
    assert 0 == invite(*line(6, 7), login=login, settings=own).exit_code
    assert 10 == stored(database)


@BOTH_WAYS
def test_a_refused_command_sends_nothing(invite: Invite, database: Database, login: str) -> None:
    """Before anything is made, a limit ends the command: no INSERT, no call of a function."""
    with tapped(database.url(login)) as (url, heard):
        env = {"INVITE_DATABASE_URL": url}
        refused = invite(*line(11, 7), login=login, env=env, settings=limits(**ENOUGH))
        statements = heard.statements()
        assert [] == [text for text in statements if INSERTING.search(text)]
        made = invite(*line(10, 7), login=login, env=env, settings=limits(**ENOUGH))
        assert [] != [text for text in heard.statements() if INSERTING.search(text)]
    assert (9, 0) == (refused.exit_code, made.exit_code)


def test_every_limit_that_is_exceeded_is_told(invite: Invite, database: Database) -> None:
    """All of them in one line, each with what would make room."""
    done = invite(*line(11, 7), settings=limits(**ENOUGH))
    assert [
        "invite: over a limit: codes_per_hour: 0 of 10 used, 11 wanted, 1 too many",
        "points_per_day: 0 of 70 used, 77 wanted, 7 too many",
        "points_open: 0 of 70 used, 77 wanted, 7 too many",
        "nothing was changed",
    ] == said(done)[0].split("; ")
    assert [f"hint: {name}: more than the limit itself, so ask for less" for name in ENOUGH] == [
        f"hint: {part.removeprefix('hint: ')}" for part in said(done)[1].split("; ")
    ]
    assert 0 == stored(database)


@pytest.mark.parametrize(
    ("name", "limit", "window"),
    [("codes_per_hour", 10, timedelta(hours=1)), ("points_per_day", 100, timedelta(days=1))],
)
def test_when_there_is_room(
    invite: Invite, database: Database, name: str, limit: int, window: timedelta
) -> None:
    """The time when enough has left the window, rounded up to the second, in the settings' zone."""
    minute = window / timedelta(minutes=60)
    ago(database, 9, 61 * minute)
    times = [ago(database, count, back * minute) for count, back in ((3, 50), (4, 20), (1, 10))]
    own = {**limits(**{name: limit}), "timezone": "Asia/Shanghai"}
    for wanted, free in (
        (3, times[0]),
        (5, times[0]),
        (6, times[1]),
        (9, times[1]),
        (10, times[2]),
    ):
        done = invite(*line(wanted, 10), settings=own)
        assert 9 == done.exit_code, done.stderr
        hint = said(done)[1]
        at = re.fullmatch(rf"hint: {name}: room from (\S+\+08:00) on", hint)
        assert at is not None, hint
        room = datetime.fromisoformat(at[1])
        assert timedelta(0) < room - (free + window) <= timedelta(seconds=1), wanted
        assert 0 == room.microsecond
    assert 0 == invite(*line(2, 10), settings=own).exit_code


def test_what_counts_in_a_window(invite: Invite, database: Database) -> None:
    """Whatever became of a code since: voided, redeemed and expired ones count as well."""
    for status in ("available", "redeemed", "revoked", "expired"):
        make(database, status)
    own = limits(codes_per_hour=4, points_per_day=40)
    assert 9 == invite(*line(1, 1), settings=own).exit_code
    database.execute("update redemption_codes set created_at = now() - interval '1 hour'")
    assert 9 == invite(*line(1, 1), settings=own).exit_code
    database.execute("update redemption_codes set created_at = now() - interval '1 day'")
    assert 0 == invite(*line(1, 1), settings=own).exit_code


def test_what_is_open(invite: Invite, database: Database) -> None:
    """Only codes that are available count, however old; room is made, and does not come."""
    for status in ("redeemed", "revoked", "expired"):
        make(database, status)
    open_one = make(database, created_at=PAST)
    own = limits(points_open=20)
    done = invite(*line(11, 1), settings=own)
    counts = "10 of 20 used, 11 wanted, 1 too many"
    assert [
        f"invite: over a limit: points_open: {counts}; nothing was changed",
        "hint: points_open: room only by revoke, redemptions or expiry",
    ] == said(done)
    assert 0 == invite("revoke", open_one.id, "--yes", settings=own).exit_code
    assert 0 == invite(*line(20, 1), settings=own).exit_code


@pytest.mark.parametrize("when", ["infinity", "12000-01-01Z"])
def test_odd_times(invite: Invite, database: Database, when: str) -> None:
    """A code made at a time that Python cannot hold counts, and ends in one line."""
    make(database, created_at=when)
    done = invite(*line(1, 1), settings=limits(codes_per_hour=1))
    assert 9 == done.exit_code, done.stderr
    hint = said(done)[1]
    finite = when != "infinity"
    assert ("room from 12000-01-01T01:00:00" in hint) == finite
    assert ("no finite time" in hint) != finite


def test_a_repeated_request_id_comes_first(invite: Invite, database: Database) -> None:
    """A batch that is there already is told as such, and not as one too many."""
    command = line(10, 7, "--request-id", "friday")
    assert 0 == invite(*command, settings=limits(**ENOUGH)).exit_code
    done = invite(*command, settings=limits(**ENOUGH))
    assert (4, 10) == (done.exit_code, stored(database)), done.stderr


def test_before_the_gate_nothing_is_counted(invite: Invite, database: Database) -> None:
    """A gate that is full refuses first; its hint is to come back."""
    with crowded(database, 2, 4):
        done = invite(*line(101, 7), settings=limits(**ENOUGH))
    assert (8, 0) == (done.exit_code, stored(database))


def test_one_limit_that_never_has_room(invite: Invite, database: Database) -> None:
    """When another limit has room is not told where the command never fits."""
    assert 0 == invite(*line(10, 1)).exit_code
    done = invite(*line(2, 40), settings=limits(codes_per_hour=10, points_open=50))
    hint = "hint: points_open: more than the limit itself, so ask for less"
    assert (9, 10, hint) == (done.exit_code, stored(database), failure(done)[1])


def test_more_than_the_limit_while_it_is_full(invite: Invite, database: Database) -> None:
    """Asking for less would not do yet, and is not all that is said."""
    assert 0 == invite(*line(5, 10)).exit_code
    done = invite(*line(6, 10), settings={"limits": {"points_open": 50}})
    never = "more than the limit itself, of which nothing is left now, so ask for less"
    hint = f"hint: points_open: {never}"
    assert (9, 5, hint) == (done.exit_code, stored(database), failure(done)[1])
