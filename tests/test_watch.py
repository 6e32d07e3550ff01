"""`redemptions --watch` as a process: every redemption once, nothing held, and how it ends."""

from __future__ import annotations

import json
import signal
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest
import stock
from databases import TESTERS, claim, hash_of, steps
from test_redemptions import KEYS, redeemed
from tool import TIMEOUT
from waiting import await_gone, read_until, until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from subprocess import Popen

    from databases import Connection, Database
    from tool import Invite

WATCH: Final = ("redemptions", "--watch", "--interval", "3s", "--format", "jsonl")
WATCHING: Final = b"Ctrl-C ends it\n"
ENDS: Final = [(signal.SIGINT, 0), (signal.SIGTERM, 143)]
PAST: Final = "2020-01-01T12:00:0"
MANY, LATE = 500, 20


@contextmanager
def watching(
    invite: Invite, *options: str, login: str = "admin_runtime", form: str = "jsonl"
) -> Iterator[Popen[bytes]]:
    """Yield a watch that has begun."""
    with invite.start(*WATCH[:-1], form, *options, login=login) as process:
        try:
            assert process.stderr is not None
            read_until(process.stderr.fileno(), WATCHING)
            yield process
        finally:
            process.kill()


def lines_of(process: Popen[bytes], last: str) -> list[Any]:
    """Return what was written until the redemption of this code stands in it."""
    assert process.stdout is not None
    found = read_until(process.stdout.fileno(), f'"id": "{last}"'.encode())
    if not found.endswith(b"\n"):
        found += read_until(process.stdout.fileno(), b"\n")
    return [json.loads(line) for line in found.splitlines()]


def redeem(connection: Connection, person: tuple[str, str], made: stock.Made) -> None:
    """Redeem a code in the transaction that is open."""
    connection.execute("set local role authenticated")
    claim(connection, *person)
    query = "select error_code from public.redeem_code(%s)"
    assert (None,) == connection.execute(query, [hash_of(made.code)]).fetchone()


def redeem_all(database: Database, people: Sequence[tuple[str, str]], codes: list[Any]) -> None:
    """Redeem codes one after another, each in a transaction of its own."""
    with database.connect("app_runtime") as connection:
        for number, made in enumerate(codes):
            with connection.transaction():
                redeem(connection, people[number % len(people)], made)


def test_none_is_missed_and_none_comes_twice(invite: Invite, database: Database) -> None:
    """Of 500 redemptions, twenty of them committed late, each is told once."""
    codes = [stock.make(database) for _ in range(MANY)]
    people = [(str(database.person(email)), email) for email in TESTERS]
    late, quick = codes[:LATE], codes[LATE:]
    with ExitStack() as stack:
        connections = [stack.enter_context(database.connect("app_runtime")) for _ in late]

        def begin(numbers: range) -> None:
            for n in numbers:
                connections[n].execute("begin")
                redeem(connections[n], people[n], late[n])

        begin(range(LATE // 2))
        process = stack.enter_context(watching(invite))
        begin(range(LATE // 2, LATE))
        redeem_all(database, people[LATE:], quick[:-2])
        told = lines_of(process, quick[-3].id)
        for connection in connections:
            connection.execute("commit")
        redeem_all(database, people[LATE:], quick[-2:-1])
        told += lines_of(process, quick[-2].id)
        redeem_all(database, people[LATE:], quick[-1:])
        told += lines_of(process, quick[-1].id)
    assert sorted(made.id for made in codes) == sorted(row["id"] for row in told)
    assert KEYS == list(told[0])


@steps()
def test_it_begins_now_or_since(invite: Invite, database: Database) -> None:
    """What was redeemed before is told only with --since, the oldest first."""
    old = [redeemed(database, name, f"{PAST}{at}Z") for name, at in (("A", 3), ("B", 1), ("C", 2))]
    last = stock.make(database, "redeemed").id
    with watching(invite, "--since", f"{PAST}2Z", login="owner") as process:
        assert [old[2], old[0], last] == [row["id"] for row in lines_of(process, last)]
    with watching(invite, login="owner") as process:
        new = stock.make(database, "redeemed", note="new")
        assert [(new.id, "new")] == [(row["id"], row["note"]) for row in lines_of(process, new.id)]


def test_a_redemption_is_one_line(invite: Invite, database: Database) -> None:
    """Whatever a person put into an address, csv does not get another line of it."""
    address = "a@example.com\nx,JYOTISH-****-FAKE,1,x,b@example.com"
    user = database.value("select id::text from auth.users where email = %s", [TESTERS[0]])
    made = stock.make(database, note="first\rsecond")
    with watching(invite, form="csv") as process:
        change = "update redemption_codes set redeemed_by = %s, redeemed_email = %s, "
        database.execute(f"{change} redeemed_at = now() where id = %s", [user, address, made.id])
        assert process.stdout is not None
        found = read_until(process.stdout.fileno(), b"second")
        if not found.endswith(b"\n"):
            found += read_until(process.stdout.fileno(), b"\n")
    heading, line = found.decode().splitlines()
    assert (",".join(KEYS), True) == (heading, line.startswith(made.id))
    assert r"a@example.com\nx,JYOTISH" in line
    assert r"first\rsecond" in line


def test_filters(invite: Invite, database: Database) -> None:
    """A watch is about the redemptions that its filters let pass."""
    with watching(invite, "--note", "friday") as process:
        stock.make(database, "redeemed", note="sunday")
        new = stock.make(database, "redeemed", note="friday")
        assert [new.id] == [row["id"] for row in lines_of(process, new.id)]


@pytest.mark.parametrize(("number", "exit_code"), ENDS, ids=["ctrl-c", "sigterm"])
def test_signals(invite: Invite, database: Database, number: int, exit_code: int) -> None:
    """Ctrl-C is the way to end it; SIGTERM says that nothing was changed. No session is left."""
    with watching(invite) as process:
        made = stock.make(database, "redeemed")
        lines_of(process, made.id)
        await_gone(database)
        process.send_signal(number)
        process.wait(TIMEOUT)
        assert process.stdout is not None
        assert process.stderr is not None
        told = process.stderr.read().decode()
    by_term = "invite: stopped: stopped by SIGTERM; nothing was changed\n"
    said = by_term if exit_code else "the watch has ended\n"
    assert (exit_code, said) == (process.returncode, told)


def test_a_reader_who_leaves(invite: Invite, database: Database) -> None:
    """A reader who leaves ends it with exit status 0, also while nothing is redeemed."""
    with watching(invite) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.wait(TIMEOUT)
        assert (0, b"the watch has ended\n") == (process.returncode, process.stderr.read())
    await_gone(database)


def test_the_database_goes_away(invite: Invite, database: Database) -> None:
    """A server without a free connection is waited for, and so said; Ctrl-C ends the wait."""
    name = database.value("select current_database()")
    with watching(invite) as process:
        assert process.stderr is not None
        database.execute(f'alter database "{name}" connection limit 0')
        told = read_until(process.stderr.fileno(), b"looking again in 30 s\n")
        process.send_signal(signal.SIGINT)
        process.wait(TIMEOUT)
    assert b"cannot connect" in told
    assert 0 == process.returncode


def test_what_waiting_does_not_help(invite: Invite, database: Database) -> None:
    """A right that is taken away ends it with its own exit status, after what it told."""
    with watching(invite) as process:
        made = stock.make(database, "redeemed")
        lines_of(process, made.id)
        for role in ("admin_runtime", "service_role"):
            database.execute(f"revoke all on public.redemption_codes from {role}")
        process.wait(TIMEOUT)
        assert process.stderr is not None
        assert (5, True) == (process.returncode, b"invite: unsupported: " in process.stderr.read())


def test_a_file_grows(invite: Invite, database: Database, tmp_path: Path) -> None:
    """With --output each look's lines stand in the file at once; Ctrl-C leaves it whole."""
    path = tmp_path / "redeemed.csv"
    line = ("redemptions", "--watch", "--interval", "3s", "--output", str(path))
    with invite.start(*line) as process:
        assert process.stderr is not None
        read_until(process.stderr.fileno(), WATCHING)
        made = [stock.make(database, "redeemed") for _ in range(2)]
        until(lambda: path.exists() and 3 == path.read_text().count("\n"), "the lines")
        assert 0o600 == path.stat().st_mode & 0o777
        process.send_signal(signal.SIGINT)
        assert 0 == process.wait(TIMEOUT)
    header, *rows = path.read_text().splitlines()
    assert ",".join(KEYS) == header
    assert [m.id for m in made] == [row.partition(",")[0] for row in rows]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--watch", "--limit", "1"), "--watch has no end"),
        (("--watch", "--until", "2030-01-01"), "--watch has no end"),
        (("--watch", "--format", "table"), "--watch writes csv or jsonl"),
        (("--watch", "--format", "json"), "--watch writes csv or jsonl"),
        (("--watch", "--output", "page.md"), "--watch writes csv or jsonl"),
        (("--watch", "--format", "jsonl", "--bom"), "--raw and --bom go with csv only"),
        (("--interval", "5s"), "--interval goes with --watch only"),
        *((("--watch", "--interval", typed), "--interval must be 3s or more")
          for typed in ("2s", "0s", "5", "-5s", "1d", "25h", "5 s", "5S", "")),
    ],
)  # fmt: skip
def test_refusals(invite_alone: Invite, options: tuple[str, ...], message: str) -> None:
    """What a watch cannot do is refused before it connects."""
    done = invite_alone("redemptions", *options)
    assert (2, "") == (done.exit_code, done.stdout)
    assert done.stderr.startswith(f"invite: bad input: {message}"), done.stderr


def test_a_watch_that_begins_in_the_future(invite: Invite, database: Database) -> None:
    """It could tell of nothing until then; a report of that time is empty, and no refusal."""
    stock.make(database, "redeemed")
    done = invite("redemptions", "--watch", "--since", "2999-01-01")
    assert (2, "") == (done.exit_code, done.stdout)
    said = "--since lies in the future, so there is nothing to watch yet; nothing was changed"
    assert f"\ninvite: bad input: {said}\nhint: the server's clock says 20" in done.stderr
    assert 0 == invite("redemptions", "--since", "2999-01-01").exit_code


def test_a_refused_watch_writes_nothing(invite: Invite, database: Database) -> None:
    """Not even the header of csv, where the table cannot be read."""
    for role in ("admin_runtime", "service_role"):
        database.execute(f"revoke all on public.redemption_codes from {role}")
    done = invite("redemptions", "--watch")
    assert (5, "") == (done.exit_code, done.stdout)
