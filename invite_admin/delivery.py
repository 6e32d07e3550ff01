"""How a batch gets to its reader: before COMMIT it is handed over, after COMMIT it is confirmed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from invite_admin import output, sinks
from invite_admin.batch import Held
from invite_admin.errors import NOTHING_CHANGED, Failed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from invite_admin.batch import Batch, Keeper
    from invite_admin.report import Report
    from invite_admin.run import Run, Target
    from invite_admin.store import Store

NOT_STORED = "nothing was stored"
CODES_VOID = f"{NOT_STORED}; the codes shown are void"


class Delivery(Protocol):
    """One way to deliver a batch.

    Attributes:
        undone: What is true of the codes as long as COMMIT was not sent.
        kept: Where the codes are while nothing else is known; None where nowhere.
    """

    undone: str
    kept: Path | None

    def keep(self, batch: Batch, store: Store) -> Keeper:
        """Return what keeps the codes of a batch as they are stored; none has been yet."""

    def hand_over(self, report: Report) -> None:
        """Deliver every code, so that COMMIT may follow."""

    def confirm(self, report: Report) -> None:
        """Finish, once it is known that the batch is stored."""

    def withdraw(self) -> None:
        """Take back what can be, once it is known that nothing was stored."""

    def close(self) -> None:
        """Let go of what other commands must keep away from meanwhile."""


class ToOutput:
    """Standard output: handed over is delivered, and nothing can be taken back."""

    undone = CODES_VOID
    kept: Path | None = None

    def __init__(self, run: Run, target: Target) -> None:
        self._form = target.form
        self._sink, self._style = target.open(run, limited=run.preferences.limits.issuing)

    def keep(self, batch: Batch, store: Store) -> Keeper:
        """Keep the codes in memory: nothing is shown before the last of them is stored."""
        del batch, store
        return Held()

    def hand_over(self, report: Report) -> None:
        """Write every code to standard output.

        Raises:
            Failed: The reader left, or not every byte could be written.
        """
        try:
            output.emit(report, self._form, self._sink, self._style)
        except sinks.ReaderLeft:
            raise Failed(
                f"the reader of standard output left before it had taken every code; {self.undone}"
            ) from None
        except Failed as error:
            raise Failed(f"{error.message}; {self.undone}", hint=error.hint) from None

    def confirm(self, report: Report) -> None:
        """Do nothing: the reader has the codes."""

    def withdraw(self) -> None:
        """Do nothing: what a reader has taken cannot be taken back."""

    def close(self) -> None:
        """Do nothing: nothing was held."""


@contextmanager
def withdrawn(delivery: Delivery, run: Run) -> Iterator[None]:
    """Withdraw where it is known that nothing was stored; keep all where it is not."""
    try:
        yield
    except BaseException:
        if run.truth in (delivery.undone, NOTHING_CHANGED):
            delivery.withdraw()
        raise
