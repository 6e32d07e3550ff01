"""``invite generate``: a batch of new single-use codes, each shown once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from invite_admin import columns, output, params, text
from invite_admin.chosen import expiry
from invite_admin.model import Capability, Minted, Report, Terms
from invite_admin.options import database_command

if TYPE_CHECKING:
    from invite_admin.run import Run, Target
    from invite_admin.store import Store
    from invite_admin.whens import When


@database_command(Capability.GENERATE)
@click.option("--count", type=params.COUNT, required=True, help="How many codes.")
@click.option("--points", type=params.POINTS, required=True, help="Points each code gives.")
@click.option(
    "--expires",
    type=params.Expiry(),
    metavar="WHEN",
    help=f"When they expire: {params.WHEN_FORMS}.  [default: never]",
)
@click.option("--note", type=params.Note(), help="A label for the batch.")
@click.option("--dry-run", is_flag=True, help="Say what would happen; make no codes.")
def command(  # noqa: PLR0913 - one argument an option
    store: Store,
    *,
    run: Run,
    target: Target,
    count: int,
    points: int,
    expires: When | None,
    note: str | None,
    dry_run: bool,
) -> Report | None:
    """Make a batch of single-use codes, and show each code once.

    The codes are stored only if every one of them was delivered: to a new file, or to whoever
    reads standard output. Their text is kept nowhere; what is lost is voided and made anew.

    \b
    Example: invite generate --count 50 --points 100 --expires 30d
             invite generate --count 50 --points 100 --output friday.csv
    """
    output.check_held(target.form, count)
    terms = Terms(points, expiry(run, store.session.server.now, expires), note or None)
    if terms.expires_at is None:
        run.say("warning: these codes never expire; --expires sets an end")
    worth = f"{text.counted(count, 'code')} of {text.counted(points, 'point')} each, "
    worth += f"{text.counted(count * points, 'point')} in all"
    if dry_run:
        run.say(f"dry run: would make {worth}; nothing was made")
        return None
    return _report(store, run, terms, store.generate(count, terms), worth)


def _report(store: Store, run: Run, terms: Terms, minted: list[Minted], worth: str) -> Report:
    def summary() -> list[str]:
        began = store.session.server.now
        named = f"batch: created at {began.isoformat()}"
        if store.request_id:
            named += f", request id {store.request_id}"
        return [f"delivered and stored: {worth}", named, *_voiding(store, run)]

    rows = [(m.id, m.code, m.mask, terms.points, terms.expires_at, terms.note) for m in minted]
    return replace(Report(columns.GENERATED, rows), summary=summary)


def _voiding(store: Store, run: Run) -> list[str]:
    """Name the one command that voids the batch: its codes share their time of creation."""
    way = store.shape.ways[Capability.REVOKE]
    if not way.available:
        return [f"they cannot be voided here: {way.reason}"]
    began = store.session.server.now
    after = began + timedelta(microseconds=1)
    bounds = ("--created-since", began.isoformat(), "--created-until", after.isoformat())
    return ["to void the whole batch:", f"  {run.command_line('revoke', *bounds)}"]
