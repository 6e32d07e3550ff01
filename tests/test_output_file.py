"""`generate --output`: a new file of mode 0600, on the disk before COMMIT, gone if that fails."""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

import incall
import pytest
from batches import BOTH_WAYS, ROOT, STRANGER, check_nothing, check_paired, line, stored
from databases import LOGINS
from tool import Invite
from waiting import await_blocked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from databases import Database

TERMINATE: Final = """
select pg_terminate_backend(pid, 10000) from pg_stat_activity
where datname = current_database() and application_name = 'invite'
"""


@pytest.mark.parametrize("umask", [0, 0o022, 0o777], ids=oct)
@pytest.mark.parametrize(
    ("name", "lines"), [("c.csv", 6), ("c.json", 7), ("c.jsonl", 5), ("c.md", 7), ("c", 7)]
)
def test_mode(invite: Invite, database: Database, name: str, lines: int, umask: int) -> None:
    """Whatever the umask, the file is its owner's alone; its suffix chooses the format."""
    path = invite.folder / name
    done = invite(*line(5, 1, "--output", name), umask=umask)
    assert (0, "") == (done.exit_code, done.stdout), done.stderr
    assert (0o600, 5) == (stat.S_IMODE(path.stat().st_mode), stored(database))
    assert lines == len(path.read_text().splitlines())


@BOTH_WAYS
def test_content(invite: Invite, database: Database, login: str) -> None:
    """The file holds the codes that were stored."""
    path = invite.folder / "a folder" / "codes.json"
    path.parent.mkdir()
    assert 0 == invite(*line(5, 1, "--output", str(path)), login=login).exit_code
    check_paired(database, json.loads(path.read_bytes()))


@pytest.fixture
def existing(invite: Invite, request: pytest.FixtureRequest) -> Path:
    """Something that has the name already: a file, a folder, a link to nothing, a pipe."""
    path = invite.folder / "codes"
    make: Callable[[Path], None] = request.param
    make(path)
    return path


@pytest.mark.parametrize(
    "existing",
    [
        lambda path: path.write_text("mine"),
        lambda path: path.mkdir(),
        lambda path: path.symlink_to("nowhere"),
        os.mkfifo,
    ],
    indirect=True,
    ids=["file", "folder", "link", "pipe"],
)
def test_existing(invite: Invite, database: Database, existing: Path) -> None:
    """What exists is left as it is."""
    before = existing.lstat()
    done = invite(*line(5, 1, "--output", str(existing)))
    check_nothing(database, done, 2)
    assert done.stderr.startswith(f"invite: bad input: {existing} exists already"), "asked first"
    after = existing.lstat()
    assert before == after
    assert not (invite.folder / "nowhere").exists()


@BOTH_WAYS
def test_appearing(invite: Invite, database: Database, login: str) -> None:
    """A file that appears while the tool waits for the database is not overwritten or removed."""
    path = invite.folder / "codes.csv"
    with ThreadPoolExecutor(1) as pool:
        with database.acting("superuser") as blocking:
            blocking.execute("lock table public.redemption_codes in share mode")
            running = pool.submit(
                invite, *line(5, 1, "--output", str(path)), login=login, settings=PATIENT
            )
            await_blocked(database, LOGINS.get(login, login))
            path.write_text("somebody else's")
        done = running.result()
    check_nothing(database, done, 2)
    assert ("somebody else's", True) == (path.read_text(), "exists already" in done.stderr)


PATIENT: Final = {"timeouts": {"lock": 50}}


def test_no_folder(invite: Invite, database: Database) -> None:
    """A folder that is missing, or is none: nothing is stored, and no server is asked."""
    (invite.folder / "file").write_text("")
    for name in ("missing/codes.csv", "file/codes.csv"):
        done = invite(*line(5, 1, "--output", name))
        check_nothing(database, done)
        told = f"invite: failed: {name}: cannot be written: there is no such folder"
        assert done.stderr.startswith(told)


@pytest.fixture
def stranger(invite: Invite) -> Iterator[Invite]:
    """The tool where every user can reach it, with a folder `closed` that none may write to."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for below in ("home", "closed"):
            (folder / below).mkdir()
        (folder / "closed").chmod(0o555)
        yield Invite(invite.database, folder, folder / "home", invite._forks)


def test_no_right(stranger: Invite, database: Database) -> None:
    """A folder that an ordinary user may not write to: nothing is stored, and it says so."""
    user = STRANGER if os.getuid() == ROOT else None
    done = stranger(*line(5, 1, "--output", "closed/codes.csv"), user=user)
    check_nothing(database, done)
    assert "no right to write in that folder" in done.stderr
    assert 0 == stranger(*line(5, 1), user=user).exit_code


@BOTH_WAYS
def test_synced(
    invite: Invite, database: Database, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file, complete, and its folder are synced while nothing is stored yet."""
    path = invite.folder / "codes.jsonl"
    synced = []

    def fsync(number: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(number).st_mode) else "file"
        synced.append((kind, len(path.read_text().splitlines()), stored(database)))

    monkeypatch.setattr(os, "fsync", fsync)
    assert 0 == incall.call(invite, *line(5, 1, "--output", str(path)), login=login)
    assert [("file", 5, 0), ("folder", 5, 0)] == synced
    assert 5 == stored(database)


@BOTH_WAYS
def test_removed(
    invite: Invite,
    database: Database,
    login: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where the connection is lost between delivery and COMMIT the file is gone again."""
    path = invite.folder / "codes.jsonl"
    written = []

    def fsync(_: int) -> None:
        written.append(path.stat().st_size)
        database.rows(TERMINATE)

    monkeypatch.setattr(os, "fsync", fsync)
    assert 7 == incall.call(invite, *line(5, 1, "--output", str(path)), login=login)
    assert (2, True) == (len(written), all(written))
    assert (False, 0) == (path.exists(), stored(database))
    told = capsys.readouterr()
    assert ("", True) == (told.out, "nothing was stored" in told.err)
    assert "codes shown" not in told.err


@BOTH_WAYS
def test_no_room(
    invite: Invite, database: Database, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the disk does not take the file it is gone again, and nothing is stored."""
    path = invite.folder / "codes.jsonl"

    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    assert 1 == incall.call(invite, *line(5, 1, "--output", str(path)), login=login)
    assert (False, 0) == (path.exists(), stored(database))
