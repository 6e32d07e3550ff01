"""The formats for machines: csv, json and jsonl, each row as it comes."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from invite_admin import text
from invite_admin.report import Cell, Drawn, Layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from invite_admin.output.style import Style
    from invite_admin.report import Column, Report
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

    writer.writerow(column.key for column in report.columns)
    yield ("\ufeff" if style.bom else "") + _drained(buffer)
    for row in report.rows:
        if isinstance(row, Drawn):
            yield row
            continue
        writer.writerow(map(cell, report.columns, row))
        yield _drained(buffer)


def write_json(report: Report, style: Style) -> Iterator[str]:
    """Write one JSON array, or for an object that object."""
    objects = _objects(report, style)
    if report.layout is Layout.OBJECT:
        yield next(objects) + "\n"
        return
    yield "["
    for number, line in enumerate(objects):
        yield (",\n " if number else "\n ") + line
    yield "\n]\n"


def write_jsonl(report: Report, style: Style) -> Iterator[str]:
    """Write one JSON object a line."""
    for line in _objects(report, style):
        yield line + "\n"


def _objects(report: Report, style: Style) -> Iterator[str]:
    for row in report.rows:
        found = {
            column.key: _value(column, value, style)
            for column, value in zip(report.columns, row, strict=True)
        }
        yield text.json_visible(json.dumps(found, ensure_ascii=False))


def _value(column: Column, value: Any, style: Style) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return a value as JSON has it: times as text, numbers as numbers."""
    if value is not None and column.cell is Cell.TIME:
        return text.rfc3339(value, style.zone)
    return value


def _plain(column: Column, value: Any, style: Style) -> str:  # noqa: ANN401 - a value of any column
    found = _value(column, value, style)
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def _drained(buffer: io.StringIO) -> str:
    found = buffer.getvalue().removesuffix(_LINE_END) + "\n"
    buffer.seek(0)
    buffer.truncate()
    return found
