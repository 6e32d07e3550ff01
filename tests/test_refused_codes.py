"""Codes that the database refuses to change: each is named, and the others are changed."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import pytest
from databases import LOGINS, steps
from hostile import failure
from inside import committed, opened, settings_of
from stock import (
    BOTH_WAYS,
    audited,
    by_id,
    check_sound,
    locking,
    make,
    make_many,
    outcomes,
    revoked,
    snapshot,
)
from waiting import await_blocked

from invite_admin.errors import Failed
from invite_admin.model import Outcome
from invite_admin.store import pieces

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

BATCH: Final = 20
CHECK: Final = "23514"
VERBS: Final = pytest.mark.parametrize("verb", ["revoke", "update"])
ASK: Final = "hint: a rule or a trigger of the table refuses a code; ask the application's team"
REFUSES: Final = "the database refuses 1 code"
OPTIONS: Final = {"revoke": (), "update": ("--set-note", "new")}
DONE: Final = {"revoke": "revoked", "update": "updated"}

_TABLE: Final = "alter table public.redemption_codes"
_RULE: Final = f"{_TABLE} drop constraint redemption_codes_code_mask_check"
_BACK: Final = f"""
    {_TABLE} add constraint redemption_codes_code_mask_check
    check (starts_with(code_mask, 'JYOTISH-****-')) not valid
"""
_TRIGGER: Final = """
    create function public.refuse() returns trigger language plpgsql as $$ begin
    raise exception using errcode = '{state}', message = 'of ' || new.code_hash,
        detail = 'Key (code_hash)=(' || new.code_hash || ')'; end $$;
    create trigger refuse before update on public.redemption_codes
    for each row when ({when}) execute function public.refuse();
"""


def void_all_but(database: Database, ids: list[str]) -> None:
    """Void all other codes, as another operator would meanwhile."""
    database.execute(
        "update public.redemption_codes set revoked_at = now(), revoked_by = id "
        "where not id = any(cast(%s as uuid[]))",
        [ids],
    )


def tried(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many codes each try of a piece is about, as they come."""
    sizes, real = list[int](), pieces.Pieces._try

    def spied(
        self: pieces.Pieces, piece: list[str], change: pieces.Act, changed: pieces.Changed
    ) -> str | None:
        sizes.append(len(piece))
        return real(self, piece, change, changed)

    monkeypatch.setattr(pieces.Pieces, "_try", spied)
    return sizes


def refuse(database: Database, ids: list[str], state: str) -> None:
    """Let these codes be refused: by a check that came later than they did, or by a trigger."""
    if state == CHECK:
        database.execute(_RULE)
        broken = "update public.redemption_codes set code_mask = 'OLD-1' where id = any(%s::uuid[])"
        database.execute(broken, [ids])
        database.execute(_BACK)
    else:
        when = f"old.id = any('{{{','.join(ids)}}}'::uuid[])"
        database.execute(_TRIGGER.format(state=state, when=when))


def changed(database: Database, verb: str) -> set[str]:
    """Return the ids of the codes that were changed."""
    if verb == "revoke":
        return revoked(database)
    rows = database.rows("select id::text from public.redemption_codes where note = 'new'")
    return {row[0] for row in rows}


def refused(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return id, mask and detail of the rows that were refused."""
    return [(row["id"], row["mask"], row["detail"]) for row in rows if row["outcome"] == "refused"]


@BOTH_WAYS
@VERBS
@pytest.mark.parametrize("named", [True, False], ids=["named", "filter"])
@pytest.mark.parametrize("state", [CHECK, "P0001", "23503", "22023", "45000", "55000", "P0002"])
def test_one_of_a_batch(
    database: Database, invite: Invite, *, login: str, verb: str, named: bool, state: str
) -> None:
    """Nineteen of twenty are changed, the one is named with its reason and stays as it was."""
    ids = make_many(database, BATCH)
    (bad,) = ids[6:7]
    refuse(database, [bad], state)
    before = [row for row in snapshot(database) if str(row[1]) == bad]
    (invite.folder / "n.txt").write_text("\n".join(ids))
    chosen = ("--from-file", "n.txt") if named else ("--note", "many")
    command = (verb, *chosen, *OPTIONS[verb], "--yes", "--format", "json")
    done = invite("--log-file", "log", *command, login=login)
    others = set(ids) - {bad}
    assert others == changed(database, verb), done.stderr
    assert before == [row for row in snapshot(database) if str(row[1]) == bad]
    assert dict.fromkeys(others, DONE[verb]) | {bad: "refused"} == by_id(done.json)
    mask = "OLD-1" if state == CHECK else "JYOTISH-****-AAAA"
    assert [(bad, mask, f"the database refuses it: SQLSTATE {state}")] == refused(done.json)
    told = {
        True: (4, f"conflict: 1 named code not {DONE[verb]}: 1 refused"),
        False: (1, f"failed: {REFUSES}, 19 others {DONE[verb]} (SQLSTATE {state}): {bad}"),
    }
    assert (*told[named], ASK) == (done.exit_code, *failure(done))
    summary = [f"{DONE[verb]}: 19 codes worth 190 points", "left as they are: 1 refused"]
    assert summary == [line for line in done.stderr.splitlines() if line in summary]
    logged = json.loads((invite.folder / "log").read_text())
    assert {DONE[verb]: 19, "refused": 1} == logged["counts"]
    if database.step > 2:
        assert others == set(audited(database, verb))


@steps(2)
def test_a_whole_group_in_csv(database: Database, invite: Invite) -> None:
    """Where one statement would void a group, the refused code is found all the same."""
    ids = make_many(database, BATCH)
    refuse(database, ids[:1], CHECK)
    done = invite("revoke", "--note", "many", "--yes", "--format", "csv", login="owner")
    assert (1, set(ids[1:])) == (done.exit_code, revoked(database)), done.stderr
    detail = "the database refuses it: SQLSTATE 23514"
    assert f"1,{ids[0]},OLD-1,refused,{detail}" == done.stdout.splitlines()[1]


@BOTH_WAYS
@VERBS
def test_all_of_a_set(database: Database, invite: Invite, login: str, verb: str) -> None:
    """Where every code is refused, nothing was changed, and that is said; the first are named."""
    ids = make_many(database, 5)
    refuse(database, ids, "P0001")
    before = snapshot(database)
    command = (*OPTIONS[verb], "--yes", "--format", "json")
    done = invite(verb, *ids, *command, login=login)
    assert (4, ["refused"] * 5) == (done.exit_code, outcomes(done))
    assert f"conflict: 5 named codes not {DONE[verb]}: 5 refused" == failure(done)[0]
    done = invite(verb, "--note", "many", *command, login=login)
    assert (1, ["refused"] * 5) == (done.exit_code, outcomes(done))
    told = "failed: the database refuses 5 codes, nothing was changed (SQLSTATE P0001): "
    assert (told + ", ".join(ids[:3]) + " and 2 more", ASK) == failure(done)
    assert before == snapshot(database)


@BOTH_WAYS
def test_beside_other_outcomes(database: Database, invite: Invite, login: str) -> None:
    """A used, a void, a held and a refused code are told apart, and only the free one is voided."""
    made = {status: make(database, status) for status in ("available", "redeemed", "revoked")}
    held, bad = make(database), make(database)
    refuse(database, [bad.id, made["redeemed"].id, made["revoked"].id], "P0001")
    short = {"timeouts": {"lock": 1}}
    command = ("revoke", "--points", "10", "--yes", "--format", "json")
    with locking(database, [held.id]):
        done = invite(*command, login=login, settings=short)
    expected = {
        made["available"].id: "revoked",
        made["redeemed"].id: "already_redeemed",
        made["revoked"].id: "already_revoked",
        held.id: "busy",
        bad.id: "refused",
    }
    assert (1, expected) == (done.exit_code, by_id(done.json)), done.stderr
    told = f"failed: {REFUSES}, 1 other revoked (SQLSTATE P0001): {bad.id}"
    again = "hint: run the command again for what is busy; "
    assert (told, ASK.replace("hint: ", again)) == failure(done)
    check_sound(database)


@BOTH_WAYS
def test_refused_once_it_is_free(database: Database, invite: Invite, login: str) -> None:
    """A code that was waited for, and is then refused, is told as refused."""
    ids = make_many(database, 3)
    refuse(database, ids[:1], "P0001")
    long = {"timeouts": {"lock": 50}}
    command = ("revoke", *ids, "--yes", "--format", "json")
    with ThreadPoolExecutor(1) as pool, locking(database, ids[:1]) as holder:
        run = pool.submit(invite, *command, login=login, settings=long)
        await_blocked(database, LOGINS[login])
        holder.execute("rollback")
        done = run.result()
    assert (4, ["refused", "revoked", "revoked"]) == (done.exit_code, outcomes(done)), done.stderr


@BOTH_WAYS
@pytest.mark.parametrize("bound", [2, 3])
def test_the_bound(
    database: Database, monkeypatch: pytest.MonkeyPatch, *, login: str, bound: int
) -> None:
    """Up to so many refused codes are told one by one, in all groups together; one more ends it."""
    ids = make_many(database, 8)
    refuse(database, ids[1:6:2], CHECK)
    monkeypatch.setattr(pieces, "REFUSALS", bound)
    with opened(settings_of(database, login)) as store:
        rows = list(store.reads.by_id(ids).values())
        results = store.revoke(rows[:4])
        assert {ids[1], ids[3]} == {i for i, r in results.items() if r.outcome is Outcome.REFUSED}
        if bound == 3:
            results = store.revoke(rows[4:])
            assert [ids[5]] == [i for i, r in results.items() if r.outcome is Outcome.REFUSED]
        else:
            told = (
                "the database refuses more than 2 of these codes; nothing was changed "
                "(SQLSTATE 23514)"
            )
            with pytest.raises(Failed) as caught:
                store.revoke(rows[4:])
            assert told == caught.value.message


@BOTH_WAYS
@VERBS
def test_more_than_the_bound(database: Database, invite: Invite, login: str, verb: str) -> None:
    """A rule that refuses thousands ends the command after the first thousand, nothing changed."""
    ids = make_many(database, 2_000)
    refuse(database, ids[1:], "P0001")
    before = snapshot(database)
    done = invite(verb, "--note", "many", *OPTIONS[verb], "--yes", login=login)
    assert (1, "") == (done.exit_code, done.stdout)
    told, hint = failure(done)
    assert (
        "failed: the database refuses more than 1,000 of these codes; "
        "nothing was changed (SQLSTATE P0001)"
    ) == told
    assert (
        "hint: ask the application's team for the rule; a narrower filter, or a file of fewer "
        "codes, changes those that it allows"
    ) == hint
    assert before == snapshot(database)


@BOTH_WAYS
@pytest.mark.parametrize("a_piece", [1, pieces.SMALLEST])
def test_codes_voided_by_others_do_not_count(
    database: Database, monkeypatch: pytest.MonkeyPatch, login: str, a_piece: int
) -> None:
    """However many codes are used or void by the time they come to it, that is no refusal."""
    ids = make_many(database, 6)
    monkeypatch.setattr(pieces, "REFUSALS", 1)
    monkeypatch.setattr(pieces, "SMALLEST", a_piece)
    with opened(settings_of(database, login)) as store:
        rows = list(store.reads.by_id(ids).values())
        void_all_but(database, ids[:1])
        results = store.revoke(rows)
    assert [Outcome.REVOKED, *[Outcome.ALREADY_REVOKED] * 5] == [results[i].outcome for i in ids]


@steps(3)
def test_codes_voided_by_others_are_not_sought_one_by_one(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where others voided most of a set, a piece is read again and tried once more, not halved."""
    ids = make_many(database, 4 * pieces.SMALLEST)
    left = ids[: pieces.SMALLEST : 10]
    tries = tried(monkeypatch)
    with committed(settings_of(database, "admin_runtime")) as store:
        rows = list(store.reads.by_id(ids).values())
        void_all_but(database, left)
        results = store.revoke(rows)
    assert [50, 5, 50, 50, 50] == tries
    assert left == [i for i in ids if results[i].outcome is Outcome.REVOKED]
    others = [i for i in ids if results[i].outcome is Outcome.ALREADY_REVOKED]
    assert sorted(ids) == sorted(left + others)
    assert left == audited(database, "revoke")
