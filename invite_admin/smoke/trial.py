"""A test from beginning to end: codes made, redeemed by a crowd, and the unused ones voided."""

from __future__ import annotations

import platform
import secrets
import warnings
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from invite_admin import __version__, conninfo, limits, text
from invite_admin.batch import Terms
from invite_admin.errors import NOTHING_CHANGED, BadInput, InviteError, OutcomeUnknown, OverLimit
from invite_admin.limits import Demand
from invite_admin.model import UNUSED, Capability, Outcome, Status
from invite_admin.settings import USERS_URL_VARIABLE
from invite_admin.smoke.crowds import run_crowd
from invite_admin.smoke.guard import guarding
from invite_admin.smoke.judging import judge
from invite_admin.smoke.people import Code, People, codes_of
from invite_admin.smoke.pool import Pool
from invite_admin.smoke.runs import Conditions, Run
from invite_admin.store import Batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from invite_admin.job import Job
    from invite_admin.model import Actor, Row
    from invite_admin.smoke.guard import Guard
    from invite_admin.smoke.judging import Tier
    from invite_admin.store import Store

POINTS = 1  # of each code
LIFE = timedelta(hours=1)  # what is left after the worst end expires by itself


@dataclass
class Trial:
    """One test.

    Args:
        job: The command.
        sizes: How many people redeem at once, one crowd after another.

    Attributes:
        note: The label of every code that this test makes.
        left: What it left behind, in sentences.
        revocable: Whether unused codes can be voided here.
    """

    job: Job
    sizes: Sequence[int]
    note: str = field(default_factory=lambda: f"invite smoke test {secrets.token_hex(4)}")
    left: list[str] = field(default_factory=list)
    revocable: bool = False

    def run(self) -> Run:
        """Run it.

        Raises:
            InviteError: It could not be run, or not to its end; what it left is said.
        """
        run, settings = self.job.run, self.job.run.settings
        accounts, began, server = self._look()
        with self._true(), _people(self.job) as people, guarding(run) as guard:
            guard.prove(people.pool)
            people.require()
            tiers = [self._crowd(guard, people, accounts[:size]) for size in self.sizes]
        self._tell(tiers, len(accounts[: max(self.sizes)]))
        return Run(
            began=text.rfc3339(began, run.preferences.timezone),
            conditions=Conditions(
                tool=__version__,
                host=f"sandbox on {platform.node()}" if settings.sandbox else server[0],
                server_version=server[1],
                max_connections=guard.max_connections,
                pool=people.pool.size,
                sandbox=settings.sandbox,
            ),
            p95_seconds=settings.smoke.p95_seconds,
            tiers=tuple(tiers),
            samples=tuple(guard.samples),
            not_sampled=guard.not_sampled,
        )

    @contextmanager
    def _true(self) -> Iterator[None]:
        """Let a failure say what is true of the test codes, once there are some."""
        try:
            yield
        except InviteError as error:
            if self.job.run.truth == NOTHING_CHANGED or self.job.run.truth in error.message:
                raise
            told = error.message.replace(f"; {NOTHING_CHANGED}", "")
            raise type(error)(f"{told}; {self.job.run.truth}", hint=error.hint) from None

    def _look(self) -> tuple[list[Actor], datetime, tuple[str, str]]:
        """Find the accounts; nothing is changed."""
        with self.job.opened(writing=True) as store:
            found = store.accounts(self.job.run.settings.smoke.accounts)
            server = store.session.server
            codes = [size + 1 for size in self.sizes]
            _check_batch(max(codes), self.job.run.preferences.limits.codes_per_batch)
            limits.check(store, self.job.run, Demand.of(sum(codes), POINTS))
            self.revocable = store.shape.ways[Capability.REVOKE].available
        if len(found) < max(self.sizes):
            raise BadInput(
                f"{max(self.sizes)} people need as many test accounts, and there are "
                f"{len(found)}; {NOTHING_CHANGED}",
                hint="--users takes fewer"
                if self.job.run.sandbox
                else "[smoke] accounts in the settings names them; --users takes fewer",
            )
        return found, server.now, (server.address, server.version)

    def _crowd(self, guard: Guard, people: People, crowd: Sequence[Actor]) -> Tier:
        """Let one crowd redeem; what it leaves unused is voided, however it ends."""
        size = len(crowd)
        self.job.run.say(f"{size} people redeem at once")
        codes = self._make(size + 1)
        try:
            with closing(people.pool):  # on a full server the operator needs the room
                people.pool.warm(min(people.pool.size, size))
                guard.begin()
                attempts = run_crowd(people, crowd, codes, lambda: guard.sample(size))
        except BaseException as error:
            self._void_after(error, codes)
            raise
        rows = self._void(codes)
        spent = sum(row.points for row in rows.values() if row.status is Status.REDEEMED)
        found = judge(attempts, size, POINTS, spent)
        self._say_odd([a.why for a in attempts if a.answer.value in ("busy", "error")])
        return replace(found, met=not found.misses(self.job.run.settings.smoke.p95_seconds))

    def _make(self, count: int) -> list[Code]:
        """Make the codes of one crowd, through the same store and limits as ``generate``."""
        run = self.job.run
        with self.job.opened(writing=True, again=True) as store:
            batches = Batches(store)
            batches.require_free(count)
            batches.begin()
            terms = Terms(POINTS, store.session.server.now + LIFE, self.note)
            demand = Demand.of(count, POINTS)
            limits.check(store, run, demand)
            batch = batches.make(count, terms)
            limits.hold(store, run, demand)
            named = f", request id {batch.request_id}" if store.named else ""
            codes = text.counted(count, "test code")
            # Before COMMIT: whoever kills the tool right after it must have read how to void them.
            run.say(f'making {codes} of {POINTS} point, note "{self.note}"{named}')
            run.say(f"they expire within an hour; {self._voiding()}")
            self._commit(store, "nothing was stored", "stored")
        self._note("made", count)
        run.truth = f"test codes may be left unused, and expire within an hour; {self._voiding()}"
        return codes_of(batch)

    def _commit(self, store: Store, undone: str, done: str) -> None:
        store.session.settle()
        unknown = f"whether the test codes were {done} is not known"
        try:
            self.job.commits.commit(store, undone, f"{unknown}; {self._voiding()}")
        except OutcomeUnknown:
            raise self.job.commits.unknown("they expire within an hour") from None

    def _voiding(self) -> str:
        if not self.revocable:
            return "they cannot be voided here"
        words = ("revoke", "--note", self.note)
        return f"to void what is left of them: {self.job.run.command_line(*words)}"

    def _void_after(self, error: BaseException, codes: Sequence[Code]) -> None:
        """Void what was left unused; who stopped the test is let go where that cannot be done."""
        try:
            self._void(codes)
        except InviteError as failure:
            if isinstance(error, Exception):
                raise
            self.job.run.say(f"{failure.word}: {failure.message}")

    def _void(self, codes: Sequence[Code]) -> dict[str, Row]:
        """Void what was left unused, where that can be done; return the rows as they were."""
        with self.job.opened(writing=True, again=True) as store:
            rows = store.reads.by_id([code.id for code in codes])
            unused = [row for row in rows.values() if row.status in UNUSED]
            if unused:
                self._revoke(store, unused)
        self.job.run.truth = "every test code was redeemed or voided, or is named above"
        return rows

    def _revoke(self, store: Store, unused: Sequence[Row]) -> None:
        way = store.shape.ways[Capability.REVOKE]
        if not way.available:
            count = text.counted(len(unused), "test code")
            why = f"cannot be voided here, and expire within an hour: {way.reason}"
            self._leave(f"{count} left unused {why}")
            return
        results = store.revoke(unused)
        self._commit(store, self.job.run.truth, "voided")
        voided = sum(result.outcome.good for result in results.values())
        self._note("voided", voided)
        self._leave(f"{text.counted(voided, 'test code')} left unused, voided")
        busy = sum(result.outcome is Outcome.BUSY for result in results.values())
        if busy:
            self._leave(f"{text.counted(busy, 'test code')} held by others; {self._voiding()}")

    def _note(self, done: str, count: int) -> None:
        """Keep for the log what was done, added up over the crowds."""
        counts = self.job.run.record.counts
        counts[done] = counts.get(done, 0) + count

    def _leave(self, line: str) -> None:
        self.left.append(line)
        self.job.run.say(line)

    def _say_odd(self, reasons: Sequence[str | None]) -> None:
        for why in dict.fromkeys(reasons):
            tried = text.counted(reasons.count(why), "attempt")
            self.job.run.say(f"{tried} busy or failed: {why}")

    def _tell(self, tiers: Sequence[Tier], accounts: int) -> None:
        points = sum(tier.points_credited for tier in tiers)
        self.left.append(
            f"{text.counted(points, 'point')} on {text.counted(accounts, 'test account')}: "
            "balances belong to the application, and this tool never changes them"
        )


@contextmanager
def _people(job: Job) -> Iterator[People]:
    """Give people their connections, and close these afterwards."""
    settings = job.run.settings
    url = replace(settings, database=settings.users)
    pool = Pool(conninfo.parameters(url, job.run.say, USERS_URL_VARIABLE))
    with warnings.catch_warnings(), closing(pool):
        warnings.simplefilter("ignore")  # psycopg's advice on GSSAPI is not for operators
        yield People(pool, job.run.say)


def _check_batch(count: int, most: int) -> None:
    if count > most:
        raise OverLimit(
            f"at most {most:,} codes in a batch are allowed; {NOTHING_CHANGED}",
            hint="codes_per_batch of [limits] in the settings is the bound",
        )
