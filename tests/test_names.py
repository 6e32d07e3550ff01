"""Files of codes, ids and masks: every form that is read, and where it comes from."""

from __future__ import annotations

import csv
import io
import json
import sys
from typing import TYPE_CHECKING, Final

import pytest
from databases import hash_of, make_code

from invite_admin.errors import BadInput
from invite_admin.names import read_arguments, read_file, read_stdin

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ONE: Final = "0f8fad5b-d9cb-469f-a165-70867728950e"
TWO: Final = "11111111-d9cb-469f-a165-70867728950e"
CODE: Final = "JYOTISH-ABCD-EFGH"
MASK: Final = "JYOTISH-****-EFGH"
NOTES: Final = ["plain", "a,b", 'a "b"', "two\nlines", "car\rriage", "\u2028", "x" * 500, None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test writes its file."""
    return tmp_path / "codes"


def values(path: Path, data: str | bytes) -> list[str]:
    """Return what a file is read as."""
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return [str(name.value) for name in read_file(path)]


def table(rows: Sequence[Sequence[object]]) -> str:
    """Return rows as csv, quoted as the tool quotes them."""
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["unix", "windows", "mac"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "bom"])
def test_lines(path: Path, end: str, mark: str) -> None:
    """One name a line, blank lines skipped, whatever ends a line and opens the file."""
    text = mark + end.join([CODE, "", f"  {ONE.upper()} ", " \t ", MASK, CODE.lower()])
    expected = [hash_of(CODE), ONE, MASK, hash_of(CODE)]
    assert expected == values(path, text)
    assert expected == values(path, text + end)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["unix", "windows", "mac"])
def test_csv(path: Path, end: str) -> None:
    """What generate wrote as csv is taken by its id, with whatever a note holds."""
    rows = [[ONE, make_code(), note] for note in NOTES]
    text = table([["id", "code", "note"], *rows]).replace("\r\n", end)
    assert [ONE] * len(NOTES) == values(path, text)
    assert [ONE] * len(NOTES) == values(path, "\ufeff\n\n" + text)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_csv_columns_in_any_order(path: Path, place: int) -> None:
    """The id is found by its heading, wherever it stands; blank rows are skipped."""
    heads, row = ["code", "note"], [CODE, "a\nb"]
    heads.insert(place, "id")
    row.insert(place, TWO)
    assert [TWO, TWO] == values(path, table([heads, row, [], ["", "", ""], row]))


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_json(path: Path, indent: int | None) -> None:
    """What generate wrote as json is taken by its ids, laid out in any way."""
    items = [{"id": ONE, "code": CODE, "note": note} for note in NOTES] + [{"note": 1, "id": TWO}]
    assert [ONE] * len(NOTES) + [TWO] == values(path, json.dumps(items, indent=indent))
    assert [ONE] * len(NOTES) + [TWO] == values(path, "\ufeff\r\n " + json.dumps(items) + "\r\n")


def test_jsonl(path: Path) -> None:
    """What generate wrote as jsonl is taken by its ids, blank lines skipped."""
    lines = [json.dumps({"id": identity, "code": CODE}) for identity in (ONE, TWO.upper())]
    assert [ONE, TWO] == values(path, "\n\n".join(lines))


def test_numbers_of_any_length(path: Path) -> None:
    """A number beside the id is not used, so it may be longer than Python reads one."""
    item = f'{{"points": {"9" * 5_000}, "id": "{ONE}"}}'
    assert [[ONE], [ONE]] == [values(path, text) for text in (item, f"[\n{item}\n]")]


def test_many_lines(path: Path) -> None:
    """Tens of thousands of codes are read, each of them."""
    codes = [make_code() for _ in range(20_000)]
    assert list(map(hash_of, codes)) == values(path, "\n".join(codes))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A folder and a file that is not there are told in the system's words."""
    with pytest.raises(BadInput, match="cannot be read: Is a directory"):
        read_file(tmp_path)
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        read_file(tmp_path / "gone")


def test_a_code_in_the_place_of_a_file(tmp_path: Path) -> None:
    """A code that was given as the file's name is not repeated."""
    with pytest.raises(BadInput) as caught:
        read_file(tmp_path / CODE)
    expected = (
        "(a name with a code in it) cannot be read: No such file or directory; nothing was changed"
    )
    assert expected == caught.value.message


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is read like a file, and called by its name; nobody waits at a pipe."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{CODE}\nbad\n".encode())))
    with pytest.raises(BadInput) as caught:
        read_stdin(pytest.fail)
    expected = "standard input, line 2: no code, id or mask; nothing was changed"
    assert expected == caught.value.message


def test_arguments() -> None:
    """Arguments are read in order; one that is none is told by its place, not by its text."""
    assert [hash_of(CODE), MASK] == [str(name.value) for name in read_arguments([CODE, MASK])]
    with pytest.raises(BadInput) as caught:
        read_arguments([CODE, "hunter2"])
    assert "argument 2: no code, id or mask; nothing was changed" == caught.value.message
    assert "hunter2" not in str(caught.value.hint)
