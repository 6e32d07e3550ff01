"""Look after the embedded server to try everything on."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

import click

from invite_admin import columns, sandbox, text
from invite_admin.codes import FORM, Kind
from invite_admin.errors import BadInput, Conflict, NotFound
from invite_admin.names import STDIN, read_arguments, read_stdin
from invite_admin.options import report_options
from invite_admin.report import Layout, Report
from invite_admin.run import show
from invite_admin.strict import Strict

if TYPE_CHECKING:
    from invite_admin.run import Run, Target

_REFUSALS = {
    "already_redeemed": "this code was redeemed already",
    "revoked_code": "this code was revoked",
    "expired_code": "this code has expired",
    "profile_missing": "this user has no profile",
    "unauthorized": "nobody is signed in",
}


@click.group(no_args_is_help=False)
def command() -> None:
    """Look after the embedded server to try everything on.

    `invite --sandbox COMMAND` runs any command on it, as an operator of the real database would.

    \b
    Example: invite --sandbox generate --count 50 --points 100
             invite sandbox status
    """


@command.command(cls=Strict)
@report_options
@click.pass_obj
def status(run: Run, target: Target) -> None:
    """Say whether it runs, where it lies, and how to connect to it.

    \b
    Example: invite sandbox status
    """
    with run.stoppable():
        found = sandbox.status()
        row = (str(found.folder), found.running, *astuple(found)[2:])
        show(run, target, Report(columns.SANDBOX, [row], Layout.RECORDS))


@command.command(cls=Strict)
@click.option(
    "--step",
    type=click.Choice(["1", "2", "3"]),
    default="3",
    show_default=True,
    help="1 base, 2 with revoked_at, which only the owner may set, 3 with audit log and admin "
    "functions.",
)
@click.pass_obj
def reset(run: Run, step: str) -> None:
    """Throw the sandbox's data away and make it anew.

    \b
    Example: invite sandbox reset --step 1
    """
    with run.stoppable():
        access = sandbox.reset(int(step), run.say)
    run.say(
        f"the sandbox is at step {access.step}, with "
        f"{text.counted(len(access.users), 'test user')} "
        f"({access.users[0]} … {access.users[-1]}) and no codes"
    )


@command.command(cls=Strict)
@click.pass_obj
def stop(run: Run) -> None:
    """Stop the server; its data stay.

    \b
    Example: invite sandbox stop
    """
    with run.stoppable():
        stopped = sandbox.stop(run.say)
    run.say("the sandbox is stopped; its data stay" if stopped else "the sandbox was not running")


@command.command(cls=Strict)
@click.argument("code", metavar="CODE|-")
@click.option("--as", "email", required=True, metavar="EMAIL", help="One of the test users.")
@report_options
@click.pass_obj
def redeem(run: Run, code: str, email: str, target: Target) -> None:
    """Redeem a code the way the application does, as a test user.

    \b
    Example: invite sandbox redeem - --as tester01@example.com
    """
    names = read_stdin(run.say, "the code") if code == STDIN else read_arguments([code])
    if len(names) != 1 or names[0].kind is not Kind.CODE:
        raise BadInput("one invite code is needed, its whole text")
    if names[0].folded:
        raise BadInput(
            "the application refuses this code as it was typed; nothing was redeemed",
            hint=f"type it as {FORM}, with plain hyphens and letters, and nothing else",
        )
    with run.stoppable():
        sandbox.open_sandbox(run.say)
        result = sandbox.redeem(names[0].value, email)
        if result.error_code == "invalid_code":
            raise NotFound("there is no such code in the sandbox")
        if result.error_code:
            raise Conflict(_REFUSALS.get(result.error_code, result.error_code))
        row = (names[0].label, email, result.balance)
        show(run, target, Report(columns.SANDBOX_REDEEMED, [row]))
