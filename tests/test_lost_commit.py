"""The answer to COMMIT is lost: the tool finds out what is true, says so, and how to settle it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest
from batches import BOTH_WAYS, check_paired, line, stored
from lossy import Cut, lossy

from invite_admin import settle
from invite_admin.cli import run

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

ARRIVES = pytest.mark.parametrize("cut", [Cut.ANSWER, Cut.COMMIT], ids=["stored", "not stored"])
SHORT = {"timeouts": {"connect": 1}}


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
    with lossy(database.url("admin_runtime"), cut, again=False) as wire:
        monkeypatch.setenv("INVITE_DATABASE_URL", wire.url)
        assert 10 == run(line(50, 1, *where))
    said = capfd.readouterr().err
    assert "invite: unknown: COMMIT was sent and no answer came" in said
    assert ("void" in said, "delivered and stored" in said) == (False, False)
    [hint] = [text for text in said.splitlines() if text.startswith("hint: do not repeat it; run")]
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
