"""Commands that take a command line as it was meant, or not at all."""

from __future__ import annotations

from collections import Counter

import click

from invite_admin.paths import Refusal


class Strict(click.Command):
    """A command that refuses two slips which Click lets pass without a word.

    Of an option that is given twice it would take the last value: of two files of leaked codes one
    would not be voided. And where a value is missing, as where a shell's variable is empty, it
    would take the option that follows for it: `--note --dry-run` would not be dry.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line.

        Raises:
            Refusal: An option that takes one value was given more than once, or has another option
                in place of its value.
        """
        if not ctx.resilient_parsing:
            self._refuse_swallowed(ctx, args)
            self._refuse_repeated(ctx, args)
        return super().parse_args(ctx, args)

    def _refuse_swallowed(self, ctx: click.Context, args: list[str]) -> None:
        takers = {
            name: param
            for param in self.get_params(ctx)
            if isinstance(param, click.Option) and not param.is_flag
            for name in param.opts
        }
        words = iter(args)
        for word in words:
            if word == "--" or not (ctx.allow_interspersed_args or word.startswith("-")):
                return
            if word in takers and next(words, "").startswith("--"):
                message = f"needs a value; one that begins with -- is written {word}=VALUE"
                raise Refusal(message, ctx, takers[word])

    def _refuse_repeated(self, ctx: click.Context, args: list[str]) -> None:
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        for param, times in Counter(given).items():
            if times > 1 and isinstance(param, click.Option) and _single(param):
                raise Refusal("is given more than once, and only one would count", ctx, param)


def _single(option: click.Option) -> bool:
    """Tell whether an option has one value; a flag that is given twice means the same."""
    return not (option.multiple or option.is_flag)
