"""Write the operations page for this table as Markdown."""

from __future__ import annotations

import difflib
import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from invite_admin import paths, runbook, text
from invite_admin.codes import shown_path
from invite_admin.conninfo import configured
from invite_admin.errors import BadInput, Failed
from invite_admin.job import Job
from invite_admin.model import Capability
from invite_admin.run import Target
from invite_admin.sinks import ReaderLeft, StandardOutput
from invite_admin.strict import Strict

if TYPE_CHECKING:
    from pathlib import Path

    from invite_admin.run import Run
    from invite_admin.runbook import Stand

HEADING = "# "  # how every page begins, and no file of codes


@click.command(cls=Strict)
@click.option(
    "--lang",
    type=click.Choice(runbook.LANGUAGES),
    default="en",
    show_default=True,
    help="The page's language.",
)
@click.option(
    "--output",
    type=paths.File(result=True),
    metavar="FILE",
    help="Write the page to FILE, if its text has changed.",
)
@click.option("--check", is_flag=True, help="Change nothing; exit 1 where FILE is stale.")
@click.option("--offline", is_flag=True, help="Describe the application's own structure.")
@click.option(
    "--step",
    type=click.Choice(["1", "3"]),
    help="With --offline: 1 as the table's owner, 3 as an operator's login.  [default: 3]",
)
@click.pass_context
def command(  # noqa: PLR0913 - one argument an option
    context: click.Context,
    *,
    lang: str,
    output: Path | None,
    check: bool,
    offline: bool,
    step: str | None,
) -> None:
    """Write the operations page for this table as Markdown.

    What to do, and the output to expect, for the table as this login sees it. The page names
    neither server nor login.

    \b
    Example: invite runbook --lang zh --offline
    """
    run: Run = context.obj
    if check and output is None:
        raise BadInput("--check needs --output: the page to look at")
    if step and not offline:
        raise BadInput("--step goes with --offline")
    tree = context.find_root().command
    assert isinstance(tree, click.Group)  # noqa: S101 - the root of every command
    with run.stoppable():
        stand = runbook.offline(int(step or 3)) if offline else _live(run)
        page = runbook.write_page(stand, tree, lang)
        if output is None:
            _print(run, page)
        elif check:
            _compare(run, output, page)
        else:
            _keep(run, output, page)
        way = stand.shape.ways[Capability.READ]
        if way.refused:
            raise way.failure(f"`{Capability.READ}` is blocked here")


def _live(run: Run) -> Stand:
    """Look at the database that is configured."""
    if not run.sandbox and not configured(run.preferences):
        raise BadInput(
            "no database is configured, so there is no table to describe",
            hint="set INVITE_DATABASE_URL, or use --offline for the application's own structure",
        )
    with Job(run, (), Target("markdown")).opened(writing=False) as store:
        return runbook.live(store.shape.facts, run.settings)


def _print(run: Run, page: str) -> None:
    if run.closed:
        raise Failed("standard output is closed, so the page could not be written")
    sink = StandardOutput(sys.stdout.buffer, run.preferences.timeouts.idle, run.say)
    with suppress(ReaderLeft):
        sink.write(page.encode())
        sink.finish()


def _compare(run: Run, path: Path, page: str) -> None:
    kept = _read(path)
    if kept is None:
        raise Failed(
            f"{shown_path(path)} is not there; nothing was changed",
            hint="run the same without --check to make it",
        )
    if kept == page:
        run.say(f"{shown_path(path)} is current")
        return
    _require_page(path, kept)
    diff = difflib.unified_diff(
        kept.splitlines(), page.splitlines(), shown_path(path), "as it should be", lineterm=""
    )
    _print(run, "".join(f"{text.visible(line)}\n" for line in diff))
    raise Failed(
        f"{shown_path(path)} is stale; nothing was changed", hint="run the same without --check"
    )


def _keep(run: Run, path: Path, page: str) -> None:
    """Replace the page only where its text differs, as a whole, its mode kept."""
    found = _read(path)
    if found == page:
        run.say(f"{shown_path(path)} is current; left as it is")
        return
    _require_page(path, found)
    new = None
    try:
        kept = path.resolve()  # a link stays a link
        new = kept.with_name(f".{kept.name}.new")
        new.write_text(page, encoding="utf-8")
        with suppress(FileNotFoundError):
            new.chmod(stat.S_IMODE(kept.stat().st_mode))
        new.replace(kept)
    except OSError as error:
        if new:
            with suppress(OSError):
                new.unlink()
        raise Failed(f"{shown_path(path)} cannot be written: {error.strerror}") from None
    run.say(f"{shown_path(path)} was written")


def _require_page(path: Path, found: str | None) -> None:
    """Refuse a file that holds something else, codes perhaps: it is neither replaced nor shown.

    Raises:
        BadInput: It does.
    """
    if found and not found.startswith(HEADING):
        raise BadInput(
            f"{shown_path(path)} holds something else than a page; nothing was changed",
            hint="name another file by --output",
        )


def _read(path: Path) -> str | None:
    """Return what the file holds; None where there is none.

    Raises:
        BadInput: It is a device, a pipe or a folder, which a page must not take the place of.
    """
    if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113 - these never raise
        raise BadInput(f"{shown_path(path)} is no ordinary file; nothing was changed")
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Failed(f"{shown_path(path)} cannot be read: {reason}") from None
