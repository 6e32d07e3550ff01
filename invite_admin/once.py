"""Commands whose options count once: of two values, none is dropped without a word."""

from __future__ import annotations

from collections import Counter

import click

from invite_admin.paths import Refusal


class Once(click.Command):
    """A command that refuses an option which is given again, unless it may be repeated.

    Click would take the last value: of two files of leaked codes only one would be voided.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line.

        Raises:
            Refusal: An option that takes one value was given more than once.
        """
        if not ctx.resilient_parsing:
            _, _, given = self.make_parser(ctx).parse_args(list(args))
            for param, times in Counter(given).items():
                if times > 1 and isinstance(param, click.Option) and _single(param):
                    message = "is given more than once, and only one would count"
                    raise Refusal(message, ctx, param)
        return super().parse_args(ctx, args)


def _single(option: click.Option) -> bool:
    """Tell whether an option has one value; a flag that is given twice means the same."""
    return not (option.multiple or option.is_flag)
