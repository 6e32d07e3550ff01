"""`generate`, when COMMIT was sent and no answer came: it says so, and how to settle it."""

from __future__ import annotations

import shlex
import stat
from typing import TYPE_CHECKING

import pytest
from batches import BOTH_WAYS, hashes, line, stored
from databases import hash_of
from lossy import lossy

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite, Result

ARRIVES = pytest.mark.parametrize("arrives", [True, False], ids=["stored", "not stored"])


def lost(
    invite: Invite, database: Database, login: str, *more: str, arrives: bool
) -> tuple[Result, list[str]]:
    """Make 50 codes over the wire that breaks; return the result and the words of its hint."""
    with lossy(database.url(login), arrives=arrives) as url:
        done = invite(*line(50, 1, *more), login=login, env={"INVITE_DATABASE_URL": url})
    assert 10 == done.exit_code, done.stderr
    assert "invite: unknown: the connection was lost after COMMIT was sent" in done.stderr
    assert "Traceback" not in done.stderr
    [hint] = [text for text in done.stderr.splitlines() if text.startswith("hint: do not repeat")]
    return done, shlex.split(hint.partition("; see ")[2])


@ARRIVES
@BOTH_WAYS
def test_settled(invite: Invite, database: Database, login: str, *, arrives: bool) -> None:
    """The codes shown are neither called stored nor void; the command named tells which."""
    done, words = lost(invite, database, login, "--format", "json", arrives=arrives)
    shown = {hash_of(code["code"]) for code in done.json}
    assert (set(hashes(database).values()) or shown) == shown
    assert ("void" in done.stderr, "delivered and stored" in done.stderr) == (False, False)
    assert "invite" == words[0]
    rows = invite(*words[1:], "--format", "json", login=login).json
    assert (50 if arrives else 0) == stored(database) == len(rows)


@ARRIVES
def test_file_is_kept(invite: Invite, database: Database, *, arrives: bool) -> None:
    """The file is kept, for it may be the only place of codes that are live."""
    path = invite.folder / "codes.csv"
    lost(invite, database, "admin_runtime", "--output", str(path), arrives=arrives)
    assert 51 == len(path.read_text().splitlines())
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
