"""Make a batch of single-use codes, and show each code once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from invite_admin import columns, limits, output, params, paths, resuming, text
from invite_admin.batch import Batch, Terms
from invite_admin.chosen import expiry
from invite_admin.codes import masks
from invite_admin.errors import NOTHING_CHANGED, BadInput
from invite_admin.job import Job
from invite_admin.limits import Demand
from invite_admin.model import Capability
from invite_admin.options import as_command, report_options
from invite_admin.repeats import Wanted
from invite_admin.report import Report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from invite_admin.run import Run, Target
    from invite_admin.store import Batches, Store
    from invite_admin.whens import When

NEEDS = (Capability.GENERATE,)
SHOWN = 10_000  # codes on standard output, which are held until the last is stored


@dataclass(frozen=True)
class Order:
    """What the operator asked for; times not yet put on the server's clock.

    Attributes:
        count: How many codes.
        points: Points each gives.
        expires: When they expire; None means never.
        note: The batch's label; None means none.
        request_id: The id given for it; None for a new one.
        dry_run: Whether to say only what would happen.
    """

    count: int
    points: int
    expires: When | None
    note: str | None
    request_id: str | None
    dry_run: bool

    def make(self, run: Run, store: Store, batches: Batches) -> Report | None:
        """Store the codes and return them; None for a dry run."""
        terms = Terms(self.points, expiry(run, store.session.server.now, self.expires), self.note)
        store.require_terms(terms)
        batches.require_free(self.count)
        if not self.dry_run:
            run.gate.admit(store.session, self.count)
            batches.begin(self.request_id)
        if self.request_id is not None:
            run.record.request_id = self.request_id
            fixed = self.expires is not None and self.expires.span is None
            Wanted(self.request_id, self.count, terms, fixed).refuse_repeat(run, batches)
        if self.dry_run:
            limits.tell(store, run)
        limits.check(store, run, Demand.of(self.count, self.points))
        if terms.expires_at is None:
            run.say("warning: these codes never expire; --expires sets an end")
        if self.dry_run:
            run.say(f"dry run: would make {worth(self.count, terms)}; nothing was made")
            return None
        with run.progress(self.count, "codes sent") as advance:
            made = batches.make(self.count, terms, advance)
        new = self.request_id is None
        chosen = batches.choice(made.request_id, made.created_at, new=new)
        return batch_report(run, store, made, chosen)


def worth(count: int, terms: Terms) -> str:
    """Say what a batch is worth."""
    each = f"{text.counted(count, 'code')} of {text.counted(terms.points, 'point')} each"
    return f"{each}, {text.counted(count * terms.points, 'point')} in all"


def batch_report(run: Run, store: Store, batch: Batch, chosen: tuple[str, ...]) -> Report:
    """Report a batch: its codes, and once they are stored what names and voids it.

    Args:
        run: The call.
        store: The table.
        batch: The batch.
        chosen: The filter that chooses it.
    """
    terms = batch.terms

    def summary() -> list[str]:
        created = text.rfc3339(batch.created_at, run.preferences.timezone)
        lines = [f"stored: {worth(batch.count, terms)}", f"batch: created at {created}"]
        if store.named:
            lines.append(f"request id {batch.request_id}")
        return [*lines, *_voiding(run, store, batch, chosen)]

    shared = (terms.points, terms.expires_at, terms.note)
    return Report(columns.GENERATED, Shown(batch), summary=summary, batch=batch, shared=shared)


@dataclass(frozen=True)
class Shown:
    """The rows of a batch's report, as often as they are asked for: id, code and mask."""

    batch: Batch

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        for piece in self.batch.codes:
            yield from zip(piece.ids, piece.codes, masks(piece.codes), strict=True)


def _voiding(run: Run, store: Store, batch: Batch, chosen: tuple[str, ...]) -> list[str]:
    """Name the one command that voids the batch."""
    way = store.shape.ways[Capability.REVOKE]
    if not way.available:
        return [f"they cannot be voided here: {way.reason}"]
    line = run.command_line("revoke", *chosen, *output.telling(batch.count))
    return ["to void the whole batch:", f"  {line}"]


@click.option("--count", type=params.COUNT, help="How many codes; a new batch needs it.")
@click.option("--points", type=params.POINTS, help="Points each code gives; a new batch needs it.")
@click.option(
    "--expires",
    type=params.Expiry(),
    metavar="WHEN",
    help=f"When they expire: {params.WHEN_FORMS}.  [default: never]",
)
@click.option("--note", type=params.Note(), help="A label for the batch.")
@click.option(
    "--request-id",
    type=params.RequestId(),
    help="A name for the batch of your own; the same again makes nothing.",
)
@click.option(
    "--resume",
    type=paths.File(),
    metavar="FILE.pending",
    help="Settle the batch of a run that ended before its end was known.",
)
@click.option("--dry-run", is_flag=True, help="Say what would happen; make no codes.")
@click.pass_obj
def _generate(  # noqa: PLR0913 - one argument an option
    run: Run,
    *,
    target: Target,
    count: int | None,
    points: int | None,
    expires: When | None,
    note: str | None,
    request_id: str | None,
    resume: Path | None,
    dry_run: bool,
) -> None:
    """Make a batch of single-use codes, and show each code once.

    The codes are stored only if every one of them was delivered: to a new file, or to whoever
    reads standard output. Their text is kept nowhere; what is lost is voided and made anew.

    Without --output 10,000 codes are the most. `[limits] codes_per_batch` in the settings bounds
    every batch; it can be raised to 1,000,000.

    \b
    Example: invite generate --count 50 --points 100 --expires 30d
             invite generate --count 50 --points 100 --output friday.csv
    """
    job = Job(run, NEEDS, target)
    if resume is not None:
        if (count, points, expires, note, request_id, dry_run) != (None,) * 5 + (False,):
            raise BadInput("--resume takes the batch as it is; only --output goes with it")
        if target.piped:
            raise BadInput(
                f"--resume makes a file, and standard output is none; {NOTHING_CHANGED}",
                hint="leave --output out, or name another file by it",
            )
        resuming.resume(job, resume, batch_report)
        return
    if count is None or points is None:
        missing = "--count" if count is None else "--points"
        raise BadInput(f"{missing} is missing", hint="run `invite generate --help`")
    if target.path is None and count > SHOWN:
        raise BadInput(
            f"standard output takes at most {SHOWN:,} codes; {NOTHING_CHANGED}",
            hint="write them to a file, by --output FILE.csv",
        )
    output.check_held(target.form, count)
    order = Order(count, points, expires, note or None, request_id, dry_run)
    job.deliver(lambda store, batches: order.make(run, store, batches))


command = as_command(report_options(_generate), NEEDS)
