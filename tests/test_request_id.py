"""`generate --request-id`: one id makes one batch, however often and by whom it is asked for."""

from __future__ import annotations

import shlex
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import pytest
from batches import check_nothing, check_paired, line, stored
from databases import ACTOR, LOGINS, steps
from hostile import failure
from stock import revoked
from waiting import await_blocked

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

ID: Final = "friday 1"
TERMS: Final = ("--note", "friday", "--expires", "2999-01-01T00:00Z")
SECOND: Final = "second@example.com"
PATIENT: Final = {"timeouts": {"lock": 50}}


def with_id(*more: str, count: int = 5, points: int = 7, name: str = ID) -> list[str]:
    """Return the command line that makes a batch under an id."""
    return line(count, points, "--request-id", name, *more)


def second_admin(database: Database) -> dict[str, str]:
    """Add another administrator; return the environment in which that one acts."""
    add = "insert into identity.users (email, role) values (%s, 'admin')"
    database.execute(add, [SECOND])
    return {"INVITE_ACTOR": SECOND}


def test_new(invite: Invite, database: Database) -> None:
    """The audit log has it under the id, and the summary's command names it so."""
    done = invite(*with_id("--format", "json"))
    assert 0 == done.exit_code, done.stderr
    check_paired(database, done.json)
    query = "select request_id, count(*)::int from audit.admin_audit_logs group by 1"
    assert [(ID, 5)] == database.rows(query)
    [printed] = [text.strip() for text in done.stderr.splitlines() if "  invite revoke" in text]
    assert ["invite", "revoke", "--request-id", ID] == shlex.split(printed)


def test_names(invite: Invite, database: Database) -> None:
    """Any 1 to 200 printable characters, blanks around them left out."""
    names = ["x", "x" * 200, "\u6f22" * 200, "  padded  ", "'\"$(x)%_"]
    for name in names:
        assert 0 == invite(*with_id(name=name, count=1)).exit_code, name
        assert 1 == len(invite("list", "--request-id", name, "--format", "json").json), name
    rows = database.rows("select distinct request_id from audit.admin_audit_logs")
    assert {name.strip() for name in names} == {row[0] for row in rows}


def test_name_like_an_option(invite: Invite, database: Database) -> None:
    """It is given behind `=`, and so does the command that is printed."""
    made = invite("generate", "--count", "3", "--points", "1", "--request-id=--dry-run")
    assert (0, 3) == (made.exit_code, stored(database)), made.stderr
    [printed] = [text.strip() for text in made.stderr.splitlines() if "  invite revoke" in text]
    assert "invite revoke --request-id=--dry-run" == printed
    assert 0 == invite(*shlex.split(printed)[1:], "--yes").exit_code
    assert [(3,)] == database.rows("select count(revoked_at)::int from public.redemption_codes")


@pytest.mark.parametrize("name", ["", " ", "x" * 201, "a\nb", "a\x1bb"])
def test_names_refused(invite_alone: Invite, name: str) -> None:
    """What the database would not take is refused before anything is sent."""
    for command in (with_id(name=name), ["list", "--request-id", name]):
        done = invite_alone(*command)
        check_refused(done.stderr, done.exit_code)
        assert "" == done.stdout


def check_refused(told: str, exit_code: int) -> None:
    """Assert that it was one line about the option, and its hint."""
    assert (2, 2) == (exit_code, told.count("\n")), told
    assert told.startswith("invite: bad input: --request-id ")


def test_used(invite: Invite, database: Database) -> None:
    """Nothing is made or shown; the two commands named list and void what the id made."""
    made = invite(*with_id(*TERMS, "--format", "json")).json
    done = invite(*with_id(*TERMS, "--format", "json"))
    assert (4, "", 5) == (done.exit_code, done.stdout, stored(database))
    told, hint = failure(done)
    ends = "which expire at 2999-01-01T00:00:00+00:00"
    assert f"conflict: that request id made 5 codes already, {ends}; their text" in told
    assert "their text cannot be shown again" in told
    assert told.endswith("; nothing was made")
    assert hint is not None
    lists, voids = hint.removeprefix("hint: ").split("; ")
    listing = shlex.split(lists.removesuffix(" shows them"))
    voiding = shlex.split(voids.removesuffix(" voids them"))
    rows = invite(*listing[1:], "--format", "json").json
    assert {code["id"] for code in made} == {row["id"] for row in rows}
    invite(*line(2))
    assert 0 == invite(*voiding[1:], "--yes").exit_code
    assert {code["id"] for code in made} == revoked(database)


def test_used_and_voided_since(invite: Invite, database: Database) -> None:
    """Who repeats it learns that those codes are good no more, up to a hundred of them."""
    made = invite(*with_id("--format", "json")).json
    assert 0 == invite("revoke", *(code["id"] for code in made[1:]), "--yes").exit_code
    assert database.redeem(made[0]["code"]) is None
    told = "conflict: that request id made 5 codes already (1 redeemed, 4 revoked since), which"
    assert told in str(failure(invite(*with_id()))[0])
    assert 0 == invite(*with_id(count=101, name="many")).exit_code
    assert 0 == invite("revoke", "--request-id", "many", "--yes").exit_code
    many = failure(invite(*with_id(count=101, name="many")))[0]
    assert "made 101 codes already, which never expire" in many


def test_used_with_a_file(invite: Invite, database: Database) -> None:
    """No file is made for an id that was used, neither the result nor a pending one."""
    assert 0 == invite(*with_id()).exit_code
    done = invite(*with_id("--output", "codes.csv"))
    assert (4, 5) == (done.exit_code, stored(database))
    assert [] == list(invite.folder.glob("codes*"))


DIFFERING: Final = {
    (6, 7, TERMS): "count",
    (5, 8, TERMS): "number of points",
    (5, 7, TERMS[2:]): "note",
    (5, 7, ("--note", "Friday", *TERMS[2:])): "note",
    (5, 7, ("--note", "friday", "--expires", "2999-01-01T00:00:01Z")): "expiry",
    (4, 6, ("--expires", "2998-06-30")): "count, number of points, note, expiry",
}


def test_differing(invite: Invite, database: Database) -> None:
    """Another batch under the same id is a mistake; what differs is named, nothing is made."""
    assert 0 == invite(*with_id(*TERMS)).exit_code
    for (count, points, terms), differing in DIFFERING.items():
        done = invite(*with_id(*terms, count=count, points=points))
        assert (2, "", 5) == (done.exit_code, done.stdout, stored(database))
        named = " and another ".join(differing.split(", "))
        expected = f"bad input: that request id made a batch with another {named}"
        assert f"{expected}; nothing was made" == failure(done)[0]


def test_same_expiry(invite: Invite, database: Database) -> None:
    """An instant is the same in any offset; a span from now, or none, is not compared."""
    assert 0 == invite(*with_id(*TERMS)).exit_code
    for when in ("2999-01-01T00:00Z", "2999-01-01T08:00+08:00", "30d", "12h", None):
        expiring = ("--expires", when) if when else ()
        done = invite(*with_id("--note", "friday", *expiring))
        assert (4, 5) == (done.exit_code, stored(database)), done.stderr


def test_changed_since(invite: Invite, database: Database) -> None:
    """The batch is compared as it was made, not as it was changed afterwards."""
    made = invite(*with_id(*TERMS, "--format", "json")).json
    change = ("--set-note", "later", "--set-expires", "never", "--yes")
    assert 0 == invite("update", *(code["id"] for code in made), *change).exit_code
    assert 4 == invite(*with_id(*TERMS)).exit_code
    done = invite(*with_id("--note", "later", "--expires", "2998-06-30"))
    assert (2, 5) == (done.exit_code, stored(database))
    assert "another note and another expiry;" in failure(done)[0]


def test_two_at_once(invite: Invite, database: Database) -> None:
    """Two commands with one id make one batch: the second waits, and then finds it made."""
    with ThreadPoolExecutor(2) as pool:
        with database.acting("superuser") as blocking:
            blocking.execute("lock table public.redemption_codes in share mode")
            runs = [pool.submit(invite, *with_id(), settings=PATIENT) for _ in range(2)]
            await_blocked(database, LOGINS["admin_runtime"])
        done = sorted((run.result() for run in runs), key=lambda result: result.exit_code)
    assert ([0, 4], 5) == ([result.exit_code for result in done], stored(database))
    assert "" == done[1].stdout


def test_the_wait_is_told_and_bounded(invite: Invite, database: Database) -> None:
    """Who finds the id in the hands of a run that does not end says so, waits, and gives up."""
    with ThreadPoolExecutor(1) as pool:
        with database.acting("superuser") as blocking:
            blocking.execute("lock table public.redemption_codes in share mode")
            first = pool.submit(invite, *with_id(), settings=PATIENT)
            await_blocked(database, LOGINS["admin_runtime"])
            done = invite(*with_id(), settings={"timeouts": {"lock": 1}})
        assert (0, 8, "") == (first.result().exit_code, done.exit_code, done.stdout)
    told = "another run with this request id has not ended"
    assert f"{told}; waiting for it, at most 1 s" in done.stderr.splitlines()
    assert f"busy: {told}; nothing was changed" == failure(done)[0]
    assert 5 == stored(database)


def test_many_at_once(invite: Invite, database: Database) -> None:
    """Eight commands with one id make one batch."""
    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(invite, *with_id(), settings=PATIENT) for _ in range(8)]
        codes = sorted(run.result().exit_code for run in runs)
    assert ([0, *[4] * 7], 5) == (codes, stored(database))


def test_another_actor(invite: Invite, database: Database) -> None:
    """An id is its actor's own; as a filter it names nobody's codes where two have used it."""
    env = second_admin(database)
    assert 0 == invite(*with_id()).exit_code
    second = invite(*with_id("--format", "json", count=3), env=env)
    assert (0, 8) == (second.exit_code, stored(database))
    for command in (["list"], ["stats"], ["revoke", "--yes"], ["update", "--set-note=x", "--yes"]):
        done = invite(*command, "--request-id", ID)
        assert (2, "") == (done.exit_code, done.stdout), command
        said = f"bad input: that request id was used by several actors: {ACTOR}, {SECOND}"
        assert failure(done)[0].startswith(said)
        counts = [count_by(invite, times) for times in str(failure(done)[1])[6:].split("; ")]
        assert [(ACTOR, 5), (SECOND, 3)] == counts
    assert set() == revoked(database)
    made = {row["id"] for row in second.json}
    shows = str(failure(invite(*with_id(count=3), env=env))[1]).partition(" shows them")[0]
    listed = invite(*shlex.split(shows)[2:], "--format", "json").json
    assert made == {row["id"] for row in listed}
    [void] = [text for text in second.stderr.splitlines() if "  invite revoke" in text]
    assert 0 == invite(*shlex.split(void)[1:], "--yes", env=env).exit_code
    assert made == revoked(database)


def count_by(invite: Invite, told: str) -> tuple[str, int]:
    """Return whose batch a hint names, and how many codes its filter finds."""
    times, actor = told.removesuffix("'s").split(" for ")
    return actor, len(invite("list", *times.split(), "--format", "json").json)


@steps(1, 2)
def test_no_audit_log(invite: Invite, database: Database) -> None:
    """Where no audit log can tell what an id made, it is not taken, and what helps is named."""
    said = (
        "unsupported: `--request-id` is blocked here: this database has no audit log; "
        "nothing was changed"
    )
    otherwise = "hint: name the codes by --created-since and --created-until, or by --note"
    for command, hint in (
        (with_id(), "hint: leave --request-id out"),
        (["list", "--request-id", ID], otherwise),
        (["stats", "--request-id", ID], otherwise),
        (["update", "--request-id", ID, "--set-note", "x", "--yes"], otherwise),
    ):
        done = invite(*command, login="owner")
        assert (5, "") == (done.exit_code, done.stdout), done.stderr
        assert (said, hint) == failure(done)
    assert 0 == stored(database)


HIDDEN: Final = """
    revoke select on audit.admin_audit_logs from service_role;
    alter table audit.admin_audit_logs enable row level security;
    create policy others on audit.admin_audit_logs as restrictive for select
        using (actor_email <> 'ops@example.com');
"""


def test_hidden_audit_log(invite: Invite, database: Database) -> None:
    """Silence of a log whose rows may be hidden is no leave to make the batch again."""
    assert 0 == invite(*with_id()).exit_code
    database.execute(HIDDEN)
    for command in (with_id(), ["list", "--request-id", ID], ["revoke", "--request-id", ID]):
        done = invite(*command, *(["--yes"] if command[0] == "revoke" else []))
        assert (6, "") == (done.exit_code, done.stdout), done.stderr
    assert (5, set()) == (stored(database), revoked(database))
    database.execute("drop policy others on audit.admin_audit_logs")
    database.execute("create policy everybody on audit.admin_audit_logs using (true)")
    assert 4 == invite(*with_id()).exit_code


def test_filter(invite: Invite, database: Database) -> None:
    """`list`, `stats`, `update` and `revoke` take what the id made, and nothing else."""
    made = {code["id"] for code in invite(*with_id("--format", "json")).json}
    invite(*with_id(name="another"))
    database.insert_code()
    by_id = ("--request-id", ID, "--format", "json")
    assert made == {row["id"] for row in invite("list", *by_id).json}
    assert [5] == [row["issued"] for row in invite("stats", *by_id).json]
    changed = invite("update", *by_id, "--set-note", "new", "--yes").json
    assert made == {row["id"] for row in changed}
    assert [] == invite("list", *by_id, "--note", "friday").json
    assert made == {row["id"] for row in invite("revoke", *by_id, "--yes").json}
    assert made == revoked(database)
    unknown = invite("revoke", "--request-id", "nothing of it", "--yes")
    assert 3 == unknown.exit_code
    assert [] == invite("list", "--request-id", "nothing of it", "--format", "json").json


def test_dry_run(invite: Invite, database: Database) -> None:
    """A dry run tells that an id was used, and makes none used."""
    assert 0 == invite(*with_id("--dry-run")).exit_code
    assert 0 == invite(*with_id()).exit_code
    assert 4 == invite(*with_id("--dry-run")).exit_code
    assert 5 == stored(database)


def test_refused_actor(invite: Invite, database: Database) -> None:
    """Who is no administrator uses up no id."""
    check_nothing(database, invite(*with_id(), env={"INVITE_ACTOR": "plain@example.com"}), 6)
    assert 0 == invite(*with_id()).exit_code
