"""Files that are refused: with the line, never with the text, and before anything is sent."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from properties import PATIENT

from invite_admin.errors import BadInput
from invite_admin.names import read_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ONE: Final = "0f8fad5b-d9cb-469f-a165-70867728950e"
TWO: Final = "11111111-d9cb-469f-a165-70867728950e"
CODE: Final = "JYOTISH-ABCD-EFGH"
MASK: Final = "JYOTISH-****-EFGH"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test writes its file."""
    return tmp_path / "codes"


def refusal(path: Path, data: str | bytes) -> str:
    """Return how a file is refused, its path written as FILE."""
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(BadInput) as caught:
        read_file(path)
    return caught.value.message.replace(str(path), "FILE")


def table(rows: Sequence[Sequence[object]]) -> str:
    """Return rows as csv, quoted as the tool quotes them."""
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize(
    "text",
    ["", "\n", " \r\n\t\n", "\ufeff", "[]", " [ ] ", "id,code\n", "id\n\n", "code\n", "\nmask"],
)
def test_an_empty_list(path: Path, text: str) -> None:
    """A file without a name is refused: no change of nothing is reported as done."""
    assert "FILE holds no code, id or mask; nothing was changed" == refusal(path, text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("bad", 1),
        (f"\n\n{CODE}\n\nbad\n{CODE}\n", 5),
        (f"{CODE}\r\nbad\r\n", 2),
        (f"{CODE}\rbad", 2),
        (f"{CODE},{CODE}\n", 1),
        (f"{CODE} {CODE}\n", 1),
        (f"{CODE}\u2028{CODE}\n", 1),
        (f"# a comment\n{CODE}", 1),
        (f"id;code\n{ONE};{CODE}", 1),
        (f"ID,code\n{ONE},{CODE}", 1),
        (f"mask,code\n{MASK},{CODE}", 1),
        (f"{CODE}\ncode\n", 2),
        (f"code\ncode\n{CODE}\n", 2),
        (f"Code\n{CODE}\n", 1),
        (f"code,\n{CODE},\n", 1),
        (f"{CODE}\n{ONE}\n\x00\n", 3),
        ('"id', 1),
        ("x" * 3_000_000 + f"\n{CODE}", 1),
        ("a\u0301\u0316" * 1_000_000, 1),
        (f"{CODE}\n" + "\u200b" * 5_000 + CODE, 2),
    ],
)
def test_lines_that_are_none(path: Path, text: str, line: int) -> None:
    """A line that is no name is told by its number, and nothing of it is repeated."""
    assert f"FILE, line {line}: no code, id or mask; nothing was changed" == refusal(path, text)


@pytest.mark.parametrize("row", [[ONE], [ONE, "x", "y"]])
def test_csv_rows_of_another_width(path: Path, row: Sequence[str]) -> None:
    """A row that was cut short, or is of another table, is refused and not guessed at."""
    message = refusal(path, table([["id", "code"], [TWO, CODE], row]))
    assert "FILE, line 3: cut short, or no row of this table; nothing was changed" == message


OTHERS: Final = ("JYOTISH-FAKE-ZZZZ", "JYOTISH-****-ZZZZ")


@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
@pytest.mark.parametrize("shown", [(CODE, OTHERS[1]), (OTHERS[0], MASK), (CODE.lower(), "x")])
def test_rows_that_contradict_themselves(path: Path, form: str, shown: tuple[str, str]) -> None:
    """Where a column was sorted alone, an id would choose another code than the one beside it."""
    rows = [(ONE, CODE, MASK), (TWO, *shown)]
    objects = [dict(zip(("id", "code", "mask"), row, strict=True)) for row in rows]
    text = {
        "csv": table([["id", "code", "mask"], *map(list, rows)]),
        "json": json.dumps(objects, indent=1),
        "jsonl": "\n".join(map(json.dumps, objects)),
    }[form]
    line = {"csv": 3, "json": 7, "jsonl": 2}[form]
    told = f"FILE, line {line}: code and mask are not of one code; nothing was changed"
    assert told == refusal(path, text)


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([["id", "code"], ["bad", CODE]], 2),
        ([["id", "code"], [ONE, "a\nb"], ["bad", CODE]], 4),
        ([["code", "note", "id"], [CODE, "a\n\n\nb", ONE], [CODE, "q\nr", "bad"]], 6),
        ([[], [], ["id", "code"], [], [ONE, CODE], ["bad", CODE]], 6),
        ([["id", "code"], ["", CODE]], 2),
        ([["id", "code"], [CODE, CODE]], 2),
        ([["id", "mask"], [MASK, MASK]], 2),
    ],
)
def test_csv_rows_without_an_id(path: Path, rows: Sequence[Sequence[str]], line: int) -> None:
    """A row without an id is told by the line where it begins."""
    assert f"FILE, line {line}: no id; nothing was changed" == refusal(path, table(rows))


@pytest.mark.parametrize(
    "text",
    [
        f'id,note\n{ONE},x\n{ONE},"never closed\n{TWO},y\n{TWO},z\n',
        f'id,note\n{ONE},x\n{ONE},"a"b\n{TWO},y\n',
        f"id,note\n{ONE},x\n{ONE},{'x' * 200_000}\n{TWO},y\n",
    ],
)
def test_csv_that_is_damaged(path: Path, text: str) -> None:
    """A quote that is not closed would swallow the rows after it: refused, none left out."""
    assert "FILE, line 3: not CSV; nothing was changed" == refusal(path, text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[1]", 1),
        ('["bad"]', 1),
        (f'["{CODE}"]', 1),
        (f'[[{{"id": "{ONE}"}}]]', 1),
        (f'[\n {{"id": "{ONE}"}},\n\n {{"id": "bad"}}\n]', 4),
        (f'[{{"id": "{ONE}"}},\n{{"code": "{CODE}"}}]', 2),
        (f'[{{"id": "{CODE}"}}]', 1),
        ('[{"id": null}]', 1),
        (f'{{"id": "{ONE}"}}\n\n{{"code": "{CODE}"}}', 3),
        (f'{{"id": "{ONE}"}}\n{{"id": {{"id": "{ONE}"}}}}', 2),
        ('{"id": "\\ud800"}', 1),
        (f'{{"id": "{ONE}"}}\n{{"id": {"9" * 5_000}}}', 2),
    ],
)
def test_json_objects_without_an_id(path: Path, text: str, line: int) -> None:
    """An object without an id is told by the line where it begins."""
    assert f"FILE, line {line}: no id; nothing was changed" == refusal(path, text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[", 1),
        (f'[\n{{"id": "{ONE}"}},\n]', 3),
        (f'[{{"id": "{ONE}"}}]\nmore', 2),
        (f'[{{"id": "{ONE}"', 1),
        (f'{{"id": "{ONE}"}}\nbad\n', 2),
        (f'{{\n"id": "{ONE}"\n}}', 1),
        ("[" * 100_000, 1),
        ('{"a":' * 100_000, 1),
    ],
)
def test_what_is_no_json(path: Path, text: str, line: int) -> None:
    """JSON that is cut off, nested too deeply or followed by more is told by its line."""
    assert f"FILE, line {line}: not JSON; nothing was changed" == refusal(path, text)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (CODE.encode("utf-16"), 1),
        (f"{CODE}\n{CODE}\ncaf\u00e9\n".encode("latin-1"), 3),
        (f"id,note\n{ONE},\u30c6\n".encode("cp932"), 2),
        (b"\x80\x81" * 1_000, 1),
    ],
)
def test_other_encodings(path: Path, data: bytes, line: int) -> None:
    """What is not UTF-8 is refused with its line, never guessed at."""
    assert f"FILE, line {line}: not UTF-8 text; nothing was changed" == refusal(path, data)


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (CODE.encode("utf-16"), "save it as UTF-8, as plain text or csv"),
        (f"id;code\n{ONE};{CODE}".encode(), "csv (separated by commas)"),
        (f"# a comment\n{CODE}".encode(), "a mask a line, without comments"),
    ],
)
def test_what_helps(path: Path, data: bytes, hint: str) -> None:
    """The hint names what a spreadsheet or a note to oneself does to a list of codes."""
    path.write_bytes(data)
    with pytest.raises(BadInput) as caught:
        read_file(path)
    assert hint in str(caught.value.hint)


@PATIENT
@given(st.one_of(st.binary(max_size=80), st.text('[]{}",:\n\r id', max_size=40).map(str.encode)))
@example(b"\tid")
@example(b'\n \t"id"\nx')
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Whatever a file holds, it is read or refused in one line."""
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(data)
    try:
        assert [] != read_file(path)
    except BadInput as refused:
        assert "\n" not in refused.message  # noqa: PT017 - either is right
