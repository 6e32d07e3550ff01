"""`generate`: what it stores is what it shows, at each step and as each login that can."""

from __future__ import annotations

import csv
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import incall
import pytest
from batches import (
    BOTH_WAYS,
    GENERATORS,
    KEYS,
    check_paired,
    hashes,
    line,
    redeem_all,
    stored,
)
from databases import ACTOR, hash_of

from invite_admin import codes
from invite_admin.codes import Secret

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

FORM: Final = re.compile(r"JYOTISH-[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}")
COUNTED: Final = """
alter function public.admin_create_redemption_codes(uuid, text, text, text, jsonb)
    rename to counted_create;
create table public.calls (number bigint generated always as identity, size integer);
create function public.admin_create_redemption_codes(
    p_actor_user_id uuid, p_actor_email text, p_actor_role text, p_request_id text, p_codes jsonb
) returns table (
    id uuid, code_mask text, credits integer, expires_at timestamptz, note text,
    created_at timestamptz, redeemed_by uuid, redeemed_email text, redeemed_at timestamptz,
    revoked_by uuid, revoked_at timestamptz
) language sql security definer as $$
    insert into public.calls (size) values (jsonb_array_length(p_codes));
    select * from public.counted_create($1, $2, $3, $4, $5);
$$;
"""


@GENERATORS
def test_stored_as_shown(invite: Invite, database: Database, login: str) -> None:
    """Each code stands under its id with the terms asked for, and belongs to the actor."""
    expires = "2999-01-02T03:04:05.678901Z"
    made = invite(
        *line(20, 7, "--expires", expires, "--note", "  friday ", "--format", "json"), login=login
    )
    assert 0 == made.exit_code, made.stderr
    assert [KEYS] * 20 == [list(code) for code in made.json]
    check_paired(database, made.json)
    assert [(20, 1, 1)] == database.rows(
        "select count(*), count(distinct created_at), count(distinct created_by)"
        " from public.redemption_codes c join auth.users u on u.id = c.created_by"
        " where credits = 7 and c.note = 'friday' and expires_at = %s and u.email = %s",
        [expires, ACTOR],
    )
    told = {(c["points"], c["expires_at"], c["note"]) for c in made.json}
    assert {(7, "2999-01-02T03:04:05.678901+00:00", "friday")} == told
    assert all(FORM.fullmatch(code["code"]) for code in made.json)
    assert [codes.mask(code["code"]) for code in made.json] == [c["mask"] for c in made.json]


@GENERATORS
def test_each_redeems_once(invite: Invite, database: Database, login: str) -> None:
    """Fifty codes made by the tool: the application takes each exactly once."""
    made = [code["code"] for code in invite(*line(50, 2, "--format", "json"), login=login).json]
    assert [None] * 50 == redeem_all(database, made)
    assert ["already_redeemed"] * 50 == redeem_all(database, made)
    assert 100 == database.value("select sum(credits) from public.profiles")


def test_calls_of_one_transaction(invite: Invite, database: Database) -> None:
    """250 codes take three calls, one transaction and one request id, and all redeem."""
    database.execute(COUNTED)
    made = invite(*line(250, 10, "--format", "jsonl"))
    assert 0 == made.exit_code, made.stderr
    assert [(100,), (100,), (50,)] == database.rows("select size from public.calls order by number")
    check_paired(database, made.jsonl)
    [(rows, requests, request, times, actor)] = database.rows(
        "select count(*), count(distinct request_id), min(request_id), count(distinct created_at),"
        " min(actor_email) from audit.admin_audit_logs where action = 'redemption_code.create'"
    )
    assert (250, 1, 1, ACTOR) == (rows, requests, times, actor)
    assert f"request id {request}" in made.stderr
    assert [None] * 250 == redeem_all(database, [code["code"] for code in made.jsonl])


@pytest.mark.parametrize("form", ["table", "csv", "markdown"])
def test_formats(invite: Invite, database: Database, form: str) -> None:
    """Every format shows every code; a machine's has every key."""
    made = invite(*line(12, 3, "--format", form))
    shown = FORM.findall(made.stdout)
    assert sorted(hashes(database).values()) == sorted(map(hash_of, shown))
    if form == "csv":
        rows = list(csv.DictReader(made.stdout.splitlines()))
        assert (KEYS, 12) == (list(rows[0]), len(rows))
        check_paired(database, rows)


@BOTH_WAYS
def test_eight_at_once(invite: Invite, database: Database, login: str) -> None:
    """Eight commands at once store their own codes, each under its own time and request."""
    with ThreadPoolExecutor(8) as pool:
        calls = [
            pool.submit(invite, *line(50, 1, "--format", "json"), login=login) for _ in range(8)
        ]
        made = [call.result() for call in calls]
    assert [0] * 8 == [result.exit_code for result in made]
    check_paired(database, [code for result in made for code in result.json])
    assert 400 == stored(database)
    if database.step > 2:
        query = "select count(distinct request_id) from audit.admin_audit_logs"
        assert 8 == database.value(query)


def scripted(monkeypatch: pytest.MonkeyPatch, *batches: list[str]) -> list[Any]:
    """Let the store mint these codes, batch by batch; return what is left of the script."""
    left = [[Secret(code) for code in batch] for batch in batches]

    def mint(count: int, **_: object) -> list[Secret]:
        assert count == len(left[0])
        return left.pop(0)

    monkeypatch.setattr("invite_admin.store.inserts.mint", mint)
    return left


@BOTH_WAYS
def test_equal_masks(
    invite: Invite, database: Database, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codes of one batch with the same mask stand each under its own id."""
    wanted = [f"JYOTISH-{head}AAA-FAKE" for head in "ABCDEFGH"]
    scripted(monkeypatch, wanted)
    path = invite.folder / "made.json"
    assert 0 == incall.call(invite, *line(8, 1, "--output", str(path)), login=login)
    assert [(1, 8)] == database.rows(
        "select count(distinct code_mask), count(*) from public.redemption_codes"
    )
    check_paired(database, _read(path.read_bytes()))


@BOTH_WAYS
def test_collision(
    invite: Invite, database: Database, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch with a code that is taken is made anew, as a whole; the taken one stays as it was."""
    taken, fresh, others = (f"JYOTISH-FAKE-{end}AAA" for end in "TFN")
    before = database.insert_code(taken, credits=99)
    left = scripted(monkeypatch, [fresh, taken], [taken, fresh], [others, fresh])
    path = invite.folder / "made.json"
    assert 0 == incall.call(invite, *line(2, 1, "--output", str(path)), login=login)
    assert [] == left
    made = _read(path.read_bytes())
    assert [others, fresh] == [code["code"] for code in made]
    check_paired(database, [{"id": str(before), "code": taken}, *made])
    if database.step > 2:
        assert 2 == database.value("select count(*) from audit.admin_audit_logs")


@BOTH_WAYS
def test_collisions_without_end(
    invite: Invite,
    database: Database,
    login: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where new codes keep meeting old ones the tool gives up, and stores nothing."""
    taken = "JYOTISH-FAKE-TAKE"
    database.insert_code(taken)
    scripted(monkeypatch, *[[taken]] * 9)
    assert 1 == incall.call(invite, *line(1, 1), login=login)
    told = capsys.readouterr()
    assert ("", 1) == (told.out, stored(database))
    assert "nothing was stored" in told.err
    assert hash_of(taken) not in told.err


def _read(data: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(data)
    return found
