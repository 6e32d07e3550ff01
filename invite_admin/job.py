"""How a command on the database runs: where it acts is named, its needs are checked.

The order of delivery and COMMIT is the tool's first promise, so it stands here and nowhere else.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from invite_admin import errors, output, sinks
from invite_admin.delivery import Delivery, ToFile, ToOutput, withdrawn
from invite_admin.run import NOTHING_CHANGED, taken_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from invite_admin.model import Capability
    from invite_admin.report import Report
    from invite_admin.run import Run, Target
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
        with self.run.stoppable():
            place = ToFile if self.target.path else ToOutput
            delivery: Delivery = place(self.run, self.target)
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
            self._commit(store, on_failure=delivery.undone)
        except errors.OutcomeUnknown:
            self.run.truth = "whether the batch was stored is not known"
            self._settle(batches, report, delivery)
        self.run.truth = "the batch is stored"
        self._note({"stored": len(report.batch.codes) if report.batch else 0}, store)

    def _settle(self, batches: Batches, report: Report, delivery: Delivery) -> None:
        """Find out what became of a batch; return only where it is stored."""
        from invite_admin.settle import was_stored  # noqa: PLC0415 - heavy

        assert report.batch is not None  # noqa: S101 - only batches are delivered
        stored = was_stored(self.run, report.batch, batches)
        if stored is None:
            raise errors.OutcomeUnknown(
                "COMMIT was sent and no answer came; whether the batch was stored is not known",
                hint=f"do not repeat the command; run {self._question(report, delivery)}",
            )
        if not stored:
            self.run.truth = delivery.undone
            raise errors.Failed(f"the connection was lost during COMMIT; {delivery.undone}")
        self.run.say("the batch is stored")

    def _question(self, report: Report, delivery: Delivery) -> str:
        """Name the command that settles an outcome that is not known."""
        if delivery.kept is not None:
            return self.run.command_line("generate", "--resume", str(delivery.kept))
        assert report.batch is not None  # noqa: S101 - only batches are delivered
        began = report.batch.created_at.isoformat()
        return self.run.command_line("list", "--created-since", began)

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
            self._commit(store, on_failure=NOTHING_CHANGED)
            self.run.truth = "the changes are stored"
            self._note(report.counts, store)
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

    def _commit(self, store: Store, *, on_failure: str) -> None:
        """Commit; a signal that comes meanwhile waits until the answer is known."""
        stopping = {signal.SIGINT, signal.SIGTERM}
        signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
        try:
            store.session.commit()
        except errors.OutcomeUnknown as error:
            self.run.truth = error.message
            raise errors.OutcomeUnknown(
                error.message, hint="run the same command again: it shows each code's outcome"
            ) from None
        except errors.InviteError as error:
            raise type(error)(f"{error.message}; {on_failure}", hint=error.hint) from None
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, stopping)

    def _note(self, counts: Mapping[str, int], store: Store) -> None:
        """Keep for the log what was done, and under which request id."""
        self.run.record.counts = dict(counts)
        self.run.record.request_id = store.named

    def _close(self, report: Report) -> None:
        if self.target.path:
            self.run.say(f"written to {self.target.path}")
        self.conclude(report)

    def conclude(self, report: Report) -> None:
        """Say what a person should know, and end with the report's verdict."""
        for line in report.summary():
            self.run.say(line)
        if report.verdict:
            raise report.verdict


@dataclass(frozen=True)
class Place:
    """Where a command acts, and as whom; ``actor`` is None where nobody is configured."""

    server: str
    database: str
    login: str
    actor: str | None


def whereabouts(place: Place, shape: Shape, needs: Sequence[Capability]) -> Iterator[str]:
    """Say in lines where a command acts, and as whom."""
    from invite_admin.shape import STEPS  # noqa: PLC0415 - comes with the store

    step = f"step {shape.step}: {STEPS[shape.step]}" if shape.step else "no known table"
    yield f"on {place.server}, database {place.database} ({step})"
    writing = [shape.ways[need] for need in needs if need.writes]
    ways = writing or [shape.ways[need] for need in needs]
    via = next((way.via for way in ways if way.via), "blocked")
    if writing:
        yield f"login {place.login}, actor {place.actor}, writes: {via}"
    else:
        yield f"login {place.login}, reads: {via}" if ways else f"login {place.login}"
