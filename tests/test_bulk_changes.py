"""Changes of many codes: in groups, in memory that does not grow, and past live redemptions."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import sqlalchemy as sa
from databases import LOGINS, TESTERS, claim, hash_of, steps
from hostile import failure
from inside import committed, opened, settings_of
from stock import BOTH_WAYS, by_id, check_sound, locking, make, make_many, revoked
from terminal import terminal
from tool import MODULE, TIMEOUT
from waiting import await_blocked

from invite_admin.model import Filters
from invite_admin.progress import SILENT
from invite_admin.store import pieces, reads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from databases import Connection, Database
    from tool import Invite, Result

MANY: Final = 10_500
"""Codes that make two groups."""
ODD: Final = 'JYOTISH-****-a,"b\n='
CHANGE: Final = "update public.redemption_codes set"
CSV: Final = ("--yes", "--format", "csv")


def lines(done: Result) -> list[dict[str, Any]]:
    """Return the rows of a report in csv as those of one in JSON."""
    rows = csv.DictReader(io.StringIO(done.stdout, newline=""))
    return [{key: cell or None for key, cell in row.items()} for row in rows]


def untimed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without their details, which tell times."""
    return [{**row, "position": int(row["position"]), "detail": None} for row in rows]


@BOTH_WAYS
def test_two_groups(database: Database, invite: Invite, login: str) -> None:
    """Codes beyond one group are voided and told in id order, with what they are worth."""
    ids = make_many(database, MANY)
    done = invite("revoke", "--note", "many", *CSV, login=login)
    assert 0 == done.exit_code, done.stderr
    expected = [
        {"position": n, "id": i, "mask": "JYOTISH-****-AAAA", "outcome": "revoked", "detail": None}
        for n, i in enumerate(ids, start=1)
    ]
    assert expected == untimed(lines(done))
    assert done.stdout_bytes.splitlines()[1].endswith(b",revoked,")
    assert set(ids) == revoked(database)
    assert "revoked: 10,500 codes worth 105,000 points" in done.stderr.splitlines()
    undisturbed = "select count(distinct xmin::text) from public.redemption_codes"
    assert 1 <= database.value(undisturbed) <= pieces.SAVEPOINTS


@steps(2)
def test_groups_with_codes_in_the_way(database: Database, invite: Invite) -> None:
    """Only the group with a used, void or locked code is looked at code by code; exit 8."""
    ids = make_many(database, MANY)
    taken, gone = make(database, "redeemed"), make(database, "revoked")
    with locking(database, [ids[-1]]):
        short = {"timeouts": {"lock": 1}}
        done = invite("revoke", "--points", "10", *CSV, login="owner", settings=short)
    told = lines(done)
    assert 8 == done.exit_code, done.stderr
    assert sorted([*ids, taken.id, gone.id]) == [row["id"] for row in told]
    assert list(range(1, MANY + 3)) == [int(row["position"]) for row in told]
    assert dict.fromkeys(ids, "revoked") | {
        ids[-1]: "busy",
        taken.id: "already_redeemed",
        gone.id: "already_revoked",
    } == by_id(told)
    left = "left as they are: 1 already_redeemed, 1 already_revoked, 1 busy"
    expected = ["revoked: 10,499 codes worth 104,990 points", left]
    assert expected == [line for line in done.stderr.splitlines() if line in expected]
    check_sound(database)


@steps(2)
def test_formats_agree(database: Database, invite: Invite) -> None:
    """A report in csv, whose lines are drawn as a whole, is the one that the others give."""
    for note in ("csv", "jsonl"):
        for status in ("available", "expired"):
            make(database, status, note=note)
        make(database, note=note, code_mask=ODD)
    found = [untimed(lines(invite("revoke", "--note", "csv", *CSV, login="owner")))]
    found.append(
        untimed(
            invite("revoke", "--note", "jsonl", "--yes", "--format", "jsonl", login="owner").jsonl
        )
    )
    assert [3, 3] == [len(rows) for rows in found]
    for rows in found:
        assert [1, 2, 3] == [row["position"] for row in rows]
        assert ["revoked"] * 3 == [row["outcome"] for row in rows]
        assert ODD in [row["mask"] for row in rows]


@BOTH_WAYS
def test_only_the_codes_shown(database: Database, invite: Invite, login: str) -> None:
    """What happens between the reading of the set and the change is told, and nothing joins."""
    shown = [make(database, note="leak") for _ in range(3)]
    with terminal(invite, "revoke", "--note", "leak", "--format", "csv", login=login) as screen:
        screen.read("? [y/N] ")
        assert None is database.redeem(shown[0].code)
        database.execute(f"{CHANGE} note = 'other' where id = %s", [shown[1].id])
        late = make(database, note="leak")
        screen.press("y\n")
        done = screen.end()
    expected = {shown[0].id: "already_redeemed"} | dict.fromkeys(
        (c.id for c in shown[1:]), "revoked"
    )
    assert (0, expected) == (done.exit_code, by_id(lines(done))), done.stderr
    assert late.id not in revoked(database)


TRIGGER: Final = """
    create function public.meddle() returns trigger language plpgsql as $$ begin {body} end $$;
    create trigger meddle {when} update on public.redemption_codes
    for each row {condition} execute function public.meddle();
"""
UNDO: Final = f"{CHANGE} revoked_at = null, revoked_by = null where id = new.id; return null;"


@steps(2)
@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("when", "body", "told"),
    [
        (
            "after",
            UNDO,
            "the database says that it changed codes, and did not; nothing was changed",
        ),
        ("before", "return null;", "left unused codes as they were and gave no reason"),
        ("before", "new.revoked_at = clock_timestamp(); return new;", None),
    ],
    ids=["undone", "left", "another-time"],
)
def test_database_that_does_not_do_it(
    database: Database, invite: Invite, *, form: str, when: str, body: str, told: str | None
) -> None:
    """What the database says it did is read back; whatever the format, a lie changes nothing."""
    ids = make_many(database, 3)
    condition = "when (new.revoked_at is not null and old.revoked_at is null)"
    database.execute(TRIGGER.format(when=when, body=body, condition=condition))
    done = invite("revoke", "--note", "many", "--yes", "--format", form, login="owner")
    if told is None:
        assert (0, set(ids)) == (done.exit_code, revoked(database)), done.stderr
    else:
        assert (1, set(), "") == (done.exit_code, revoked(database), done.stdout)
        assert told in failure(done)[0]


@contextmanager
def logged_in(database: Database, number: int) -> Iterator[Connection]:
    """Be one of the application's users, on a connection of their own."""
    with database.connect("app_runtime") as connection:
        person = TESTERS[number]
        with connection.transaction():
            connection.execute("set local role authenticated")
            claim(connection, str(database.person(person)), person)
            yield connection


REDEEM: Final = "select error_code from public.redeem_code(%s)"
LOCKS: Final = """
    select mode from pg_locks where pid = %s and relation = 'public.redemption_codes'::regclass
"""
GENTLE: Final = {("AccessShareLock",), ("RowShareLock",), ("RowExclusiveLock",)}
"""Locks on the table that keep nobody from redeeming."""


@BOTH_WAYS
def test_redemptions_go_on(database: Database, login: str) -> None:
    """While a set is changed and not committed, others are redeemed; one of the set waits."""
    make_many(database, 300)
    wanted = make(database, note="many")
    others = [make(database, note="other") for _ in range(5)]
    with opened(settings_of(database, login)) as store, ThreadPoolExecutor(1) as racing:
        with store.expect(301):
            for group in store.groups(Filters(note="many")):
                if not store.sweep(group):
                    store.revoke(list(store.reads.by_id(group.ids).values()))
        backend = store.session.execute(sa.text("select pg_backend_pid()")).scalar_one()
        for number, other in enumerate(others):
            with logged_in(database, number) as connection:
                connection.execute("set local lock_timeout = '1ms'")
                assert (None,) == connection.execute(REDEEM, [hash_of(other.code)]).fetchone()
        race = racing.submit(database.redeem, wanted.code)
        await_blocked(database, "app_runtime")
        assert set() == set(database.rows(LOCKS, [backend])) - GENTLE
        store.session.settle()
        store.session.commit()
        assert "revoked_code" == race.result()
    assert 301 == len(revoked(database))
    check_sound(database)


@BOTH_WAYS
def test_file_of_many_names(database: Database, invite: Invite, login: str) -> None:
    """Names are looked up some thousands at a time, and told in the order of the file."""
    ids = make_many(database, 5_200)
    code, taken = make(database, code_mask="JYOTISH-****-BBBB"), make(database, "redeemed")
    for _ in range(2):
        make(database, code_mask="JYOTISH-****-CCCC")
    twins, mask = "JYOTISH-****-CCCC", "JYOTISH-****-BBBB"
    names = [taken.id, *reversed(ids), mask, ids[0], twins, code.code]
    (invite.folder / "names").write_text("\n".join(names))
    done = invite("revoke", "--from-file", "names", *CSV, login=login)
    assert 4 == done.exit_code, done.stderr
    told = lines(done)
    expected = [taken.id, *reversed(ids), code.id, ids[0], None, code.id]
    assert expected == [row["id"] for row in told]
    words = ["already_redeemed", *["revoked"] * 5_202, "ambiguous", "revoked"]
    assert words == [row["outcome"] for row in told]
    assert "revoked: 5,201 codes worth 52,010 points" in done.stderr.splitlines()
    assert {*ids, code.id} == revoked(database)


@BOTH_WAYS
def test_no_whole_table_for_a_group(database: Database, login: str) -> None:
    """Each group is found by its ids; the functions, and what counts later, are planned freely."""
    with opened(settings_of(database, login)) as store:

        def planned() -> str:
            return str(store.session.execute(sa.text("show enable_seqscan")).scalar_one())

        found = []
        for count in (100, 101):
            with store.expect(count):
                found.append(planned())
            found.append(planned())
    assert ["on", "on", "off" if login == "owner" else "on", "on"] == found


@steps(2)
@pytest.mark.parametrize("another", [False, True], ids=["counted", "read-back"])
def test_one_count_reads_back(
    database: Database, monkeypatch: pytest.MonkeyPatch, *, another: bool
) -> None:
    """One count proves a set of which a group went code by code; ids are read only in doubt."""
    ids = make_many(database, MANY)
    if another:
        body = "new.revoked_at = clock_timestamp(); return new;"
        database.execute(TRIGGER.format(when="before", body=body, condition=""))
    read, original = list[int](), reads.Reads.revoked_among

    def spied(self: reads.Reads, among: Sequence[str]) -> int:
        read.append(len(among))
        return original(self, among)

    monkeypatch.setattr(reads.Reads, "revoked_among", spied)
    with committed(settings_of(database, "owner")) as store, store.expect(MANY):
        first, second = store.groups(Filters(points=10))
        assert store.sweep(first)
        store.revoke(list(store.reads.by_id(second.ids).values()))
        store.check_swept(lambda: [first])
    assert [len(first.ids)] * another == read
    assert set(ids) == revoked(database)


@steps(2)
def test_progress(database: Database, invite: Invite) -> None:
    """On a terminal a change that takes longer than a second says how far it is."""
    ids = make_many(database, MANY)
    command = ("revoke", "--note", "many", "--yes", "--format", "csv", "--output", "made.csv")
    with locking(database, [ids[0]]) as holder, terminal(invite, *command, login="owner") as screen:
        await_blocked(database, LOGINS["owner"])
        time.sleep(SILENT)
        holder.execute("rollback")
        screen.read("10,150 of 10,500 codes done, ")
        done = screen.end()
    assert (0, set(ids)) == (done.exit_code, revoked(database)), done.stderr


def peak(invite: Invite, *command: str) -> int:
    """Run one command; return how much memory it had at most, in KiB."""
    environment = invite.prepare(login="owner")
    with subprocess.Popen(
        [*MODULE, *command], cwd=invite.folder, env=environment, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        told = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert 0 == process.returncode, told
    return usage.ru_maxrss


@steps(2)
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_memory(database: Database, invite: Invite, form: str) -> None:
    """Ten times the codes take at most 1.3 times the memory, and that is under 150 MB."""
    taken = []
    for count in (10_000, 100_000):
        make_many(database, count, f"{count}")
        command = ("revoke", "--note", f"{count}", "--yes", "--format", form)
        taken.append(peak(invite, *command, "--output", f"{count}.{form}"))
        with (invite.folder / f"{count}.{form}").open() as report:
            assert count == sum("revoked" in line for line in report)
    assert taken[1] <= 1.3 * taken[0]
    assert taken[1] < 150 * 1024


@BOTH_WAYS
def test_temporary_file_that_is_cut_off(database: Database, invite: Invite, login: str) -> None:
    """What cannot be read back after COMMIT is told, and that the changes are stored."""
    ids = make_many(database, 2 * MANY)
    command = ("revoke", "--note", "many", "--yes", "--format", "jsonl")
    with invite.start(*command, login=login) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        for held in Path(f"/proc/{process.pid}/fd").iterdir():
            if str(held.readlink()).endswith(" (deleted)"):
                os.truncate(held, 0)
        _, said = process.communicate(timeout=TIMEOUT)
    assert b'"outcome": "revoked"' in first
    line, hint = said.decode().splitlines()[-2:]
    stored = "invite: failed: the changes are stored; the result could not be written"
    assert f"{stored}: a temporary file cannot be read back: it was cut off" == line
    assert "hint: invite list shows the codes as they are" == hint
    assert (1, set(ids)) == (process.returncode, revoked(database))
