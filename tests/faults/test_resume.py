"""What `--resume` refuses and keeps, and two commands on one batch at once."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import pytest
from batches import BOTH_WAYS, hashes, line, stored
from databases import ACTOR, hash_of
from faults.aftermath import (
    AFTER,
    BEFORE,
    CODES,
    EITHER,
    Arm,
    armed,
    check,
    clear,
    killed,
    pending_of,
    recover,
    resumed,
)
from faults.tally import TALLY, times
from hostile import failure
from lossy import Cut, lossy
from tap import tapped
from waiting import await_gone, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cluster import Cluster
    from databases import Database
    from tool import Invite

SECOND: Final = "second@example.com"


def second_admin(database: Database) -> None:
    """Add another administrator."""
    add = "insert into identity.users (email, role) values (%s, 'admin')"
    database.execute(add, [SECOND])


def cut_line(path: Path) -> None:
    """Take one code out of a pending file."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines[:2], *lines[3:]]), encoding="utf-8")


def other_points(path: Path) -> None:
    """Give the codes of a pending file other points."""
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"points": 7', '"points": 700'), encoding="utf-8")


def cut_end(path: Path) -> None:
    """Take the last line of a pending file away, and half of the one before."""
    path.write_bytes(path.read_bytes()[:-120])


def add_line(path: Path) -> None:
    """Put an empty line behind a pending file, as an editor may."""
    path.write_bytes(path.read_bytes() + b"\n")


CHANGES: Final = {
    "a code taken out": (cut_line, "was changed since it was written"),
    "other points": (other_points, "was changed since it was written"),
    "cut short": (cut_end, "is no whole pending file"),
    "a line added": (add_line, "was changed since it was written"),
    "emptied": (lambda path: path.write_text(""), "is no whole pending file"),
}


@EITHER
def test_changed_file(invite: Invite, database: Database, arm: Arm) -> None:
    """A file that is not as it was written is refused, and kept as it is."""
    path = invite.folder / "codes.jsonl"
    change: Callable[[Path], Any]
    for name, (change, words) in CHANGES.items():
        killed(invite, path, "admin_runtime", arm)
        await_gone(database)
        change(pending_of(path))
        kept, before = pending_of(path).read_bytes(), hashes(database)
        done = resumed(invite, path, "admin_runtime")
        assert (2, before) == (done.exit_code, hashes(database)), name
        assert kept == pending_of(path).read_bytes(), name
        assert words in done.stderr, name
        assert not path.exists(), name
        clear(database, pending_of(path))


@EITHER
def test_another_database(invite: Invite, database: Database, cluster: Cluster, arm: Arm) -> None:
    """On another database it is refused and kept; on its own it is settled."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, "admin_runtime", arm)
    other = cluster.create(3)
    try:
        url = {"INVITE_DATABASE_URL": other.url("admin_runtime")}
        done = invite("generate", "--resume", f"{path}.pending", env=url)
        assert (2, 0) == (done.exit_code, stored(other))
    finally:
        cluster.drop(other)
    assert f"this batch is of database {database.name}" in done.stderr
    recover(invite, database, path, "admin_runtime")
    assert path.exists()


@EITHER
def test_another_actor(invite: Invite, database: Database, arm: Arm) -> None:
    """Another actor is refused, and told who; the batch is kept for its own."""
    path = invite.folder / "codes.jsonl"
    second_admin(database)
    killed(invite, path, "admin_runtime", arm)
    done = invite("generate", "--resume", f"{path}.pending", env={"INVITE_ACTOR": SECOND})
    assert 2 == done.exit_code
    assert f"this batch is {ACTOR}'s, and the actor is {SECOND}" in done.stderr
    recover(invite, database, path, "admin_runtime")
    assert path.exists()


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"codes_per_batch": 11}, "over a limit: codes_per_batch: 12 of at most 11; nothing was"),
        ({"points_per_code": 6}, "over a limit: points_per_code: 7 of at most 6; nothing was"),
        ({"codes_per_hour": 11}, "over a limit: codes_per_hour: 0 of 11 used, 12 wanted"),
        ({"points_open": 83}, "over a limit: points_open: 0 of 83 used, 84 wanted, 1 too many"),
    ],
    ids=["codes", "points", "an hour", "open"],
)
def test_limits(invite: Invite, database: Database, limits: dict[str, int], words: str) -> None:
    """Limits hold for what is stored now, and the file is kept; they do not for what is stored."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, "admin_runtime", BEFORE)
    await_gone(database)
    over = {"limits": limits}
    with tapped(database.url("admin_runtime")) as (url, heard):
        way = {"INVITE_DATABASE_URL": url}
        done = invite("generate", "--resume", f"{path}.pending", env=way, settings=over)
        assert [] == [text for text in heard.statements() if "admin_create" in text]
    assert (9, 0) == (done.exit_code, stored(database))
    assert words in done.stderr
    recover(invite, database, path, "admin_runtime")
    path.unlink()
    clear(database)
    killed(invite, path, "admin_runtime", AFTER)
    done = invite("generate", "--resume", f"{path}.pending", settings=over)
    assert 0 == done.exit_code, done.stderr
    assert CODES == len(check(invite, database, path))


def test_passed_expiry(invite: Invite, database: Database) -> None:
    """A batch that would have expired meanwhile is not stored; its file is kept."""
    path = invite.folder / "codes.jsonl"
    now = database.value("select to_char(now() + '5 s', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
    command = line(CODES, 7, "--output", str(path), "--expires", now)
    assert -9 == invite(*command, env=armed(BEFORE)).exit_code
    until(lambda: bool(database.value("select now() > %s::timestamptz", [now])), "the expiry")
    done = resumed(invite, path, "admin_runtime")
    assert (2, 0, True) == (done.exit_code, stored(database), pending_of(path).exists())
    assert "has passed since" in done.stderr


@EITHER
@BOTH_WAYS
def test_final_file(invite: Invite, database: Database, login: str, arm: Arm) -> None:
    """Other content under FILE's name stays, and `--output OTHER` names another."""
    path, other = invite.folder / "codes.jsonl", invite.folder / "other.jsonl"
    killed(invite, path, login, arm)
    path.write_text("mine\n")
    done = resumed(invite, path, login)
    assert 1 == done.exit_code
    hint = f"hint: invite generate --resume {path}.pending --output OTHER"
    assert hint in done.stderr.splitlines()
    assert ("mine\n", True) == (path.read_text(), pending_of(path).exists())
    again = invite("generate", "--resume", f"{path}.pending", "--output", str(other), login=login)
    assert (0, False) == (again.exit_code, pending_of(path).exists())
    late = resumed(invite, path, login)
    hint = f"hint: {path} is there; a finished batch needs no --resume"
    assert (2, hint) == (late.exit_code, late.stderr.splitlines()[-1])
    path.unlink()
    assert CODES == len(check(invite, database, other))


@pytest.mark.parametrize("change", [lambda data: data + b"\n", lambda data: data[:-1]])
def test_nearly_the_same(
    invite: Invite, database: Database, change: Callable[[bytes], bytes]
) -> None:
    """A file that begins with the batch and goes on, or ends too early, is not the batch's."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, "admin_runtime", ("invite_admin.pending:remove", "before", "die"))
    whole = path.read_bytes()
    path.write_bytes(change(whole))
    done = resumed(invite, path, "admin_runtime")
    assert (1, change(whole)) == (done.exit_code, path.read_bytes())
    path.write_bytes(whole)
    recover(invite, database, path, "admin_runtime")
    assert not pending_of(path).exists()


def test_same_id_used_since(invite: Invite, database: Database) -> None:
    """A batch that another took the request id of is not told to be stored, nor stored."""
    path, since = invite.folder / "codes.jsonl", invite.folder / "since.jsonl"
    command = line(CODES, 7, "--request-id", "friday", "--output")
    assert -9 == invite(*command, str(path), env=armed(BEFORE)).exit_code
    await_gone(database)
    assert 0 == invite(*command, str(since)).exit_code
    done = resumed(invite, path, "admin_runtime")
    assert (4, False, True) == (done.exit_code, path.exists(), pending_of(path).exists())
    pending_of(path).unlink()
    assert CODES == len(check(invite, database, since))


@EITHER
def test_two_resumes(invite: Invite, database: Database, arm: Arm) -> None:
    """Of two resumes at once one settles the batch; the other is told so, and spoils nothing."""
    path = invite.folder / "codes.jsonl"
    for _ in range(times(4, 50)):
        with TALLY.one("two resumes at once"):
            killed(invite, path, "admin_runtime", arm)
            with ThreadPoolExecutor(2) as pool:
                calls = [pool.submit(resumed, invite, path, "admin_runtime") for _ in range(2)]
            ends = sorted(call.result().exit_code for call in calls)
            assert ends in ([0, 2], [0, 8])
            assert CODES == len(check(invite, database, path))
        clear(database, path)


@pytest.mark.parametrize("resumes", [False, True], ids=["generate", "resume"])
def test_in_the_hands_of_another(invite: Invite, database: Database, *, resumes: bool) -> None:
    """A batch whose command still runs is not taken from it."""
    path, go = invite.folder / "codes.jsonl", invite.home / "go"
    waits = ("invite_admin.files:publish", "before", f"wait for {go}")
    with ThreadPoolExecutor(1) as pool:
        if resumes:
            killed(invite, path, "admin_runtime", BEFORE)
            first = pool.submit(resumed, invite, path, "admin_runtime", waits)
        else:
            command = line(CODES, 7, "--output", str(path))
            first = pool.submit(invite, *command, env=armed(waits))
        until(lambda: stored(database) == CODES, "the batch")
        second = resumed(invite, path, "admin_runtime")
        go.touch()
        assert (0, 8) == (first.result().exit_code, second.exit_code)
    assert "belongs to another command that still runs" in second.stderr
    assert CODES == len(check(invite, database, path))


@BOTH_WAYS
def test_late_commit(invite: Invite, database: Database, login: str) -> None:
    """A resume waits for a COMMIT that is still on its way, instead of storing a second time."""
    path = invite.folder / "codes.jsonl"
    with lossy(database.url(login), Cut.LATE, 1.0) as wire, ThreadPoolExecutor(1) as pool:
        dies = ("invite_admin.settle:was_stored", "before", "die")
        url = {"INVITE_DATABASE_URL": wire.url, **armed(dies)}
        command = line(CODES, 7, "--output", str(path))
        first = pool.submit(invite, *command, login=login, env=url)
        assert -9 == first.result().exit_code
        assert 0 == stored(database)
        done = resumed(invite, path, login)
    assert 0 == done.exit_code, done.stderr
    assert "the batch is stored already" in done.stderr
    made = check(invite, database, path)
    assert CODES == len(made)
    assert {hash_of(code["code"]) for code in made} == set(hashes(database).values())
    assert json.loads(path.read_text().splitlines()[0])["points"] == 7


@pytest.mark.parametrize(
    ("since", "told"),
    [
        (
            "update public.redemption_codes set redeemed_at = now(), redeemed_by = id",
            f"{CODES} redeemed",
        ),
        ("delete from public.redemption_codes", f"{CODES} in the table no more"),
        (
            "delete from public.redemption_codes where ctid = '(0,1)'",
            "1 in the table no more",
        ),
        (
            "update public.redemption_codes set expires_at = now() - interval '1 s'",
            f"{CODES} expired",
        ),
    ],
    ids=["redeemed", "deleted", "one deleted", "expired"],
)
@BOTH_WAYS
def test_not_good_any_more(
    invite: Invite, database: Database, login: str, since: str, told: str
) -> None:
    """Codes that cannot be redeemed any more are not handed over as if they could."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, login, AFTER)
    database.execute(since)
    before = database.rows("select * from public.redemption_codes order by id")
    done = resumed(invite, path, login)
    if not before and database.step == 1:  # without an audit log they were never there
        assert (0, CODES) == (done.exit_code, len(check(invite, database, path)))
        return
    assert (4, False, True) == (done.exit_code, path.exists(), pending_of(path).exists())
    assert f"not all its codes are good any more: {told}; no file was made" in done.stderr
    assert before == database.rows("select * from public.redemption_codes order by id")


@pytest.mark.usefixtures("database")
def test_voided_with_its_file_made(invite: Invite) -> None:
    """Of a batch that was voided, a file that was made already is not called absent."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, "admin_runtime", ("invite_admin.pending:remove", "before", "die"))
    assert 0 == invite("revoke", "--points", "7", "--yes").exit_code
    done = resumed(invite, path, "admin_runtime")
    assert (4, True, True) == (done.exit_code, path.exists(), pending_of(path).exists())
    told = f"not all its codes are good any more: {CODES} revoked; {path} is there"
    assert told in failure(done)[0]


@BOTH_WAYS
def test_other_terms_since(invite: Invite, database: Database, login: str) -> None:
    """Where expiry or note were changed since, the file is made, and that is said."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, login, AFTER)
    change = "update public.redemption_codes set note = 'x' where id in (select id from {} limit 2)"
    database.execute(change.format("public.redemption_codes"))
    done = resumed(invite, path, login)
    assert (0, True) == (done.exit_code, path.exists()), done.stderr
    assert "2 codes got other terms since" in done.stderr
