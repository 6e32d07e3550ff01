"""What is kept of a long piece of work until COMMIT is known: in memory, then in a file."""

from __future__ import annotations

import pickle
import tempfile
from typing import TYPE_CHECKING, Generic, TypeVar

from invite_admin.errors import Failed

if TYPE_CHECKING:
    from collections.abc import Iterator

Item = TypeVar("Item")
HELD = 2**20  # bytes kept in memory


class Spool(Generic[Item]):
    """Items in the order in which they were added, to be read as often as needed.

    Beyond ``HELD`` bytes they lie in the system's temporary folder, in a file of mode 0600 that
    has no name, so that it is gone when the process ends however.

    Args:
        truth: Said where they cannot be read back; None where the reader says what is true then.
    """

    def __init__(self, truth: str | None = None) -> None:
        self._truth = truth
        self._file = tempfile.SpooledTemporaryFile(max_size=HELD)  # noqa: SIM115 - see the class
        self._count = 0

    def __del__(self) -> None:
        """Give the room back once nobody reads it any more."""
        self._file.close()

    def add(self, item: Item) -> None:
        """Keep one item, beyond all doubt: what no disk has room for is found here.

        Raises:
            Failed: It could not be kept.
        """
        try:
            pickle.dump(item, self._file, pickle.HIGHEST_PROTOCOL)
            self._file.flush()
        except OSError as error:
            raise Failed(
                f"the temporary folder cannot be written to: {error.strerror}; nothing was changed",
                hint="TMPDIR names another folder",
            ) from None
        self._count += 1

    def __iter__(self) -> Iterator[Item]:
        """Yield the items; adding must be over.

        Raises:
            Failed: They could not be read back.
        """
        try:
            self._file.seek(0)
            for _ in range(self._count):
                yield pickle.load(self._file)  # noqa: S301 - written above, and nobody else has it
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            why = error.strerror if isinstance(error, OSError) else "it was cut off"
            told = [f"a temporary file cannot be read back: {why}", *filter(None, [self._truth])]
            raise Failed("; ".join(told)) from None
