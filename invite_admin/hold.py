"""Keeps other commands from a pending file."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from invite_admin.codes import shown_path
from invite_admin.errors import NOTHING_CHANGED, BadInput, Busy
from invite_admin.files import NewFile

if TYPE_CHECKING:
    from pathlib import Path


A_READ = 1_048_576  # bytes


class Hold:
    """Keeps other commands from files until it is closed, or the process ends however."""

    def __init__(self) -> None:
        self._descriptors: list[int] = []

    def take(self, path: Path) -> int:
        """Take a file that is there, and return its descriptor, which is open until ``close``.

        Where the file system knows no locks, others are not kept from it.

        Raises:
            BadInput: It is a link or no ordinary file, cannot be read, or was removed meanwhile.
            Busy: Another command that still runs has it.
        """
        if path.is_symlink():
            raise BadInput(
                f"{shown_path(path)} is a link, and only the link would be removed; "
                f"{NOTHING_CHANGED}",
                hint=f"name the file itself: {shown_path(os.path.realpath(path))}"
                if path.is_file()
                else None,
            )
        try:
            # Not blocking, for a pipe that nobody writes would let the command wait for ever.
            flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(path, flags)
            self._descriptors.append(descriptor)
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise BadInput(f"{shown_path(path)} is no ordinary file; {NOTHING_CHANGED}")
            _lock(descriptor)
            gone = not os.path.samestat(os.fstat(descriptor), path.stat())
        except BlockingIOError:
            raise Busy(
                f"{shown_path(path)} belongs to another command that still runs; {NOTHING_CHANGED}",
                hint="wait for its end; it says what became of the batch",
            ) from None
        except OSError as error:
            raise BadInput(f"{shown_path(path)}: cannot be read: {error.strerror}") from None
        if gone:
            raise BadInput(f"{shown_path(path)} was settled by another command; {NOTHING_CHANGED}")
        return descriptor

    def restore(self, path: Path) -> None:
        """Write the file that was taken last anew, where its name leads to it no more.

        Raises:
            BadInput: Something else has the name.
            Failed: It cannot be written.
        """
        descriptor = self._descriptors[-1]
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return
        file, place = NewFile(path), 0
        while data := os.pread(descriptor, A_READ, place):
            file.write(data)
            place += len(data)
        file.finish()

    def close(self) -> None:
        """Let go."""
        while self._descriptors:
            os.close(self._descriptors.pop())


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}:
            raise
