"""The codes that a person names: on the command line, on standard input, in a file."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from invite_admin.codes import ALONE, FORM, Kind, Name, read_name, shown_path
from invite_admin.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

STDIN = "-"
SEVERAL = "codes, ids or masks, one a line"  # what most commands read
LARGEST = 64 * 2**20  # bytes of a file of codes
_BETWEEN = re.compile(r"[\s,]*")
_HEADINGS = ("code", "mask")  # of a single column; one of ids is csv
_JSON = json.JSONDecoder(parse_int=float)  # no number of it is used, and some are too long
_HINT = (
    f"a code ({FORM}), an id or a mask a line, without comments, or what `generate` wrote as csv "
    "(separated by commas), json or jsonl"
)


def read_arguments(words: Sequence[str]) -> list[Name]:
    """Read the names given as arguments.

    Raises:
        BadInput: One is no code, id or mask; it is named by its place, never by its text.
    """
    return [_name(word, f"argument {place}") for place, word in enumerate(words, start=1)]


def read_stdin(say: Callable[[str], None], wanted: str = SEVERAL) -> list[Name]:
    """Read all names from standard input, before anything is sent.

    Args:
        say: Told how to go on where a person types them.
        wanted: What is to be pasted.

    Raises:
        BadInput: As for a file.
    """
    if sys.stdin.isatty():
        say(f"paste {wanted}; then Enter, and Ctrl-D on its own line")
    return read_file(None)


def read_file(path: Path | None) -> list[Name]:
    """Read all names of a file before anything is sent.

    Args:
        path: The file; None means standard input.

    Raises:
        BadInput: It cannot be read, holds something else, or holds no name at all.
    """
    source = "standard input" if path is None else shown_path(path)
    try:
        data = _bytes(path)
    except OSError as error:
        raise BadInput(f"{source} cannot be read: {error.strerror}; nothing was changed") from None
    if len(data) > LARGEST:
        raise BadInput(f"{source} is larger than {LARGEST // 2**20} MiB; nothing was changed")
    text = _decoded(data, source)
    names = list(_names(text, source))
    if not names:
        raise BadInput(f"{source} holds no code, id or mask; nothing was changed", hint=_HINT)
    return names


def _bytes(path: Path | None) -> bytes:
    """Read a little more than is allowed, at most: a device has no end."""
    if path is None:
        return sys.stdin.buffer.read(LARGEST + 1)
    with path.open("rb") as file:
        return file.read(LARGEST + 1)


def _decoded(data: bytes, source: str) -> str:
    """Return the text with one kind of line end, whatever wrote it."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(
            f"{source}, line {line}: not UTF-8 text; nothing was changed",
            hint="save it as UTF-8, as plain text or csv",
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _name(word: str, place: str) -> Name:
    name = read_name(word)
    if name is None:
        raise BadInput(f"{place}: no code, id or mask; nothing was changed", hint=_HINT)
    return name


def _names(text: str, source: str) -> Iterator[Name]:
    """Yield what names a code; what ``generate`` wrote is taken by its id."""
    start = text.lstrip()[:1]
    if start == "[":
        yield from _of_json(text, source)
    elif start == "{":
        for line, content in _lines(text):
            yield _of_row(_parsed(content, source, line), source, line)
    elif _has_id(text.lstrip().partition("\n")[0]):
        yield from _of_csv(text, source)
    else:
        for place, (line, word) in enumerate(_lines(text)):
            if place > 0 or word.strip() not in _HEADINGS:
                yield _name(word, f"{source}, line {line}")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _of_json(text: str, source: str) -> Iterator[Name]:
    document = _parsed(text, source)
    for line, item in _items(text, len(document) if isinstance(document, list) else 0):
        yield _of_row(item, source, line)


def _items(text: str, count: int) -> Iterator[tuple[int, object]]:
    """Yield the items of a JSON array with the lines where they begin."""
    line, end = 1, text.index("[") + 1
    counted = 0
    for _ in range(count):
        begin = _BETWEEN.match(text, end).end()  # type: ignore[union-attr]  # it always matches
        item, end = _JSON.raw_decode(text, begin)
        line, counted = line + text.count("\n", counted, begin), begin
        yield line, item


def _has_id(header: str) -> bool:
    try:
        return "id" in next(csv.reader([header], strict=True))
    except csv.Error:
        return False


def _of_csv(text: str, source: str) -> Iterator[Name]:
    """Yield the ids of a table, each with the line where its row begins."""
    table = text.lstrip()
    before = text.count("\n", 0, len(text) - len(table))
    reader = csv.reader(io.StringIO(table, newline=""), strict=True)
    place, width, line, header = -1, 0, before + 1, [""]
    try:
        for row in reader:
            if place >= 0 and any(row):
                if len(row) != width:
                    raise BadInput(
                        f"{source}, line {line}: cut short, or no row of this table; "
                        "nothing was changed",
                        hint=_HINT,
                    )
                yield _of_row(dict(zip(header, row, strict=True)), source, line)
            elif any(map(str.strip, row)):
                place, width, header = row.index("id"), len(row), row
            line = before + reader.line_num + 1
    except csv.Error:
        raise BadInput(f"{source}, line {line}: not CSV; nothing was changed", hint=_HINT) from None


def _parsed(text: str, source: str, first: int = 1) -> object:
    try:
        found: object = _JSON.decode(text)
    except (ValueError, RecursionError) as error:
        line = first + getattr(error, "lineno", 1) - 1
        raise BadInput(
            f"{source}, line {line}: not JSON; nothing was changed", hint=_HINT
        ) from None
    return found


def _of_row(item: object, source: str, line: int) -> Name:
    """Return the id of a row, with the mask that the row says it has."""
    row = item if isinstance(item, dict) else {}
    name = _read(row.get("id"))
    if name is None or name.kind is not Kind.ID:
        raise BadInput(f"{source}, line {line}: no id; nothing was changed", hint=_HINT)
    code, shown = _read(row.get("code")), row.get("mask")
    coded = code is not None and code.kind is Kind.CODE
    if code is not None and coded and isinstance(shown, str) and code.label != shown:
        raise BadInput(
            f"{source}, line {line}: code and mask are not of one code; nothing was changed",
            hint=ALONE,
        )
    mask = code if coded else _read(shown)
    return replace(name, mask=mask.label if mask is not None else None, line=line)


def _read(cell: object) -> Name | None:
    return read_name(cell) if isinstance(cell, str) else None
