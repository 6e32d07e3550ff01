"""Writes a report in one of the formats; ``emit`` is the only place that prints a result."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from invite_admin.errors import BadInput
from invite_admin.output.lines import (
    lay_out_csv,
    lay_out_json,
    lay_out_jsonl,
    write_csv,
    write_json,
    write_jsonl,
)
from invite_admin.output.style import Style
from invite_admin.output.tables import HELD, write_markdown, write_table
from invite_admin.report import Written

if TYPE_CHECKING:
    from invite_admin.report import Report
    from invite_admin.sinks import Sink

__all__ = ["FORMATS", "HOLDING", "SUFFIXES", "Style", "check_held", "draw", "emit", "telling"]

Row = Sequence[Any]
Writer = Callable[["Report", Style], Iterator[str]]
FORMATS: dict[str, Writer] = {
    "table": write_table,
    "csv": write_csv,
    "json": write_json,
    "jsonl": write_jsonl,
    "markdown": write_markdown,
}
# What is laid out around rows that the server writes.
EXPORTED: dict[str, Callable[[Report, Style, Iterator[bytes]], Iterator[bytes]]] = {
    "csv": lay_out_csv,
    "json": lay_out_json,
    "jsonl": lay_out_jsonl,
}
SUFFIXES = {".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".md": "markdown"}  # of a file
HOLDING = frozenset({"table", "markdown"})


def draw(report: Report, form: str, style: Style) -> str:
    """Return a report as text.

    Raises:
        BadInput: Too many rows for the format.
    """
    return "".join(FORMATS[form](report, style))


def _uncounted(_rows: int) -> None:
    """Do nothing: nobody wants to know how far it is."""


def emit(
    report: Report,
    form: str,
    sink: Sink,
    style: Style,
    done: Callable[[int], None] = _uncounted,
) -> None:
    """Write a report and return once every byte was taken.

    Args:
        report: What to write.
        form: One of ``FORMATS``.
        sink: Where to.
        style: How.
        done: Told how many more rows were written.

    Raises:
        BadInput: Too many rows for the format.
        Failed: The result could not be written.
        ReaderLeft: The reader is gone.
    """
    with closing(_written(report, form, style, done)) as pieces:
        for piece in pieces:
            sink.write(piece)
    sink.finish()


def _written(
    report: Report, form: str, style: Style, done: Callable[[int], None]
) -> Generator[bytes]:
    """Write a report as bytes; for a machine by the server, where it can."""
    if form in EXPORTED and report.export and not style.terminal:
        rows = report.export(_how(form, style), style.zone, done)
        if rows is not None:
            yield from EXPORTED[form](report, style, rows)
            return
    encoding = style.encoding if form in HOLDING else "utf-8"
    if done is not _uncounted:
        report = replace(report, rows=_counted(report.rows, done))
    for piece in FORMATS[form](report, style):
        yield piece.encode(encoding, "backslashreplace")


def _how(form: str, style: Style) -> Written:
    if form != "csv":
        return Written.JSON
    return Written.RAW if style.raw else Written.CSV


def _counted(rows: Iterable[Row], done: Callable[[int], None]) -> Iterator[Row]:
    for row in rows:
        yield row
        done(1)


def telling(count: int) -> list[str]:
    """Return the words that let a command tell of so many codes; none where a table can."""
    return ["--format", "csv"] if count > HELD else []


def check_held(form: str, count: int) -> None:
    """Refuse a table of more rows than it may hold.

    Raises:
        BadInput: With what to do instead.
    """
    if form in HOLDING and count > HELD:
        raise BadInput(
            f"{count:,} rows are more than format {form} holds, which is {HELD:,}; "
            "nothing was changed",
            hint="add --output FILE.csv, or --format csv, json or jsonl",
        )
