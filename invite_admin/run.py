"""One call of the tool: its settings, its voice, and where its result goes."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from invite_admin import errors, files, output, settings, sinks, text
from invite_admin.codes import Secret
from invite_admin.progress import Progress
from invite_admin.record import Log, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from invite_admin.gate import Gate
    from invite_admin.report import Report
    from invite_admin.settings import Settings


@dataclass
class Run:
    """One call of the tool.

    Attributes:
        config: The settings file named on the command line; None where none was.
        sandbox: Whether to act on the embedded server.
        user_folder: The user's own configuration folder.
        closed: Whether standard output was closed when the tool began.
        truth: What is true of the codes right now, for whoever stops the tool.
        record: What the log for evidence is told of it.
        log: That log; None for none.
        stopped: The signal that came while COMMIT was under way; None where none did.
        drawn: How many columns the line of a progress takes that stands on the terminal.
    """

    config: Path | None
    sandbox: bool
    user_folder: Path
    closed: bool = False
    truth: str = field(default=errors.NOTHING_CHANGED)
    record: Record = field(default_factory=Record)
    log: Log | None = None
    stopped: BaseException | None = None
    drawn: int = 0

    @cached_property
    def preferences(self) -> Settings:
        """The settings as the file and the environment have them."""
        if self.sandbox:
            return settings.load(self.config, self.user_folder, {})
        return settings.load(self.config, self.user_folder)

    @cached_property
    def settings(self) -> Settings:
        """The settings to act by; makes and starts the sandbox where that is asked for."""
        if not self.sandbox:
            return self.preferences
        from invite_admin import sandbox  # noqa: PLC0415 - only the sandbox needs it

        for name in [name for name in os.environ if name.startswith("PG")]:
            del os.environ[name]
        self.say("this is the sandbox, an embedded server to try everything on")
        access = sandbox.open_sandbox(self.say)
        schema, _, table = access.table.partition(".")
        return replace(
            self.preferences,
            database=Secret(access.url),
            actor=access.actor,
            write_role=access.write_role,
            schema=schema,
            table=table,
            users=Secret(access.users_url),
            smoke=replace(self.preferences.smoke, accounts=access.users),
            sandbox=True,
        )

    @cached_property
    def gate(self) -> Gate:
        """This call's way to a place for heavy work."""
        from invite_admin.gate import Gate  # noqa: PLC0415 - heavy

        return Gate(self.say)

    def command_line(self, *words: str) -> str:
        """Return a command line for the operator to copy, on the same database."""
        named = ["--config", str(self.config)] if self.config else []
        place = ["--sandbox"] if self.sandbox else []
        return shlex.join(text.attached(["invite", *named, *place, *words]))

    def say(self, *lines: str) -> None:
        """Tell a person something on standard error; never fails."""
        self.draw("")
        for line in lines:
            self._write(text.visible(line) + "\n")

    def draw(self, line: str) -> None:
        """Draw a line in the place of the one drawn before; an empty one leaves none."""
        if line or self.drawn:
            blank = f"\r{' ' * self.drawn}\r"
            shown = line[: _columns() - 1]
            self.drawn = len(shown)
            self._write(blank + shown)

    @contextmanager
    def progress(self, total: int | None, doing: str) -> Iterator[Callable[[int], None]]:
        """Show on a terminal how far a work of more than a second is; give what counts its rows.

        Args:
            total: Rows in all; None where that is not known.
            doing: What is done to them, as in ``sent``.
        """
        if not sys.stderr.isatty():
            yield lambda _rows: None
            return
        try:
            yield Progress(total, doing, self.draw).advance
        finally:
            self.draw("")

    def _write(self, shown: str) -> None:
        try:
            sys.stderr.write(shown)
            sys.stderr.flush()
        except (OSError, ValueError):
            sinks.give_up(sys.stderr)

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Turn Ctrl-C and SIGTERM into one line that says what is true."""
        try:
            yield
        except (KeyboardInterrupt, errors.TerminationSignal) as stop:
            raise errors.stopped(stop, self.truth) from None
        if self.stopped is not None:
            raise errors.stopped(self.stopped, self.truth)


@dataclass(frozen=True)
class Target:
    """Where a result goes and in which format.

    Attributes:
        form: One of ``output.FORMATS``.
        path: The file; None means standard output.
        raw: csv without the guard against formulas.
        bom: csv with the mark that Excel wants.
        named: Whether the format was named, by an option or by the file's suffix.
        piped: Whether standard output was named.
    """

    form: str
    path: Path | None = None
    raw: bool = False
    bom: bool = False
    named: bool = False
    piped: bool = False

    def open(self, run: Run, *, limited: bool = False) -> tuple[sinks.Sink, output.Style]:
        """Check the place before anything is sent; a file is made by its first byte.

        Args:
            run: The call.
            limited: Whether others wait for the limits' lock until the reader took everything.

        Raises:
            Failed: Standard output is closed, or the folder cannot be written to.
            BadInput: The file exists.
        """
        style = output.Style(run.preferences.timezone, raw=self.raw, bom=self.bom)
        if self.path is not None:
            return files.NewFile(self.path), style
        if run.closed:
            raise errors.Failed(
                "standard output is closed, so the result could not be written; "
                f"{errors.NOTHING_CHANGED}"
            )
        patience, bound = run.preferences.timeouts.idle, sinks.IDLE
        if limited and patience > sinks.LIMITED_PATIENCE:
            patience, bound = sinks.LIMITED_PATIENCE, sinks.LIMITED
        sink = sinks.StandardOutput(sys.stdout.buffer, patience, run.say, bound)
        encoding = sys.stdout.encoding or "utf-8"
        width = shutil.get_terminal_size((80, 24)).columns if sink.terminal else 80
        return sink, replace(style, terminal=sink.terminal, width=width, encoding=encoding)


def _columns() -> int:
    """Return how wide the terminal of standard error is."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def show(run: Run, target: Target, report: Report) -> None:
    """Write a report that needed no database."""
    sink, style = target.open(run)
    with suppress(sinks.ReaderLeft), taken_back(sink):
        output.emit(report, target.form, sink, style)


@contextmanager
def taken_back(sink: sinks.Sink) -> Iterator[None]:
    """Remove a file whose content did not become true; keep it where that is not known."""
    try:
        yield
    except errors.OutcomeUnknown:
        raise
    except BaseException:
        sink.discard()
        raise
