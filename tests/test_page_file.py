"""Where `runbook --output` writes its page: an ordinary file, whole, and nothing else's place."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from invite_admin.cli import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LINE = ("runbook", "--offline", "--output")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
@pytest.mark.parametrize("check", [[], ["--check"]], ids=["write", "check"])
def test_what_is_no_file_is_left_alone(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    make: Callable[[Path], None],
    check: list[str],
) -> None:
    """A device, a pipe or a folder is neither read nor replaced, whoever runs the tool."""
    path = tmp_path / "page.md"
    make(path)
    before = path.lstat()
    assert 2 == run([*LINE, str(path), *check])
    expected = f"invite: bad input: {path} is no ordinary file; nothing was changed\n"
    assert expected == capsys.readouterr().err
    assert (before.st_ino, [path]) == (path.lstat().st_ino, list(tmp_path.iterdir()))


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """The page goes where a link leads."""
    kept, link = tmp_path / "kept.md", tmp_path / "link.md"
    kept.write_text("# old")
    link.symlink_to(kept)
    assert 0 == run([*LINE, str(link)])
    assert link.is_symlink()
    assert kept.read_text(encoding="utf-8").startswith("#")
    assert stat.S_ISREG(kept.lstat().st_mode)
    assert 0 == run([*LINE, str(link), "--check"])


def test_a_page_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not called stale, and no diff of the whole page hides that."""
    path = tmp_path / "page.md"
    assert 1 == run([*LINE, str(path), "--check"])
    told = f"invite: failed: {path} is not there; nothing was changed\n"
    hint = "hint: run the same without --check to make it\n"
    assert ("", f"{told}{hint}", False) == (*capsys.readouterr(), path.exists())


@pytest.mark.parametrize("check", [[], ["--check"]], ids=["write", "check"])
def test_what_is_no_page_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], check: list[str]
) -> None:
    """A file of codes, or anything else that is no page, is neither replaced nor shown."""
    path = tmp_path / "friday.csv"
    path.write_text("id,code,mask\n")
    assert (2, "id,code,mask\n") == (run([*LINE, str(path), *check]), path.read_text())
    shown, said = capsys.readouterr()
    told = f"bad input: {path} holds something else than a page; nothing was changed"
    assert ("", True) == (shown, told in said)


def test_a_page_with_controls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing that a page holds reaches a terminal as a command, nor its name as a code."""
    path = tmp_path / "JYOTISH-FAKE-FAKE"
    path.write_text("# old\n\x1b]0;title\x07\n")
    assert 1 == run([*LINE, str(path), "--check"])
    shown, said = capsys.readouterr()
    assert r"-\x1b]0;title\x07" in shown.splitlines()
    assert ("\x1b" in shown, "FAKE" in shown + said) == (False, False)
