"""One module a command; each has its ``command``, and its name is the module's."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from invite_admin.strict import Strict

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Commands(Strict, click.Group):
    """All commands, each loaded when it is asked for.

    The help and the completion of their names load none: of each they tell its module's first line,
    which is the first line of the command's own help.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - Click's signature
        """Return the names of the commands."""
        return sorted(_modules())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names of the commands, and what each is for."""
        click.Group(commands=self._stubs(ctx)).format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command, or an option of the tool itself."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only for this

        found = [
            CompletionItem(name, help=stub.get_short_help_str())
            for name, stub in self._stubs(ctx).items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def _stubs(self, ctx: click.Context) -> dict[str, click.Command]:
        """Return the commands, in order, each with little more than its name and its one line."""
        found: dict[str, click.Command] = {}
        for name, module in sorted(_modules().items()):
            line = _first_line(module)
            stub = click.Command(name, help=line) if line else self.get_command(ctx, name)
            assert stub is not None  # noqa: S101 - it is one of those that were found
            found[name] = stub
        return found

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - Click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Load one command; None where there is none of that name."""
        module = _modules().get(cmd_name)
        if module is None:
            return None
        found = importlib.import_module(f"{__name__}.{module}")
        command: click.Command = found.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of a command line; suggest one whose name is near."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            names = self.list_commands(ctx)
            raise click.exceptions.NoSuchCommand(
                error.command_name, possibilities=names, ctx=ctx
            ) from None


@cache
def _modules() -> dict[str, str]:
    """Return the commands' names, each with its module's."""
    return {m.name.rstrip("_"): m.name for m in pkgutil.iter_modules(__path__)}


def _first_line(module: str) -> str:
    """Return the first line of a command's module, which is not loaded for it; else nothing."""
    found = find_spec(f"{__name__}.{module}")
    source = Path(found.origin).read_text(encoding="utf-8") if found and found.origin else ""
    return source.split('"""')[1] if source.startswith('"""') else ""
