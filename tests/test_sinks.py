"""Where a result goes: standard output, or a new file that is all there or not at all."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from datetime import UTC
from typing import TYPE_CHECKING, Final

import pytest
from reports import CONTROLS, listing

from invite_admin import files, output, sinks
from invite_admin.errors import BadInput, Failed
from invite_admin.output import Style
from invite_admin.run import taken_back

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EXISTS: Final = "exists already, and a result never overwrites a file; nothing was changed"

NEW: Final = "name a file that does not exist yet"


class Memory(io.BytesIO):
    """A standard output that keeps what it gets."""

    def isatty(self) -> bool:
        """No terminal."""
        return False


class Refusing(Memory):
    """A standard output that takes nothing."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._error = OSError(number, os.strerror(number))

    def write(self, _data: object) -> int:
        """Refuse."""
        raise self._error

    def flush(self) -> None:
        """Refuse."""
        if not self.closed:
            raise self._error

    def close(self) -> None:
        """Close without a last flush."""


def test_a_new_file(tmp_path: Path) -> None:
    """It is made by its first byte, private whatever the umask, and holds every byte."""
    path = tmp_path / "codes.csv"
    before = os.umask(0)
    try:
        sink = files.NewFile(path)
        assert not path.exists()
        sink.write(b"one\n")
        sink.write(b"two\n")
        sink.finish()
    finally:
        os.umask(before)
    assert b"one\ntwo\n" == path.read_bytes()
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)


def test_an_empty_result_is_a_file(tmp_path: Path) -> None:
    """A result without a byte is an empty file."""
    files.NewFile(tmp_path / "none").finish()
    assert b"" == (tmp_path / "none").read_bytes()


def test_a_tight_umask_does_not_shut_the_owner_out(tmp_path: Path) -> None:
    """A umask that takes the owner's own rights does not make a file nobody can read."""
    before = os.umask(0o777)
    try:
        files.NewFile(tmp_path / "codes").finish()
    finally:
        os.umask(before)
    assert 0o600 == stat.S_IMODE((tmp_path / "codes").stat().st_mode)


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda path: path.write_text("mine"), "name another file, or move that one away"),
        (lambda path: path.mkdir(), NEW),
        (lambda path: path.symlink_to("nowhere"), NEW),
        (lambda path: path.symlink_to("/dev/null"), NEW),
        (lambda path: path.symlink_to(__file__), NEW),
        (os.mkfifo, NEW),
    ],
    ids=["file", "folder", "broken link", "link to a device", "link to a file", "pipe"],
)
def test_what_exists_is_refused(tmp_path: Path, make: Callable[[Path], object], hint: str) -> None:
    """What has that name is left alone, and told at once; only a file may be moved away."""
    path = tmp_path / "codes.csv"
    make(path)
    before = path.lstat()
    with pytest.raises(BadInput) as caught:
        files.NewFile(path)
    assert (f"{path} {EXISTS}", hint) == (caught.value.message, caught.value.hint)
    assert before.st_ino == path.lstat().st_ino
    assert [path] == list(tmp_path.iterdir())


def test_a_file_that_appears_meanwhile(tmp_path: Path) -> None:
    """A file that somebody made since is not written to, and not removed."""
    path = tmp_path / "codes.csv"
    sink = files.NewFile(path)
    path.write_text("theirs")
    with pytest.raises(BadInput, match="exists already"):
        sink.write(b"ours")
    sink.discard()
    assert "theirs" == path.read_text()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gone/codes.csv", "there is no such folder; nothing was changed"),
        ("file/codes.csv", "there is no such folder; nothing was changed"),
        ("x" * 300 + "/codes.csv", "File name too long; nothing was changed"),
    ],
)
def test_folders_that_are_none(tmp_path: Path, name: str, why: str) -> None:
    """A folder that is not there is told before anything is sent."""
    (tmp_path / "file").touch()
    with pytest.raises(Failed) as caught:
        files.NewFile(tmp_path / name)
    assert f"{tmp_path / name}: cannot be written: {why}" == caught.value.message


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    """What the system refuses when the file is made is told in its words."""
    with pytest.raises(Failed, match="cannot be written: File name too long"):
        files.NewFile(tmp_path / ("x" * 300)).write(b"")


def test_a_code_in_the_name(tmp_path: Path) -> None:
    """A code that was given where a file belongs is not repeated."""
    path = tmp_path / "JYOTISH-ABCD-EFGH"
    path.touch()
    with pytest.raises(BadInput) as caught:
        files.NewFile(path)
    assert f"(a name with a code in it) {EXISTS}" == caught.value.message


def test_taken_back(tmp_path: Path) -> None:
    """What did not become true is removed; a file of somebody else in its place is not made."""
    path = tmp_path / "codes.csv"
    sink = files.NewFile(path)
    sink.write(b"a code\n")
    with pytest.raises(KeyboardInterrupt), taken_back(sink):
        raise KeyboardInterrupt
    assert [] == list(tmp_path.iterdir())
    sink.discard()


@pytest.mark.parametrize("act", ["write", "finish"])
@pytest.mark.parametrize(
    ("number", "kind", "message"),
    [
        (errno.ENOSPC, Failed, "the result could not be written: No space left on device"),
        (errno.EAGAIN, Failed, "the result could not be written: Resource temporarily unavailable"),
        (errno.EPIPE, sinks.ReaderLeft, ""),
    ],
)
def test_bytes_that_are_not_taken(
    monkeypatch: pytest.MonkeyPatch, act: str, number: int, kind: type[Exception], message: str
) -> None:
    """A full disk is a failure, a reader that left is not, at the write and at the flush."""
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    sink = sinks.StandardOutput(Refusing(number), patience=5)
    with pytest.raises(kind) as caught:
        sink.write(b"x" * sinks.HELD_BACK) if act == "write" else sink.finish()
    assert message == str(caught.value)


ENCODINGS: Final = ["ascii", "latin-1", "cp932", "cp1252", "utf-8", "utf-16"]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("form", ["table", "markdown"])
def test_encodings_of_a_terminal(form: str, encoding: str) -> None:
    """What an encoding cannot hold is written as an escape; nothing raises, nothing is lost."""
    notes = ["caf\u00e9", "\u30c6\u30b9\u30c8", "\U0001f642", "\u0416"]
    memory = Memory()
    output.emit(
        listing(notes),
        form,
        sinks.StandardOutput(memory, patience=5),
        Style(UTC, encoding=encoding),
    )
    shown = memory.getvalue().decode(encoding)
    expected = [n.encode(encoding, "backslashreplace").decode(encoding) for n in notes]
    if encoding == "utf-16":
        expected = notes
    if form == "table":
        assert [True] * 4 == [note in shown for note in expected]
    assert 4 == shown.count("JYOTISH-****-ABCD")


@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_machines_get_utf_8(form: str) -> None:
    """The formats for machines are UTF-8 under every locale, lone surrogates as escapes."""
    memory = Memory()
    style = Style(UTC, encoding="ascii")
    output.emit(
        listing(["caf\u00e9", *CONTROLS]), form, sinks.StandardOutput(memory, patience=5), style
    )
    assert "caf\u00e9" in memory.getvalue().decode("utf-8")
