"""Files that a result goes to: new, of mode 0600, whole or absent, synced with their folder."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from invite_admin.codes import shown_path
from invite_admin.errors import NOTHING_CHANGED, BadInput, Failed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PENDING = ".pending"
OF_A_BATCH = re.compile(r".+\.pending(\.new)?|\..+\.new")
"""Names of files that `generate` keeps the codes of a batch in, and removes."""


class NewFile:
    """A file of mode 0600 that did not exist, synced with its folder.

    Args:
        path: Where.
        called: What messages call it; None for its name.

    Raises:
        BadInput: There is such a file already.
        Failed: Its folder cannot be written to, or no file can have that name.
    """

    terminal = False

    def __init__(self, path: Path, called: Path | None = None) -> None:
        self._path, self._called = path, called or path
        self._file: BinaryIO | None = None
        if taken(path):
            raise _exists(path)
        require_folder(path)

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
            raise _exists(self._called) from None
        except OSError as error:
            raise _failed(self._called, error.strerror) from None

    def flush(self) -> None:
        """Let whoever reads the file see what was written.

        Raises:
            Failed: It could not be written.
        """
        if self._file is not None and not self._file.closed:
            try:
                self._file.flush()
            except OSError as error:
                raise _failed(self._called, error.strerror) from None

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
            raise _failed(self._called, error.strerror) from None

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


def taken(path: Path) -> bool:
    """Tell whether something has this name, and be it a link to nothing.

    Raises:
        Failed: No file can have it; it is too long, say.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False
    except OSError as error:
        raise _failed(path, f"{error.strerror}; {NOTHING_CHANGED}") from None
    return True


def require_folder(path: Path) -> None:
    """Refuse before anything is sent a file in a folder that cannot be written to.

    Raises:
        Failed: There is no such folder, or no right to write there.
    """
    if _gone(path) or not os.path.isdir(path.parent):  # noqa: PTH112 - Path.is_dir raises, say without rights
        raise _failed(
            path,
            f"there is no such folder; {NOTHING_CHANGED}",
            hint="make the folder first, or name a file in another one",
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise _failed(path, f"no right to write in that folder; {NOTHING_CHANGED}")


def require_possible(*paths: Path) -> None:
    """Refuse before anything is sent the names that no file can have.

    Raises:
        Failed: One of them is too long, say.
    """
    for path in paths:
        taken(path)


def _gone(path: Path) -> bool:
    """Tell whether a path begins in a working folder that was removed."""
    try:
        path.absolute()
    except FileNotFoundError:
        return True
    return False


def _failed(path: Path, why: str | None, hint: str | None = None) -> Failed:
    return Failed(f"{shown_path(path)}: cannot be written: {why}", hint=hint)


def _exists(path: Path) -> BadInput:
    a_file = not path.is_symlink() and path.is_file()  # a device, say, is not to be moved away
    return BadInput(
        f"{shown_path(path)} exists already, and a result never overwrites "
        f"a file; {NOTHING_CHANGED}",
        hint="name another file, or move that one away"
        if a_file
        else "name a file that does not exist yet",
    )


class Compared:
    """Takes bytes as a new file does, and tells whether a file holds exactly these.

    Args:
        file: The file, open for reading.

    Attributes:
        same: Whether it did so far; after ``finish``, whether that is all of it.
    """

    terminal = False

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.same = file, True

    def write(self, data: bytes) -> None:
        """Compare some bytes."""
        self.same = self.same and self._file.read(len(data)) == data

    def flush(self) -> None:
        """Do nothing: what was compared is known."""

    def finish(self) -> None:
        """Find out whether the file goes on."""
        self.same = self.same and not self._file.read(1)

    def discard(self) -> None:
        """Do nothing: the file is somebody else's."""


def unfinished(path: Path) -> Path:
    """Return the name under which a file is written that is to be whole or absent."""
    return path.with_name(f".{path.name}.new")


def publish(path: Path, fill: Callable[[NewFile], None]) -> None:
    """Make a file that is whole or absent: written beside its name, then linked to it.

    Args:
        path: The file.
        fill: Writes it and finishes it.

    Raises:
        BadInput: There is such a file already.
        Failed: It cannot be written.
    """
    new = unfinished(path)
    try:
        new.unlink(missing_ok=True)
        file = NewFile(new, path)
        try:
            fill(file)
        except BaseException:
            file.discard()
            raise
        os.link(new, path)
        new.unlink()
        sync_folder(path.parent)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        raise _failed(path, error.strerror) from None
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that the names in it last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
