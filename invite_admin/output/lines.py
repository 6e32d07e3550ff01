"""The formats for machines: csv, json and jsonl, each row as it comes."""

from __future__ import annotations

import csv
import io
import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from invite_admin import text
from invite_admin.report import DIVIDER, Cell, Drawn, Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from invite_admin.output.style import Style
    from invite_admin.report import Column, Report

A_BLOCK = 1_000  # rows that share values
_PLACE = "<>"  # of an own value: every format leaves it as it is, and those come first
_LINE_END = "\r\n"  # Python's writer quotes the characters of its line end


def write_csv(report: Report, style: Style) -> Iterator[str]:
    """Write comma-separated values, cells that look like formulas guarded."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator=_LINE_END)
    guard = (lambda cell: cell) if style.raw else text.spreadsheet

    def cell(column: Column, value: object) -> str:
        found = "" if value is None else _plain(column, value, style)
        found = guard(found) if column.cell is not Cell.NUMBER else found
        return text.visible(found) if style.terminal else found

    def line(row: Sequence[Any]) -> str:
        if isinstance(row, Drawn):
            return row
        writer.writerow(map(cell, report.columns, row))
        return _drained(buffer)

    yield csv_heading(report, style)
    yield from map("".join, _blocks(report, line))


def csv_heading(report: Report, style: Style) -> str:
    """Return the line of keys that csv begins with; no key needs quotes."""
    return ("\ufeff" if style.bom else "") + ",".join(c.key for c in report.columns) + "\n"


def write_json(report: Report, style: Style) -> Iterator[str]:
    """Write one JSON array, or for an object that object."""
    if report.layout is Layout.OBJECT:
        yield from write_jsonl(report, style)
        return
    yield from _array(_blocks(report, _object(report, style)))


def write_jsonl(report: Report, style: Style) -> Iterator[str]:
    """Write one JSON object a line."""
    yield from _one_a_line(_blocks(report, _object(report, style)))


def lay_out_csv(report: Report, style: Style, rows: Iterator[bytes]) -> Iterator[bytes]:
    """Put the heading before lines of csv that the server wrote."""
    yield csv_heading(report, style).encode()
    yield from rows


def lay_out_json(report: Report, _style: Style, rows: Iterator[bytes]) -> Iterator[bytes]:
    """Write one JSON array of values that the server wrote."""
    return map(str.encode, _array(_laid_out(report, rows)))


def lay_out_jsonl(report: Report, _style: Style, rows: Iterator[bytes]) -> Iterator[bytes]:
    """Write one JSON object a line, of values that the server wrote."""
    return map(str.encode, _one_a_line(_laid_out(report, rows)))


def _laid_out(report: Report, rows: Iterable[bytes]) -> Iterator[list[str]]:
    """Write pieces of rows of JSON's values as JSON objects."""
    form = f"{{{', '.join(f'{json.dumps(column.key)}: %s' for column in report.columns)}}}"
    for piece in filter(None, rows):
        # A database of SQL_ASCII may hold what is no UTF-8: such bytes become visible too.
        lines = text.json_visible(piece.decode(errors="surrogateescape"))
        yield [form % tuple(line.split(DIVIDER)) for line in lines.splitlines()]


def _array(blocks: Iterable[list[str]]) -> Iterator[str]:
    before = "[\n "
    for block in blocks:
        yield before + ",\n ".join(block)
        before = ",\n "
    yield "[\n]\n" if before.startswith("[") else "\n]\n"


def _one_a_line(blocks: Iterable[list[str]]) -> Iterator[str]:
    for block in blocks:
        yield "\n".join(block) + "\n"


def _object(report: Report, style: Style) -> Callable[[Sequence[Any]], str]:
    """Return what writes a row as a JSON object."""
    keys = [column.key for column in report.columns]
    times = [place for place, column in enumerate(report.columns) if column.cell is Cell.TIME]
    encode = json.JSONEncoder(ensure_ascii=False).encode

    def written(row: Sequence[Any]) -> str:
        values = list(row)
        for place in times:
            if values[place] is not None:
                values[place] = text.rfc3339(values[place], style.zone)
        return text.json_visible(encode(dict(zip(keys, values, strict=True))))

    return written


def _blocks(report: Report, written: Callable[[Sequence[Any]], str]) -> Iterator[list[str]]:
    """Write the rows, each as it comes; of what all rows share only once, and many at once."""
    if not report.shared:
        yield from ([written(row)] for row in report.rows)
        return
    own = len(report.columns) - len(report.shared)
    form = written((*(_PLACE,) * own, *report.shared)).replace("%", "%%")
    form = form.replace(_PLACE, "%s", own)
    rows = iter(report.rows)
    while block := list(map(form.__mod__, islice(rows, A_BLOCK))):
        yield block


def _plain(column: Column, value: Any, style: Style) -> str:  # noqa: ANN401 - a value of any column
    if column.cell is Cell.TIME:
        return text.rfc3339(value, style.zone)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _drained(buffer: io.StringIO) -> str:
    found = buffer.getvalue().removesuffix(_LINE_END) + "\n"
    buffer.seek(0)
    buffer.truncate()
    return found
