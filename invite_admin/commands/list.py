"""List codes and their status; masks only, never a code's text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from invite_admin import columns, params
from invite_admin.model import Capability, Sort
from invite_admin.options import database_command, filter_options
from invite_admin.report import Report

if TYPE_CHECKING:
    from invite_admin.chosen import Chosen
    from invite_admin.run import Run
    from invite_admin.store import Store


@database_command(Capability.READ)
@filter_options
@click.option("--limit", type=params.NUMBER, help="At most this many rows.  [default: all]")
@click.option(
    "--sort",
    type=click.Choice([str(s) for s in Sort]),
    default=str(Sort.CREATED),
    show_default=True,
    help="Newest, soonest to expire or most points first; codes that never expire come last.",
)
@click.option("--reverse", is_flag=True, help="The other way round; never-expiring stays last.")
def command(  # noqa: PLR0913 - one argument an option
    store: Store,
    *,
    run: Run,
    chosen: Chosen,
    limit: int | None,
    sort: str,
    reverse: bool,
) -> Report:
    """List codes and their status; masks only, never a code's text.

    A table or markdown holds at most 10,000 rows; csv, json and jsonl any number.

    \b
    Example: invite list --status available --note "friday testers"
    """
    filters = chosen.at(store, run)
    rows = store.reads.rows(filters, sort=Sort(sort), reverse=reverse, limit=limit)
    return Report(columns.CODE, rows, export=rows.export)
