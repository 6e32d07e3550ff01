"""Writes a pending file while the codes are stored, so that a batch of any size takes no memory."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from invite_admin.codes import shown_path
from invite_admin.errors import Failed
from invite_admin.files import NewFile, sync_folder
from invite_admin.kept import Kept, lines
from invite_admin.pending import end_line, head_line, renewed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from invite_admin.batch import Piece
    from invite_admin.hold import Hold
    from invite_admin.pending import Pending

HELD_BACK = 1_048_576  # bytes gathered before they are written


class Draft:
    """A pending file that is being written; a small batch is written once it is whole.

    Args:
        path: The pending file.
        pending: What it is to hold, the codes to come.
        hold: Keeps other commands from the file as soon as there is one.
        replaces: Whether there is one already, which stays until this one is whole.

    Raises:
        BadInput: There is such a file, and it is not to be replaced.
        Failed: The folder cannot be written to.
    """

    def __init__(self, path: Path, pending: Pending, hold: Hold, *, replaces: bool = False) -> None:
        self._path, self._hold, self._replaces = path, hold, replaces
        self._at = renewed(path) if replaces else path
        if replaces:
            with suppress(OSError):
                self._at.unlink()
        self._file = NewFile(self._at)
        self._waiting, self._digest = bytearray(), hashlib.sha256()
        head = head_line(pending)
        self._codes = Kept(self._at, len(head), 0)
        self._take(head)

    def __len__(self) -> int:
        return len(self._codes)

    def __iter__(self) -> Iterator[Piece]:
        self._drain()
        self._file.flush()
        return iter(self._codes)

    def add(self, piece: Piece) -> None:
        """Write the codes of a piece that was stored.

        Raises:
            BadInput: A pending file has appeared.
            Failed: They cannot be written.
        """
        for block in lines(piece):
            self._take(block)
            if len(self._waiting) >= HELD_BACK:
                self._drain()
        self._codes.count += len(piece.ids)

    def finish(self) -> None:
        """End the file, and sync it with its folder.

        Raises:
            BadInput: A pending file has appeared.
            Failed: It cannot be written.
        """
        self._take(end_line(self._digest.hexdigest(), len(self)))
        self._drain()
        self._file.finish()
        if self._replaces:
            try:
                self._at.replace(self._path)
                sync_folder(self._path.parent)
            except OSError as error:
                shown = shown_path(self._path)
                raise Failed(f"{shown}: cannot be written: {error.strerror}") from None

    def discard(self) -> None:
        """Remove the file, if this is what made it; what was to be replaced stays."""
        self._file.discard()
        with suppress(OSError):
            sync_folder(self._path.parent)

    def _take(self, data: bytes) -> None:
        self._digest.update(data)
        self._waiting += data

    def _drain(self) -> None:
        if self._waiting:
            self._file.write(bytes(self._waiting))
            self._waiting.clear()
        if isinstance(self._codes.source, Path):
            self._codes.source = self._hold.take(self._at)
