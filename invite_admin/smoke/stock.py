"""The codes of a test: made for each crowd, the unused ones voided after it."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from invite_admin import limits, text
from invite_admin.batch import Terms
from invite_admin.errors import (
    NOTHING_CHANGED,
    InviteError,
    OutcomeUnknown,
    OverLimit,
    TerminationSignal,
    stopped,
)
from invite_admin.limits import Demand
from invite_admin.model import UNUSED, Capability, Outcome
from invite_admin.smoke.crowds import RACERS
from invite_admin.smoke.people import codes_of
from invite_admin.store import Batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from invite_admin.job import Job
    from invite_admin.model import Row
    from invite_admin.smoke.people import Code
    from invite_admin.store import Store

POINTS = 1  # of each code
LIFE = timedelta(hours=1)  # what is left after the worst end expires by itself
SETTLED = "every test code was redeemed or voided"
COUNTED = f"{SETTLED}, or is counted above"
_NO_WAY = "they cannot be voided here"
_TO_VOID = "to void what is left of them:"
_KEPT = {Outcome.BUSY: "held by others", Outcome.REFUSED: "refused by the database"}


@dataclass
class Stock:
    """The codes of one test.

    Args:
        job: The command.

    Attributes:
        note: The label of every code.
        request_id: What the audit log calls all that is done; None before the first code is made.
        left: What was left of them, in sentences.
        revocable: Whether unused codes can be voided here.
        settled: What is true of the codes once the end of a crowd is known.
    """

    job: Job
    note: str = field(default_factory=lambda: f"invite smoke test {secrets.token_hex(4)}")
    request_id: str | None = None
    left: list[str] = field(default_factory=list)
    revocable: bool = False
    settled: str = SETTLED

    def check(self, store: Store, counts: Sequence[int]) -> None:
        """Refuse what may not be made, before anything is sent.

        Args:
            store: The table.
            counts: How many codes each crowd needs.

        Raises:
            OverLimit: One batch is too large, or all together would exceed a limit.
        """
        with _naming_users():
            _check_batch(max(counts), self.job.run.preferences.limits.codes_per_batch)
            limits.check(store, self.job.run, Demand.of(sum(counts), POINTS))
        self.revocable = store.shape.ways[Capability.REVOKE].available

    @property
    def hint(self) -> str:
        """How codes that may be left are voided; empty where none are, or none can be."""
        if not self.revocable or self.job.run.truth in (NOTHING_CHANGED, SETTLED):
            return ""
        return f"{_TO_VOID} {self._command}"

    @contextmanager
    def true(self) -> Iterator[None]:
        """Let a failure or a stop say what is true of the codes, once there are some."""
        run = self.job.run
        try:
            yield
        except (KeyboardInterrupt, TerminationSignal) as stop:
            raise stopped(stop, run.truth, hint=self.hint or None) from None
        except InviteError as error:
            if run.truth == NOTHING_CHANGED:
                raise
            told = error.reason
            whole = told if run.truth in told else f"{told}; {run.truth}"
            hints = dict.fromkeys(hint for hint in (error.hint, self.hint) if hint)
            raise type(error)(whole, hint="; ".join(hints) or None) from None

    def make(self, count: int) -> list[Code]:
        """Make the codes of one crowd, through the same store and limits as ``generate``."""
        run = self.job.run
        with self._opened() as store, _naming_users():
            batches = Batches(store)
            batches.require_free(count)
            batches.begin()
            terms = Terms(POINTS, store.session.server.now + LIFE, self.note)
            demand = Demand.of(count, POINTS)
            limits.check(store, run, demand)
            batch = batches.make(count, terms)
            limits.hold(store, run, demand)
            # Before COMMIT: whoever kills the tool right after it must have read how to void them.
            self._announce(store, count)
            self._commit(store, "stored")
        self._note("made", count)
        run.truth = self._with_end("test codes may be left unused, and expire within an hour")
        return codes_of(batch)

    def void_after(self, error: BaseException, codes: Sequence[Code]) -> None:
        """Void what was left unused; who stopped the test is let go where that cannot be done."""
        try:
            self.void(codes)
        except InviteError as failure:
            if isinstance(error, Exception):
                raise
            self.job.run.say(f"{failure.word}: {failure.message}")

    def void(self, codes: Sequence[Code]) -> dict[str, Row]:
        """Void what was left unused, where that can be done; return the rows as they were."""
        with self._opened() as store:
            rows = store.reads.by_id([code.id for code in codes])
            unused = [row for row in rows.values() if row.status in UNUSED]
            if unused:
                self._revoke(store, unused)
        self.job.run.truth = self.settled
        return rows

    @contextmanager
    def _opened(self) -> Iterator[Store]:
        """Open the table; every crowd's codes, and their end, stand under one request id."""
        with self.job.opened(writing=True, again=True) as store:
            store.request_id = self.request_id = self.request_id or store.request_id
            yield store

    def _revoke(self, store: Store, unused: Sequence[Row]) -> None:
        way = store.shape.ways[Capability.REVOKE]
        if not way.available:
            count = text.counted(len(unused), "test code")
            why = f"cannot be voided here, and will expire within an hour: {way.reason}"
            self._leave(f"{count} left unused {why}")
            self.settled = COUNTED
            return
        results = store.revoke(unused)
        self._commit(store, "voided")
        voided = sum(result.outcome.good for result in results.values())
        self._note("voided", voided)
        self._leave(f"{text.counted(voided, 'test code')} left unused, voided")
        for outcome, why in _KEPT.items():
            kept = sum(result.outcome is outcome for result in results.values())
            if not kept:
                continue
            self._leave(f"{text.counted(kept, 'test code')} {why}; {_TO_VOID}")
            self._leave(f"  {self._command}")
            self.settled = COUNTED

    def _announce(self, store: Store, count: int) -> None:
        say = self.job.run.say
        say(f'making {text.counted(count, "test code")} of {POINTS} point, note "{self.note}"')
        if store.named:
            say(f"request id {store.named}")
        say(f"they expire within an hour; {_TO_VOID if self.revocable else _NO_WAY}")
        if self.revocable:
            say(f"  {self._command}")

    def _commit(self, store: Store, done: str) -> None:
        """Commit; what was true before is true again where nothing was stored."""
        store.settle()
        unknown = f"whether the test codes were {done} is not known; they expire within an hour"
        try:
            self.job.commits.commit(store, self.job.run.truth, self._with_end(unknown))
        except OutcomeUnknown:
            raise self.job.commits.unknown(self.hint) from None

    @property
    def _command(self) -> str:
        return self.job.run.command_line("revoke", "--note", self.note)

    def _with_end(self, told: str) -> str:
        return told if self.revocable else f"{told}; {_NO_WAY}"

    def _note(self, done: str, count: int) -> None:
        """Keep for the log what was done, added up over the crowds."""
        counts = self.job.run.record.counts
        counts[done] = counts.get(done, 0) + count

    def _leave(self, line: str) -> None:
        self.left.append(line)
        self.job.run.say(line)


@contextmanager
def _naming_users() -> Iterator[None]:
    """Let what is over a limit name the option that asks for less."""
    try:
        yield
    except OverLimit as error:
        fewer = f"--users takes fewer people, {RACERS} at least"
        raise OverLimit(error.message, hint=f"{error.hint}; {fewer}") from None


def _check_batch(count: int, most: int) -> None:
    if count > most:
        raise OverLimit(
            f"at most {most:,} codes in a batch are allowed; {NOTHING_CHANGED}",
            hint="codes_per_batch of [limits] in the settings is the bound",
        )
