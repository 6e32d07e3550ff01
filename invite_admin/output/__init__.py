"""Writes a report in one of the formats; ``emit`` is the only place that prints a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from invite_admin.errors import BadInput
from invite_admin.output.lines import write_csv, write_json, write_jsonl
from invite_admin.output.style import Style
from invite_admin.output.tables import HELD, write_markdown, write_table

if TYPE_CHECKING:
    from invite_admin.report import Report
    from invite_admin.sinks import Sink

__all__ = ["FORMATS", "HOLDING", "Style", "check_held", "draw", "emit"]

Writer = Callable[["Report", Style], Iterator[str]]
FORMATS: dict[str, Writer] = {
    "table": write_table,
    "csv": write_csv,
    "json": write_json,
    "jsonl": write_jsonl,
    "markdown": write_markdown,
}
HOLDING = frozenset({"table", "markdown"})


def draw(report: Report, form: str, style: Style) -> str:
    """Return a report as text.

    Raises:
        BadInput: Too many rows for the format.
    """
    return "".join(FORMATS[form](report, style))


def emit(report: Report, form: str, sink: Sink, style: Style) -> None:
    """Write a report and return once every byte was taken.

    Raises:
        BadInput: Too many rows for the format.
        Failed: The result could not be written.
        ReaderLeft: The reader is gone.
    """
    encoding = style.encoding if form in HOLDING else "utf-8"
    for piece in FORMATS[form](report, style):
        sink.write(piece.encode(encoding, "backslashreplace"))
    sink.finish()


def check_held(form: str, count: int) -> None:
    """Refuse a table of more rows than it may hold.

    Raises:
        BadInput: With what to do instead.
    """
    if form in HOLDING and count > HELD:
        raise BadInput(
            f"{form} holds at most {HELD:,} rows; nothing was changed",
            hint="use --format csv, json or jsonl, or fewer rows",
        )
