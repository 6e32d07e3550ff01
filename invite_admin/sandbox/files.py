"""Folders, private files and the lock, made alike whatever the umask is."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from invite_admin.errors import Busy, Failed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
ELSEWHERE = "it lies in the home folder, or in the one that XDG_DATA_HOME names"
POLL = 0.05  # seconds between two looks while waiting


@contextmanager
def told(what: str, hint: str | None = None) -> Iterator[None]:
    """Turn what the system refuses into one line, and say what may help.

    Raises:
        Failed: The system refused something, or a program did not end in time.
    """
    try:
        yield
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{what}: no end after {error.timeout:.0f} s") from None
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        why = error.strerror or type(error).__name__
        raise Failed(f"{what}: {why}{place}", hint=hint) from None


def make_folder(path: Path, mode: int = PRIVATE_FOLDER) -> None:
    """Make a folder and the parents it lacks, each with exactly this mode.

    A folder that exists keeps its mode and owner.

    Raises:
        OSError: The folder cannot be made, or something else has its name.
    """
    if path.is_dir():
        return
    make_folder(path.parent, mode)
    try:
        path.mkdir(mode)
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        path.chmod(mode)


def write_file(path: Path, text: str, mode: int = PRIVATE_FILE) -> None:
    """Put a file in place whole: a reader sees the old text or the new, and never another mode.

    Raises:
        Failed: The file cannot be written.
    """
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    with told(f"the sandbox's file {path.name} cannot be written"):
        beside.unlink(missing_ok=True)
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), mode)
        beside.replace(path)


def read_file(path: Path) -> str | None:
    """Return the file's text, or None where there is none.

    Raises:
        Failed: The file cannot be read.
    """
    with told(f"the sandbox's file {path.name} cannot be read"):
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, NotADirectoryError):
            return None


def open_private(path: Path, flags: int = 0) -> int:
    """Return a descriptor of a private file, made if missing; whoever opens it closes it.

    Raises:
        OSError: The file cannot be made or opened.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | flags, PRIVATE_FILE)
    os.fchmod(descriptor, PRIVATE_FILE)
    return descriptor


def take(descriptor: int, seconds: float, *, shared: bool = False) -> bool:
    """Take a lock within this many seconds (0: try once); False when somebody keeps it.

    The lock belongs to the open file: it ends when the last process holding the descriptor does,
    however that ends.

    Raises:
        OSError: The file system has no locks.
    """
    import fcntl  # noqa: PLC0415 - not on Windows, where the sandbox can only say that it is none

    operation = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(POLL)
        else:
            return True


def wait_for(descriptor: int, seconds: float, say: Callable[[str], None]) -> None:
    """Take a lock for oneself; say so before waiting for another command.

    Args:
        descriptor: The open lock file; closing it gives the lock back.
        seconds: How long to wait at most.
        say: Told once, when there is something to wait for.

    Raises:
        Busy: Another command kept the lock for all this time.
        OSError: The file system has no locks.
    """
    if take(descriptor, 0):
        return
    say(f"waiting for another command that prepares the sandbox, at most {seconds:.0f} s")
    if not take(descriptor, seconds):
        raise Busy(
            "another command has been preparing the sandbox for too long",
            hint="end that command, then repeat this one",
        )
