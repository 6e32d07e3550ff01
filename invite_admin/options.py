"""Options that several commands share, and the one seam between Click and the store."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from invite_admin import names, params, paths
from invite_admin.chosen import Chosen
from invite_admin.codes import shown_path
from invite_admin.errors import BadInput
from invite_admin.model import Status
from invite_admin.output import FORMATS, SUFFIXES
from invite_admin.strict import Strict
from invite_admin.whens import Meaning

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from invite_admin.codes import Name
    from invite_admin.model import Capability
    from invite_admin.report import Report
    from invite_admin.run import Run, Target
    from invite_admin.store import Store

    Function = Callable[..., Any]


PLAIN = ("", ".txt")  # suffixes of a file that a table as plain text may be meant for


class DatabaseCommand(Strict):
    """A command on the database.

    Attributes:
        needs: What it needs of the table and the login; the guard and ``check`` read it here.
    """

    needs: tuple[Capability, ...] = ()


def database_command(*needs: Capability) -> Callable[[Function], DatabaseCommand]:
    """Make a reading command of a function that takes the store and returns a report.

    Its rows are written while the transaction is open.
    """

    def decorate(function: Function) -> DatabaseCommand:
        @click.pass_obj
        @functools.wraps(function)
        def callback(run: Run, /, target: Target, **given: Any) -> None:  # noqa: ANN401 - each command's own
            from invite_admin.job import Job  # noqa: PLC0415 - only a command that runs needs it

            def ask(store: Store) -> Report:
                found: Report = function(store, run=run, **given)
                return found

            Job(run, needs, target).read(ask)

        return as_command(report_options(callback), needs)

    return decorate


def as_command(callback: Function, needs: tuple[Capability, ...]) -> DatabaseCommand:
    """Name a command after its module and declare what it needs."""
    command = click.command(
        name=callback.__module__.rpartition(".")[2].rstrip("_"), cls=DatabaseCommand
    )(callback)
    command.needs = needs
    command.params.sort(key=_place)
    return command


def _place(param: click.Parameter) -> int:
    """Put a command's own options first in its help, and those of every report last."""
    if param.name in ("form", "output", "raw", "bom"):
        return 2
    return 1 if param.name in {f.name for f in fields(Chosen)} else 0


def report_options(function: Function) -> Function:
    """Add where the result goes and how it is written; the function gets ``target``."""

    @click.option(
        "--format",
        "form",
        type=click.Choice(list(FORMATS)),
        help="How to write the result.  [default: by the suffix of --output, else table]",
    )
    @click.option(
        "--output",
        type=paths.File(result=True),
        metavar="FILE",
        help="Write the result to FILE, which must not exist (mode 0600).",
    )
    @click.option("--raw", is_flag=True, help="csv: no ' before cells that look like formulas.")
    @click.option("--bom", is_flag=True, help="csv: begin with the mark that Excel wants.")
    @functools.wraps(function)
    def wrapped(
        *args: Any,  # noqa: ANN401 - Click's
        form: str | None,
        output: Path | None,
        raw: bool,
        bom: bool,
        **given: Any,  # noqa: ANN401 - each command's own
    ) -> Any:  # noqa: ANN401 - each command's own
        from invite_admin.run import Target  # noqa: PLC0415 - only a command that runs needs it

        piped = str(output) == names.STDIN
        path = None if piped else output
        usual = "csv" if given.get("watch") else "table"  # a stream has no end to be laid out
        named = form or SUFFIXES.get(path.suffix.lower() if path else "")
        chosen = named or usual
        if (raw or bom) and chosen != "csv" and not given.get("resume"):  # whose file says it
            raise BadInput("--raw and --bom go with csv only")
        if path and not named and path.suffix not in PLAIN:
            run: Run = click.get_current_context().obj
            run.say(
                f"warning: {shown_path(path)} gets a table as plain text; csv and json are chosen "
                "by --format or by the suffix"
            )
        target = Target(chosen, path, raw, bom, bool(named), piped)
        return function(*args, target=target, **given)

    return wrapped


def filter_options(function: Function) -> Function:
    """Add the filters; the function gets ``chosen``."""

    @click.option(
        "--status",
        type=click.Choice([str(s) for s in Status]),
        multiple=True,
        help="Only codes that are this now; may be given several times.",
    )
    @click.option("--note", type=params.Search(), help="Only codes with exactly this note.")
    @click.option("--search", type=params.Search(), help="Only codes with this in mask or note.")
    @click.option("--points", type=params.NUMBER, help="Only codes of this many points.")
    @click.option(
        "--created-since", type=params.Time(Meaning.SINCE), help="Created at WHEN or later."
    )
    @click.option("--created-until", type=params.Time(Meaning.UNTIL), help="Created before WHEN.")
    @click.option(
        "--expires-before",
        type=params.Time(Meaning.BEFORE),
        help="Expires before WHEN; 2026-12-31 leaves out what was made with --expires 2026-12-30, "
        "which ends at that midnight.",
    )
    @click.option("--request-id", type=params.RequestId(), help="Made under this request id.")
    @functools.wraps(function)
    def wrapped(*args: Any, **given: Any) -> Any:  # noqa: ANN401 - Click's and each command's own
        typed = {f.name: given.pop(f.name) for f in fields(Chosen)}
        typed["status"] = tuple(Status(s) for s in typed["status"])
        if typed["note"] is not None:
            typed["note"] = typed["note"].strip()
        return function(*args, chosen=Chosen(**typed), **given)

    return wrapped


def name_options(function: Function) -> Function:
    """Add the ways to name codes; the function gets ``named``, None where none is used."""

    @click.argument("words", nargs=-1, metavar="[CODE|ID|MASK]... | -")
    @click.option(
        "--from-file",
        type=paths.File(),
        metavar="FILE",
        help="Read codes, ids or masks from FILE, one a line, or what `generate` wrote.",
    )
    @functools.wraps(function)
    def wrapped(
        *args: Any,  # noqa: ANN401 - Click's
        words: tuple[str, ...],
        from_file: Path | None,
        **given: Any,  # noqa: ANN401 - each command's own
    ) -> Any:  # noqa: ANN401 - each command's own
        if words and from_file:
            raise BadInput("name codes as arguments or by --from-file, not both")
        if names.STDIN in words and len(words) > 1:
            raise BadInput("`-` (standard input) stands alone, without other codes")
        piped = names.STDIN in words or str(from_file) == names.STDIN
        return function(*args, named=Named(words, from_file, piped), **given)

    return wrapped


@dataclass(frozen=True)
class Named:
    """How codes were named; nothing has been read yet.

    Attributes:
        words: The arguments.
        file: The file; None where none was named.
        piped: Whether they come from standard input.
    """

    words: tuple[str, ...]
    file: Path | None
    piped: bool

    def __bool__(self) -> bool:
        return bool(self.words) or self.file is not None

    def read(self, say: Callable[[str], None]) -> list[Name]:
        """Read all names, before anything is sent.

        Args:
            say: Told that standard input is waited for.

        Raises:
            BadInput: One of them is no code, id or mask, or there is none.
        """
        if self.piped:
            return names.read_stdin(say)
        return names.read_file(self.file) if self.file else names.read_arguments(self.words)
