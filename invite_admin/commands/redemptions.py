"""Show who redeemed which code, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from invite_admin import columns, params
from invite_admin.chosen import instant
from invite_admin.model import Capability, Redemptions
from invite_admin.options import database_command
from invite_admin.report import Report
from invite_admin.whens import Meaning

if TYPE_CHECKING:
    from invite_admin.run import Run
    from invite_admin.store import Store
    from invite_admin.whens import When


@database_command(Capability.READ)
@click.option("--user", type=params.User(), metavar="EMAIL|ID", help="Only this person's.")
@click.option("--note", type=params.Search(), help="Only codes with exactly this note.")
@click.option("--search", type=params.Search(), help="Only codes with this in mask or note.")
@click.option("--since", type=params.Time(Meaning.SINCE), help="Redeemed at WHEN or later.")
@click.option("--until", type=params.Time(Meaning.UNTIL), help="Redeemed before WHEN.")
@click.option("--limit", type=params.NUMBER, help="At most this many rows.  [default: all]")
def command(  # noqa: PLR0913 - one argument an option
    store: Store,
    *,
    run: Run,
    user: str | None,
    note: str | None,
    search: str | None,
    since: When | None,
    until: When | None,
    limit: int | None,
) -> Report:
    """Show who redeemed which code, newest first.

    People whose accounts were deleted since are still listed, as they were when they redeemed.

    A table or markdown holds at most 10,000 rows; csv, json and jsonl any number, csv the fastest.

    \b
    Example: invite redemptions --since 7d --user tester07@example.com
    """
    now = store.session.server.now
    wanted = Redemptions(
        user=user,
        note=note.strip() if note else None,
        search=search,
        since=instant(run, now, "redeemed since", since),
        until=instant(run, now, "redeemed until", until),
    )
    rows = store.reads.redemptions(wanted, limit=limit)
    return Report(columns.REDEEMED, rows, export=rows.export)
