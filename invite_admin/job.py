"""How a command on the database runs: where it acts is named, its needs are checked.

The order of delivery and COMMIT is the tool's first promise, so it stands here and nowhere else.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from invite_admin import errors, limits, output, sinks
from invite_admin.codes import shown_path
from invite_admin.commits import Commits
from invite_admin.delivery import Delivery, ToOutput, withdrawn
from invite_admin.errors import NOTHING_CHANGED
from invite_admin.filed import ToFile
from invite_admin.limits import Demand
from invite_admin.place import Place, whereabouts
from invite_admin.run import taken_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from invite_admin.model import Capability
    from invite_admin.report import Report
    from invite_admin.run import Run, Target
    from invite_admin.session import Session
    from invite_admin.shape import Shape
    from invite_admin.store import Batches, Store

Result = TypeVar("Result")


@dataclass(frozen=True)
class Job:
    """One command on the database.

    Attributes:
        run: The call it belongs to.
        needs: What it needs of the table and the login.
        target: Where its result goes.
        looked_up: How a person finds out what became of the codes of a change.
    """

    run: Run
    needs: tuple[Capability, ...]
    target: Target
    looked_up: str = ""

    @property
    def commits(self) -> Commits:
        """How this call commits."""
        return Commits(self.run)

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
                    with taken_back(sink), self._counting() as done:
                        output.emit(report, self.target.form, sink, style, done)
                except sinks.ReaderLeft:
                    return
                except errors.InviteError as error:
                    raise sinks.cut_short(error, sink) from None
            self._close(report)

    def follow(self, begin: Callable[[Callable[[float], None]], Report]) -> None:
        """Write what happens as it happens, until Ctrl-C, or until the reader leaves.

        Args:
            begin: Given the wait between two looks, returns a report whose rows have no end.
        """
        with self.run.stoppable(), suppress(KeyboardInterrupt, sinks.ReaderLeft):
            sink, style = self.target.open(self.run)

            def pause(seconds: float) -> None:
                sink.flush()
                time.sleep(seconds)

            report = begin(pause)
            try:
                output.emit(report, self.target.form, sink, style)
            finally:
                sink.finish()

    def _counting(self) -> AbstractContextManager[Callable[[int], None]]:
        """Show how far the writing of a file is; on a terminal the rows themselves show it."""
        if self.target.path:
            return self.run.progress(None, "written")
        return nullcontext(lambda _rows: None)

    def deliver(self, make: Callable[[Store, Batches], Report | None]) -> None:
        """Make something new: the result is delivered first, then stored.

        Args:
            make: Returns None where nothing is to be made.
        """
        place: Callable[[Run, Target], Delivery] = ToFile if self.target.path else ToOutput
        with self.run.stoppable(), closing(place(self.run, self.target)) as delivery:
            report = self._retried(lambda: self._deliver(make, delivery))
            if report is not None:
                self.confirm(report, delivery)

    def confirm(self, report: Report, delivery: Delivery) -> None:
        """Finish a batch that is stored; what names and voids it is said in any case.

        Raises:
            Failed: The codes are stored, but their file could not be made.
        """
        delivered = ""
        try:
            delivery.confirm(report)
            delivered = "delivered and "
        finally:
            stored, *rest = report.summary()
            self.run.say(f"{delivered}{stored}", *rest)

    def _deliver(
        self, make: Callable[[Store, Batches], Report | None], delivery: Delivery
    ) -> Report | None:
        from invite_admin.store import Batches  # noqa: PLC0415 - heavy

        with self.opened(writing=True) as store, withdrawn(delivery, self.run):
            batches = Batches(store, lambda batch: delivery.keep(batch, store))
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
        assert report.batch is not None  # noqa: S101 - only batches are delivered
        store.settle()
        limits.hold(store, self.run, Demand.of(report.batch.count, report.batch.terms.points))
        self.run.truth = delivery.undone
        delivery.hand_over(report)
        try:
            self.commits.commit(store, delivery.undone, "whether the batch was stored is not known")
        except errors.OutcomeUnknown:
            self.commits.settle(batches, report, delivery)
        self.run.truth = "the batch is stored"
        self.run.record.counts = {"stored": report.batch.count}

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
            store.settle()
            self.commits.change(store, self.looked_up)
            self.run.truth = "the changes are stored" if report.changed else NOTHING_CHANGED
            if not report.changed:
                self.run.record.request_id = None
            self.run.record.counts = dict(report.counts)
            return report

    def tell(self, report: Report, sink: sinks.Sink, style: output.Style) -> None:
        """Write the report of a change that is already true."""
        try:
            with taken_back(sink):
                output.emit(report, self.target.form, sink, style)
        except (sinks.ReaderLeft, errors.InviteError) as error:
            why = error.reason if isinstance(error, errors.InviteError) else "its reader left"
            self.run.say(*report.summary())
            what = "" if why.startswith(sinks.UNWRITTEN) else f"{sinks.UNWRITTEN}: "
            told = f"{self.run.truth}; {what}{why}"
            raise errors.Failed(told, hint=self.looked_up) from None
        self._close(report)

    @contextmanager
    def opened(self, *, writing: bool, again: bool = False) -> Iterator[Store]:
        """Connect, name where the command acts, and check what it needs.

        Args:
            writing: False makes the server refuse every write.
            again: Whether the command named the place before, and waits by itself for a server
                that is away.
        """
        if self.writes:
            self.run.settings.require_actor()
        from invite_admin.database import Database  # noqa: PLC0415 - heavy
        from invite_admin.store import Store  # noqa: PLC0415 - heavy

        settings = self.run.settings
        database = Database(settings, self.run.say if not again else lambda _line: None)
        with database.transaction(writing=writing, patient=not again) as session:
            store = Store(session, self._look(session, again=again), settings, self.run.say)
            store.require(self.needs)
            self.run.record.actor = settings.actor if self.writes else None
            yield store

    def _look(self, session: Session, *, again: bool) -> Shape:
        """Ask what is there, and name where the command acts, which is known in any case."""
        from invite_admin.store import look  # noqa: PLC0415 - heavy

        shape, place = None, Place.of(session.server, self.run.settings)
        self.run.record.server, self.run.record.database = place.server, place.database
        try:
            shape = look(session, self.run.settings)
        finally:
            if not again:
                self.run.say(*whereabouts(place, shape, self.needs))
        return shape

    def _close(self, report: Report) -> None:
        if self.target.path:
            self.run.say(f"written to {shown_path(self.target.path)}")
        self.conclude(report)

    def conclude(self, report: Report) -> None:
        """Say what a person should know, and end with the report's verdict."""
        self.run.say(*report.summary())
        if report.verdict:
            raise report.verdict
