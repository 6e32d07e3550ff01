"""Try whether many people can redeem at the same moment."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import astuple, replace
from functools import partial
from typing import TYPE_CHECKING

import click

from invite_admin import columns, files, output, params, paths, sinks
from invite_admin.codes import shown_path
from invite_admin.errors import BadInput, Failed, InviteError
from invite_admin.job import Job
from invite_admin.model import Capability
from invite_admin.names import STDIN
from invite_admin.options import as_command
from invite_admin.report import Report
from invite_admin.run import Target
from invite_admin.settings import USERS_URL_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from invite_admin.run import Run
    from invite_admin.smoke import runs

NEEDS = (Capability.READ, Capability.GENERATE)
SIZES = (10, 20)


@click.option(
    "--users",
    "sizes",
    type=params.CROWD_SIZE,
    multiple=True,
    help="So many people at once, 3 to 100, and no more than there are test accounts; may be given "
    "several times.  [default: 10, then 20]",
)
@click.option(
    "--against",
    type=paths.File(),
    metavar="FILE",
    help="Compare with the run that --output kept in FILE.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(output.FORMATS)),
    default="table",
    show_default=True,
    help="How to write the result.",
)
@click.option(
    "--output",
    "kept",
    type=paths.File(result=True),
    metavar="FILE",
    help="Keep the run in FILE as JSON, whatever is shown; FILE must not exist (mode 0600).",
)
@click.pass_obj
def _smoke(
    run: Run, *, sizes: tuple[int, ...], against: Path | None, form: str, kept: Path | None
) -> None:
    """Try whether many people can redeem at the same moment.

    Ten people, then twenty: test accounts redeem test codes of one point as the application does,
    each tries the same code again, and three race for one more. What is left unused is voided.
    In the sandbox it runs as it is. Another database needs enabled = true and accounts under
    [smoke] in a file that --config or INVITE_CONFIG names, and INVITE_SMOKE_DATABASE_URL, by
    which the accounts connect. Exit status 1 where up to ten people missed the line.

    \b
    Example: invite --sandbox smoke --output before.json
             invite --sandbox smoke --against before.json
    """
    from invite_admin.smoke.stock import Stock  # noqa: PLC0415 - heavy
    from invite_admin.smoke.trial import Trial  # noqa: PLC0415 - heavy

    job = Job(run, NEEDS, Target(form))
    before = None if against is None else _read(against)
    if str(kept) == STDIN:
        raise BadInput("--output names a file here; the report goes to standard output")
    if kept is not None:
        files.NewFile(kept)  # refuses one that is there
    _refuse_unless_enabled(run)
    with run.stoppable():
        sink, style = job.target.open(run)
        stock = Stock(job)
        found = Trial(job, stock, tuple(dict.fromkeys(sizes)) or SIZES).run()
        report = _report(found, stock.left, before)
        if kept is not None:  # before it is shown, so that neither failure costs the other
            report = _keep(run, found, kept, report)
        report = _show(run, report, partial(output.emit, report, form, sink, style))
        job.conclude(report)


def _keep(run: Run, found: runs.Run, path: Path, report: Report) -> Report:
    """Keep a run in a file; that it could not be kept joins the report's verdict."""
    try:
        files.publish(path, partial(_fill, found.kept()))
    except InviteError as error:
        return _missing(run, report, "kept", error)
    run.say(f"kept in {shown_path(path)}")
    return report


def _show(run: Run, report: Report, emit: Callable[[], None]) -> Report:
    """Show the report; that it could not be written joins its verdict."""
    try:
        with suppress(sinks.ReaderLeft):
            emit()
    except InviteError as error:
        return _missing(run, report, "shown", error)
    return report


def _missing(run: Run, report: Report, done: str, error: InviteError) -> Report:
    """Add to a report's verdict what could not be done with the run."""
    why = error.reason
    verdict = report.verdict.message if report.verdict else ""
    true = "" if run.truth in verdict else f"{run.truth}, but "
    told = f"{true}the run could not be {done}: {why}"
    message = f"{verdict}; {told}" if verdict else told
    return replace(report, verdict=Failed(message, hint=error.hint))


def _fill(data: bytes, file: files.NewFile) -> None:
    file.write(data)
    file.finish()


def _refuse_unless_enabled(run: Run) -> None:
    """Let only those redeem on a real database who said so in a file that they named."""
    settings = run.preferences
    if run.sandbox:
        return
    if not (settings.named and settings.smoke.enabled):
        raise BadInput(
            "smoke redeems codes, and is not enabled for this database; nothing was changed",
            hint="try `invite --sandbox smoke`; here it takes [smoke] enabled = true in a file "
            "that --config or INVITE_CONFIG names",
        )
    if not settings.smoke.accounts:
        raise BadInput(
            "[smoke] accounts names no test account; nothing was changed",
            hint='accounts = ["tester01@example.com", ...]; nobody else is touched',
        )
    if settings.users is None:
        raise BadInput(
            f"{USERS_URL_VARIABLE} is not set; nothing was changed",
            hint="it names the same database, with a login that may SET ROLE authenticated",
        )


def _read(path: Path) -> runs.Run:
    from invite_admin.smoke.runs import read_run  # noqa: PLC0415 - only where it is asked for

    try:
        return read_run(path.read_bytes(), shown_path(path))
    except OSError as error:
        raise BadInput(f"{shown_path(path)}: cannot be read: {error.strerror}") from None


def _report(found: runs.Run, left: list[str], before: runs.Run | None) -> Report:
    from invite_admin.smoke import telling  # noqa: PLC0415 - comes with the run

    def summary() -> list[str]:
        return [f"before-and-after: {telling.judgement(found, before)}"] if before else []

    return Report(
        columns.SMOKE,
        [astuple(tier) for tier in found.tiers],
        sections=telling.sections(found, left, before),
        summary=summary,
        verdict=Failed(f"missed the line: {'; '.join(found.missed)}") if found.missed else None,
    )


command = as_command(_smoke, NEEDS)
