"""Names of files on the command line; all that the tool's own options need."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from invite_admin.record import Log


class Refusal(click.BadParameter):
    """A refusal whose message is ours and never holds what was typed."""


class File(click.Path):
    """A file's name; never a folder's, and never that of the log.

    Args:
        result: Whether the file is to be made: then it cannot be called a pending one, nor have
            characters that no message shows and no hint could name it by.
    """

    def __init__(self, *, result: bool = False) -> None:
        super().__init__(readable=False, path_type=Path)
        self._result = result

    def convert(
        self,
        value: Any,  # noqa: ANN401 - Click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """Return the path; refuse what Path would quietly drop, such as a slash at its end."""
        from invite_admin.files import PENDING  # noqa: PLC0415 - not for the help
        from invite_admin.text import visible  # noqa: PLC0415 - likewise

        name = os.path.basename(value)  # noqa: PTH119 - Path drops a slash
        if name.removesuffix(PENDING) in ("", ".", ".."):
            raise Refusal("must name a file, and no folder", ctx, param)
        path = Path(value)
        pending = path.name.endswith(PENDING)
        if pending and self._result:
            why = f"must not end in {PENDING}, as a batch does whose end is not known"
            raise Refusal(why, ctx, param)
        if self._result and visible(path.name) != path.name:
            raise Refusal("must not have control or invisible characters", ctx, param)
        log: Log | None = getattr(ctx and ctx.obj, "log", None)
        if log and any(map(log.is_at, [path, path.with_suffix("")] if pending else [path])):
            log.leave()
            raise Refusal("and --log-file name the same file; nothing was done", ctx, param)
        return path


class LogFile(File):
    """The name of the log; never standard output, which takes the result."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - Click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """Return the path."""
        if value == "-":
            raise Refusal("must name a file, and not standard output", ctx, param)
        return super().convert(value, param, ctx)
