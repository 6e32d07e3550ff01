"""`generate --output FILE`: the batch lies in FILE.pending until COMMIT is known, then in FILE."""

from __future__ import annotations

import csv
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
from hostile import failure
from tool import Invite
from waiting import await_blocked

from invite_admin import pending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from databases import Database
    from tool import Result

THEIRS: Final = "somebody else's"
PATIENT: Final = {"timeouts": {"lock": 50}}
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


def appearing(invite: Invite, database: Database, login: str, path: Path) -> Result:
    """Make 5 codes into `codes.csv`; while the command waits, somebody makes a file of his own."""
    with ThreadPoolExecutor(1) as pool:
        with database.acting("superuser") as blocking:
            blocking.execute("lock table public.redemption_codes in share mode")
            command = line(5, 1, "--output", "codes.csv")
            running = pool.submit(invite, *command, login=login, settings=PATIENT)
            await_blocked(database, LOGINS.get(login, login))
            path.write_text(THEIRS)
        return running.result()


@BOTH_WAYS
def test_appearing(invite: Invite, database: Database, login: str) -> None:
    """A file that appears meanwhile is left alone; the codes are kept, and can be had elsewhere."""
    path = invite.folder / "codes.csv"
    done = appearing(invite, database, login, path)
    assert (1, 5, THEIRS) == (done.exit_code, stored(database), path.read_text())
    line, hint = failure(done)
    said = "failed: the codes are stored and lie in codes.csv.pending; codes.csv exists already"
    assert (said, False) == (line.partition(",")[0], "nothing was changed" in line)
    assert hint == "hint: invite generate --resume codes.csv.pending --output OTHER"
    resumed = invite(*hint.split()[2:-1], "other.csv", login=login)
    assert (0, THEIRS) == (resumed.exit_code, path.read_text()), resumed.stderr
    with (invite.folder / "other.csv").open(newline="") as made:
        check_paired(database, list(csv.DictReader(made)))
    assert not pending.beside(path).exists()


@BOTH_WAYS
def test_pending_appearing(invite: Invite, database: Database, login: str) -> None:
    """A pending file that appears meanwhile is another's batch: it stays, nothing is stored."""
    path = invite.folder / "codes.csv.pending"
    done = appearing(invite, database, login, path)
    check_nothing(database, done)
    assert [THEIRS] == [p.read_text() for p in invite.folder.glob("codes*")]


def test_pending_exists(invite: Invite, database: Database) -> None:
    """Where a pending file is, no new batch is begun; it names how to settle the old one."""
    path = invite.folder / "codes.csv.pending"
    path.write_text(THEIRS)
    done = invite(*line(5, 1, "--output", "codes.csv"))
    assert (2, 0, THEIRS) == (done.exit_code, stored(database), path.read_text())
    told, hint = failure(done)
    assert told.startswith("bad input: codes.csv.pending is there: a batch whose end is not known")
    assert hint == "hint: invite generate --resume codes.csv.pending"


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.write_text(THEIRS)])
def test_the_name_beside_it(
    invite: Invite, database: Database, make: Callable[[Path], object]
) -> None:
    """What has the name under which the result is written stays, and is named before anything."""
    path = invite.folder / ".codes.csv.new"
    make(path)
    done = invite(*line(5, 1, "--output", "codes.csv"))
    check_nothing(database, done, 2)
    told = ".codes.csv.new is there, as a run that was killed leaves it, with codes in it"
    assert done.stderr.startswith(f"invite: bad input: {told}"), "asked first"
    assert path.is_dir() or THEIRS == path.read_text()


@pytest.mark.parametrize(
    ("name", "warned"),
    [("f.xlsx", True), ("f.XLS", True), ("f.txt", False), ("f", False), ("f.CSV", False)],
)
@pytest.mark.usefixtures("database")
def test_a_suffix_that_no_format_has(invite: Invite, *, name: str, warned: bool) -> None:
    """Who wants a spreadsheet is told before that a table as plain text is written."""
    told = f"warning: {name} gets a table as plain text; csv and json are chosen by --format or by "
    for command in (line(2), ["list"]):
        done = invite(*command, "--output", name)
        assert (0, warned) == (done.exit_code, f"{told}the suffix" in done.stderr)
        (invite.folder / name).unlink()
    named = invite("list", "--output", name, "--format", "jsonl")
    assert (0, False) == (named.exit_code, "plain text" in named.stderr)


def test_no_folder(invite: Invite, database: Database) -> None:
    """A folder that is missing, or is none: nothing is stored, and no server is asked."""
    (invite.folder / "file").write_text("")
    for name in ("missing/codes.csv", "file/codes.csv"):
        done = invite(*line(5, 1, "--output", name))
        check_nothing(database, done)
        told = f"failed: {name}: cannot be written: there is no such folder; nothing was changed"
        hint = "hint: make the folder first, or name a file in another one"
        assert (told, hint) == failure(done)


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
    """The whole batch is synced with its folder before anything is stored; FILE comes after."""
    path = invite.folder / "codes.jsonl"
    synced: list[tuple[str, int, bool, bool, set[int]]] = []

    def fsync(number: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(number).st_mode) else "file"
        there = [pending.beside(path).exists(), path.exists()]
        modes = {stat.S_IMODE(p.stat().st_mode) for p in invite.folder.glob("*codes*")}
        if not synced:
            assert 5 == len(pending.read(pending.beside(path)).batch.codes)
        synced.append((kind, stored(database), *there, modes))  # type: ignore[arg-type]

    monkeypatch.setattr(os, "fsync", fsync)
    assert 0 == incall.call(invite, *line(5, 1, "--output", str(path)), login=login)
    assert {0o600} == set.union(*(mark[-1] for mark in synced))
    assert [
        ("file", 0, True, False),
        ("folder", 0, True, False),
        ("file", 5, True, False),
        ("folder", 5, True, False),
        ("folder", 5, True, True),
    ] == [mark[:-1] for mark in synced][:5]
    assert ["codes.jsonl"] == [p.name for p in invite.folder.glob("*codes*")]


@BOTH_WAYS
def test_removed(
    invite: Invite,
    database: Database,
    login: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where the connection is lost between delivery and COMMIT the pending file is gone again."""
    path = invite.folder / "codes.jsonl"
    written = []

    def fsync(_: int) -> None:
        written.append(pending.beside(path).stat().st_size)
        database.rows(TERMINATE)

    monkeypatch.setattr(os, "fsync", fsync)
    assert 7 == incall.call(invite, *line(5, 1, "--output", str(path)), login=login)
    assert (True, True) == (len(written) >= 2, all(written))
    assert ([], 0) == (list(invite.folder.glob("*codes*")), stored(database))
    told = capsys.readouterr()
    assert ("", True) == (told.out, "nothing was stored" in told.err)
    assert "codes shown" not in told.err
