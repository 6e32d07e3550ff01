"""How a batch gets to its reader: before COMMIT it is handed over, after COMMIT it is confirmed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from invite_admin import files, output, pending, sinks
from invite_admin.codes import shown_path
from invite_admin.errors import BadInput, Failed, InviteError
from invite_admin.run import NOTHING_CHANGED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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

    def hand_over(self, report: Report, store: Store) -> None:
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
        limited = run.preferences.limits.issuing
        self._sink, self._style = target.open(run, limited=limited)

    def hand_over(self, report: Report, store: Store) -> None:
        """Write every code to standard output.

        Raises:
            Failed: The reader left, or not every byte could be written.
        """
        del store
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


class ToFile:
    """A new file; until COMMIT is known the batch lies in ``FILE.pending``.

    Args:
        run: The call.
        target: The file and its format.
        source: The pending file of a batch that is taken up again; None for a new batch. Only
            success removes it: whoever refuses it does not know whether its codes are live.
        hold: Keeps other commands from it.

    Raises:
        BadInput: The file, or a pending one, exists.
        Failed: The folder cannot be written to.
    """

    undone = NOT_STORED

    def __init__(
        self, run: Run, target: Target, source: Path | None = None, hold: files.Hold | None = None
    ) -> None:
        assert target.path is not None  # noqa: S101 - the caller's choice of this class
        self._hold = hold or files.Hold()
        self._run, self._target, self._path = run, target, target.path
        self.kept: Path | None = source or pending.beside(target.path)
        self._style = output.Style(run.preferences.timezone, raw=target.raw, bom=target.bom)
        if source is None:
            files.NewFile(self._path)
            self._refuse_pending(self.kept)
        self._resumes, self._made = source is not None, False

    def hand_over(self, report: Report, store: Store) -> None:
        """Write the batch to the pending file, synced.

        Raises:
            Failed: It cannot be written.
        """
        assert report.batch is not None  # noqa: S101 - only batches are delivered
        assert self.kept is not None  # noqa: S101 - a file always has one
        server = store.session.server
        found = pending.Pending(
            batch=report.batch,
            server=server.address,
            database=server.database,
            cluster=store.session.cluster(),
            form=self._target.form,
            raw=self._target.raw,
            bom=self._target.bom,
        )
        try:
            (pending.rewrite if self._resumes else pending.write)(self.kept, found, self._hold)
        except InviteError as error:
            why = error.message.removesuffix(f"; {NOTHING_CHANGED}")
            raise Failed(f"{why}; {self.undone}", hint=error.hint) from None
        self._made = not self._resumes

    def confirm(self, report: Report) -> None:
        """Give the file its name, whole, then remove the pending one.

        Raises:
            Failed: The codes are stored, but the file could not be made.
        """
        assert self.kept is not None  # noqa: S101 - a file always has one
        text = output.draw(report, self._target.form, self._style)
        try:
            self._publish(text.encode("utf-8", "backslashreplace"))
        except InviteError as error:
            why = error.message.removesuffix(f"; {NOTHING_CHANGED}")
            again = self._run.command_line("generate", "--resume", str(self.kept))
            raise Failed(
                f"the codes are stored and lie in {shown_path(self.kept)}; {why}",
                hint=f"{again} --output OTHER" if isinstance(error, BadInput) else again,
            ) from None
        pending.remove(self.kept)
        self._run.say(f"written to {shown_path(self._path)}")

    def withdraw(self) -> None:
        """Remove the pending file, if this run made it."""
        if self._made and self.kept is not None:
            pending.remove(self.kept)

    def close(self) -> None:
        """Let others take the pending file, where it is left."""
        self._hold.close()

    def _publish(self, data: bytes) -> None:
        """Make the file; one that holds exactly this already will do."""
        try:
            files.publish(self._path, data)
        except BadInput:
            if not self._path.is_file() or self._path.read_bytes() != data:
                raise

    def _refuse_pending(self, path: Path) -> None:
        if path.exists():
            raise BadInput(
                f"{shown_path(path)} is there: a batch whose end is not known; nothing was done",
                hint=self._run.command_line("generate", "--resume", str(path)),
            )


@contextmanager
def withdrawn(delivery: Delivery, run: Run) -> Iterator[None]:
    """Withdraw where it is known that nothing was stored; keep all where it is not."""
    try:
        yield
    except BaseException:
        if run.truth in (delivery.undone, NOTHING_CHANGED):
            delivery.withdraw()
        raise
