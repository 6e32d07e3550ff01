"""What is said where `--resume` cannot simply go on, and what there is to go on with."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from batches import BOTH_WAYS, hashes, line, stored
from databases import ACTOR
from faults.aftermath import (
    AFTER,
    BEFORE,
    BLIND,
    CODES,
    EITHER,
    Arm,
    armed,
    check,
    killed,
    pending_of,
    resumed,
)
from hostile import failure
from waiting import await_gone, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from databases import Database
    from tool import Invite, Result


def meanwhile(
    invite: Invite, database: Database, path: Path, meddle: Callable[[Path], object]
) -> Result:
    """Make a batch; once it is stored, and before it gets its file, somebody meddles."""
    go = invite.home / "go"
    waits = ("invite_admin.files:publish", "before", f"wait for {go}")
    with ThreadPoolExecutor(1) as pool:
        command = line(CODES, 7, "--output", str(path))
        running = pool.submit(invite, *command, env=armed(waits))
        until(lambda: stored(database) == CODES, "the batch")
        meddle(path)
        go.touch()
        return running.result()


def test_removed_meanwhile(invite: Invite, database: Database) -> None:
    """Where the file cannot be made, a pending file that was removed meanwhile is there again."""

    def meddle(path: Path) -> None:
        pending_of(path).unlink()
        path.mkdir()

    path, other = invite.folder / "codes.jsonl", invite.folder / "other.jsonl"
    done = meanwhile(invite, database, path, meddle)
    told, hint = failure(done)
    assert (1, 0o600) == (done.exit_code, pending_of(path).stat().st_mode & 0o777)
    assert told.startswith(f"failed: the codes are stored and lie in {path}.pending; {path} exists")
    resume = ["generate", "--resume", f"{path}.pending", "--output"]
    assert hint == f"hint: invite {' '.join(resume)} OTHER"
    again = invite(*resume, str(other))
    assert (0, False) == (again.exit_code, pending_of(path).exists()), again.stderr
    path.rmdir()
    assert CODES == len(check(invite, database, other))


def test_lost_meanwhile(invite: Invite, database: Database) -> None:
    """Where not even that can be written, it is not claimed; what voids the batch stands above."""

    def meddle(path: Path) -> None:
        pending_of(path).unlink()
        pending_of(path).mkdir()
        path.mkdir()

    path = invite.folder / "codes.jsonl"
    done = meanwhile(invite, database, path, meddle)
    told, hint = failure(done)
    assert 1 == done.exit_code
    assert told.startswith(f"failed: the codes are stored, and no file has them: {path} exists")
    assert told.endswith(f", and {path}.pending is gone and cannot be written again")
    assert str(hint).startswith("hint: their text is lost: void the batch by the command above")
    void = next(text for text in done.stderr.splitlines() if text.startswith("  invite revoke"))
    assert 0 == invite(*void.split()[1:], "--yes").exit_code


def test_no_folder_for_another_file(invite: Invite, database: Database) -> None:
    """It is refused before anything is sent, under the name that was given."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, "admin_runtime", BEFORE)
    await_gone(database)
    done = invite("generate", "--resume", str(pending_of(path)), "--output", "nowhere/o.jsonl")
    told = (
        "failed: nowhere/o.jsonl: cannot be written: there is no such folder; nothing was changed"
    )
    assert (1, 0, told) == (done.exit_code, stored(database), failure(done)[0])
    assert pending_of(path).exists()


def test_limits_of_a_batch_that_is_as_it_is(invite: Invite, database: Database) -> None:
    """Nobody can ask for less of it; where its codes are is said first."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, "admin_runtime", BEFORE)
    await_gone(database)
    after = "then resume it, or remove the pending file"
    above = "more than the limit itself, so raise it"
    by_batch = ("codes_per_batch", CODES - 1, "raise codes_per_batch of [limits] in the settings")
    open_now = ("points_open", 7 * CODES - 1, f"points_open: {above}")
    for name, most, hint in (by_batch, open_now):
        limits = {"limits": {name: most}}
        done = invite("generate", "--resume", str(pending_of(path)), settings=limits)
        assert 9 == done.exit_code
        assert f"the batch is not stored; its codes lie in {path}.pending" in done.stderr
        assert "storing exactly these codes now" not in done.stderr
        assert f"hint: {hint}; {after}" == failure(done)[1]


def test_when_there_is_room(invite: Invite, database: Database) -> None:
    """Where a batch will fit later, it is said when, as for a new one."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, "admin_runtime", BEFORE)
    await_gone(database)
    assert 0 == invite(*line(1, 7)).exit_code
    limits = {"limits": {"points_per_day": 7 * CODES}}
    done = invite("generate", "--resume", str(pending_of(path)), settings=limits)
    room = r"hint: points_per_day: room from \S+T\S+ on; then resume it, or remove the pending file"
    assert (9, 1) == (done.exit_code, stored(database))
    assert re.fullmatch(room, str(failure(done)[1])), done.stderr


def test_request_id_of_another_batch(invite: Invite, database: Database) -> None:
    """Where the hashes tell that nothing of it is stored, that is said, and what to do."""
    path = invite.folder / "codes.jsonl"
    command = line(CODES, 7, "--request-id", "friday", "--output")
    assert -9 == invite(*command, str(path), env=armed(BEFORE)).exit_code
    await_gone(database)
    assert 0 == invite(*line(3, 1, "--request-id", "friday")).exit_code
    before = hashes(database)
    done = resumed(invite, path, "admin_runtime")
    told = (
        "conflict: none of its codes is in the table, and another batch has its request id by now; "
        "nothing was changed"
    )
    assert (4, before, told) == (done.exit_code, hashes(database), failure(done)[0])
    lists, _, rest = str(failure(done)[1]).removeprefix("hint: invite ").partition(" shows that")
    assert 4 == len(invite(*lists.split()).stdout.splitlines())
    assert rest.startswith(" one; remove the pending file, and only if that is not what was wanted")


def test_the_result_is_named(invite: Invite, database: Database) -> None:
    """Who names the result, and not its pending file, is told which one there is."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, "admin_runtime", AFTER)
    done = invite("generate", "--resume", str(path))
    assert (2, CODES) == (done.exit_code, stored(database))
    assert f"bad input: {path} is not there; nothing was done" == failure(done)[0]
    assert f"hint: {path}.pending is there; that is the one to name" == failure(done)[1]
    pending_of(path).unlink()
    gone = failure(invite("generate", "--resume", str(path)))[1]
    assert str(gone).endswith(f"left neither {path}.pending nor {path} stored nothing")


@EITHER
def test_request_id_of_another_actor(invite: Invite, database: Database, arm: Arm) -> None:
    """Where another actor took the same id since, the command that voids goes by the time."""
    path, other = invite.folder / "codes.jsonl", "second@example.com"
    database.execute("insert into identity.users (email, role) values (%s, 'admin')", [other])
    command = line(CODES, 7, "--request-id", "friday", "--output", str(path))
    assert -9 == invite(*command, env=armed(arm)).exit_code
    await_gone(database)
    theirs = invite(*line(3, 1, "--request-id", "friday"), env={"INVITE_ACTOR": other})
    assert 0 == theirs.exit_code
    done = resumed(invite, path, "admin_runtime")
    [void] = [text for text in done.stderr.splitlines() if text.startswith("  invite revoke")]
    voided = invite(*void.split()[1:], "--yes", "--format", "json")
    assert (0, CODES) == (voided.exit_code, len(voided.json)), voided.stderr


@BOTH_WAYS
def test_a_copy_that_is_stale(invite: Invite, database: Database, login: str) -> None:
    """A copy of a pending file is no second batch, when another run stored its codes."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, login, BEFORE)
    await_gone(database)
    copy = pending_of(path).read_bytes()
    assert 0 == resumed(invite, path, login).exit_code
    pending_of(path).write_bytes(copy)
    before = hashes(database)
    done = resumed(invite, path, login)
    told, hint = failure(done)
    assert (4, before, copy) == (done.exit_code, hashes(database), pending_of(path).read_bytes())
    assert told.startswith(f"conflict: {CODES} of its {CODES} codes are in the table, and this")
    words = str(hint).removeprefix("hint: ").partition(" shows what is there")[0].split()
    listed = invite(*words[1:], login=login)
    assert (0, CODES + 1) == (listed.exit_code, len(listed.stdout.splitlines()))


@EITHER
@BOTH_WAYS
def test_not_whole(invite: Invite, database: Database, login: str, arm: Arm) -> None:
    """Of a file that was cut, the hint names what tells whether its codes are live."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, login, arm)
    await_gone(database)
    whole = pending_of(path).read_bytes()
    pending_of(path).write_bytes(whole[:-5])
    done = resumed(invite, path, login)
    told, hint = failure(done)
    refused = f"bad input: {path}.pending is no whole pending file; nothing was done"
    assert (2, refused) == (done.exit_code, told)
    where = f"hint: where that list, asked of database {database.name}, has none"
    assert str(hint).startswith(where)
    lists, voids = (line.strip() for line in done.stderr.splitlines() if line.startswith("  "))
    number = stored(database)
    listed = invite(*lists.split()[1:], login=login)
    assert (0, number + 1) == (listed.exit_code, len(listed.stdout.splitlines())), lists
    assert voids == lists.replace("list", "revoke", 1)
    if login == "admin_runtime" and number:
        assert 0 == invite(*voids.split()[1:], "--yes", login=login).exit_code
    assert f"a batch of {ACTOR}, on " in done.stderr
    assert f", database {database.name}; connect to that one, then look\n" in done.stderr


@pytest.mark.parametrize(
    ("left", "told"),
    [
        (lambda _whole: b"", "a run that was killed so early stored nothing: remove the file"),
        (lambda whole: whole.partition(b"\n")[2], "before you remove it, look whether its codes"),
        (lambda _whole: b"\xff" * 400, "before you remove it, look whether its codes"),
    ],
    ids=["empty", "without its head", "no text"],
)
def test_no_head(
    invite: Invite, database: Database, left: Callable[[bytes], bytes], told: str
) -> None:
    """Only an empty file is taken for one of a run that was killed early."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, "admin_runtime", AFTER)
    await_gone(database)
    pending_of(path).write_bytes(left(pending_of(path).read_bytes()))
    done = resumed(invite, path, "admin_runtime")
    hint = str(failure(done)[1])
    assert (2, CODES) == (done.exit_code, stored(database))
    assert hint.startswith(f"hint: {told}")
    assert "invite list --created-since 1d --format csv" in hint


def test_the_last_instant(invite: Invite, database: Database) -> None:
    """A file that was edited to a time after which there is none is damaged like any other."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, "admin_runtime", AFTER)
    text = pending_of(path).read_text()
    last = '"created_at": "9999-12-31T23:59:59.999999+00:00"'
    pending_of(path).write_text(re.sub(r'"created_at": "[^"]+"', last, text, count=1))
    done = resumed(invite, path, "admin_runtime")
    refused = f"bad input: {path}.pending was changed since it was written; nothing was done"
    assert (2, refused, CODES) == (done.exit_code, failure(done)[0], stored(database))


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("name", [".pending", "..pending", "...pending", "x/.pending"])
def test_no_name_at_all(invite: Invite, name: str) -> None:
    """A script's empty variable before the suffix is refused, in one line."""
    done = invite("generate", "--resume", name)
    refused = "bad input: --resume must name a file, and no folder"
    assert (2, refused) == (done.exit_code, failure(done)[0])


def test_whose_it_is(invite: Invite, database: Database) -> None:
    """Where no database is reached, it is said all the same of which one the batch is."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, "admin_runtime", BEFORE)
    (invite.folder / "other.toml").write_text("")
    done = invite("--config", "other.toml", "generate", "--resume", f"{path}.pending")
    assert 2 == done.exit_code
    assert done.stderr.startswith(f"a batch of {ACTOR}, on ")
    assert f", database {database.name}\ninvite: bad input: no actor is configured" in done.stderr


def test_nothing_can_be_told(invite: Invite, database: Database) -> None:
    """Where neither audit log nor hashes can be read, it is not guessed."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, "admin_runtime", AFTER)
    database.execute(BLIND)
    done = resumed(invite, path, "admin_runtime")
    told, hint = failure(done)
    assert (4, CODES) == (done.exit_code, stored(database))
    assert told.startswith("conflict: it cannot be told whether exactly this batch is in the table")
    words = str(hint).removeprefix("hint: ").partition(" shows ids")[0].split()
    assert 0 == invite(*words[1:]).exit_code
