"""`smoke`: what a crowd comes to, whose rows are touched, and what is left however it ends."""

from __future__ import annotations

import json
import re
import shlex
import signal
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest
from admin import REVOKE
from databases import PASSWORD, TESTERS, steps
from lossy import Cut, lossy
from sandboxes import data_folder
from stock import check_sound
from test_judging import KEYS
from tool import TIMEOUT
from waiting import await_gone, read_until, until

from invite_admin import text
from invite_admin.gate import TICKETS
from invite_admin.locks import Purpose

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import Popen

    from cluster import Cluster
    from databases import Database
    from tool import Invite, Result

LISTED: Final = list(TESTERS[:20])
ENABLED: Final = {"smoke": {"enabled": True, "accounts": LISTED}}
GUARD: Final = "v_code.redeemed_at is not null"
OPERATORS: Final = pytest.mark.parametrize(
    ("database", "login"),
    [(1, "owner"), (2, "owner"), (3, "admin_runtime")],
    indirect=["database"],
    ids=["step1", "step2", "step3"],
)
UNSHOWN: Final = (
    "invite: failed: every test code was redeemed or voided, but the run could not be shown: the "
    "result could not be written: No space left on device"
)
SIZES: Final = "must be a whole number from 3 to 100, in the digits 0-9"
LEFT: Final = "select count(*) from public.redemption_codes where redeemed_at is null"
UNUSED: Final = """
    select count(*) from public.redemption_codes
    where redeemed_at is null and revoked_at is null and expires_at > now()
"""


def variables(database: Database, login: str = "app_runtime") -> dict[str, str]:
    """Return the variables that let smoke run on this database."""
    return {
        "INVITE_CONFIG": "invite.toml",
        "INVITE_SMOKE_DATABASE_URL": database.url(login),
    }


def smoke(invite: Invite, *options: str, **given: Any) -> Result:  # noqa: ANN401 - as `Invite` takes them
    """Run smoke with what it needs, and return its result."""
    assert invite.database is not None
    return invite(
        "smoke", *options, **{"env": variables(invite.database), "settings": ENABLED, **given}
    )


def changed_function(database: Database, before: str, after: str) -> None:
    """Put another text into the application's `redeem_code`."""
    query = "select pg_get_functiondef('public.redeem_code(text)'::regprocedure)"
    text = database.value(query)
    assert before in text
    database.execute(text.replace(before, after))


def slowed(database: Database, seconds: float) -> None:
    """Let every redemption of a code that can be redeemed take this long."""
    changed_function(
        database, "  update public.profiles p", f"  perform pg_sleep({seconds});\n"
        "  update public.profiles p"
    )  # fmt: skip


def made(database: Database) -> int:
    """Count the codes."""
    return int(database.value("select count(*) from public.redemption_codes"))


@OPERATORS
def test_it_passes(invite: Invite, database: Database, login: str) -> None:
    """Ten, then twenty people redeem at once: all of them once, one of three in the race."""
    done = smoke(invite, "--format", "json", login=login)
    assert 0 == done.exit_code, done.stderr
    assert [KEYS, KEYS] == [list(tier) for tier in done.json]
    for tier, size in zip(done.json, (10, 20), strict=True):
        expected = {
            "tier": size,
            "users": size,
            "attempts": 2 * size + 3,
            "redeemed": size + 1,
            "refused": size + 2,
            "busy": 0,
            "errors": 0,
            "double": 0,
            "busy_share": 0.0,
            "points_credited": size + 1,
            "points_expected": size + 1,
            "met": True,
        }
        assert expected == {key: tier[key] for key in expected}
    assert 32 == database.value("select sum(credits) from public.profiles")
    assert (32, 0) == (made(database), database.value(UNUSED) if database.step > 1 else 0)
    check_sound(database)


def test_only_listed_accounts(invite: Invite, database: Database) -> None:
    """Nobody else's rows are written; an account may be listed by its id."""
    ids = [str(database.person(email)) for email in TESTERS[:10]]
    others = "select xmin::text, p.* from public.profiles p where not id = any(%s) order by id"
    before = database.rows(others, [ids])
    settings = {"smoke": {"enabled": True, "accounts": [*ids[:5], *TESTERS[5:10]]}}
    done = smoke(invite, "--users", "10", settings=settings)
    assert 0 == done.exit_code, done.stderr
    assert before == database.rows(others, [ids])
    redeemers = "select distinct redeemed_by::text from public.redemption_codes"
    assert sorted(ids) == sorted(row[0] for row in database.rows(redeemers))
    emails = "select distinct redeemed_email from public.redemption_codes"
    assert sorted(TESTERS[:10]) == sorted(row[0] for row in database.rows(emails))


def test_a_report_for_people(invite: Invite, database: Database) -> None:
    """The table has conditions, samples and what stays; no code and no hash stands in it."""
    done = smoke(invite, "--users", "10")
    lines = done.stdout.splitlines()
    for title in ("Conditions", "What became of it", "The server meanwhile", "Verdict"):
        assert title in lines
    assert "codes redeemed twice" in done.stdout
    assert lines[-1].split() == [
        "largest",
        "crowd",
        "that",
        "met",
        "it",
        "10",
        "people",
        "at",
        "once",
    ]
    assert "11 points on 10 test accounts" in done.stdout
    assert all(len(line) <= 80 for line in lines)
    for row in database.rows("select code_hash from public.redemption_codes"):
        assert row[0] not in done.stdout + done.stderr
    assert not re.search(r"JYOTISH-[A-Z2-9]{4}-", done.stdout + done.stderr)


@pytest.mark.parametrize(
    ("users", "result"),
    [
        ("3", "met, by 3 people; 10 were not tried"),
        ("11", "not judged: no crowd of up to 10 was tried"),
    ],
)
def test_what_is_judged(invite: Invite, users: str, result: str) -> None:
    """The line is met by a crowd that it is drawn for; a larger one alone is not judged."""
    done = smoke(invite, "--users", users)
    (told,) = [line for line in done.stdout.splitlines() if line.startswith("result ")]
    assert (0, result) == (done.exit_code, told.removeprefix("result").strip())
    assert f"these people had {min(int(users), 10)} open" in done.stdout
    shared = done.stdout.endswith(f" {users} people at once, through 10 connections\n")
    assert (users == "11") == shared


def test_without_the_guard(invite: Invite, database: Database) -> None:
    """Where a code can be redeemed twice, smoke finds each of them and fails."""
    changed_function(database, GUARD, "false")
    key = "credit_transactions_redemption_code_id_key"
    database.execute(f"alter table public.credit_transactions drop constraint {key}")
    done = smoke(invite, "--users", "10", "--format", "json")
    (tier,) = done.json
    assert (1, 11, 23, False) == (done.exit_code, tier["double"], tier["redeemed"], tier["met"])
    assert (23, 11) == (tier["points_credited"], tier["points_expected"])
    assert "invite: failed: missed the line: 10 people: 11 codes redeemed twice" in done.stderr


def test_refused_by_the_ledger(invite: Invite, database: Database) -> None:
    """Where only the ledger's key holds a second redemption, that is an error and no refusal."""
    changed_function(database, GUARD, "false")
    done = smoke(invite, "--users", "10", "--format", "json")
    (tier,) = done.json
    assert (1, 0, 12) == (done.exit_code, tier["double"], tier["errors"])
    assert "12 attempts busy or failed: SQLSTATE 23505" in done.stderr
    who = r"\n  by \S+@example\.com, \S+@example\.com, \S+@example\.com and 7 more\n"
    assert re.search(who, done.stderr)


def test_a_full_server(invite: Invite, database: Database) -> None:
    """Who finds no connection is busy, after two repeats; their codes are voided."""
    slowed(database, 4)
    with database.connect() as keeper:
        limit = f'alter database "{database.name}" connection limit 4'
        with invite.start(
            *("smoke", "--users", "10", "--format", "json"),
            env=variables(database),
            settings=ENABLED,
        ) as process:
            assert process.stderr is not None
            read_until(process.stderr.fileno(), b"to void")
            keeper.execute(limit.encode())
            out, told = process.communicate(timeout=TIMEOUT)
    (tier,) = json.loads(out)
    assert (1, 0, 0) == (process.returncode, tier["errors"], tier["double"]), told
    assert tier["busy"] > 0
    assert round(tier["busy"] / tier["attempts"], 4) == tier["busy_share"]
    assert b"no connection" in told
    assert 0 == database.value(UNUSED)


def test_locked(invite: Invite, database: Database) -> None:
    """A lock that is never given back is busy, not an error; the time is that of the answers."""
    person = database.person(TESTERS[0])
    with database.connect() as holder:
        holder.execute("begin")
        holder.execute("update public.profiles set email = email where id = %s", [person])
        done = smoke(invite, "--users", "3", "--format", "json")
    (tier,) = done.json
    assert (1, 0) == (done.exit_code, tier["errors"])
    assert 1 <= tier["busy"] <= 2
    assert tier["first_max"] < tier["whole_max"]
    assert re.search("1 attempt busy or failed: SQLSTATE (55P03|57014)\n", done.stderr)


def test_a_silent_way(invite: Invite, database: Database) -> None:
    """A way on which no statement is answered is hung up on, and named."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        url = f"postgresql://app_runtime@127.0.0.1:{port}/x?sslmode=disable&gssencmode=disable"
        done = smoke(invite, env=variables(database) | {"INVITE_SMOKE_DATABASE_URL": url})
    assert (7, 0) == (done.exit_code, made(database)), done.stderr
    assert "INVITE_SMOKE_DATABASE_URL: no connection within 8 s" in done.stderr


def test_two_databases(invite: Invite, database: Database, cluster: Cluster) -> None:
    """Users on another database are found out before any code is made."""
    other = cluster.create(3)
    try:
        done = smoke(invite, env=variables(database) | {
            "INVITE_SMOKE_DATABASE_URL": other.url("app_runtime")
        })  # fmt: skip
        assert (2, "", 0, 0) == (done.exit_code, done.stdout, made(database), made(other))
        assert "do not lead to one database; no code was made" in done.stderr
    finally:
        cluster.drop(other)


def test_whose_points_stay(invite: Invite, database: Database) -> None:
    """Only accounts that got points are counted among those on which points stay."""
    database.execute("delete from public.profiles where id = %s", [database.person(LISTED[3])])
    done = smoke(invite, "--users", "5")
    redeemed = "select count(*), count(distinct redeemed_by) from public.redemption_codes"
    assert (1, [(5, 4)]) == (
        done.exit_code,
        database.rows(f"{redeemed} where redeemed_by is not null"),
    )
    told = f"1 attempt busy or failed: profile_missing\n  by {LISTED[3]}\n"
    assert told in done.stderr
    left = done.stdout.partition("What it left behind\n\n")[2].partition("\n\n")[0]
    assert [
        "1 test code left unused, voided",
        "5 points on 4 test accounts: balances belong to the application, and this tool",
        "never changes them",
    ] == left.splitlines()


@pytest.mark.parametrize(
    ("settings", "env", "message"),
    [
        ({}, {}, "smoke redeems codes, and is not enabled for this database"),
        ({"smoke": {"accounts": LISTED}}, {}, "smoke redeems codes, and is not enabled"),
        (
            ENABLED,
            {"INVITE_CONFIG": None},
            "smoke redeems codes, and is not enabled for this database",
        ),
        ({"smoke": {"enabled": True}}, {}, "[smoke] accounts names no test account"),
        (ENABLED, {"INVITE_SMOKE_DATABASE_URL": None}, "INVITE_SMOKE_DATABASE_URL is not set"),
        (ENABLED, {"INVITE_SMOKE_DATABASE_URL": "nonsense"}, "INVITE_SMOKE_DATABASE_URL cannot"),
        (ENABLED, {"INVITE_SMOKE_DATABASE_URL": "dbname=x"}, "INVITE_SMOKE_DATABASE_URL names no"),
    ],
)
def test_not_enabled(
    invite: Invite, database: Database, settings: dict[str, Any], env: dict[str, Any], message: str
) -> None:
    """Without a word in a file that was named, accounts and their URL nothing is done."""
    done = smoke(invite, settings=settings, env=variables(database) | env)
    assert (2, "", 0) == (done.exit_code, done.stdout, made(database))
    assert f"invite: bad input: {message}" in done.stderr


def test_accounts_that_are_not_there(invite: Invite, database: Database) -> None:
    """Each crowd needs so many accounts, and each must be known."""
    few = {"smoke": {"enabled": True, "accounts": LISTED[:9]}}
    done = smoke(invite, settings=few)
    assert 2 == done.exit_code
    assert "20 people need as many test accounts, and there are 9" in done.stderr
    strange = {"smoke": {"enabled": True, "accounts": [*LISTED, "who@example.com"]}}
    done = smoke(invite, settings=strange)
    assert 2 == done.exit_code
    assert "not in identity.users: who@example.com" in done.stderr
    assert 0 == made(database)


def test_users_who_may_not(invite: Invite, database: Database) -> None:
    """A login that cannot act as the application's users is refused before any code is made."""
    done = smoke(invite, env=variables(database, "admin_runtime"))
    assert (6, 0) == (done.exit_code, made(database))
    assert "the users' login may not take the role authenticated" in done.stderr
    database.execute("revoke execute on function public.redeem_code(text) from authenticated")
    done = smoke(invite)
    assert (6, 0) == (done.exit_code, made(database))
    assert "authenticated may not call public.redeem_code" in done.stderr
    database.execute("drop function public.redeem_code(text)")
    assert 5 == smoke(invite).exit_code


@pytest.mark.parametrize(
    ("url", "status"),
    [(None, 6), ("postgresql://u@127.0.0.1:1/x", 7)],
    ids=["password", "nobody"],
)
def test_users_who_cannot_connect(
    invite: Invite, database: Database, url: str | None, status: int
) -> None:
    """Their URL is named in the one line, and no code is made."""
    url = url or database.url("app_runtime").replace(PASSWORD, "wrong")
    env = variables(database) | {"INVITE_SMOKE_DATABASE_URL": url}
    done = smoke(invite, env=env)
    assert (status, 0) == (done.exit_code, made(database)), done.stderr
    assert ": INVITE_SMOKE_DATABASE_URL: cannot connect: " in done.stderr
    assert "Traceback" not in done.stderr


def test_evidence(invite: Invite, tmp_path: Path) -> None:
    """The log has how many codes were made."""
    assert invite.database is not None
    done = invite(
        *("--log-file", "log", "smoke", "--users", "3"),
        env=variables(invite.database),
        settings=ENABLED,
    )
    assert 0 == done.exit_code, done.stderr
    assert {"made": 4} == json.loads((tmp_path / "log").read_text())["counts"]


@OPERATORS
def test_evidence_of_two_crowds(
    invite: Invite, database: Database, login: str, tmp_path: Path
) -> None:
    """The log adds up what was made and voided; one request id, where there is one, has it all."""
    changed_function(database, GUARD, "true")
    done = invite(
        *("--log-file", "log", "smoke", "--users", "3", "--users", "4"),
        env=variables(database),
        settings=ENABLED,
        login=login,
    )
    assert 1 == done.exit_code, done.stderr
    line = json.loads((tmp_path / "log").read_text())
    voided = {} if database.step == 1 else {"voided": 9}
    assert {"made": 9, **voided} == line["counts"]
    if database.step < 3:
        assert line["request_id"] is None
        return
    query = "select request_id, action, count(*) from audit.admin_audit_logs group by 1, 2"
    assert {
        (line["request_id"], "redemption_code.create", 9),
        (line["request_id"], "redemption_code.revoke", 9),
    } == set(database.rows(query))


def test_one_request_id(invite: Invite, database: Database, tmp_path: Path) -> None:
    """By the logged request id what is left of all crowds is voided; no batch can take it again."""
    changed_function(database, GUARD, "true")
    database.execute(f"revoke execute on function {REVOKE} from service_role")
    crowds = ("--users", "3", "--users", "4")
    done = invite("--log-file", "log", "smoke", *crowds, env=variables(database), settings=ENABLED)
    assert (1, 9) == (done.exit_code, database.value(UNUSED)), done.stderr
    database.execute(f"grant execute on function {REVOKE} to service_role")
    named = ("--request-id", json.loads((tmp_path / "log").read_text())["request_id"])
    again = invite("generate", "--count", "9", "--points", "1", *named)
    assert (2, 9) == (again.exit_code, made(database)), again.stderr
    assert "that request id made a batch with another note; nothing was made" in again.stderr
    voided = invite("revoke", *named, "--yes")
    assert (0, 0) == (voided.exit_code, database.value(UNUSED)), voided.stderr


def test_not_sampled(invite: Invite, database: Database) -> None:
    """Where the login may not look at the server, the report says so, and why."""
    database.execute("revoke select on pg_catalog.pg_stat_activity from public")
    done = smoke(invite, "--users", "3")
    assert 0 == done.exit_code, done.stderr
    assert "not sampled: the server refused it to this login (SQLSTATE 42501)" in done.stdout


def test_a_full_gate(invite: Invite, database: Database) -> None:
    """Behind six other heavy jobs smoke is refused, before any code is made."""
    with database.connect() as others:
        take = "select pg_advisory_lock(%s, n) from generate_series(1, %s) n"
        others.execute(take, [int(Purpose.TICKET), TICKETS])
        done = smoke(invite)
    assert (8, 0) == (done.exit_code, made(database))
    assert "come back in 2 s" in done.stderr


def test_limits(invite: Invite, database: Database) -> None:
    """Test codes count against the issuing limits as any others do, before anything is sent."""
    database.execute(
        "create function public.no() returns trigger language plpgsql as"
        " $$ begin raise 'an insert'; end $$"
    )
    database.execute(
        "create trigger no before insert on public.redemption_codes execute function public.no()"
    )
    done = smoke(invite, settings=ENABLED | {"limits": {"points_open": 10}})
    assert (9, 0) == (done.exit_code, made(database))
    fewer = "--users takes fewer people, 3 at least"
    less = f"hint: points_open: more than the limit itself, so ask for less; {fewer}"
    assert less == done.stderr.splitlines()[-1]
    crowds = ("--users", "3", "--users", "10")
    later = smoke(invite, *crowds, settings=ENABLED | {"limits": {"points_open": 10}})
    assert (9, 0) == (later.exit_code, made(database)), "no crowd redeems before all may"
    done = smoke(invite, settings=ENABLED | {"limits": {"codes_per_batch": 10}})
    assert (9, 0) == (done.exit_code, made(database))
    bound = f"hint: codes_per_batch of [limits] in the settings is the bound; {fewer}"
    assert bound == done.stderr.splitlines()[-1]


def test_a_limit_reached_meanwhile(invite: Invite, database: Database) -> None:
    """A limit that is reached between two crowds says what became of the first one's codes."""
    database.execute(
        "create function public.more() returns trigger language plpgsql as $$ begin"
        " insert into public.redemption_codes (code_hash, code_mask, credits)"
        " values (repeat('a', 64), 'JYOTISH-****-AAAA', 20)"
        " on conflict do nothing; return null; end $$"
    )
    database.execute(
        "create trigger more after insert on public.credit_transactions"
        " for each row execute function public.more()"
    )
    crowds = ("--users", "3", "--users", "4")
    done = smoke(invite, *crowds, settings=ENABLED | {"limits": {"points_open": 20}})
    failure, hint = done.stderr.splitlines()[-2:]
    told = "points_open: 20 of 20 used, 5 wanted, 5 too many"
    expected = f"invite: over a limit: {told}; every test code was redeemed or voided"
    assert (9, expected) == (done.exit_code, failure)
    assert hint.endswith("; --users takes fewer people, 3 at least")
    assert "to void" not in hint


def test_kept_and_compared(invite: Invite, tmp_path: Path) -> None:
    """A run is kept as JSON whatever is shown; another names what differs."""
    kept = tmp_path / "before.json"
    assert 0 == smoke(invite, "--users", "3", "--output", str(kept)).exit_code
    assert 0o600 == kept.stat().st_mode & 0o777
    document = json.loads(kept.read_bytes())
    assert [KEYS] == [list(tier) for tier in document["tiers"]]
    seconds = [sample["second"] for sample in document["samples"]]
    assert 2 <= len(seconds) == len(set(seconds)), "a short crowd's two looks are told apart"
    same = smoke(invite, "--users", "3", "--against", str(kept))
    assert "yes: the conditions are the same" in same.stdout
    document["conditions"]["server_version"] = "9.6"
    (tmp_path / "old.json").write_text(json.dumps(document))
    other = smoke(invite, "--users", "4", "--against", "old.json", "--format", "csv")
    told = re.sub(r"now \d+\.\d+", "now X", other.stderr.splitlines()[-1])
    expected = "no, these conditions differ: server version (9.6, now X); people at once (3, now 4)"
    assert f"before-and-after: {expected}" == told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *((("--users", size), f"--users {SIZES}\n") for size in ("2", "101", "x", "3.0", "-3")),
        (("--output", "there.json"), "there.json exists already"),
        (("--output", "-"), "--output names a file here"),
        (("--against", "there.json"), "there.json is no run that `invite smoke --output` kept"),
        (("--against", "gone.json"), "gone.json: cannot be read: No such file or directory"),
    ],
)
def test_refusals(invite_alone: Invite, options: tuple[str, ...], message: str) -> None:
    """What cannot be done is refused before it connects."""
    (invite_alone.folder / "there.json").write_text("{}")
    done = invite_alone("--sandbox", "smoke", *options)
    assert (2, "") == (done.exit_code, done.stdout)
    assert message in done.stderr


def test_more_than_the_sandbox_has(
    invite_alone: Invite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A crowd that the help allows and the accounts do not is told how many there are."""
    with data_folder(tmp_path_factory.mktemp("sandbox")) as folder:
        env = {"XDG_DATA_HOME": str(folder)}
        done = invite_alone("--sandbox", "smoke", "--users", "31", env=env)
    failure, hint = done.stderr.splitlines()[-2:]
    expected = "31 people need as many test accounts, and there are 30; nothing was changed"
    assert (2, f"invite: bad input: {expected}") == (done.exit_code, failure)
    assert "hint: --users takes 30 at most in the sandbox" == hint
    assert "no more than there are test accounts" in " ".join(
        invite_alone("smoke", "--help").stdout.split()
    )


@contextmanager
def slow_run(
    invite: Invite,
    database: Database,
    *options: str,
    line: float = 2,
    login: str = "admin_runtime",
) -> Iterator[Popen[bytes]]:
    """Yield a run whose codes are being redeemed, slowly.

    In so many seconds 95 of 100 people are to have their points; the usual two are too few.
    """
    slowed(database, 2)
    settings = {"smoke": ENABLED["smoke"] | {"p95_seconds": line}}
    env = variables(database)
    with invite.start("smoke", *options, login=login, env=env, settings=settings) as process:
        try:
            sleeping = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'"
            until(lambda: database.value(sleeping) > 0, "a redemption")
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("line", "missed"),
    [(60, ""), (2, r"missed the line: 3 people: 95 of 100 took up to \S+ s, above 2 s; ")],
    ids=["met", "missed"],
)
def test_a_file_that_appeared(invite: Invite, database: Database, line: int, missed: str) -> None:
    """Where the run cannot be kept any more, its report and its verdict are told all the same."""
    kept = invite.folder / "kept.json"
    options = ("--users", "3", "--output", "kept.json")
    with slow_run(invite, database, *options, line=line) as process:
        kept.write_text("somebody else's")
        out, told = process.communicate(timeout=TIMEOUT)
    assert (1, "somebody else's") == (process.returncode, kept.read_text())
    assert b"\nVerdict\n" in out
    failure, hint = told.decode().splitlines()[-2:]
    assert re.fullmatch(
        rf"invite: failed: {missed}every test code was redeemed or voided, but the run could not "
        "be kept: kept.json exists already, and a result never overwrites a file",
        failure,
    )
    assert "hint: name another file, or move that one away" == hint


def test_kept_where_nothing_can_be_shown(invite: Invite) -> None:
    """A report that cannot be written does not cost the run, nor what is true of the codes."""
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = smoke(invite, "--users", "3", "--output", "kept.json", stdout=full.fileno())
    assert (1, UNSHOWN) == (done.exit_code, done.stderr.splitlines()[-1])
    assert 1 == len(json.loads((invite.folder / "kept.json").read_bytes())["tiers"])


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped(invite: Invite, database: Database, number: int, status: int) -> None:
    """Whoever stops it is told what is true: what nobody redeemed is voided first."""
    with slow_run(invite, database) as process:
        process.send_signal(number)
        _, told = process.communicate(timeout=TIMEOUT)
    assert (status, 0) == (process.returncode, database.value(UNUSED)), told
    assert b"stopping; what was begun is waited for, at most 16 s\n" in told
    assert told.endswith(b"; every test code was redeemed or voided\n")
    await_gone(database)


def test_stopped_where_nothing_can_be_voided(invite: Invite, database: Database) -> None:
    """Whoever stops it is let go also where the table is locked; the hint voids what is left."""
    with slow_run(invite, database) as process, database.acting("superuser") as blocking:
        blocking.execute("lock table public.redemption_codes in exclusive mode")
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=TIMEOUT)
    assert 130 == process.returncode, told
    assert b"\nbusy: the table stayed locked longer than the lock timeout; " in told
    failure, hint = told.decode().splitlines()[-2:]
    expected = "test codes may be left unused, and expire within an hour"
    assert f"invite: stopped: stopped by Ctrl-C; {expected}" == failure
    assert hint.startswith("hint: to void what is left of them: invite revoke --note 'invite smoke")


def test_killed(invite: Invite, database: Database) -> None:
    """A killed run has said how to void what it leaves, and that ends by itself in an hour."""
    with slow_run(invite, database) as process:
        process.kill()
        _, told = process.communicate(timeout=TIMEOUT)
    await_gone(database, "app_runtime")
    assert 0 < database.value(UNUSED)
    assert 0 == database.value(f"{UNUSED} + interval '61 minutes'")
    lines = told.decode().splitlines()
    at = lines.index("they expire within an hour; to void what is left of them:")
    command = lines[at + 1].removeprefix("  invite ")
    done = invite(*shlex.split(command), "--status", "available", "--yes")
    assert (0, 0) == (done.exit_code, database.value(UNUSED)), done.stderr


def test_the_server_is_lost(invite: Invite, database: Database) -> None:
    """Where nothing can be voided any more, the last line says by which command it is, later."""
    with slow_run(invite, database) as process:
        with database.connect() as connection:
            connection.execute(f'alter database "{database.name}" connection limit 0'.encode())
            others = "select pg_terminate_backend(pid) from pg_stat_activity where usename = %s"
            for login in ("admin_runtime", "app_runtime"):
                connection.execute(f"{others} and datname = current_database()".encode(), [login])
        _, told = process.communicate(timeout=TIMEOUT)
    failure, hint = told.decode().splitlines()[-2:]
    assert 7 == process.returncode
    assert failure.startswith("invite: unavailable: ")
    assert failure.endswith("; test codes may be left unused, and expire within an hour")
    assert 1 == told.count(b"\ninvite: ")
    assert "; to void what is left of them: invite revoke --note 'invite smoke test" in hint
    assert "nothing was changed" not in failure


def test_an_outcome_that_is_not_known(invite: Invite, database: Database) -> None:
    """Where the answer to COMMIT is lost, the hint voids what may have been stored."""
    with lossy(database.url("admin_runtime"), Cut.ANSWER) as wire:
        done = smoke(invite, env=variables(database) | {"INVITE_DATABASE_URL": wire.url})
    failure, hint = done.stderr.splitlines()[-2:]
    truth = "whether the test codes were stored is not known; they expire within an hour"
    expected = f"invite: unknown: COMMIT was sent and no answer came; {truth}"
    assert (10, expected) == (done.exit_code, failure), done.stderr
    command = hint.removeprefix("hint: to void what is left of them: invite ")
    assert 0 == invite(*shlex.split(command), "--yes").exit_code
    assert (11, 0) == (made(database), database.value(UNUSED))


def test_held_codes_are_named(invite: Invite, database: Database) -> None:
    """A code that somebody else holds at the end is named, with the command that voids it."""
    with slow_run(invite, database) as process, database.connect() as holder:
        holder.execute("begin")
        holder.execute(f"select from ({UNUSED.replace('count(*)', 'id')} for update skip locked) t")
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=TIMEOUT)
    assert 130 == process.returncode
    assert b"held by others; to void what is left of them:\n  invite revoke --note" in told
    assert b"every test code was redeemed or voided, or is counted above\nhint: to void" in told


NO_VOIDING: Final = """
    create function public.refuse() returns trigger language plpgsql as $$
    begin raise exception 'no'; end $$;
    create trigger refuse before update on public.redemption_codes
    for each row when (new.revoked_at is not null) execute function public.refuse();
"""


def test_refused_codes_are_named(invite: Invite, database: Database) -> None:
    """Codes that the database does not let be voided are counted, not called voided."""
    database.execute(NO_VOIDING)
    with slow_run(invite, database) as process:
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=TIMEOUT)
    assert 130 == process.returncode
    left = text.counted(database.value(UNUSED), "test code")
    assert f"{left} refused by the database; to void what is left of them:" in told.decode()
    assert b"0 test codes left unused, voided" in told
    assert b"every test code was redeemed or voided, or is counted above\nhint: to void" in told


@steps(1)
def test_where_nothing_can_be_voided(invite: Invite, database: Database) -> None:
    """Where codes cannot be voided it says so, and that they expire; no command is promised."""
    changed_function(database, GUARD, "true")
    done = smoke(invite, "--users", "3", login="owner")
    assert 1 == done.exit_code
    assert "they expire within an hour; they cannot be voided here" in done.stderr
    assert "4 test codes left unused cannot be voided here, and will expire" in done.stdout
    assert "to void" not in done.stderr


@steps(1)
def test_stopped_where_codes_cannot_be_voided(invite: Invite, database: Database) -> None:
    """Where unused codes cannot be voided they are counted, and the last line says where."""
    with slow_run(invite, database, "--users", "3", login="owner") as process:
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=TIMEOUT)
    left = database.value(LEFT)
    assert (130, True) == (process.returncode, 0 < left < 5), told
    counted = (
        f"{left} test code{'s' * (left > 1)} left unused cannot be voided here, and will expire"
    )
    assert counted in told.decode()
    assert told.endswith(b"; every test code was redeemed or voided, or is counted above\n")
