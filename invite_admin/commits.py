"""COMMIT: within a bound, signals held until it is known what is true, looked up if need be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from invite_admin import errors
from invite_admin.codes import shown_path
from invite_admin.errors import NOTHING_CHANGED
from invite_admin.text import made_at

if TYPE_CHECKING:
    from invite_admin.delivery import Delivery
    from invite_admin.report import Report
    from invite_admin.run import Run
    from invite_admin.store import Batches, Store


@dataclass(frozen=True)
class Commits:
    """Commits for one call of the tool, and keeps its truth.

    Attributes:
        run: The call.
    """

    run: Run

    def commit(self, store: Store, undone: str, unknown: str) -> None:
        """Commit, within a bound; a signal that comes meanwhile ends the command afterwards.

        Raises:
            InviteError: Nothing was stored.
            OutcomeUnknown: COMMIT was sent, and its answer is not known.
        """
        try:
            store.session.prove()
            self.run.truth = unknown
            self.run.record.request_id = store.named
            store.session.commit()
        except (KeyboardInterrupt, errors.TerminationSignal) as stop:
            if self.run.truth != unknown:
                raise
            self.run.stopped = stop
            raise errors.OutcomeUnknown(unknown) from None
        except errors.OutcomeUnknown:
            raise
        except errors.InviteError as error:
            self.run.truth = undone
            raise type(error)(_with(error.message, undone), hint=error.hint) from None

    def change(self, store: Store, looked_up: str) -> None:
        """Commit a change of codes that exist.

        Args:
            store: The table in the open transaction.
            looked_up: How a person finds out what became of the codes.

        Raises:
            InviteError: Nothing was changed; or whether it was is not known.
        """
        try:
            self.commit(store, NOTHING_CHANGED, "whether the changes were stored is not known")
        except errors.OutcomeUnknown:
            if store.named:
                self.run.say(f"request id {store.named}")
            raise self.unknown(f"{looked_up}: all or nothing was done") from None

    def unknown(self, hint: str) -> errors.InviteError:
        """Return the failure of a command whose outcome is not known."""
        if self.run.stopped is not None:
            return errors.stopped(self.run.stopped, self.run.truth, hint=hint)
        message = f"COMMIT was sent and no answer came; {self.run.truth}"
        return errors.OutcomeUnknown(message, hint=hint)

    def settle(self, batches: Batches, report: Report, delivery: Delivery) -> None:
        """Find out what became of a batch; return only where it is stored."""
        from invite_admin.settle import was_stored  # noqa: PLC0415 - heavy

        assert report.batch is not None  # noqa: S101 - only batches are delivered
        stored = None
        try:
            stored = was_stored(self.run, report.batch, batches)
        except (KeyboardInterrupt, errors.TerminationSignal) as stop:
            self.run.stopped = stop
        if stored is None:
            raise self.unknown(f"do not repeat it; {self._question(report, delivery)}")
        if not stored:
            self.run.truth = delivery.undone
            if self.run.stopped is not None:
                raise errors.stopped(self.run.stopped, delivery.undone)
            raise errors.Failed(f"COMMIT was not answered and did not happen; {delivery.undone}")
        self.run.say("the batch is stored")

    def _question(self, report: Report, delivery: Delivery) -> str:
        """Name the command that settles an outcome that is not known."""
        if delivery.kept is not None:
            again = self.run.command_line("generate", "--resume", shown_path(delivery.kept))
            return f"run {again}"
        assert report.batch is not None  # noqa: S101 - only batches are delivered
        lists = self.run.command_line("list", *made_at(report.batch.created_at))
        return f"the codes shown are good once this lists them; run {lists}"


def _with(message: str, undone: str) -> str:
    """Say what is true of the codes once, where the message does not say it."""
    return message if undone in message else f"{message}; {undone}"
