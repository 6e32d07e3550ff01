"""`generate` of many codes: COPY in pieces, collisions, what the server says of it all."""

from __future__ import annotations

import csv
import json
import os
import secrets
import shlex
from typing import TYPE_CHECKING, Any, Final

import incall
import pytest
from batches import BOTH_WAYS, check_nothing, check_paired, hashes, line, redeem_all, stored
from databases import hash_of, steps
from hostile import failure
from inside import opened, settings_of
from stock import revoked
from tap import tapped

from invite_admin.batch import Terms
from invite_admin.errors import Failed
from invite_admin.store import Batches

if TYPE_CHECKING:
    from pathlib import Path

    from databases import Database
    from tool import Invite

BULK: Final = 501  # codes from which on COPY takes them
PLAIN: Final = Terms(points=3, expires_at=None, note=None)
LARGE: Final = {"limits": {"codes_per_batch": 1_000_000}}
DIRECT: Final = steps(1, 2)


def made_in(path: Path) -> list[dict[str, Any]]:
    """Return the codes in a file of JSON lines."""
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]


@DIRECT
@pytest.mark.parametrize("login", ["owner", "admin_runtime"])
@pytest.mark.parametrize("note", [None, 'a \\N b\\t c\\\\ 你好, "it\'s" %s <> \\.'])
def test_stored_as_shown(invite: Invite, database: Database, login: str, note: str | None) -> None:
    """Codes that go by COPY stand under their ids with the terms asked for."""
    more = ("--note", note, "--expires", "2999-01-02T03:04:05.678901Z") if note else ()
    with tapped(database.url(login)) as (url, heard):
        env = {"INVITE_DATABASE_URL": url}
        done = invite(*line(BULK, 7, "--output", "c.csv", *more), login=login, env=env)
    assert 0 == done.exit_code, done.stderr
    with (invite.folder / "c.csv").open(newline="", encoding="utf-8") as made:
        rows = list(csv.DictReader(made))
    check_paired(database, rows)
    assert {note or ""} == {row["note"] for row in rows}
    assert [(BULK, 1, 1)] == database.rows(
        "select count(*), count(distinct created_at), count(distinct created_by)"
        " from public.redemption_codes where credits = 7"
        " and note is not distinct from %s and expires_at is not distinct from %s",
        [note, "2999-01-02T03:04:05.678901Z" if note else None],
    )
    assert 1 == sum(text.startswith("copy ") for text in heard.statements())


@pytest.mark.parametrize("database", [2], indirect=True)
@pytest.mark.parametrize(("count", "copies"), [(BULK - 1, 0), (BULK, 1)])
def test_threshold(invite: Invite, database: Database, count: int, copies: int) -> None:
    """Few codes go by INSERT, many by COPY."""
    with tapped(database.url("owner")) as (url, heard):
        env = {"INVITE_DATABASE_URL": url}
        done = invite(*line(count, 1, "--output", "c.jsonl"), login="owner", env=env)
    assert (0, count) == (done.exit_code, stored(database)), done.stderr
    assert copies == sum(text.startswith("copy ") for text in heard.statements())


@pytest.mark.parametrize("database", [2], indirect=True)
def test_ids_and_redeeming(invite: Invite, database: Database) -> None:
    """The ids that the tool makes are random uuids of version 4, and the codes redeem."""
    assert 0 == invite(*line(BULK, 1, "--output", "c.jsonl"), login="owner").exit_code
    ids = list(hashes(database))
    assert ({"4"}, set("89ab")) == ({i[14] for i in ids}, {i[19] for i in ids})
    made = made_in(invite.folder / "c.jsonl")
    assert [None] * 5 == redeem_all(database, [code["code"] for code in made[::110]])


def few_symbols(monkeypatch: pytest.MonkeyPatch, alphabet: str, piece: int) -> None:
    """Let there be few codes, and store them in small pieces."""
    monkeypatch.setattr("invite_admin.codes.ALPHABET", alphabet)
    monkeypatch.setattr("invite_admin.store.writes.A_COPY", piece)


@pytest.mark.parametrize("database", [2], indirect=True)
@pytest.mark.parametrize("login", ["owner", "admin_runtime"])
def test_frequent_collisions(
    invite: Invite, database: Database, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces that meet stored codes, and their own earlier ones, are sent again, and all differ."""
    few_symbols(monkeypatch, "ABCD", 600)
    texts = {f"JYOTISH-{drawn()}-{drawn()}" for _ in range(700)}
    database.execute(
        "insert into public.redemption_codes (code_hash, code_mask, credits)"
        " select encode(sha256(convert_to(t, 'UTF8')), 'hex'), 'JYOTISH-****-' || right(t, 4), 1"
        " from unnest(%s::text[]) t",
        [list(texts)],
    )
    before = hashes(database)
    assert 0 == incall.call(invite, *line(1_500, 1, "--output", "c.jsonl"), login=login)
    made = made_in(invite.folder / "c.jsonl")
    assert 1_500 == len({code["code"] for code in made} - texts)
    assert hashes(database) == before | {code["id"]: hash_of(code["code"]) for code in made}


def drawn() -> str:
    """Draw four of a few symbols."""
    return "".join(secrets.choice("ABCD") for _ in range(4))


def scripted(monkeypatch: pytest.MonkeyPatch, *pieces: list[str]) -> list[list[str]]:
    """Let the store mint these codes, piece by piece, as if they were many; return what is left."""
    left = list(pieces)

    def mint(count: int) -> list[str]:
        assert count == len(left[0])
        return left.pop(0)

    monkeypatch.setattr("invite_admin.store.inserts.mint", mint)
    for name in ("inserts.FEW", "writes.FEW"):
        monkeypatch.setattr(f"invite_admin.store.{name}", 1)
    for name in ("A_COPY", "A_CREATE"):
        monkeypatch.setattr(f"invite_admin.store.writes.{name}", 2)
    monkeypatch.setattr("invite_admin.store.writes.FunctionWrites.a_piece", 2)
    return left


T, A, B, C, D = (f"JYOTISH-FAKE-{end}AAA" for end in "TABCD")


@BOTH_WAYS
def test_only_taken_anew(
    invite: Invite, database: Database, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a piece of many only those codes are made anew that are stored, or were made before."""
    before = database.insert_code(T)
    left = scripted(monkeypatch, [A, T], [B], [C, A], [B], [D])
    assert 0 == incall.call(invite, *line(4, 1, "--output", "c.jsonl"), login=login)
    made = made_in(invite.folder / "c.jsonl")
    assert ([], [A, B, C, D]) == (left, [code["code"] for code in made])
    check_paired(database, [{"id": str(before), "code": T}, *made])


@pytest.mark.parametrize("database", [1], indirect=True)
def test_other_eyes(invite: Invite, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another role may read the hash than the one that writes, each does its own part."""
    database.execute("grant select on public.redemption_codes to admin_runtime")
    database.execute(
        "create policy seen on public.redemption_codes for select to admin_runtime using (true)"
    )
    before = database.insert_code(T)
    scripted(monkeypatch, [A, T], [B])
    assert 0 == incall.call(invite, *line(2, 1, "--output", "c.jsonl"))
    check_paired(database, [{"id": str(before), "code": T}, *made_in(invite.folder / "c.jsonl")])


@BOTH_WAYS
def test_undone_is_not_counted(
    database: Database, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A piece that was undone does not count as done."""
    database.insert_code(T)
    scripted(monkeypatch, [A, T], [B])
    rows: list[int] = []
    with opened(settings_of(database, login)) as store:
        Batches(store).make(2, PLAIN, rows.append)
    assert 2 == sum(rows)


@pytest.mark.parametrize("database", [1], indirect=True)
def test_nobody_may_look(
    invite: Invite, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody may read a hash the whole piece is made anew."""
    database.execute("revoke select on public.redemption_codes from service_role")
    columns = "id, code_mask, credits, expires_at, note, created_at, created_by, redeemed_by"
    database.execute(
        f"grant select ({columns}, redeemed_email, redeemed_at) on public.redemption_codes"
        " to service_role"
    )
    before = database.insert_code(T)
    left = scripted(monkeypatch, [A, T], [B, C])
    assert 0 == incall.call(invite, *line(2, 1, "--output", "c.jsonl"), login="admin_runtime")
    made = made_in(invite.folder / "c.jsonl")
    assert ([], [B, C]) == (left, [code["code"] for code in made])
    check_paired(database, [{"id": str(before), "code": T}, *made])


@BOTH_WAYS
def test_collisions_without_end(
    invite: Invite,
    database: Database,
    login: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where new codes keep meeting old ones the tool gives up; nothing is stored or left."""
    database.insert_code(T)
    scripted(monkeypatch, [A, T], *[[T]] * 9)
    assert 1 == incall.call(invite, *line(2, 1, "--output", "c.jsonl"), login=login)
    told = capsys.readouterr().err
    assert (1, "nothing was stored" in told) == (stored(database), True)
    assert [] == [mark for mark in (T, A, hash_of(T), hash_of(A)) if mark in told]
    assert [] == list(invite.folder.glob("*c.jsonl*"))


FORCE: Final = """
alter table public.redemption_codes force row level security;
create policy all_of_it on public.redemption_codes using (true) with check (true);
"""


@pytest.mark.parametrize("database", [2], indirect=True)
def test_copy_refused(database: Database) -> None:
    """Where row-level security refuses COPY the codes go by INSERT, each piece without a try."""
    for statement in FORCE.strip().splitlines():
        database.execute(statement)
    with opened(settings_of(database, "owner")) as store:
        rows: list[int] = []
        batch = Batches(store).make(BULK, PLAIN, rows.append)
        store.session.settle()
        store.session.commit()
    check_paired(
        database,
        [
            {"id": identity, "code": code}
            for piece in batch.codes
            for identity, code in zip(piece.ids, piece.codes, strict=True)
        ],
    )
    assert BULK == sum(rows)


TRIGGER: Final = """
create function public.meddle() returns trigger language plpgsql as $$
begin {deed}; end $$;
create trigger meddle before insert on public.redemption_codes
    for each row execute function public.meddle();
"""
MEDDLING: Final = {
    "points": "new.credits := new.credits + 1; return new",
    "expiry": "new.expires_at := now(); return new",
    "note": "new.note := 'theirs'; return new",
    "time": "new.created_at := clock_timestamp(); return new",
    "hash": "new.code_hash := md5(new.code_hash) || md5(''); return new",
    "left out": "return case when new.code_hash < '1' then null else new end",
}


@pytest.mark.parametrize("count", [100, BULK])
@pytest.mark.parametrize("deed", MEDDLING)
@BOTH_WAYS
def test_other_values(
    invite: Invite, database: Database, login: str, deed: str, count: int
) -> None:
    """A batch that the database stores otherwise than it was sent is not stored at all."""
    database.execute(TRIGGER.format(deed=MEDDLING[deed]))
    done = invite(*line(count, 1, "--output", "c.jsonl"), login=login)
    check_nothing(database, done)
    assert [] == list(invite.folder.glob("*c.jsonl*"))


@pytest.mark.parametrize("database", [2], indirect=True)
def test_one_hash_changed(database: Database) -> None:
    """That a single hash of many is another one is found."""
    deed = (
        "if current_setting('my.done', true) is distinct from 'yes' then"
        " perform set_config('my.done', 'yes', true); new.code_hash := reverse(new.code_hash);"
        " end if; return new"
    )
    database.execute(TRIGGER.format(deed=deed))
    with (
        opened(settings_of(database, "owner")) as store,
        pytest.raises(Failed, match="other values"),
    ):
        Batches(store).make(5_000, PLAIN)


ANOTHER: Final = """
    if pg_trigger_depth() = 1 and not exists (select from public.redemption_codes) then
      insert into public.redemption_codes (code_hash, code_mask, credits)
      values (repeat('0', 64), 'JYOTISH-****-ZZZZ', 9);
    end if;
    return new
"""


@BOTH_WAYS
@pytest.mark.parametrize("count", [5, 700])
def test_a_row_of_the_same_time(invite: Invite, database: Database, login: str, count: int) -> None:
    """Rows that the transaction's time does not tell from others are asked for one by one."""
    database.execute(TRIGGER.format(deed=ANOTHER))
    done = invite(*line(count, 1, "--output", "a.jsonl"), login=login)
    assert (0, count + 1) == (done.exit_code, stored(database)), done.stderr
    times = database.rows("select distinct created_at from public.redemption_codes")
    assert 1 == len(times)


@steps(2, 3)
def test_voided_as_it_says(invite: Invite, database: Database) -> None:
    """The printed command voids also a batch of more codes than a table holds."""
    login = "admin_runtime" if database.step > 2 else "owner"
    done = invite(*line(10_001, 1, "--output", "c.jsonl"), settings=LARGE, login=login)
    printed = shlex.split(done.stderr.splitlines()[-1])
    assert ["invite", "revoke"] == printed[:2], done.stderr
    voided = invite(*printed[1:], "--yes", login=login)
    assert 0 == voided.exit_code, voided.stderr
    assert 10_001 == len(revoked(database)) == len(voided.stdout.splitlines()) - 1


def test_repeated_as_it_says(invite: Invite) -> None:
    """So do the commands that a repeated request id names, where it made so many."""
    wanted = line(10_001, 1, "--request-id", "many")
    assert 0 == invite(*wanted, "--output", "c.jsonl", settings=LARGE).exit_code
    done = invite(*wanted, "--output", "d.jsonl", settings=LARGE)
    chosen = "--request-id many --format csv"
    hint = f"hint: invite list {chosen} shows them; invite revoke {chosen} voids them"
    assert (4, hint) == (done.exit_code, failure(done)[1])


def test_standard_output_is_limited(invite_alone: Invite) -> None:
    """More codes than standard output takes are refused before connecting, in any format."""
    for form in ("table", "markdown", "csv", "json", "jsonl"):
        done = invite_alone(*line(10_001, 1, "--format", form), settings=LARGE)
        told, hint = failure(done)
        said = "bad input: standard output takes at most 10,000 codes; nothing was changed"
        assert (2, "", said) == (done.exit_code, done.stdout, told)
        assert "hint: write them to a file, by --output FILE.csv" == hint


@BOTH_WAYS
def test_a_tenth(
    invite: Invite,
    database: Database,
    login: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """More than a tenth of the codes that are free are refused; those stored are not free."""
    monkeypatch.setattr("invite_admin.codes.ALPHABET", "AB")
    assert 9 == incall.call(invite, *line(26, 1, "--dry-run"), login=login)
    for _ in range(6):
        database.insert_code()
    assert 0 == incall.call(invite, *line(25, 1, "--dry-run"), login=login)
    database.insert_code()
    assert 9 == incall.call(invite, *line(25, 1, "--output", "c.jsonl"), login=login)
    said = (
        "invite: over a limit: 25 codes are more than a tenth of the 249 that are still free, and "
        "who guesses would soon hit one; nothing was made\nhint: make at most 24\n"
    )
    assert capsys.readouterr().err.endswith(said)
    assert (7, []) == (stored(database), list(invite.folder.glob("*c.jsonl*")))


@pytest.mark.slow
@BOTH_WAYS
def test_memory(invite: Invite, database: Database, login: str) -> None:
    """The memory of the process does not grow with the number of codes."""
    counts = (10_000, 30_000) if database.step > 2 else (10_000, 200_000)
    peaks = []
    for count in counts:
        name = f"{count}.csv"
        with invite.start(
            *line(count, 1, "--output", name), login=login, settings=LARGE
        ) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.stderr is not None
            assert 0 == process.returncode, process.stderr.read()
        peaks.append(usage.ru_maxrss)  # KiB
        with (invite.folder / name).open(encoding="utf-8") as made:
            assert count + 1 == sum(1 for _ in made)
    assert stored(database) == sum(counts)
    assert peaks[1] < 1.3 * peaks[0]
    assert peaks[1] < 150 * 1024
