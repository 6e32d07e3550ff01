"""Many codes at once: one streamed COPY, which takes rows about as fast as the server stores them.

Texts are built in blocks, so that the server works on one while the next is made.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from invite_admin.codes import digests, filled, masks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from invite_admin.batch import Terms
    from invite_admin.codes import Secrets
    from invite_admin.session import Session

A_BLOCK = 1_000  # rows, about 180 KB
SUMMED = 12  # hex digits of a hash that a checksum counts
_COLUMNS = "id, code_hash, code_mask, credits, expires_at, note, created_by"
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_ID = "-".join("?" * digits for digits in (8, 4, 4, 4, 12))
# The bytes of an id that say what it is, and what each becomes.
_FIXED = {
    6: bytes(0x40 | byte & 0x0F for byte in range(256)),  # the version
    8: bytes(0x80 | byte & 0x3F for byte in range(256)),  # the variant
}


@dataclass(frozen=True)
class Created:
    """What a piece of a batch was stored as.

    Attributes:
        ids: The codes' ids, in the same order; none where the database stored another number.
        checksum: Of the hashes that were sent, as ``checksum`` has it.
    """

    ids: Sequence[str]
    checksum: int


class Rows:
    """Codes as blocks of COPY's text format; to be read once.

    Args:
        codes: The codes.
        terms: What each is worth.
        created_by: The actor's id.
        advance: Told how many rows were sent.

    Attributes:
        ids: The ids of the codes sent so far, in the same order.
        checksum: Of their hashes.
    """

    def __init__(
        self, codes: Secrets, terms: Terms, created_by: str, advance: Callable[[int], None]
    ) -> None:
        self.ids: list[str] = []
        self.checksum = 0
        self._codes, self._advance = codes, advance
        self._tail = _tail(terms, created_by)

    def __iter__(self) -> Iterator[bytes]:
        for start in range(0, len(self._codes), A_BLOCK):
            codes = self._codes[start : start + A_BLOCK]
            ids, hashes = new_ids(len(codes)), digests(codes)
            self.ids += ids
            self.checksum += checksum(hashes)
            cells = zip(ids, hashes, masks(codes), strict=True)
            yield "".join([f"{i}\t{h}\t{m}\t{self._tail}" for i, h, m in cells]).encode()
            self._advance(len(ids))


def copied(session: Session, table: str, rows: Rows) -> Created:
    """Store codes by one COPY into the table of this quoted name."""
    statement = f"copy {table} ({_COLUMNS}) from stdin (encoding 'UTF8')"
    whole = session.copy(statement, rows) == len(rows.ids)
    return Created(rows.ids if whole else [], rows.checksum)


def _tail(terms: Terms, created_by: str) -> str:
    """Return what every line has in common, its end."""
    shared = (
        str(terms.points),
        r"\N" if terms.expires_at is None else terms.expires_at.isoformat(),
        r"\N" if terms.note is None else terms.note.translate(_ESCAPES),
        created_by,
    )
    return "\t".join(shared) + "\n"


def checksum(hashes: Iterable[str]) -> int:
    """Return the sum of the first ``SUMMED`` digits of each hash, which the server sums too."""
    return sum(int(found[:SUMMED], 16) for found in hashes)


def new_ids(count: int) -> list[str]:
    """Return random ids: uuids of version 4 and of RFC 9562's variant, as text."""
    drawn = bytearray(secrets.token_bytes(16 * count))
    for place, bits in _FIXED.items():
        drawn[place::16] = drawn[place::16].translate(bits)
    return filled(_ID, drawn.hex().encode(), count)
