"""`--log-file` keeps to itself: no file of codes, no batch and no result gets a line of the log."""

from __future__ import annotations

import json
import os
import pty
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pytest
from batches import line, stored
from databases import make_code
from hostile import failure

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from databases import Database
    from tool import Invite

LOG: Final = "evidence.jsonl"
HINT: Final = "hint: name another file by --log-file, a new one for instance"
ONE: Final = "00000000-0000-4000-8000-000000000001"
RECORD: Final = (
    '{"time": "2026-11-29T18:00:00+00:00", "actor": null, "server": null, "database": null,'
    ' "command": "list", "request_id": null, "counts": {}, "exit": 0, "outcome": "ok"}\n'
)
NAMES: Final = ("m.csv.pending", "m.csv.pending.new", ".m.csv.new", "link")


def file() -> tuple[int, int]:
    """Return a file without a name, once to read and once to write."""
    held = os.memfd_create("result")
    return os.dup(held), held


def contents(folder: Path) -> dict[str, bytes]:
    """Return what lies in the working directory, the settings apart."""
    files = (path for path in folder.iterdir() if path.name != "invite.toml")
    return {path.name: path.read_bytes() for path in files if path.is_file()}


@pytest.mark.parametrize("there", [True, False], ids=["there", "new"])
@pytest.mark.parametrize("name", NAMES)
def test_names_of_a_batch(invite: Invite, database: Database, name: str, *, there: bool) -> None:
    """What `generate` keeps a batch in, and removes, is no log, under whatever name."""
    if name == "link":
        (invite.folder / name).symlink_to("m.csv.pending")
    if there:
        (invite.folder / name).write_text(RECORD)
    before = contents(invite.folder)
    done = invite("--log-file", name, *line(2, 1, "--output", "m.csv"))
    why = "has the name of a file that `generate` keeps a batch in; nothing was done"
    assert (f"bad input: the log {name} {why}", HINT) == failure(done)
    assert (2, 0, before) == (done.exit_code, stored(database), contents(invite.folder))


def test_the_result(invite: Invite, database: Database) -> None:
    """A result's own file is no log: it is not even made."""
    told = "bad input: --output and --log-file name the same file; nothing was done"
    around = f"../{invite.folder.name}/m.csv"
    for given in ("m.csv", "./m.csv", str(invite.folder / "m.csv"), around):
        for command in (line(2), ["list"], ["runbook", "--offline"]):
            done = invite("--log-file", "m.csv", *command, "--output", given)
            assert (2, told) == (done.exit_code, failure(done)[0])
            assert (0, {}) == (stored(database), contents(invite.folder))
    (invite.folder / LOG).write_text(RECORD)
    (invite.folder / "hard.jsonl").hardlink_to(invite.folder / LOG)
    done = invite("--log-file", LOG, "list", "--output", "hard.jsonl")
    assert (2, told) == (done.exit_code, failure(done)[0])
    assert RECORD == (invite.folder / LOG).read_text()


def test_what_is_read(invite: Invite, database: Database) -> None:
    """Names, settings, and a batch that is taken up again do not come from the log."""
    (invite.folder / LOG).write_text(RECORD)
    (invite.folder / "z.csv.pending").write_text("the codes")
    before = contents(invite.folder)
    for log, option, words in (
        (LOG, "--from-file", ["revoke", "--from-file", LOG, "--yes"]),
        (LOG, "--config", ["--config", LOG, "list"]),
        (LOG, "--resume", ["generate", "--resume", LOG]),
        ("z.csv", "--resume", ["generate", "--resume", "z.csv.pending"]),
    ):
        done = invite("--log-file", log, *words)
        told = f"bad input: {option} and --log-file name the same file; nothing was done"
        assert (2, told) == (done.exit_code, failure(done)[0])
        assert before == contents(invite.folder)
    assert 0 == stored(database)


def test_standard_output(invite: Invite, database: Database) -> None:
    """A log that standard output goes into would be written over by the codes."""
    path = invite.folder / "k.csv"
    with path.open("wb") as out:
        done = invite("--log-file", "k.csv", *line(2), stdout=out.fileno())
    told = "bad input: the log k.csv is where standard output goes; nothing was done"
    assert (2, told, HINT) == (done.exit_code, *failure(done))
    assert (0, b"") == (stored(database), path.read_bytes())


@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1"])
@pytest.mark.parametrize("make", [os.pipe, pty.openpty, file], ids=["pipe", "terminal", "file"])
def test_a_name_of_standard_output(
    invite: Invite, database: Database, name: str, make: Callable[[], tuple[int, int]]
) -> None:
    """Whatever standard output is, no line of the log gets into the result."""
    reader, writer = make()
    try:
        done = invite("--log-file", name, *line(2), stdout=writer)
        os.set_blocking(reader, False)
        with suppress(BlockingIOError):
            assert b"" == os.read(reader, 1)
    finally:
        os.close(reader)
        os.close(writer)
    told = f"bad input: the log {name} is where standard output goes; nothing was done"
    assert (2, told, HINT) == (done.exit_code, *failure(done))
    assert 0 == stored(database)


def test_another_terminal(invite: Invite, database: Database) -> None:
    """A terminal keeps no evidence, and may show the result: /dev/tty is another name of one."""
    ends = pty.openpty()
    try:
        name = os.ttyname(ends[1])
        done = invite("--log-file", name, *line(2))
    finally:
        for descriptor in ends:
            os.close(descriptor)
    told = f"bad input: the log {name} is a terminal or a disk, not a file; nothing was done"
    assert (2, told, HINT) == (done.exit_code, *failure(done))
    assert ("", 0) == (done.stdout, stored(database))


def test_another_pipe_and_no_keeper(invite: Invite) -> None:
    """A pipe beside that of standard output takes the log; what /dev/null takes, none misses."""
    reader, writer = os.pipe()
    there, log = invite.folder / "pipe", os.open(os.devnull, os.O_WRONLY)
    os.mkfifo(there)
    listener = os.open(there, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert 0 == invite("--log-file", "pipe", "list", stdout=writer).exit_code
        assert "list" == json.loads(os.read(listener, 2**16))["command"]
        assert 0 == invite("--log-file", "/dev/null", "list", stdout=log).exit_code
    finally:
        for descriptor in (reader, writer, listener, log):
            os.close(descriptor)


def test_no_name_of_a_log(invite: Invite, database: Database) -> None:
    """`-` is standard output elsewhere, and here no file of that name is made."""
    told = "bad input: --log-file must name a file, and not standard output"
    done = invite("--log-file", "-", *line(2))
    assert (2, told, 0) == (done.exit_code, failure(done)[0], stored(database))
    assert 2 == invite("--log-file", "-", "--nonsense").exit_code
    assert {} == contents(invite.folder)


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "md", "txt"])
def test_a_file_of_codes(invite: Invite, database: Database, form: str) -> None:
    """A file that `generate` made keeps every byte, and its codes can still be named by it."""
    assert 0 == invite(*line(3, 7, "--output", f"k.{form}")).exit_code
    before = contents(invite.folder)
    done = invite("--log-file", f"k.{form}", "list")
    told = f"bad input: the log k.{form} holds something else than lines of this log"
    assert (f"{told}; nothing was done", HINT) == failure(done)
    assert (2, "", before) == (done.exit_code, done.stdout, contents(invite.folder))
    if form in ("csv", "json", "jsonl"):
        assert 0 == invite("revoke", "--from-file", f"k.{form}", "--yes").exit_code
    assert 3 == stored(database)


OTHERS: Final = {
    "codes": f"{make_code()}\n",
    "codes, no end": make_code(),
    "settings": 'actor = "ops@example.com"\n',
    "another log": '{"mine": 1}\n',
    "a list": "[1]\n",
    "half a record that has ended": f"{RECORD[:40]}\n",
    "a record first": f"{RECORD}the end\n",
    "an empty line last": f"{RECORD}\n",
    "nesting": "[" * 60_000 + "\n",
    "a long line": f'{{"time": "{"x" * 2**17}\n',
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_file(invite: Invite, name: str) -> None:
    """A file whose last line is none of this log is left as it is, also by a refused command."""
    (invite.folder / LOG).write_text(OTHERS[name])
    for command in (["list"], ["lsit"], ["--nonsense"]):
        done = invite("--log-file", LOG, *command)
        assert (2, True) == (done.exit_code, "holds something else than lines" in done.stderr)
    assert OTHERS[name] == (invite.folder / LOG).read_text()


@pytest.mark.parametrize("cut", [1, 9, 40, len(RECORD) - 1])
def test_a_line_cut_short(invite: Invite, cut: int) -> None:
    """After a line that a full disk cut short the log goes on, in a line of its own."""
    for held in (RECORD[:cut], RECORD + RECORD[:cut], RECORD * 2_000 + RECORD[:cut]):
        (invite.folder / LOG).write_text(held)
        assert 0 == invite("--log-file", LOG, "list").exit_code
        text = (invite.folder / LOG).read_text()
        assert f"{held}\n" == text[: len(held) + 1]
        assert "list" == json.loads(text[len(held) :])["command"]


def test_what_is_allowed(invite: Invite) -> None:
    """An empty file, a link to a log, one that only may be written, and devices: as before."""
    (invite.folder / "empty").touch()
    (invite.folder / LOG).write_text(RECORD)
    (invite.folder / "link").symlink_to(LOG)
    os.mkfifo(invite.folder / "pipe")
    reader = os.open(invite.folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        for name in ("empty", "link", "/dev/null", "pipe"):
            done = invite("--log-file", name, "list")
            assert (0, False) == (done.exit_code, "warning" in done.stderr), name
        assert "list" == json.loads(os.read(reader, 65_536))["command"]
    finally:
        os.close(reader)
    assert [1, 2] == [(invite.folder / name).read_text().count("\n") for name in ("empty", LOG)]
    done = invite("--log-file", "/dev/null", "show", "--from-file", "/dev/null")
    assert "bad input: /dev/null holds no code, id or mask" in failure(done)[0]


def test_the_line_of_a_damaged_table(invite: Invite) -> None:
    """A table whose last line is broken is refused by that line's number."""
    rows = f"id,code\n{ONE},x\n{ONE},y\n"
    for last in ('{"time": "x"}', '{"time": "x", "actor": null}', RECORD, '"', ONE[:9]):
        (invite.folder / "k.csv").write_text(rows + last)
        done = invite("revoke", "--from-file", "k.csv", "--yes")
        told = failure(done)[0]
        assert (2, True) == (done.exit_code, told.startswith("bad input: k.csv, line 4: ")), told
