"""A batch delivered into a new file; until COMMIT is known it lies in ``FILE.pending``."""

from __future__ import annotations

from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING

from invite_admin import files, output, pending, sinks
from invite_admin.codes import shown_path
from invite_admin.delivery import NOT_STORED
from invite_admin.draft import Draft
from invite_admin.errors import NOTHING_CHANGED, BadInput, Failed, InviteError
from invite_admin.hold import Hold

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from invite_admin.batch import Batch, Keeper, Piece
    from invite_admin.report import Report
    from invite_admin.run import Run, Target
    from invite_admin.store import Store


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
        Failed: The folder cannot be written to, or a name is too long.
    """

    undone = NOT_STORED

    def __init__(
        self, run: Run, target: Target, source: Path | None = None, hold: Hold | None = None
    ) -> None:
        assert target.path is not None  # noqa: S101 - the caller's choice of this class
        self._hold = hold or Hold()
        self._run, self._target, self._path = run, target, target.path
        self.kept: Path | None = source or pending.beside(target.path)
        self._style = output.Style(run.preferences.timezone, raw=target.raw, bom=target.bom)
        if source is None:
            files.NewFile(self._path)
            self._refuse_pending(self.kept)
            self._refuse_unfinished(files.unfinished(self._path))
        files.require_folder(self._path)
        files.require_possible(files.unfinished(self._path), pending.renewed(self.kept))
        self._resumes = source is not None
        self._draft: Draft | None = None

    def __len__(self) -> int:
        return len(self._writing())

    def __iter__(self) -> Iterator[Piece]:
        return iter(self._writing())

    @property
    def made(self) -> str:
        """Say whether something has the file's name already."""
        there = files.taken(self._path)
        return f"{shown_path(self._path)} is there" if there else "no file was made of them"

    def keep(self, batch: Batch, store: Store) -> Keeper:
        """Begin the pending file.

        Raises:
            Failed: It cannot be written.
        """
        assert self.kept is not None  # noqa: S101 - a file always has one
        server = store.session.server
        found = pending.Pending(
            batch=batch,
            server=server.address,
            database=server.database,
            cluster=store.session.cluster(),
            form=self._target.form,
            raw=self._target.raw,
            bom=self._target.bom,
        )
        with self._told():
            self._draft = Draft(self.kept, found, self._hold, replaces=self._resumes)
        return self

    def add(self, piece: Piece) -> None:
        """Write codes that were stored to the pending file.

        Raises:
            Failed: It cannot be written.
        """
        with self._told():
            self._writing().add(piece)

    def hand_over(self, report: Report) -> None:
        """End the pending file, synced.

        Raises:
            Failed: It cannot be written.
        """
        del report
        with self._told():
            self._writing().finish()

    def confirm(self, report: Report) -> None:
        """Give the file its name, whole, then remove the pending one.

        Raises:
            Failed: The codes are stored, but the file could not be made.
        """
        assert self.kept is not None  # noqa: S101 - a file always has one
        again = self._run.command_line("generate", "--resume", shown_path(self.kept))
        elsewhere = pending.beside(self._path) != self.kept
        same = f"{again} --output {quote(shown_path(self._path))}" if elsewhere else again
        stored = f"the codes are stored and lie in {shown_path(self.kept)}"
        self._run.truth = f"{stored}; {same} makes their file"
        try:
            self._publish(report)
        except InviteError as error:
            why = error.reason
            self._keep_on(why)
            raise Failed(
                f"{stored}; {why}",
                hint=f"{again} --output OTHER" if isinstance(error, BadInput) else same,
            ) from None
        self._run.truth = f"the batch is stored and written to {shown_path(self._path)}"
        pending.remove(self.kept)
        self._run.say(f"written to {shown_path(self._path)}")

    def withdraw(self) -> None:
        """Remove the pending file, if this run made it."""
        if self._draft is not None:
            self._draft.discard()

    def close(self) -> None:
        """Let others take the pending file, where it is left."""
        self._hold.close()

    def _writing(self) -> Draft:
        assert self._draft is not None  # noqa: S101 - nothing is kept before it was begun
        return self._draft

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say of a pending file that cannot be written what is true of the codes."""
        try:
            yield
        except InviteError as error:
            why = error.reason
            raise Failed(f"{why}; {self.undone}", hint=error.hint) from None

    def _keep_on(self, why: str) -> None:
        """Make sure that the pending file is there; somebody may have removed it meanwhile.

        Raises:
            Failed: It is not, and cannot be written again.
        """
        assert self.kept is not None  # noqa: S101 - a file always has one
        try:
            self._hold.restore(self.kept)
        except InviteError:
            raise Failed(
                f"the codes are stored, and no file has them: {why}, and "
                f"{shown_path(self.kept)} is gone and cannot be written again",
                hint="their text is lost: void the batch by the command above, and make it anew",
            ) from None

    def _publish(self, report: Report) -> None:
        """Make the file; one that holds exactly this already will do."""

        def fill(sink: sinks.Sink) -> None:
            output.emit(report, self._target.form, sink, self._style)

        try:
            files.publish(self._path, fill)
        except BadInput:
            if not self._path.is_file():
                raise
            with self._path.open("rb") as file:
                found = files.Compared(file)
                fill(found)
            if not found.same:
                raise

    def _refuse_unfinished(self, path: Path) -> None:
        if files.taken(path):
            raise BadInput(
                f"{shown_path(path)} is there, as a run that was killed leaves it, with codes in "
                f"it; {NOTHING_CHANGED}",
                hint="remove it, unless it is something else; or name another file by --output",
            )

    def _refuse_pending(self, path: Path) -> None:
        if files.taken(path) and (path.is_symlink() or not path.is_file()):
            raise BadInput(
                f"{shown_path(path)} is there, and no file that a batch lies in; nothing was done",
                hint="move it away, or name another file by --output",
            )
        if files.taken(path):
            raise BadInput(
                f"{shown_path(path)} is there: a batch whose end is not known; nothing was done",
                hint=self._run.command_line("generate", "--resume", shown_path(path)),
            )
