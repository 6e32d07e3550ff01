"""`generate --output FILE` where a disk has no room: before COMMIT, and after it."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING

import incall
from batches import BOTH_WAYS, check_paired, line, stored

if TYPE_CHECKING:
    import pytest
    from databases import Database
    from tool import Invite


@BOTH_WAYS
def test_no_room(
    invite: Invite, database: Database, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the disk does not take the batch nothing is stored, and no file is left."""
    path = invite.folder / "codes.jsonl"
    monkeypatch.setattr(os, "fsync", no_room)
    assert 1 == incall.call(invite, *line(5, 1, "--output", str(path)), login=login)
    assert ([], 0) == (list(invite.folder.glob("*codes*")), stored(database))


@BOTH_WAYS
def test_no_room_afterwards(
    invite: Invite,
    database: Database,
    login: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where the disk takes the batch and then not FILE, the codes are kept for `--resume`."""
    path = invite.folder / "codes.jsonl"
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: no_room(_) if stored(database) else None)
        assert 1 == incall.call(invite, *line(5, 1, "--output", str(path)), login=login)
    assert ["codes.jsonl.pending"] == [p.name for p in invite.folder.glob("*codes*")]
    assert (5, True) == (stored(database), "the codes are stored" in capsys.readouterr().err)
    assert 0 == incall.call(invite, "generate", "--resume", f"{path}.pending", login=login)
    check_paired(database, [json.loads(text) for text in path.read_text().splitlines()])
    assert ["codes.jsonl"] == [p.name for p in invite.folder.glob("*codes*")]


def no_room(_: int) -> None:
    """Refuse as a full disk does."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
