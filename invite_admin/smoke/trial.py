"""A test from beginning to end: one crowd after another, each with its codes."""

from __future__ import annotations

import platform
import warnings
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from invite_admin import __version__, conninfo, text
from invite_admin.errors import NOTHING_CHANGED, BadInput
from invite_admin.model import Status
from invite_admin.settings import USERS_URL_VARIABLE
from invite_admin.smoke.crowds import run_crowd
from invite_admin.smoke.guard import guarding
from invite_admin.smoke.judging import Answer, judge
from invite_admin.smoke.people import People
from invite_admin.smoke.pool import Pool
from invite_admin.smoke.runs import Conditions, Run
from invite_admin.smoke.stock import POINTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from invite_admin.job import Job
    from invite_admin.model import Actor
    from invite_admin.smoke.guard import Guard
    from invite_admin.smoke.judging import Attempt, Tier
    from invite_admin.smoke.stock import Stock


NAMED = 3  # people of whom something is said


@dataclass(frozen=True)
class Trial:
    """One test.

    Attributes:
        job: The command.
        stock: Its codes.
        sizes: How many people redeem at once, one crowd after another.
        winners: The ids of those who got points.
    """

    job: Job
    stock: Stock
    sizes: Sequence[int]
    winners: set[str] = field(default_factory=set)

    def run(self) -> Run:
        """Run it.

        Raises:
            InviteError: It could not be run, or not to its end; what it left is said.
        """
        run, settings = self.job.run, self.job.run.settings
        accounts, began, server = self._look()
        with self.stock.true(), _people(self.job) as people, guarding(run) as guard:
            guard.prove(people.pool)
            people.require()
            tiers = [self._crowd(guard, people, accounts[:size]) for size in self.sizes]
        self._tell(tiers)
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
            connections=people.pool.most,
        )

    def _look(self) -> tuple[list[Actor], datetime, tuple[str, str]]:
        """Find the accounts; nothing is changed."""
        with self.job.opened(writing=True) as store:
            found = store.accounts(self.job.run.settings.smoke.accounts)
            server = store.session.server
            self.stock.check(store, [size + 1 for size in self.sizes])
        if len(found) < max(self.sizes):
            raise BadInput(
                f"{max(self.sizes)} people need as many test accounts, and there are "
                f"{len(found)}; {NOTHING_CHANGED}",
                hint=f"--users takes {len(found)} at most in the sandbox"
                if self.job.run.sandbox
                else "[smoke] accounts in the settings names them; --users takes fewer",
            )
        return found, server.now, (server.address, server.version)

    def _crowd(self, guard: Guard, people: People, crowd: Sequence[Actor]) -> Tier:
        """Let one crowd redeem; what it leaves unused is voided, however it ends."""
        size = len(crowd)
        self.job.run.say(f"{size} people redeem at once")
        codes = self.stock.make(size + 1)
        try:
            with closing(people.pool):  # on a full server the operator needs the room
                people.pool.warm(min(people.pool.size, size))
                guard.begin()
                attempts = run_crowd(people, crowd, codes, lambda: guard.sample(size))
        except BaseException as error:
            self.stock.void_after(error, codes)
            raise
        rows = self.stock.void(codes)
        spent = sum(row.points for row in rows.values() if row.status is Status.REDEEMED)
        found = judge(attempts, size, POINTS, spent)
        self.winners.update(a.user for a in attempts if a.answer is Answer.REDEEMED)
        self._say_odd([a for a in attempts if a.answer in (Answer.BUSY, Answer.ERROR)], crowd)
        return replace(found, met=not found.misses(self.job.run.settings.smoke.p95_seconds))

    def _say_odd(self, odd: Sequence[Attempt], crowd: Sequence[Actor]) -> None:
        emails = {actor.id: actor.email for actor in crowd}
        for why in dict.fromkeys(a.why for a in odd):
            who = [emails[a.user] for a in odd if a.why == why]
            tried = text.counted(len(who), "attempt")
            self.job.run.say(f"{tried} busy or failed: {why}", f"  by {_some(who)}")

    def _tell(self, tiers: Sequence[Tier]) -> None:
        points = text.counted(sum(tier.points_credited for tier in tiers), "point")
        self.stock.left.append(
            f"{points} on {text.counted(len(self.winners), 'test account')}: "
            "balances belong to the application, and this tool never changes them"
        )


def _some(emails: Sequence[str]) -> str:
    """Name the first of some people, each once."""
    people = list(dict.fromkeys(emails))
    more = f" and {len(people) - NAMED} more" if len(people) > NAMED else ""
    return ", ".join(people[:NAMED]) + more


@contextmanager
def _people(job: Job) -> Iterator[People]:
    """Give people their connections, and close these afterwards."""
    settings = job.run.settings
    url = replace(settings, database=settings.users)
    pool = Pool(conninfo.parameters(url, job.run.say, USERS_URL_VARIABLE))
    with warnings.catch_warnings(), closing(pool):
        warnings.simplefilter("ignore")  # psycopg's advice on GSSAPI is not for operators
        yield People(pool, job.run.say)
