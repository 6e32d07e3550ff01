"""The codes that a person names: on the command line, on standard input, in a file."""

from __future__ import annotations

import csv
import io
import json
import sys
from typing import TYPE_CHECKING

from invite_admin.codes import FORM, Kind, Name, read_name
from invite_admin.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

STDIN = "-"
_HINT = f"a code ({FORM}), an id or a mask a line, or what `generate` wrote as csv, json or jsonl"


def read_arguments(words: Sequence[str]) -> list[Name]:
    """Read the names given as arguments.

    Raises:
        BadInput: One is no code, id or mask; it is named by its place, never by its text.
    """
    return [_name(word, f"argument {place}") for place, word in enumerate(words, start=1)]


def read_file(path: Path | None) -> list[Name]:
    """Read all names of a file before anything is sent.

    Args:
        path: The file; None means standard input.

    Raises:
        BadInput: It cannot be read, holds something else, or holds no name at all.
    """
    source = "standard input" if path is None else str(path)
    try:
        data = sys.stdin.buffer.read() if path is None else path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise BadInput(f"{source} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{source} is not UTF-8 text", hint=_HINT) from None
    names = [_name(word, f"{source}, line {line}") for line, word in _words(text, source)]
    if not names:
        raise BadInput(f"{source} holds no code, id or mask; nothing was changed", hint=_HINT)
    return names


def _name(word: str, place: str) -> Name:
    name = read_name(word)
    if name is None:
        raise BadInput(f"{place}: no code, id or mask; nothing was changed", hint=_HINT)
    return name


def _words(text: str, source: str) -> Iterator[tuple[int, str]]:
    """Yield what names a code, with its line; what ``generate`` wrote is taken by its id."""
    start = text.lstrip()[:1]
    if start == "[":
        yield from _of_json(text, source)
    elif start == "{":
        for line, content in _lines(text):
            yield line, _id_of(_parsed(content, f"{source}, line {line}"), f"{source}, line {line}")
    elif "id" in next(csv.reader([text.lstrip().split("\n", 1)[0]]), []):
        yield from _of_csv(text, source)
    else:
        yield from _lines(text)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _of_json(text: str, source: str) -> Iterator[tuple[int, str]]:
    document = _parsed(text, source)
    for number, item in enumerate(document if isinstance(document, list) else [], start=1):
        yield number, _id_of(item, f"{source}, item {number}")


def _of_csv(text: str, source: str) -> Iterator[tuple[int, str]]:
    reader = csv.DictReader(io.StringIO(text.lstrip(), newline=""))
    try:
        for row in reader:
            yield reader.line_num, row.get("id") or ""
    except csv.Error:
        raise BadInput(f"{source}, line {reader.line_num}: not CSV", hint=_HINT) from None


def _parsed(text: str, place: str) -> object:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        raise BadInput(f"{place}: not JSON; nothing was changed", hint=_HINT) from None
    return found


def _id_of(item: object, place: str) -> str:
    identity = item.get("id") if isinstance(item, dict) else None
    name = read_name(identity) if isinstance(identity, str) else None
    if name is None or name.kind is not Kind.ID:
        raise BadInput(f"{place}: an object without an id; nothing was changed", hint=_HINT)
    return name.value
