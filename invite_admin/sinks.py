"""Where a result goes: standard output, or a file that must be new."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Protocol

from invite_admin.codes import without_code
from invite_admin.errors import BadInput, Failed

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType


NOTHING = "nothing was changed"
A_WRITE = 4_096  # bytes, which a pipe takes as a whole
HELD_BACK = 65_536  # bytes gathered before they are written


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


class _Stalled(Exception):
    """The reader took nothing for as long as it may."""


class StandardOutput:
    """Standard output, whatever it is connected to.

    Args:
        stream: The binary stream.
        patience: Seconds in which a reader must take something.

    Attributes:
        terminal: Whether a person looks at it.
    """

    def __init__(self, stream: BinaryIO, patience: float) -> None:
        self._descriptor = stream.fileno()
        self._patience = patience
        self._waiting = bytearray()
        self.terminal = stream.isatty()

    def write(self, data: bytes) -> None:
        """Take some bytes.

        Raises:
            ReaderLeft: The reader is gone.
            Failed: They could not be written.
        """
        self._waiting += data
        if len(self._waiting) >= HELD_BACK:
            self.finish()

    def finish(self) -> None:
        """Return once every byte was taken.

        Raises:
            ReaderLeft: The reader is gone.
            Failed: Not every byte could be written, or the reader took nothing for too long.
        """
        try:
            with memoryview(bytes(self._waiting)) as rest:
                self._waiting.clear()
                done = 0
                while done < len(rest):
                    done += self._give(rest[done : done + A_WRITE])
        except BrokenPipeError:
            raise ReaderLeft from None
        except OSError as error:
            raise Failed(f"the result could not be written: {error.strerror}") from None
        except _Stalled:
            raise Failed(
                f"the reader of standard output took nothing for {self._patience:g} s; "
                "the result is incomplete",
                hint="[timeouts] idle in the settings is the bound",
            ) from None

    def discard(self) -> None:
        """Do nothing: what a reader has taken cannot be taken back."""

    def _give(self, piece: memoryview) -> int:
        """Write one piece, for as long as the reader may let it wait."""
        before = signal.signal(signal.SIGALRM, _stalled)
        signal.setitimer(signal.ITIMER_REAL, self._patience)
        try:
            return os.write(self._descriptor, piece)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _stalled(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's signature
    raise _Stalled


def silence() -> None:
    """Let the interpreter's last flush of standard output go nowhere, so that it raises nothing."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


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
            raise _exists(path)
        if not os.path.isdir(path.parent):  # noqa: PTH112 - Path.is_dir raises, say without rights
            raise _failed(self._path, f"there is no such folder; {NOTHING}")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise _failed(self._path, f"no right to write in that folder; {NOTHING}")

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
            raise _exists(self._path) from None
        except OSError as error:
            raise _failed(self._path, error.strerror) from None

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
            sync_folder(self._path.parent)
        except OSError as error:
            raise _failed(self._path, error.strerror) from None

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


def _failed(path: Path, why: str | None) -> Failed:
    return Failed(f"{without_code(str(path))}: cannot be written: {why}")


def _exists(path: Path) -> BadInput:
    return BadInput(
        f"{without_code(str(path))} exists already, and a result never overwrites "
        f"a file; {NOTHING}",
        hint="name another file, or move that one away",
    )


def write_new(path: Path, data: bytes) -> None:
    """Make a file of mode 0600 that holds exactly this, synced with its folder.

    Raises:
        BadInput: There is such a file already.
        Failed: It cannot be written; then there is none.
    """
    file = NewFile(path)
    try:
        file.write(data)
        file.finish()
    except BaseException:
        file.discard()
        raise


def publish(path: Path, data: bytes) -> None:
    """Make a file that is whole or absent: written beside its name, then linked to it.

    Raises:
        BadInput: There is such a file already.
        Failed: It cannot be written.
    """
    new = path.with_name(f".{path.name}.new")
    try:
        new.unlink(missing_ok=True)
        write_new(new, data)
        os.link(new, path)
        new.unlink()
        sync_folder(path.parent)
    except FileExistsError:
        new.unlink(missing_ok=True)
        raise _exists(path) from None
    except OSError as error:
        raise _failed(path, error.strerror) from None


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that the names in it last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
