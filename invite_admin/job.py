"""How a command on the database runs: where it acts is named, its needs are checked.

The order of delivery and COMMIT is the tool's first promise, so it stands here and nowhere else.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from invite_admin import errors, output, sinks
from invite_admin.bounds import TimeUp, bounded
from invite_admin.codes import shown_path
from invite_admin.delivery import Delivery, ToFile, ToOutput, withdrawn
from invite_admin.place import Place, whereabouts
from invite_admin.run import NOTHING_CHANGED, taken_back
from invite_admin.text import after

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from invite_admin.model import Capability
    from invite_admin.report import Report
    from invite_admin.run import Run, Target
    from invite_admin.store import Batches, Store

Result = TypeVar("Result")


@dataclass(frozen=True)
class Job:
    """One command on the database.

    Attributes:
        run: The call it belongs to.
        needs: What it needs of the table and the login.
        target: Where its result goes.
    """

    run: Run
    needs: tuple[Capability, ...]
    target: Target

    @property
    def writes(self) -> bool:
        """Whether it changes rows."""
        return any(need.writes for need in self.needs)

    def read(self, ask: Callable[[Store], Report]) -> None:
        """Answer a question; rows stream while the transaction is open."""
        with self.run.stoppable():
            sink, style = self.target.open(self.run)
            with self.opened(writing=False) as store:
                report = ask(store)
                try:
                    with taken_back(sink):
                        output.emit(report, self.target.form, sink, style)
                except sinks.ReaderLeft:
                    return
            self._close(report)

    def deliver(self, make: Callable[[Store, Batches], Report | None]) -> None:
        """Make something new: the result is delivered first, then stored.

        Args:
            make: Returns None where nothing is to be made.
        """
        place: Callable[[Run, Target], Delivery] = ToFile if self.target.path else ToOutput
        with self.run.stoppable(), closing(place(self.run, self.target)) as delivery:
            report = self._retried(lambda: self._deliver(make, delivery))
            if report is not None:
                delivery.confirm(report)
                self.conclude(report)

    def _deliver(
        self, make: Callable[[Store, Batches], Report | None], delivery: Delivery
    ) -> Report | None:
        from invite_admin.store import Batches  # noqa: PLC0415 - heavy

        with self.opened(writing=True) as store, withdrawn(delivery, self.run):
            batches = Batches(store)
            report = make(store, batches)
            if report is not None:
                self.hand_over(store, batches, report, delivery)
            return report

    def hand_over(self, store: Store, batches: Batches, report: Report, delivery: Delivery) -> None:
        """Deliver a batch that was inserted, then commit it.

        Raises:
            InviteError: Nothing was stored.
            OutcomeUnknown: Whether it was is not known.
        """
        store.session.settle()
        self.run.truth = delivery.undone
        delivery.hand_over(report, store)
        try:
            self._commit(store, delivery.undone, "whether the batch was stored is not known")
        except errors.OutcomeUnknown:
            self._settle(batches, report, delivery)
        self.run.truth = "the batch is stored"
        self._note({"stored": len(report.batch.codes) if report.batch else 0})

    def _settle(self, batches: Batches, report: Report, delivery: Delivery) -> None:
        """Find out what became of a batch; return only where it is stored."""
        from invite_admin.settle import was_stored  # noqa: PLC0415 - heavy

        assert report.batch is not None  # noqa: S101 - only batches are delivered
        stored = was_stored(self.run, report.batch, batches)
        if stored is None:
            raise self._unknown(f"do not repeat it; run {self._question(report, delivery)}")
        if not stored:
            self.run.truth = delivery.undone
            if self.run.stopped is not None:
                raise errors.stopped(self.run.stopped, delivery.undone)
            raise errors.Failed(f"COMMIT was not answered and did not happen; {delivery.undone}")
        self.run.say("the batch is stored")

    def _question(self, report: Report, delivery: Delivery) -> str:
        """Name the command that settles an outcome that is not known."""
        if delivery.kept is not None:
            return self.run.command_line("generate", "--resume", str(delivery.kept))
        assert report.batch is not None  # noqa: S101 - only batches are delivered
        began = report.batch.created_at
        bounds = ("--created-since", began.isoformat(), "--created-until", after(began))
        return self.run.command_line("list", *bounds)

    def _retried(self, work: Callable[[], Result]) -> Result:
        """Do it again where another transaction got in the way and nothing was delivered yet."""
        from invite_admin.retries import IN_ALL, retried  # noqa: PLC0415 - only when it runs

        def passing(error: errors.InviteError) -> bool:
            return isinstance(error, errors.Busy) and error.transient

        return retried(work, self.run.say, IN_ALL, passing=passing)

    def change(self, act: Callable[[Store], Report]) -> None:
        """Change what exists: stored first, then told."""
        with self.run.stoppable():
            sink, style = self.target.open(self.run)
            report = self._retried(lambda: self._change(act))
            self.tell(report, sink, style)

    def _change(self, act: Callable[[Store], Report]) -> Report:
        with self.opened(writing=True) as store:
            report = act(store)
            store.session.settle()
            try:
                self._commit(store, NOTHING_CHANGED, "whether the changes were stored is not known")
            except errors.OutcomeUnknown:
                raise self._unknown("the same command again shows each code's outcome") from None
            self.run.truth = "the changes are stored"
            self._note(report.counts)
            return report

    def tell(self, report: Report, sink: sinks.Sink, style: output.Style) -> None:
        """Write the report of a change that is already true."""
        try:
            with taken_back(sink):
                output.emit(report, self.target.form, sink, style)
        except (sinks.ReaderLeft, errors.InviteError) as error:
            why = error.message if isinstance(error, errors.InviteError) else "its reader left"
            raise errors.Failed(
                f"{self.run.truth}, but the report could not be written: {why}",
                hint="the same command again shows each code's outcome",
            ) from None
        self._close(report)

    @contextmanager
    def opened(self, *, writing: bool) -> Iterator[Store]:
        """Connect, name where the command acts, and check what it needs."""
        if self.writes:
            self.run.settings.require_actor()
        from invite_admin.database import Database  # noqa: PLC0415 - heavy
        from invite_admin.store import Store, look  # noqa: PLC0415 - heavy

        settings = self.run.settings
        with Database(settings, self.run.say).transaction(writing=writing) as session:
            store = Store(session, look(session, settings), settings, self.run.say)
            self._announce(store)
            store.require(self.needs)
            if self.writes:
                self.run.record.actor = settings.actor
            yield store

    def _announce(self, store: Store) -> None:
        """Name where the command acts, before it does."""
        server, settings = store.session.server, self.run.settings
        address = f"sandbox, {server.address}" if settings.sandbox else server.address
        place = Place(address, server.database, server.login, settings.actor)
        for line in whereabouts(place, store.shape, self.needs):
            self.run.say(line)

    def _commit(self, store: Store, undone: str, unknown: str) -> None:
        """Commit, within a bound; a signal that comes meanwhile ends the command afterwards.

        Raises:
            InviteError: Nothing was stored.
            OutcomeUnknown: COMMIT was sent, and its answer is not known.
        """
        try:
            store.session.prove()
            self.run.truth = unknown
            self.run.record.request_id = store.named
            bound = self.run.settings.timeouts.statement
            with bounded(bound, self.run.say, "waiting for the answer to COMMIT"):
                store.session.commit()
        except TimeUp:
            raise errors.OutcomeUnknown(unknown) from None
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

    def _unknown(self, hint: str) -> errors.InviteError:
        """Return the failure of a command whose outcome is not known."""
        if self.run.stopped is not None:
            return errors.stopped(self.run.stopped, self.run.truth, hint=hint)
        message = f"COMMIT was sent and no answer came; {self.run.truth}"
        return errors.OutcomeUnknown(message, hint=hint)

    def _note(self, counts: Mapping[str, int]) -> None:
        """Keep for the log what was done."""
        self.run.record.counts = dict(counts)

    def _close(self, report: Report) -> None:
        if self.target.path:
            self.run.say(f"written to {shown_path(self.target.path)}")
        self.conclude(report)

    def conclude(self, report: Report) -> None:
        """Say what a person should know, and end with the report's verdict."""
        for line in report.summary():
            self.run.say(line)
        if report.verdict:
            raise report.verdict


def _with(message: str, undone: str) -> str:
    """Say what is true of the codes once, where the message does not say it."""
    return message if undone in message else f"{message}; {undone}"
