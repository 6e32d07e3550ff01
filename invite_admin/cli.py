"""Finds the commands; turns every failure into one line on standard error and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from invite_admin import __version__, errors, sinks
from invite_admin.commands import Commands
from invite_admin.paths import File, LogFile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from invite_admin.record import Log
    from invite_admin.run import Run


LOG_FILE = "log_file"
A_MOMENT = 0.01  # seconds


class _Tool(Commands):
    """The whole command line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line; where it is refused, that still goes into the log it names."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError:
            _find_log(self, ctx, given)
            raise


@dataclass
class Call:
    """What is known of this process's one call, also where its command line was refused.

    Attributes:
        closed: Whether standard output was closed when the process began.
        run: The call; None while its command line is not understood.
        log: Where its line goes; None for nowhere.
    """

    closed: bool = False
    run: Run | None = None
    log: Log | None = None


def _open_log(ctx: click.Context, param: click.Parameter, path: Path | None) -> None:  # noqa: ARG001 - Click's signature
    """Open the log before the rest of the command line is read, so that refusals are in it."""
    from invite_admin.record import Log  # noqa: PLC0415 - not for the help

    if path is not None and not ctx.resilient_parsing:
        ctx.ensure_object(Call).log = Log(path)


def _find_log(command: click.Command, ctx: click.Context, arguments: list[str]) -> None:
    """Open the log of a command line that was refused before its options were looked at."""
    call = ctx.ensure_object(Call)
    ctx.ignore_unknown_options = ctx.resilient_parsing = True
    found, _, _ = command.make_parser(ctx).parse_args(arguments)
    path = found.get(LOG_FILE)
    from invite_admin.record import Log  # noqa: PLC0415 - not for the help

    if call.log is None and isinstance(path, str):
        with suppress(click.UsageError):  # it is what was refused
            call.log = Log(LogFile().convert(path, None, ctx))


@click.group(cls=_Tool, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--config",
    type=File(),
    metavar="FILE",
    help="The settings file; that one alone counts.",
)
@click.option("--sandbox", is_flag=True, help="Act on an embedded server, to try things on.")
@click.option(
    "--log-file",
    LOG_FILE,
    type=LogFile(),
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_open_log,
    help="Append one line about this command to FILE, for evidence.",
)
@click.version_option(__version__, prog_name="invite", message="%(prog)s %(version)s")
@click.pass_context
def cli(
    ctx: click.Context,
    *,
    config: Path | None,
    sandbox: bool,
) -> None:
    """Administer the invite codes of an existing PostgreSQL table.

    The database comes from INVITE_DATABASE_URL, or from libpq's own variables. Codes are shown
    once, by `generate`; every other command shows masks.
    """
    from invite_admin.run import Run  # noqa: PLC0415 - not for the help

    call = ctx.ensure_object(Call)
    user_folder = Path(click.get_app_dir("invite"))
    ctx.obj = call.run = Run(config, sandbox, user_folder, closed=call.closed, log=call.log)
    if ctx.invoked_subcommand in cli.list_commands(ctx):
        call.run.record.command = ctx.invoked_subcommand


def main() -> NoReturn:
    """Run the tool as a process."""
    closed = _open_standard_streams()
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # nohup ignores it, and means it
        signal.signal(signal.SIGHUP, _terminate)
    sys.unraisablehook = _again
    sys.exit(run(sys.argv[1:], closed=closed))


def _again(lost: sys.UnraisableHookArgs) -> None:
    """Let a signal come again that came while Python freed an object, where nothing is raised."""
    number = {
        KeyboardInterrupt: signal.SIGINT,
        errors.TerminationSignal: signal.SIGTERM,
        errors.HangUpSignal: signal.SIGHUP,
    }.get(lost.exc_type)
    if number is None:
        sys.__unraisablehook__(lost)
        return
    # A little later, and not from here: raised in this function it would be lost once more.
    main = threading.main_thread().ident
    threading.Timer(A_MOMENT, signal.pthread_kill, (main, number)).start()


def run(arguments: Sequence[str], *, closed: bool = False) -> int:
    """Run one command line and return its exit code; failures are told on standard error."""
    call = Call(closed)
    error = _failure(arguments, call)
    if error is not None:
        _tell(error)
    exit_code, word = (error.exit_code, error.word) if error else (0, "ok")
    if call.log is not None:
        from invite_admin.record import Record  # noqa: PLC0415 - not for the help

        record = call.run.record if call.run else Record()
        call.log.write(record, exit_code, word, _speaker().say)
    return exit_code


def _failure(arguments: Sequence[str], call: Call) -> errors.InviteError | None:
    """Run one command line; return how it failed, None where it did not."""
    try:
        cli.main(list(arguments), prog_name="invite", standalone_mode=False, obj=call)
    except errors.InviteError as error:
        return error
    except click.UsageError as error:
        from invite_admin.refusals import reworded  # noqa: PLC0415 - not for the help

        return reworded(error, cli, call.run.record.command if call.run else None)
    except (click.Abort, KeyboardInterrupt, errors.TerminationSignal) as stop:
        return errors.stopped(stop, "nothing was changed")
    except OSError as error:  # the help, for one, could not be written
        sinks.give_up(sys.stdout)
        return errors.Failed(f"the operating system refused: {error.strerror}")
    return None


def _tell(error: errors.InviteError) -> None:
    say = _speaker().say
    say(f"invite: {error.word}: {error.message}")
    if error.hint:
        say(f"hint: {error.hint.removeprefix('hint: ')}")


def _speaker() -> Run:
    from invite_admin.run import Run  # noqa: PLC0415 - not for the help

    return Run(None, sandbox=False, user_folder=Path())


def _terminate(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's signature
    raise errors.HangUpSignal if number == signal.SIGHUP else errors.TerminationSignal


def _open_standard_streams() -> bool:
    """Open descriptors 0 to 2 on nothing where they are closed; tell whether output was.

    Otherwise the next file or socket would take such a number, and be written to as if it were
    standard output.
    """
    closed = sys.stdout is None
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    names: tuple[tuple[str, Any], ...] = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
    for number, (name, mode) in enumerate(names):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    return closed
