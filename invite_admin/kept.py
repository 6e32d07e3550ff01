"""The lines of codes of a pending file, read piece by piece as often as need be.

All such lines are of one width, so that a piece is found without reading those before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from invite_admin.batch import Piece
from invite_admin.codes import GROUP, LENGTH, PREFIX, Secrets
from invite_admin.errors import Failed

if TYPE_CHECKING:
    from collections.abc import Iterator

A_READ = 5_000  # codes
_FORM = '{"id": "%s", "code": "%s"}\n'
_LINE = re.compile(
    re.escape(_FORM)
    % ("([0-9a-f-]{36})", rf"([A-Z]{{{len(PREFIX)}}}(?:-[A-Z0-9]{{{GROUP}}}){{2}})")
)
_WIDTH = len(_FORM % ("-" * 36, "-" * LENGTH))  # bytes


@dataclass
class Kept:
    """The codes of a pending file.

    Attributes:
        source: The file, or its open descriptor, which outlasts its name.
        start: Bytes before the first code.
        count: How many codes it has.
    """

    source: Path | int
    start: int
    count: int

    @property
    def size(self) -> int:
        """How many bytes they take."""
        return self.count * _WIDTH

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Piece]:
        """Read the codes, piece by piece.

        Raises:
            Failed: They cannot be read any more.
        """
        try:
            with open(self.source, "rb", closefd=isinstance(self.source, Path)) as file:
                yield from self.read(file)
        except (OSError, ValueError):
            raise Failed("the pending file cannot be read any more, or was changed") from None

    def read(self, file: BinaryIO) -> Iterator[Piece]:
        """Read the codes from the open file, piece by piece.

        Raises:
            ValueError: Something else stands there.
        """
        for first in range(0, self.count, A_READ):
            size = min(A_READ, self.count - first)
            file.seek(self.start + first * _WIDTH)
            found = _LINE.findall(file.read(size * _WIDTH).decode())
            if len(found) != size:
                raise ValueError(size)
            ids, codes = zip(*found, strict=True)
            yield Piece(ids, Secrets(codes))


def lines(piece: Piece) -> Iterator[bytes]:
    """Write the codes of a piece, one a line, in blocks of lines."""
    for start in range(0, len(piece.ids), A_READ):
        end = start + A_READ
        cells = zip(piece.ids[start:end], piece.codes[start:end], strict=True)
        yield "".join(map(_FORM.__mod__, cells)).encode()
