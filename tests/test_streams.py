"""The tool as a process under odd circumstances: encodings, closed and full streams, places."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import TYPE_CHECKING, Final

import pytest
from tool import MODULE, Result

if TYPE_CHECKING:
    from pathlib import Path

POOR: Final = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
ENCODINGS: Final = [POOR, *({"PYTHONIOENCODING": e} for e in ("ascii", "latin-1", "cp932"))]
FULL: Final = "the operating system refused: No space left on device"
NO_DATABASE: Final = "invite: bad input: no database is configured; set INVITE_DATABASE_URL"


def shell(folder: Path, line: str, **variables: str) -> Result:
    """Run a line of shell in which `invite` is the tool, in a clean environment."""
    tool = f'invite() {{ {shlex.join(MODULE)} "$@"; }}\n'
    done = subprocess.run(
        ["/bin/sh", "-c", tool + line],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("variables", ENCODINGS, ids=lambda v: "-".join(v.values()))
def test_encodings(tmp_path: Path, variables: dict[str, str]) -> None:
    """Help and a refusal that names a file in another script work under every encoding."""
    told = shell(tmp_path, "invite generate --help", **variables)
    assert (0, "") == (told.exit_code, told.stderr)
    told = shell(
        tmp_path,
        "invite --config 'caf\u00e9\u30c6\ud83d' list".encode("utf-8", "replace").decode(),
        **variables,
    )
    assert 2 == told.exit_code
    assert "cannot be read: No such file or directory" in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize(
    ("line", "code", "last"),
    [
        ("invite --help >/dev/full", 1, f"invite: failed: {FULL}"),
        ("invite list --help >/dev/full", 1, f"invite: failed: {FULL}"),
        ("invite --version >/dev/full", 1, f"invite: failed: {FULL}"),
        (
            "invite list >&-",
            1,
            "invite: failed: standard output is closed, so the result could not",
        ),
        ("invite list <&-", 2, NO_DATABASE),
        ("invite list 2>&- >&- <&-", 1, ""),
        ("invite lsit 2>&-", 2, ""),
        ("invite lsit 2>/dev/full", 2, ""),
        ("invite show - <&-", 2, "invite: bad input: standard input holds no code, id or mask"),
    ],
)
def test_streams(tmp_path: Path, line: str, code: int, last: str) -> None:
    """A stream that is closed or full ends in one line and an exit status, never a traceback."""
    told = shell(tmp_path, line)
    lines = [text for text in told.stderr.splitlines() if not text.startswith("hint: ")]
    assert (code, "") == (told.exit_code, told.stdout)
    assert last == "".join(lines)[: len(last)]
    assert ("" == last) == ([] == lines)


def test_help_for_a_reader_who_leaves(tmp_path: Path) -> None:
    """Help into a pipe that nobody reads shows no traceback."""
    told = shell(tmp_path, "invite --help | true")
    assert (0, "", "") == (told.exit_code, told.stdout, told.stderr)


def test_a_working_directory_that_was_removed(tmp_path: Path) -> None:
    """In a folder that is gone the tool works all the same."""
    told = shell(tmp_path, 'mkdir gone && cd gone && rmdir "$PWD" && invite list')
    assert (2, NO_DATABASE) == (told.exit_code, told.stderr.splitlines()[0])


def test_a_machine_without_zone_files(tmp_path: Path) -> None:
    """Without a zone database UTC works; another zone is refused, with the line."""
    told = shell(tmp_path, "invite list", PYTHONTZPATH="")
    assert (2, NO_DATABASE) == (told.exit_code, told.stderr.splitlines()[0])
