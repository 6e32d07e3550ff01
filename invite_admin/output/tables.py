"""The formats for people: table and markdown. They hold their rows, so these are bounded."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from invite_admin import text
from invite_admin.errors import BadInput
from invite_admin.report import Cell, Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from invite_admin.output.style import Style
    from invite_admin.report import Column, Report, Section

HELD = 10_000  # rows
NARROWEST = 12  # columns of a terminal that wrapped prose gets at least


def write_table(report: Report, style: Style) -> Iterator[str]:
    """Write a table as wide as the terminal; what does not fit is laid out as records."""
    if report.sections:
        yield "\n".join(f"{s.title}\n\n{_section(s, style.width)}" for s in report.sections)
        return
    columns, rows = _held(report, style, _shown)
    drawn = "" if report.layout is Layout.RECORDS else _drawn(columns, rows, style.width)
    too_wide = style.terminal and max(map(_width, drawn.splitlines()), default=0) > style.width
    yield _records(report, style, rows) if too_wide or not drawn else drawn


def _drawn(columns: Sequence[Column], rows: list[list[str]], width: int) -> str:
    headers = [_header(column) for column in columns]
    align = ["right" if column.cell is Cell.NUMBER else "left" for column in columns]
    cells = _wrapped(rows, _rooms(columns, headers, rows, width))
    return _tabulated(cells, headers, "simple", align)


def _header(column: Column) -> str:
    """Name a column; numbers are narrow, so their names may stand in two lines."""
    return column.key.replace("_", "\n" if column.cell is Cell.NUMBER else " ")


def _rooms(
    columns: Sequence[Column], headers: list[str], rows: list[list[str]], width: int
) -> list[int | None]:
    """Give prose what the other columns leave."""
    prose = [column.cell is Cell.PROSE for column in columns]
    if not any(prose):
        return [None] * len(columns)
    used = sum(
        _taken(headers[i], [row[i] for row in rows]) for i in range(len(columns)) if not prose[i]
    )
    share = max(NARROWEST, (width - used) // prose.count(True) - 2)
    return [share if wide else None for wide in prose]


def _records(report: Report, style: Style, rows: list[list[str]]) -> str:
    """Lay each row out as names and values, one a line; what has no value is left out."""
    columns = _columns(report)
    names = [column.key.replace("_", " ") for column in columns]
    used = max(map(len, names)) + 2
    room = max(NARROWEST, style.width - used)

    def record(row: list[str]) -> list[list[str]]:
        values = zip(names, columns, row, strict=True)
        return [
            [n, cell if c.cell is Cell.LINE else _broken(cell, room)]
            for n, c, cell in values
            if cell
        ]

    return "\n".join(_tabulated(record(row), (), "plain") for row in rows)


def _filled(headers: Sequence[str], rows: list[list[str]], width: int, form: str) -> str:
    """Draw a table whose last column takes what the others leave."""
    places = range(len(rows[0]) - 1 if rows else 0)
    used = sum(_taken(headers[i] if headers else "", [row[i] for row in rows]) for i in places)
    cells = _wrapped(rows, [*(None for _ in places), max(NARROWEST, width - used)])
    return _tabulated(cells, headers, form)


def _tabulated(
    cells: list[list[str]], headers: Sequence[str], form: str, align: Sequence[str] | None = None
) -> str:
    import tabulate  # noqa: PLC0415 - heavy; only a table needs it

    tabulate.MIN_PADDING = 0  # else it widens every column that is as narrow as its name
    drawn = tabulate.tabulate(cells, headers, tablefmt=form, disable_numparse=True, colalign=align)
    return f"{drawn}\n"


def _section(section: Section, width: int) -> str:
    """Draw one part of an object, its last column wrapped."""
    rows = [[text.visible(cell) for cell in row] for row in section.rows]
    return _filled(section.columns, rows, width, "simple" if section.columns else "plain")


def _taken(header: str, cells: Iterable[str]) -> int:
    """Return how wide tabulate draws a column, and the gap after it."""
    named = max(map(len, header.split("\n")))
    return max(named, *map(_width, cells), 0) + 2


def _wrapped(rows: list[list[str]], rooms: Sequence[int | None]) -> list[list[str]]:
    """Break the cells of some columns into lines; tabulate would read ``1,000`` as a number."""
    return [
        [
            cell if room is None else _broken(cell, room)
            for cell, room in zip(row, rooms, strict=True)
        ]
        for row in rows
    ]


def _broken(cell: str, room: int) -> str:
    """Break a text into lines of at most ``room`` columns, at blanks where it has them."""
    lines = [""]
    for word in cell.split(" "):
        rest = f"{lines[-1]} {word}" if lines[-1] else word
        if _width(rest) > room and lines[-1]:
            lines.append("")
            rest = word
        while _width(rest) > room:
            fitting = 1
            while _width(rest[: fitting + 1]) <= room:
                fitting += 1
            lines[-1:] = [rest[:fitting], ""]
            rest = rest[fitting:]
        lines[-1] = rest
    return "\n".join(lines)


def _width(line: str) -> int:
    """Return how many columns of a terminal a line takes."""
    from wcwidth import wcswidth  # noqa: PLC0415 - comes with tabulate

    columns: int = wcswidth(line)
    return columns


def _marked_section(section: Section) -> str:
    rows = [[text.markdown(cell) for cell in row] for row in section.rows]
    drawn = _tabulated(rows, section.columns or ("what", "is"), "pipe")
    return f"## {section.title}\n\n{drawn}"


def write_markdown(report: Report, style: Style) -> Iterator[str]:
    """Write a table of Markdown, every cell escaped."""
    if report.sections:
        yield "\n".join(map(_marked_section, report.sections))
        return
    columns, rows = _held(report, style, _marked)
    align = ["right" if column.cell is Cell.NUMBER else "left" for column in columns]
    headers = [column.key.replace("_", " ") for column in columns]
    yield _tabulated(rows, headers, "pipe", align)


def _shown(column: Column, value: Any, style: Style) -> str:  # noqa: ANN401 - a value of any column
    """Return a value for people."""
    if value is None:
        return column.blank
    if column.cell is Cell.TIME:
        return text.short_time(value, style.zone)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.1%}"
    if column.cell is Cell.NUMBER:
        return f"{value:,}"
    shown = text.visible(str(value))
    return shown.encode(style.encoding, "backslashreplace").decode(style.encoding)


def _marked(column: Column, value: Any, style: Style) -> str:  # noqa: ANN401 - a value of any column
    shown = _shown(column, value, style)
    if column.cell is Cell.MASK and shown:
        return text.code_span(shown)
    return text.markdown(shown)


def _columns(report: Report) -> tuple[Column, ...]:
    """Return the columns that a table has: a record shows all, a row the brief ones."""
    if report.layout is Layout.RECORDS:
        return report.columns
    return tuple(column for column in report.columns if column.brief)


def _held(
    report: Report, style: Style, show: Callable[[Column, Any, Style], str]
) -> tuple[tuple[Column, ...], list[list[str]]]:
    """Read the rows of a table, at most as many as it may hold."""
    columns = _columns(report)
    places = [report.columns.index(column) for column in columns]
    rows = list(islice(report.full(), HELD + 1))
    if len(rows) > HELD:
        raise BadInput(
            f"more than {HELD:,} rows, which a table does not hold",
            hint="use --format csv, json or jsonl, or --limit",
        )
    return columns, [
        [show(report.columns[place], row[place], style) for place in places] for row in rows
    ]
