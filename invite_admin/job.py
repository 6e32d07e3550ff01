"""How a command on the database runs: where it acts is named, its needs are checked.

The order of delivery and COMMIT is the tool's first promise, so it stands here and nowhere else.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from invite_admin import errors, output, sinks
from invite_admin.run import NOTHING_CHANGED, taken_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from invite_admin.model import Capability
    from invite_admin.report import Report
    from invite_admin.run import Run, Target
    from invite_admin.shape import Shape
    from invite_admin.store import Store

NOT_STORED = "nothing was stored"
CODES_VOID = f"{NOT_STORED}; the codes shown are void"


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
            self._conclude(report)

    def deliver(self, make: Callable[[Store], Report | None]) -> None:
        """Make something new: the result is delivered first, then stored.

        Args:
            make: Returns None where nothing is to be made.
        """
        with self.run.stoppable():
            sink, style = self.target.open(self.run)
            with self.opened(writing=True) as store, taken_back(sink):
                report = make(store)
                if report is None:
                    return
                store.session.settle()
                undone = NOT_STORED if self.target.path else CODES_VOID
                self._hand_over(report, sink, style, undone)
                self._commit(store, on_failure=undone)
            self._conclude(report)

    def change(self, act: Callable[[Store], Report]) -> None:
        """Change what exists: stored first, then told."""
        with self.run.stoppable():
            sink, style = self.target.open(self.run)
            with self.opened(writing=True) as store:
                report = act(store)
                store.session.settle()
                self._commit(store, on_failure=NOTHING_CHANGED)
            self.tell(report, sink, style)

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
        self._conclude(report)

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
            yield store

    def _announce(self, store: Store) -> None:
        """Name where the command acts, before it does."""
        server, settings = store.session.server, self.run.settings
        address = f"sandbox, {server.address}" if settings.sandbox else server.address
        place = Place(address, server.database, server.login, settings.actor)
        for line in whereabouts(place, store.shape, self.needs):
            self.run.say(line)

    def _hand_over(
        self, report: Report, sink: sinks.Sink, style: output.Style, undone: str
    ) -> None:
        self.run.truth = undone
        try:
            output.emit(report, self.target.form, sink, style)
        except sinks.ReaderLeft:
            raise errors.Failed(
                f"the reader of standard output left before it had taken every code; {undone}"
            ) from None
        except errors.Failed as error:
            raise errors.Failed(f"{error.message}; {undone}", hint=error.hint) from None

    def _commit(self, store: Store, *, on_failure: str) -> None:
        """Commit; a signal that comes meanwhile waits until the answer is known."""
        stopping = {signal.SIGINT, signal.SIGTERM}
        signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
        try:
            store.session.commit()
            self.run.truth = "the changes are stored"
        except errors.OutcomeUnknown as error:
            raise errors.OutcomeUnknown(
                error.message, hint=f"do not repeat the command; see {self._since(store)}"
            ) from None
        except errors.InviteError as error:
            raise type(error)(f"{error.message}; {on_failure}", hint=error.hint) from None
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, stopping)

    def _since(self, store: Store) -> str:
        began = store.session.server.now.isoformat()
        return self.run.command_line("list", "--created-since", began)

    def _conclude(self, report: Report) -> None:
        if self.target.path:
            self.run.say(f"written to {self.target.path}")
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
