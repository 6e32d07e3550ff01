"""`--log-file`: one JSON line a command for evidence, refused ones too, with no secret in it."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from batches import line, stored
from connecting import BRIEF
from databases import ACTOR, BANNED, hash_of, make_code
from leaks import Secrets
from lossy import Cut, lossy

if TYPE_CHECKING:
    from collections.abc import Callable

    from databases import Database
    from tool import Invite

PLACE: Final = ["server", "database"]
KEYS: Final = ["time", "actor", *PLACE, "command", "request_id", "counts", "exit", "outcome"]
LOG: Final = "evidence.jsonl"
ID: Final = "friday-1"
NOWHERE: Final = {"INVITE_DATABASE_URL": "postgresql://login:hunter2-Tr0ub4dor@127.0.0.1:1/db"}


def lines(invite: Invite) -> list[dict[str, Any]]:
    """Return what the log holds."""
    return [json.loads(text) for text in (invite.folder / LOG).read_text().splitlines()]


def last(invite: Invite) -> tuple[Any, ...]:
    """Return all of the last line but its time and place."""
    return tuple(lines(invite)[-1][key] for key in KEYS[1:] if key not in PLACE)


@pytest.mark.usefixtures("database")
def test_where_it_was(invite: Invite) -> None:
    """Each line names server and database as the command did; none where none was reached."""
    said = invite("--log-file", LOG, "check").stderr.splitlines()[0]
    assert 0 == invite("--log-file", LOG, *line()).exit_code
    for left in lines(invite):
        assert said.startswith(f"on {left['server']}, database {left['database']} (")
    invite("--log-file", LOG, *line(), env=NOWHERE, settings=BRIEF)
    assert dict.fromkeys(PLACE) == {key: lines(invite)[-1][key] for key in PLACE}


def test_what_each_command_leaves(invite: Invite, database: Database) -> None:
    """Who did what, under which request id, how much of it, and how it ended."""
    ids = [str(database.insert_code()) for _ in range(3)]
    missing = "00000000-0000-4000-8000-000000000000"
    expected = [
        (line(4, 1, "--request-id", ID), (ACTOR, "generate", ID, {"stored": 4}, 0, "ok")),
        (line(4, 1, "--request-id", ID), (ACTOR, "generate", ID, {}, 4, "conflict")),
        (line(2, 1, "--dry-run"), (ACTOR, "generate", None, {}, 0, "ok")),
        (["list"], (None, "list", None, {}, 0, "ok")),
        (["show", missing], (None, "show", None, {}, 3, "not found")),
        (["revoke", *ids], (None, "revoke", None, {}, 2, "bad input")),
        (["revoke", missing, "--yes"], (ACTOR, "revoke", None, {"not_found": 1}, 4, "conflict")),
        (["list", "--limit", "x"], (None, "list", None, {}, 2, "bad input")),
        (["lsit"], (None, None, None, {}, 2, "bad input")),
        (["--nonsense", "list"], (None, None, None, {}, 2, "bad input")),
        ([], (None, None, None, {}, 2, "bad input")),
    ]
    for command, left in expected:
        done = invite("--log-file", LOG, *command)
        assert (left[-2], left) == (done.exit_code, last(invite)), command
    assert len(expected) == len(lines(invite))
    assert [KEYS] * len(expected) == [list(line) for line in lines(invite)]
    now = datetime.now(UTC)
    ages = [now - datetime.fromisoformat(line["time"]) for line in lines(invite)]
    assert [True] * len(ages) == [timedelta(0) <= age < timedelta(hours=1) for age in ages]


def test_a_change(invite: Invite, database: Database) -> None:
    """Each outcome is counted; the request id is that of the audit log."""
    ids = [str(database.insert_code()) for _ in range(3)]
    database.execute(
        "update redemption_codes set revoked_at = now(), revoked_by = id where id = %s", ids[:1]
    )
    assert 4 == invite("--log-file", LOG, "revoke", *ids, "--yes").exit_code
    [audited] = database.rows("select distinct request_id from audit.admin_audit_logs")
    counts = {"revoked": 2, "already_revoked": 1}
    assert (ACTOR, "revoke", audited[0], counts, 4, "conflict") == last(invite)


def test_failures(invite: Invite, database: Database) -> None:
    """A server that is not there, an actor that is refused, a signal: each leaves its line."""
    invite("--log-file", LOG, *line(), env=NOWHERE, settings=BRIEF)
    assert ("generate", None, {}, 7, "unavailable") == last(invite)[1:]
    invite("--log-file", LOG, *line(), env={"INVITE_ACTOR": BANNED})
    assert ("generate", None, {}, 6, "denied") == last(invite)[1:]
    assert 0 == stored(database)


def test_an_outcome_that_is_not_known(invite: Invite, database: Database) -> None:
    """Where the answer to COMMIT is lost for good, the line has the id that settles it."""
    with lossy(database.url("admin_runtime"), Cut.ANSWER) as wire:
        env = {"INVITE_DATABASE_URL": wire.url}
        ids = [str(database.insert_code()) for _ in range(2)]
        done = invite("--log-file", LOG, "revoke", *ids, "--yes", env=env)
    [audited] = database.rows("select distinct request_id from audit.admin_audit_logs")
    assert (ACTOR, "revoke", audited[0], {}, 10, "unknown") == last(invite), done.stderr
    assert f"request id {audited[0]}" in done.stderr.splitlines()


def test_appended(invite: Invite) -> None:
    """Earlier lines stay; commands at once do not write into each other's line."""
    invite("--log-file", LOG, "stats")
    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(invite, "--log-file", LOG, "list") for _ in range(24)]
        assert [0] * 24 == [run.result().exit_code for run in runs]
    first, *rest = lines(invite)
    assert ("stats", ["list"] * 24) == (first["command"], [line["command"] for line in rest])


@pytest.mark.parametrize("umask", [0, 0o022, 0o777], ids=oct)
def test_mode(invite: Invite, umask: int) -> None:
    """A new log is its owner's alone; one that exists keeps its mode."""
    path = invite.folder / LOG
    for expected in (0o600, 0o640):
        assert 0 == invite("--log-file", LOG, "list", umask=umask).exit_code
        assert expected == stat.S_IMODE(path.stat().st_mode)
        path.chmod(0o640)


@pytest.mark.parametrize(
    "make",
    [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("no folder/log")],
    ids=["folder", "pipe without a reader", "link to nowhere"],
)
def test_that_cannot_be_opened(
    invite: Invite, database: Database, make: Callable[[Path], None]
) -> None:
    """Nothing is sent where no evidence could be kept."""
    make(invite.folder / LOG)
    done = invite("--log-file", LOG, *line())
    check_opened_first(done.stderr)
    assert (2, "", 0) == (done.exit_code, done.stdout, stored(database))


def check_opened_first(told: str) -> None:
    """Assert that one line was said, and no server named."""
    assert told.startswith(f"invite: bad input: the log {LOG} cannot be opened: ")
    assert told.endswith("; nothing was done\n")
    assert 1 == told.count("\n")


def test_that_cannot_be_written(invite: Invite, database: Database) -> None:
    """A line that cannot be written then is a warning; the outcome is the command's own."""
    done = invite("--log-file", "/dev/full", *line(4))
    assert (0, 4) == (done.exit_code, stored(database))
    assert "warning: the log /dev/full could not be written" in done.stderr
    refused = invite("--log-file", "/dev/full", "lsit")
    assert (2, True) == (refused.exit_code, "warning: the log" in refused.stderr)


def test_no_secret(invite: Invite, database: Database) -> None:
    """No code, hash, note, URL or password is in it, wherever one was typed."""
    codes = (make_code(), make_code())
    database.insert_code(codes[0])
    for command in (
        ["show", *codes],
        ["revoke", *codes, "--yes", "--note", codes[0]],
        ["revoke", *codes, "--yes"],
        [*line(), "--request-id", codes[0]],
        [codes[0]],
        ["--config", codes[0], "list"],
        ["list", f"--{codes[1]}"],
        ["list", "--search", hash_of(codes[0])],
    ):
        invite("--log-file", LOG, *command)
    invite("--log-file", LOG, "list", env=NOWHERE, settings=BRIEF)
    log = (invite.folder / LOG).read_bytes()
    assert 9 == len(log.splitlines())
    secrets = Secrets(codes, ("hunter2-Tr0ub4dor",))
    assert set() == secrets.seen({"log": log})
    assert b"postgresql:" not in log
    named = invite("--log-file", f"{codes[0]}/x", "list")
    assert (2, False) == (named.exit_code, codes[0] in named.stderr)
