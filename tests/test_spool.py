"""What a spool keeps, where, and what it says where there is no room."""

from __future__ import annotations

import gc
import os
import stat
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from invite_admin.errors import Failed
from invite_admin.report import Drawn
from invite_admin.spool import HELD, Spool

if TYPE_CHECKING:
    from pathlib import Path


def test_items_come_back() -> None:
    """Items come back as they were, in their order, as often as they are asked for."""
    items: list[list[object]] = [[(1, "a", None)], [Drawn("2,b\n")], ["x" * HELD]]
    spool: Spool[list[object]] = Spool()
    for item in items:
        spool.add(item)
    assert items == list(spool) == list(spool)
    assert Drawn is type(list(spool)[1][0])


def descriptors() -> set[int]:
    """Return the descriptors that are open, but for those that nobody holds any more."""
    gc.collect()  # an earlier spool may hang on the failure that it raised
    found = set()
    for number in range(100):
        with suppress(OSError):
            os.fstat(number)
            found.add(number)
    return found


def test_file_has_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too long for memory lies in a file of mode 0600 that nobody can find."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = descriptors()
    spool: Spool[str] = Spool()
    spool.add("x" * HELD)
    held = [os.fstat(number) for number in descriptors() - before]
    (file,) = [each for each in held if stat.S_ISREG(each.st_mode)]
    assert (0o600, 0) == (stat.S_IMODE(file.st_mode), file.st_nlink)
    assert [] == list(tmp_path.iterdir())


def test_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder to write to it says that nothing was changed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    spool: Spool[str] = Spool()
    spool.add("little")
    told = "the temporary folder cannot be written to: No such file or directory; nothing was"
    with pytest.raises(Failed, match=told):
        spool.add("x" * HELD)


@pytest.mark.parametrize("truth", [None, "nothing was changed"])
@pytest.mark.parametrize("fault", ["cut off", "unreadable"])
def test_what_cannot_be_read_back(truth: str | None, fault: str) -> None:
    """A file that is cut off, or that the disk does not give back, is one plain failure."""
    before = descriptors()
    spool: Spool[str] = Spool(truth)
    for _ in range(2):
        spool.add("x" * HELD)
    (number,) = [n for n in descriptors() - before if stat.S_ISREG(os.fstat(n).st_mode)]
    if fault == "cut off":
        os.truncate(number, HELD)
        why = "it was cut off"
    else:
        folder = os.open("/", os.O_RDONLY)
        os.dup2(folder, number)
        os.close(folder)
        why = "Is a directory"
    with pytest.raises(Failed) as failed:
        list(spool)
    expected = "; ".join(filter(None, [f"a temporary file cannot be read back: {why}", truth]))
    assert expected == failed.value.message
