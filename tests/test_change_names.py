"""The files and streams that name codes: plain lines, and whatever the tool itself wrote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest
from databases import make_code
from hostile import failure
from stock import make, outcomes, revoked, snapshot

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

UUID: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
JSON = ("--yes", "--format", "json")
FORMS = ("csv", "json", "jsonl")


def ids_of(database: Database) -> set[str]:
    """Return the ids of all codes."""
    return {row[0] for row in database.rows("select id::text from redemption_codes")}


@pytest.mark.parametrize(
    ("form", "more"),
    [*((form, ()) for form in FORMS), ("csv", ("--bom",)), ("csv", ("--raw",))],
)
def test_what_generate_wrote(
    database: Database, invite: Invite, form: str, more: tuple[str, ...]
) -> None:
    """A file that `generate` wrote voids its batch, once from a file and once piped."""
    for piped in (False, True):
        name = f"batch-{piped}.{form}"
        options = ["--count", "3", "--points", "5", "--note", '=odd,"note', "--output", name]
        assert 0 == invite("generate", *options, *more).exit_code
        source = ["-"] if piped else ["--from-file", name]
        text = (invite.folder / name).read_bytes() if piped else None
        done = invite("revoke", *source, *JSON, stdin=text)
        assert (0, ["revoked"] * 3) == (done.exit_code, outcomes(done)), done.stderr
    assert ids_of(database) == revoked(database)


@pytest.mark.parametrize("form", FORMS)
def test_what_list_wrote(database: Database, invite: Invite, form: str) -> None:
    """A list that was looked at is taken by its ids, whatever stands in its notes."""
    wanted = {make(database, note='a, b\n"c"\nid').id for _ in range(2)}
    make(database, note="other")
    listed = invite("list", "--search", "a, b", "--format", form)
    done = invite("revoke", "-", *JSON, stdin=listed.stdout_bytes)
    assert (0, ["revoked"] * 2) == (done.exit_code, outcomes(done)), done.stderr
    assert wanted == revoked(database)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("written", ["generate", "list"])
@pytest.mark.parametrize(
    "command",
    [
        ("revoke", "--yes"),
        ("update", "--set-note", "x", "--yes"),
        ("revoke", "--dry-run"),
        ("show",),
    ],
    ids=" ".join,
)
def test_an_id_of_another_code(
    database: Database, invite: Invite, form: str, written: str, command: tuple[str, ...]
) -> None:
    """Where the column of ids was sorted alone, no code is changed, and the line is named."""
    first = invite("generate", "--count", "3", "--points", "5", "--format", form)
    text = (first if written == "generate" else invite("list", "--format", form)).stdout
    ids = re.findall(UUID, text)
    text = text.replace(ids[1], "#").replace(ids[2], ids[1]).replace("#", ids[2])
    before = snapshot(database)
    done = invite(command[0], "-", *command[1:], stdin=text.encode())
    line = {"csv": 3, "json": 3, "jsonl": 2}[form]
    told = f"bad input: line {line}: the code with this id has another mask; nothing was changed"
    assert (2, "", told) == (done.exit_code, done.stdout, failure(done)[0])
    assert before == snapshot(database)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param("{0}\n{1}\n{2}", id="no-last-newline"),
        pytest.param("\ufeff{0}\n{1}\n{2}\n", id="bom"),
        pytest.param("{0}\r\n{1}\r\n{2}\r\n", id="crlf"),
        pytest.param("\n\n  {0}  \n\t\n{1}\n{2}\n\n", id="blanks"),
        pytest.param("code\r\n{0}\r\n{1}\r\n{2}\r\n", id="heading"),
        pytest.param("\ufeff\nmask \n{0}\n{1}\n{2}\n", id="heading-bom"),
    ],
)
def test_plain_lines(database: Database, invite: Invite, frame: str) -> None:
    """One name a line: text, id or mask; blank lines, line ends and a heading do not count."""
    codes = [make(database) for _ in range(3)]
    lines = frame.format(codes[0].code, codes[1].id, codes[2].mask)
    (invite.folder / "names.txt").write_bytes(lines.encode())
    done = invite("revoke", "--from-file", "names.txt", *JSON)
    assert (0, ["revoked"] * 3) == (done.exit_code, outcomes(done)), done.stderr


@pytest.mark.parametrize(
    ("place", "frame"),
    [
        ("line 2", "ID\nTEXT\n"),
        ("line 3", "id,code\nID,x\nTEXT,x\n"),
        ("line 3", '\ufeff{"id": "ID"}\r\n\r\n{"id": "TEXT"}\r\n'),
        ("line 3", '[\n{"id": "ID"},\n {"id": "TEXT"}]'),
    ],
    ids=["plain", "csv", "jsonl", "json"],
)
def test_text_that_names_nothing(
    database: Database, invite: Invite, place: str, frame: str
) -> None:
    """What is no name is refused by its place, never by its text; nothing changes."""
    code, secret = make(database), make_code()[:-1]
    before = snapshot(database)
    stream = frame.replace("ID", code.id).replace("TEXT", secret)
    done = invite("revoke", "-", *JSON, stdin=stream)
    assert (2, "") == (done.exit_code, done.stdout)
    assert f"standard input, {place}: " in done.stderr
    assert secret not in done.stderr
    assert before == snapshot(database)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "holds no code, id or mask; nothing was changed"),
        (b"\xef\xbb\xbf\r\n \n", "holds no code, id or mask; nothing was changed"),
        (b"[]", "holds no code, id or mask; nothing was changed"),
        (b"id,code\n", "holds no code, id or mask; nothing was changed"),
        (b'[{"id":', "not JSON; nothing was changed"),
        (b"[" * 100_000, "not JSON; nothing was changed"),
        (b"[1]", "line 1: no id; nothing was changed"),
        (b'{"code": "x"}', "line 1: no id; nothing was changed"),
        (b"\xff\xfe\x00", "not UTF-8 text; nothing was changed"),
        (b"\x00\n", "line 1: no code, id or mask; nothing was changed"),
        (b'id\n"' + b"x" * 200_000, "not CSV"),
    ],
)
def test_files_refused(invite_alone: Invite, data: bytes, told: str) -> None:
    """A file that names nothing is refused with exit 2 before anything is sent."""
    (invite_alone.folder / "names").write_bytes(data)
    done = invite_alone("revoke", "--from-file", "names", "--yes")
    assert (2, "") == (done.exit_code, done.stdout)
    (line, *rest) = done.stderr.splitlines()
    assert line.startswith("invite: bad input: names")
    assert told in line
    assert all(more.startswith("hint: ") for more in rest)


@pytest.mark.parametrize("path", ["missing", "folder"])
def test_file_that_cannot_be_read(invite_alone: Invite, path: str) -> None:
    """A file that is not there, or is a folder, is refused in one line."""
    (invite_alone.folder / "folder").mkdir()
    done = invite_alone("revoke", "--from-file", path, "--yes")
    assert (2, "") == (done.exit_code, done.stdout)
    assert done.stderr.startswith(f"invite: bad input: {path} cannot be read: ")
    assert done.stderr.endswith("; nothing was changed\n")
    assert 1 == len(done.stderr.splitlines())
