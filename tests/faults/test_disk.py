"""Disks that are full or read-only, tried on real ones: small file systems in memory."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

import pytest
from batches import BOTH_WAYS, check_nothing, check_paired, line, stored
from databases import steps
from hostile import failure
from stock import make_many, revoked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from databases import Database
    from tool import Invite

PAGE: Final = 4_096
SIZE: Final = 16 * PAGE
ONCE: Final = 200
"""Codes of which ROOM holds the batch or the file, but not both."""
ROOM: Final = 6 * PAGE
MUCH: Final = 900
"""Codes that fit in no form."""
NO_SPACE: Final = "No space left on device"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of SIZE bytes; making one needs root's right to mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = [program("mount"), "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(folder)]
    done = subprocess.run(command, check=False, capture_output=True)
    if done.returncode:
        pytest.skip("*** NO RIGHT TO MOUNT: no full disk is tried ***")
    try:
        yield folder
    finally:
        subprocess.run([program("umount"), "--lazy", str(folder)], check=True)


def program(name: str) -> str:
    """Return where a program of the system is."""
    return shutil.which(name, path=f"{os.defpath}:/sbin:/usr/sbin") or name


def left(folder: Path) -> list[str]:
    """Return the names of all files in a folder."""
    return sorted(path.name for path in folder.iterdir())


@BOTH_WAYS
def test_no_room_for_the_batch(invite: Invite, database: Database, login: str, disk: Path) -> None:
    """Nothing is stored, and nothing is left on the disk."""
    done = invite(*line(MUCH, 1, "--output", str(disk / "codes.csv")), login=login)
    check_nothing(database, done)
    assert ([], True) == (left(disk), NO_SPACE in done.stderr)


@BOTH_WAYS
def test_room_for_the_batch_alone(
    invite: Invite, database: Database, login: str, disk: Path
) -> None:
    """The codes are stored and kept; with room again, `--resume` makes the file of them."""
    path = disk / "codes.csv"
    (disk / "ballast").write_bytes(bytes(SIZE - ROOM))
    done = invite(*line(ONCE, 1, "--output", str(path)), login=login)
    told, hint = failure(done)
    assert (1, ONCE, True) == (done.exit_code, stored(database), NO_SPACE in told)
    assert told.startswith(f"failed: the codes are stored and lie in {path}.pending; ")
    assert ["ballast", "codes.csv.pending"] == left(disk)
    assert hint == f"hint: invite generate --resume {path}.pending"
    elsewhere = ("--output", str(disk / "other.csv"))
    told, hint = failure(invite("generate", "--resume", f"{path}.pending", *elsewhere, login=login))
    assert f"; {disk / 'other.csv'}: cannot be written: {NO_SPACE}" in told
    assert hint == f"hint: invite generate --resume {path}.pending {' '.join(elsewhere)}"
    (disk / "ballast").unlink()
    again = invite("generate", "--resume", f"{path}.pending", login=login)
    assert (0, ["codes.csv"]) == (again.exit_code, left(disk)), again.stderr
    with path.open(newline="") as made:
        check_paired(database, list(csv.DictReader(made)))


def test_output_on_a_full_disk(invite: Invite, database: Database, disk: Path) -> None:
    """Standard output that is a file on a full disk: nothing is stored."""
    with (disk / "codes.csv").open("wb") as full:
        done = invite(*line(MUCH, 1, "--format", "csv"), stdout=full.fileno())
    check_nothing(database, done)
    assert (True, True) == (NO_SPACE in done.stderr, "codes shown are void" in done.stderr)


def test_list_on_a_full_disk(invite: Invite, disk: Path) -> None:
    """A list that does not fit is no file at all."""
    assert 0 == invite(*line(MUCH, 1)).exit_code
    done = invite("list", "--output", str(disk / "list.json"))
    assert (1, []) == (done.exit_code, left(disk))
    assert NO_SPACE in failure(done)[0]


def test_change_told_to_a_full_disk(invite: Invite, database: Database, disk: Path) -> None:
    """A change whose report does not fit is true all the same, and it says so."""
    assert 0 == invite(*line(MUCH, 1)).exit_code
    done = invite("revoke", "--points", "1", "--yes", "--output", str(disk / "list.json"))
    assert (1, [], MUCH) == (done.exit_code, left(disk), len(revoked(database)))
    told = failure(done)[0]
    assert told.startswith("failed: the changes are stored; the result could not be written")


@steps(2)
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_no_room_for_what_became_of_codes(
    invite: Invite, database: Database, disk: Path, form: str
) -> None:
    """Where the outcomes of many codes cannot be kept until COMMIT, nothing is changed."""
    make_many(database, 20_000)
    command = ("revoke", "--note", "many", "--yes", "--format", form)
    done = invite(*command, login="owner", env={"TMPDIR": str(disk)})
    assert (1, "", set(), []) == (done.exit_code, done.stdout, revoked(database), left(disk))
    told, hint = failure(done)
    assert f"failed: the temporary folder cannot be written to: {NO_SPACE}; nothing was" in told
    assert "hint: TMPDIR names another folder" == hint


def log_of(invite: Invite, disk: Path, size: int) -> Path:
    """Make a log of one line that takes this many bytes."""
    log = disk / "log"
    assert 0 == invite("--log-file", str(log), "check").exit_code
    record = log.read_bytes().removesuffix(b"}\n")
    log.write_bytes(record.ljust(size - 2) + b"}\n")
    return log


def test_log_on_a_full_disk(invite: Invite, database: Database, disk: Path) -> None:
    """A line of the log that cannot be written is a warning; the command's outcome stands."""
    log = log_of(invite, disk, PAGE)
    (disk / "ballast").write_bytes(bytes(SIZE - PAGE))
    done = invite("--log-file", str(log), *line(3))
    assert (0, 3) == (done.exit_code, stored(database)), done.stderr
    assert f"warning: the log {log} could not be written; this line is missing" in done.stderr
    assert PAGE == log.stat().st_size


def test_log_that_takes_half_a_line(invite: Invite, disk: Path) -> None:
    """A line that was written in part spoils only itself: the next one begins on its own."""
    log = log_of(invite, disk, PAGE - 10)
    (disk / "ballast").write_bytes(bytes(SIZE - PAGE))
    torn = invite("--log-file", str(log), "list")
    assert (0, True, PAGE) == (torn.exit_code, "could not be" in torn.stderr, log.stat().st_size)
    (disk / "ballast").unlink()
    assert 0 == invite("--log-file", str(log), "stats").exit_code
    first, half, whole = log.read_text().splitlines()
    assert (10, "stats") == (len(half), json.loads(whole)["command"])
    assert "check" == json.loads(first)["command"]


@BOTH_WAYS
def test_read_only_disk(invite: Invite, database: Database, login: str, disk: Path) -> None:
    """A folder that nobody can write to, not even root: found before a server is asked."""
    subprocess.run([program("mount"), "-o", "remount,ro", str(disk)], check=True)
    done = invite(*line(5, 1, "--output", str(disk / "codes.csv")), login=login)
    check_nothing(database, done)
    assert 1 == done.stderr.count("\n"), "no server is named"
    logged = invite("--log-file", str(disk / "log"), *line(5), login=login)
    assert (2, 0, "") == (logged.exit_code, stored(database), logged.stdout)
    assert 1 == logged.stderr.count("\n")
    assert "Read-only file system; nothing was done" in logged.stderr
