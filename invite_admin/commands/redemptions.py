"""Show who redeemed which code, newest first."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from invite_admin import columns, params, text
from invite_admin.chosen import instant, period
from invite_admin.errors import NOTHING_CHANGED, BadInput
from invite_admin.job import Job
from invite_admin.model import Capability, Redemptions
from invite_admin.options import as_command, report_options
from invite_admin.report import Report
from invite_admin.watching import Look, Watch
from invite_admin.whens import Meaning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from invite_admin.run import Run, Target
    from invite_admin.store import Store
    from invite_admin.whens import When

NEEDS = (Capability.READ,)
INTERVAL = 5  # seconds
STREAMED = ("csv", "jsonl")


@dataclass(frozen=True)
class Question:
    """What was asked; times not yet put on the server's clock.

    Attributes:
        job: The command.
        wanted: Which redemptions, whenever they were.
        since: From when on; None means always.
        until: Before when; None means always.
    """

    job: Job
    wanted: Redemptions
    since: When | None
    until: When | None

    def report(self, store: Store, limit: int | None) -> Report:
        """Return what there is now, the newest first; ``limit`` None means all."""
        run, now = self.job.run, store.session.server.now
        since, until = period(run, now, "redeemed", self.since, self.until)
        rows = store.reads.redemptions(replace(self.wanted, since=since, until=until), limit=limit)
        return Report(columns.REDEEMED, rows, export=rows.export)

    def follow(self, interval: int, pause: Callable[[float], None]) -> Report:
        """Return what is redeemed from now on, the oldest first, without an end."""
        run = self.job.run
        watch = Watch(self._looks(), interval, pause, run.say)
        watch.begin(self._start)
        run.say(f"watching, a look every {interval} s; Ctrl-C ends it")
        rows = watch.rows()
        return Report(
            columns.REDEEMED, map(_in_a_line, rows) if self.job.target.form == "csv" else rows
        )

    def _start(self, now: datetime) -> datetime | None:
        """Return from when on a watch tells, given the server's now; None means from now on.

        Raises:
            BadInput: That lies in the future.
        """
        run = self.job.run
        since = instant(run, now, "redeemed since", self.since)
        if since and since > now:
            raise BadInput(
                f"--since lies in the future, so there is nothing to watch yet; {NOTHING_CHANGED}",
                hint=f"the server's clock says {text.rfc3339(now, run.preferences.timezone)}",
            )
        return since

    def _looks(self) -> Callable[[], AbstractContextManager[Look]]:
        """Return what opens a look; only the first one names where it acts."""
        again = False

        @contextmanager
        def look() -> Iterator[Look]:
            nonlocal again
            with self.job.opened(writing=False, again=again) as store:
                again = True
                yield Look(store.session.server.now, partial(self._since, store))

        return look

    def _since(self, store: Store, start: datetime) -> Iterator[Any]:
        wanted = replace(self.wanted, since=start)
        return iter(store.reads.redemptions(wanted, limit=None, oldest_first=True))


def _in_a_line(row: Sequence[Any]) -> tuple[Any, ...]:
    """Show a line break in other people's text as its escape: a redemption is one line."""
    return tuple(text.visible(cell) if isinstance(cell, str) else cell for cell in row)


@click.option("--user", type=params.User(), metavar="EMAIL|ID", help="Only this person's.")
@click.option("--note", type=params.Search(), help="Only codes with exactly this note.")
@click.option("--search", type=params.Search(), help="Only codes with this in mask or note.")
@click.option("--since", type=params.Time(Meaning.SINCE), help="Redeemed at WHEN or later.")
@click.option("--until", type=params.Time(Meaning.UNTIL), help="Redeemed before WHEN.")
@click.option("--limit", type=params.NUMBER, help="At most this many rows.  [default: all]")
@click.option("--watch", is_flag=True, help="Follow what is redeemed from now on, or --since.")
@click.option(
    "--interval",
    type=params.Interval(),
    help=f"With --watch: the time between two looks, 3s or more.  [default: {INTERVAL}s]",
)
@click.pass_obj
def _redemptions(  # noqa: PLR0913 - one argument an option
    run: Run,
    *,
    target: Target,
    user: str | None,
    note: str | None,
    search: str | None,
    since: When | None,
    until: When | None,
    limit: int | None,
    watch: bool,
    interval: int | None,
) -> None:
    """Show who redeemed which code, newest first.

    People whose accounts were deleted since are still listed, as they were when they redeemed.
    With --watch each redemption is one line of csv or jsonl, the oldest first, until Ctrl-C,
    which ends it with exit status 0.

    A table or markdown holds at most 10,000 rows; csv, json and jsonl any number.

    \b
    Example: invite redemptions --since 7d --user tester07@example.com
             invite redemptions --watch --format jsonl
    """
    wanted = Redemptions(user=user, note=note.strip() if note else None, search=search)
    question = Question(Job(run, NEEDS, target), wanted, since, until)
    if not watch:
        if interval is not None:
            raise BadInput("--interval goes with --watch only")
        question.job.read(lambda store: question.report(store, limit))
        return
    if limit is not None or until is not None:
        raise BadInput("--watch has no end, so --limit and --until do not go with it")
    if target.form not in STREAMED:
        raise BadInput("--watch writes csv or jsonl, one line a redemption")
    question.job.follow(partial(question.follow, interval or INTERVAL))
    run.say("the watch has ended")


command = as_command(report_options(_redemptions), NEEDS)
