"""Count codes and points, by what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from invite_admin import columns
from invite_admin.model import Capability
from invite_admin.options import database_command, filter_options
from invite_admin.report import Layout, Report

if TYPE_CHECKING:
    from invite_admin.chosen import Chosen
    from invite_admin.run import Run
    from invite_admin.store import Store


@database_command(Capability.READ)
@filter_options
@click.option(
    "--by",
    type=click.Choice(["note", "day"]),
    help="One row a note, or a day of creation in the configured time zone.",
)
def command(store: Store, *, run: Run, chosen: Chosen, by: str | None) -> Report:
    """Count codes and points, by what became of them.

    \b
    Example: invite stats --by note
    """
    filters = chosen.at(store, run)
    rows = store.reads.stats(filters, by=by, zone=str(run.preferences.timezone))
    return Report(columns.STATS, rows, Layout.ROWS if by else Layout.RECORDS)
