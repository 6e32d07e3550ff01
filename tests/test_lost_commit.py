"""The answer to COMMIT is lost: the tool finds out what is true, says so, and how to settle it."""

from __future__ import annotations

import shlex
import signal
from math import inf
from typing import TYPE_CHECKING

import pytest
from batches import BOTH_WAYS, check_paired, line, stored
from faults.aftermath import blind, pending_of
from incall import call
from lossy import Cut, lossy
from tool import TIMEOUT
from waiting import await_gone, read_until

from invite_admin import settle
from invite_admin.cli import run

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

ARRIVES = pytest.mark.parametrize("cut", [Cut.ANSWER, Cut.COMMIT], ids=["stored", "not stored"])
SHORT = {"timeouts": {"connect": 1}}
HINTS = {
    True: "hint: do not repeat it; run invite generate --resume",
    False: "hint: do not repeat it; the codes shown are good once this lists them; run invite list",
}
"""What settles an outcome that is not known, by whether a file was asked for."""


@ARRIVES
@BOTH_WAYS
def test_output(invite: Invite, database: Database, login: str, cut: Cut) -> None:
    """The codes shown are called stored, exit 0, or void, exit 1, as they are."""
    with lossy(database.url(login), cut) as wire:
        url = {"INVITE_DATABASE_URL": wire.url}
        done = invite(*line(50, 1, "--format", "json"), login=login, env=url)
    is_stored = cut is Cut.ANSWER
    assert (0 if is_stored else 1, 50 if is_stored else 0) == (done.exit_code, stored(database))
    assert 50 == len(done.json)
    assert "no answer to COMMIT; looking whether the batch is there, at most 60 s" in done.stderr
    assert is_stored == ("delivered and stored" in done.stderr)
    assert is_stored != ("nothing was stored; the codes shown are void" in done.stderr)
    if is_stored:
        check_paired(database, done.json)


@ARRIVES
@BOTH_WAYS
def test_file(invite: Invite, database: Database, login: str, cut: Cut) -> None:
    """The file is there where the batch is stored; else neither it nor a pending file."""
    path = invite.folder / "codes.json"
    with lossy(database.url(login), cut) as wire:
        url = {"INVITE_DATABASE_URL": wire.url}
        done = invite(*line(50, 1, "--output", str(path)), login=login, env=url)
    is_stored = cut is Cut.ANSWER
    left = {entry.name for entry in invite.folder.iterdir()} - {"invite.toml"}
    assert (int(not is_stored), 50 * is_stored) == (done.exit_code, stored(database))
    assert ({"codes.json"} if is_stored else set()) == left
    assert is_stored != ("did not happen; nothing was stored" in done.stderr)


@ARRIVES
def test_second_look(invite: Invite, database: Database, cut: Cut) -> None:
    """A look that is cut off as well is made again, until one can tell."""
    with lossy(database.url("admin_runtime"), cut, refuses=3) as wire:
        done = invite(*line(50, 1), env={"INVITE_DATABASE_URL": wire.url})
    is_stored = cut is Cut.ANSWER
    assert (int(not is_stored), 50 * is_stored) == (done.exit_code, stored(database)), done.stderr
    assert 3 == done.stderr.count("trying again in")
    assert "nothing was changed" not in done.stderr  # what a look cannot know


@ARRIVES
def test_hidden_rows(invite: Invite, database: Database, cut: Cut) -> None:
    """Rows that may be hidden are not taken to be absent: the transaction's fate is asked for."""
    blind(database)
    path = invite.folder / "codes.json"
    with lossy(database.url("admin_runtime"), cut) as wire:
        url = {"INVITE_DATABASE_URL": wire.url}
        done = invite(*line(50, 1, "--output", str(path)), env=url)
    is_stored = cut is Cut.ANSWER
    assert (int(not is_stored), 50 * is_stored) == (done.exit_code, stored(database)), done.stderr
    assert (is_stored, False) == (path.exists(), pending_of(path).exists())


def test_a_commit_that_hangs(
    invite: Invite,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """As one on a standby that does not answer: its lock is waited for in vain, and exit 10."""
    path = invite.folder / "codes.json"
    monkeypatch.setattr(settle, "REACH", 3)
    with lossy(database.url("admin_runtime"), Cut.LATE, 8) as wire:
        env = {"INVITE_DATABASE_URL": wire.url}
        log = ("--log-file", "log")
        assert 10 == call(invite, *log, *line(9, 1, "--output", str(path)), env=env)
    said = capfd.readouterr().err.splitlines()
    assert "invite: unknown: COMMIT was sent and no answer came" in said[-2]
    assert f"hint: do not repeat it; run invite generate --resume {path}.pending" == said[-1]
    assert '"exit": 10' in (invite.folder / "log").read_text()
    await_gone(database)
    assert 0 == invite("generate", "--resume", str(pending_of(path))).exit_code
    assert (9, True) == (stored(database), path.exists())


@pytest.mark.parametrize("to_file", [True, False], ids=["file", "output"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_stopped_while_it_looks(
    invite: Invite, database: Database, number: int, code: int, *, to_file: bool
) -> None:
    """Who does not wait for the verdict is told what settles it."""
    path = invite.folder / "codes.json"
    where = ("--output", str(path)) if to_file else ("--format", "json")
    with lossy(database.url("admin_runtime"), Cut.LATE, 6) as wire:
        url = {"INVITE_DATABASE_URL": wire.url}
        with invite.start(*line(9, 1, *where), env=url) as process:
            assert process.stderr is not None
            read_until(process.stderr.fileno(), b"waiting for it, at most")
            process.send_signal(number)
            _, said = process.communicate(timeout=TIMEOUT)
    told, hint = said.decode().splitlines()[-2:]
    assert code == process.returncode
    assert told.startswith("invite: stopped: stopped by ")
    assert told.endswith("; whether the batch was stored is not known")
    await_gone(database)
    words = shlex.split(hint.partition("; run ")[2])
    assert hint.startswith(HINTS[to_file])
    assert (to_file, not to_file) == ("--resume" in words, "--created-since" in words)
    settled = invite(*words[1:], *(() if to_file else ("--format", "json")))
    assert (0, 9) == (settled.exit_code, stored(database)), settled.stderr
    assert path.exists() if to_file else 9 == len(settled.json)


@ARRIVES
@pytest.mark.parametrize("to_file", [True, False], ids=["file", "output"])
def test_unreachable(
    invite: Invite,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    cut: Cut,
    *,
    to_file: bool,
) -> None:
    """A server that stays away leaves it open: exit 10, and the command named settles it."""
    path = invite.folder / "codes.json"
    where = ("--output", str(path)) if to_file else ("--format", "json")
    monkeypatch.setattr(settle, "REACH", 1)
    for name, value in invite.prepare(settings=SHORT).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(invite.folder)
    with lossy(database.url("admin_runtime"), cut, refuses=inf) as wire:
        monkeypatch.setenv("INVITE_DATABASE_URL", wire.url)
        assert 10 == run(line(50, 1, *where))
    said = capfd.readouterr().err
    assert "invite: unknown: COMMIT was sent and no answer came" in said
    assert ("void" in said, "delivered and stored" in said) == (False, False)
    [hint] = [text for text in said.splitlines() if text.startswith(HINTS[to_file])]
    words = shlex.split(hint.partition("; run ")[2])
    is_stored = cut is Cut.ANSWER
    assert 50 * is_stored == stored(database)
    settled = invite(*words[1:], *(() if to_file else ("--format", "json")))
    if to_file:
        assert ["invite", "generate", "--resume", f"{path}.pending"] == words
        assert (0, True) == (settled.exit_code, path.exists())
        assert 50 == stored(database)
    else:
        assert 50 * is_stored == len(settled.json)
