"""`generate --output FILE` where a disk has no room: before COMMIT, and after it."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING

import incall
from batches import BOTH_WAYS, check_paired, line, stored

if TYPE_CHECKING:
    from pathlib import Path

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
    take_up(invite, database, path, login)


@BOTH_WAYS
def test_stopped_afterwards(
    invite: Invite,
    database: Database,
    login: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ctrl-C while FILE is made says where the codes lie, and what makes their file of them."""
    path = invite.folder / "codes.jsonl"

    def link(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", link)
        assert 130 == incall.call(invite, *line(5, 1, "--output", str(path)), login=login)
    kept = f"{path}.pending"
    told = f"the codes are stored and lie in {kept}; invite generate --resume {kept} makes their"
    last = capsys.readouterr().err.splitlines()[-1]
    assert (5, f"invite: stopped: stopped by Ctrl-C; {told} file") == (stored(database), last)
    take_up(invite, database, path, login)


@BOTH_WAYS
def test_no_links(
    invite: Invite,
    database: Database,
    login: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where the file system knows no links the codes are in the pending file, and only there."""
    path = invite.folder / "codes.jsonl"

    def link(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    assert 1 == incall.call(invite, *line(5, 1, "--output", str(path)), login=login)
    assert ["codes.jsonl.pending"] == [p.name for p in invite.folder.iterdir() if "codes" in p.name]
    said = capsys.readouterr().err
    assert (5, True, False) == (
        stored(database),
        "\nstored: 5 codes" in said,
        "delivered and stored" in said,
    )


def take_up(invite: Invite, database: Database, path: Path, login: str) -> None:
    """Take up the batch that was kept: its file is made, holds every code, and nothing else is."""
    assert 0 == incall.call(invite, "generate", "--resume", f"{path}.pending", login=login)
    check_paired(database, [json.loads(text) for text in path.read_text().splitlines()])
    assert ["codes.jsonl"] == [p.name for p in path.parent.glob("*codes*")]


def no_room(_: int) -> None:
    """Refuse as a full disk does."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
