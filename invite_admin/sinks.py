"""Where a result goes: standard output, or a file that must be new."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Protocol, TextIO

from invite_admin.codes import without_code
from invite_admin.errors import BadInput, Failed

if TYPE_CHECKING:
    from pathlib import Path


NOTHING = "nothing was changed"


class ReaderLeft(Exception):
    """The reader of standard output closed its end."""


class Sink(Protocol):
    """Takes the bytes of a result; delivered means taken by the operating system."""

    terminal: bool

    def write(self, data: bytes) -> None:
        """Take some bytes."""

    def finish(self) -> None:
        """Return once every byte was taken."""

    def discard(self) -> None:
        """Take back what can be taken back."""


class StandardOutput:
    """Standard output, whatever it is connected to.

    Args:
        stream: The binary stream.

    Attributes:
        terminal: Whether a person looks at it.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.terminal = stream.isatty()

    def write(self, data: bytes) -> None:
        """Take some bytes.

        Raises:
            ReaderLeft: The reader is gone.
            Failed: They could not be written.
        """
        self._guarded(lambda: self._stream.write(data))

    def finish(self) -> None:
        """Flush.

        Raises:
            ReaderLeft: The reader is gone.
            Failed: Not every byte could be written.
        """
        self._guarded(self._stream.flush)

    def discard(self) -> None:
        """Drop what no reader has taken yet: at exit, writing it might wait for one for ever."""
        give_up(sys.stdout)

    def _guarded(self, act: object) -> None:
        try:
            act()  # type: ignore[operator]
        except BrokenPipeError:
            give_up(sys.stdout)
            raise ReaderLeft from None
        except OSError as error:
            give_up(sys.stdout)
            raise Failed(f"the result could not be written: {error.strerror}") from None


class NewFile:
    """A file of mode 0600 that did not exist, synced with its folder.

    Args:
        path: Where.

    Raises:
        BadInput: There is such a file already.
        Failed: Its folder cannot be written to.
    """

    terminal = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        if os.path.lexists(path):
            raise self._exists()
        if not os.path.isdir(path.parent):  # noqa: PTH112 - Path.is_dir raises, say without rights
            raise self._failed(f"there is no such folder; {NOTHING}")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise self._failed(f"no right to write in that folder; {NOTHING}")

    def write(self, data: bytes) -> None:
        """Take some bytes; the first call makes the file.

        Raises:
            BadInput: A file of that name has appeared.
            Failed: They could not be written.
        """
        try:
            if self._file is None:
                self._file = self._open()
            self._file.write(data)
        except FileExistsError:
            raise self._exists() from None
        except OSError as error:
            raise self._failed(error.strerror) from None

    def finish(self) -> None:
        """Sync the file, then the folder that names it.

        Raises:
            Failed: They could not be synced.
        """
        self.write(b"")
        assert self._file is not None  # noqa: S101 - write has made it
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            _sync_folder(self._path.parent)
        except OSError as error:
            raise self._failed(error.strerror) from None

    def discard(self) -> None:
        """Remove the file, if this is what made it."""
        if self._file is not None:
            with suppress(OSError):
                self._path.unlink()
            with suppress(OSError):
                self._file.close()

    def _open(self) -> BinaryIO:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.fchmod(descriptor, 0o600)
        return os.fdopen(descriptor, "wb")

    def _failed(self, why: str | None) -> Failed:
        return Failed(f"{without_code(str(self._path))}: cannot be written: {why}")

    def _exists(self) -> BadInput:
        return BadInput(
            f"{without_code(str(self._path))} exists already, and a result never overwrites "
            f"a file; {NOTHING}",
            hint="name another file, or move that one away",
        )


def give_up(stream: TextIO) -> None:
    """Let the last flush of a broken stream go nowhere, so that it changes no exit status."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
