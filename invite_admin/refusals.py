"""Click's refusals in one line of ours, which never repeats what was typed."""

from __future__ import annotations

import click

from invite_admin import errors
from invite_admin.paths import Refusal


def reworded(
    error: click.UsageError, root: click.Group, command: str | None = None
) -> errors.BadInput:
    """Say Click's refusal in one line that never repeats what was typed: it may be a code.

    Args:
        error: What Click says.
        root: The whole command line.
        command: The command that was understood; None where none was.
    """
    # An option without its value comes without a context.
    path = error.ctx.command_path if error.ctx else " ".join(filter(None, ("invite", command)))
    hint = f"run `{path} --help`"
    if isinstance(error, click.NoSuchOption):
        return _of_option(error, root, path, hint)
    if isinstance(error, click.exceptions.NoSuchCommand):
        near = ", ".join(error.possibilities or ())
        return errors.BadInput("there is no such command", hint=(near and f"is it {near}?") or hint)
    if isinstance(error, click.BadOptionUsage):
        need = "takes no value" if "not take" in error.message else "needs a value"
        return errors.BadInput(f"{error.option_name} {need}", hint=hint)
    if isinstance(error, click.BadParameter):
        return errors.BadInput(_of_parameter(error), hint=hint)
    if (
        error.ctx
        and isinstance(error.ctx.command, click.Group)
        and not error.ctx.invoked_subcommand
    ):
        return errors.BadInput(f"`{path}` needs a command", hint=hint)
    return errors.BadInput(
        f"`{path}` does not take these arguments", hint=f"{errors.QUOTES}; {hint}"
    )


def _of_option(
    error: click.NoSuchOption, root: click.Group, path: str, hint: str
) -> errors.BadInput:
    if error.option_name in {name for param in root.params for name in param.opts}:
        return errors.BadInput(
            f"`{path}` has no {error.option_name}: it goes before the command",
            hint=f"invite {error.option_name} … {path.removeprefix('invite ')} …",
        )
    near = ", ".join(error.possibilities or ())
    return errors.BadInput(f"`{path}` has no such option", hint=(near and f"is it {near}?") or hint)


def _of_parameter(error: click.BadParameter) -> str:
    name = error.param.opts[-1] if error.param and error.param.opts else "an argument"
    if isinstance(error, click.MissingParameter):
        return f"{name} is missing"
    if isinstance(error, Refusal):
        return f"{name} {error.message}"
    if error.param and isinstance(error.param.type, click.Choice):
        return f"{name} must be one of {', '.join(map(str, error.param.type.choices))}"
    return f"{name} has a value that cannot be used"
