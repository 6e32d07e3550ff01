"""Names of files that cannot be meant, or cannot be made: refused before anything is sent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from batches import line
from connecting import BRIEF
from hostile import failure

from invite_admin.errors import Failed
from invite_admin.files import NewFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from tool import Invite, Result

NOWHERE: Final = {"INVITE_DATABASE_URL": "postgresql://login@127.0.0.1:1/db"}
LONG: Final = "File name too long; nothing was changed"


def run(invite: Invite, *words: str) -> Result:
    """Run a command that would be told at once that no server answers."""
    return invite(*words, env=NOWHERE, settings=BRIEF)


@pytest.mark.parametrize("command", [line(), ["list"], ["stats"], ["runbook", "--offline"]])
def test_a_pending_result(invite_alone: Invite, command: list[str]) -> None:
    """No result gets the name of a batch whose end is not known."""
    done = run(invite_alone, *command, "--output", "foo.pending")
    told = "bad input: --output must not end in .pending, as a batch does whose end is not known"
    assert (2, told) == (done.exit_code, failure(done)[0])
    assert not (invite_alone.folder / "foo.pending").exists()


@pytest.mark.parametrize("command", [line(), ["list"], ["runbook", "--offline"]])
@pytest.mark.parametrize("name", ["a\nb.csv", "a\x1bb.csv", "a\u202eb.csv"])
def test_a_name_that_no_hint_could_carry(
    invite_alone: Invite, command: list[str], name: str
) -> None:
    """What a message shows as an escape, nobody could paste back."""
    done = run(invite_alone, *command, "--output", name)
    told = "bad input: --output must not have control or invisible characters"
    assert (2, told) == (done.exit_code, failure(done)[0])


@pytest.mark.parametrize("name", ["", ".", "..", "x.csv/", "x.csv//", "x.csv/.", "x/.."])
def test_no_name_of_a_file(invite_alone: Invite, name: str) -> None:
    """A folder's name is not taken for that of a file, whatever stands before the slash."""
    for option, command in (
        ("--output", [*line(), "--output", name]),
        ("--output", ["runbook", "--offline", "--output", name]),
        ("--from-file", ["revoke", "--yes", "--from-file", name]),
        ("--resume", ["generate", "--resume", name]),
        ("--config", ["--config", name, "list"]),
        ("--log-file", ["--log-file", name, "list"]),
    ):
        done = run(invite_alone, *command)
        told = f"bad input: {option} must name a file, and no folder"
        assert (2, told) == (done.exit_code, failure(done)[0])
    assert ["invite.toml"] == [path.name for path in invite_alone.folder.iterdir()]


@pytest.mark.parametrize("length", [244, 249, 255, 256])
def test_a_name_that_is_too_long(invite_alone: Invite, length: int) -> None:
    """A batch must have room for every name that it will bear, and is told which one has none."""
    done = run(invite_alone, *line(), "--output", "x" * length)
    said = failure(done)[0]
    assert (1, True) == (done.exit_code, said.startswith(f"failed: {'x' * length}"))
    assert said.endswith(f": cannot be written: {LONG}")
    done = run(invite_alone, "list", "--output", "x" * length)
    expected = (1, f"failed: {'x' * length}: cannot be written: {LONG}")
    assert (length > 255) == (expected == (done.exit_code, failure(done)[0]))


def test_the_longest_name(invite: Invite) -> None:
    """The longest name that leaves room for the others is written."""
    assert 0 == invite(*line(2, 1, "--output", "x" * 243)).exit_code
    assert 0 == invite("list", "--output", "y" * 255).exit_code
    assert [243, 255] == sorted(len(p.name) for p in invite.folder.glob("[xy]*"))


def test_a_folder_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a working folder that was removed nothing can be written, and that is known at once."""
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(Failed, match=r"^z\.csv: cannot be written: there is no such folder"):
        NewFile(Path("z.csv"))
    NewFile(tmp_path / "z.csv")


def test_a_pending_link_to_nothing(invite_alone: Invite) -> None:
    """A link to nothing has the pending file's name already."""
    (invite_alone.folder / "link.pending").symlink_to("nowhere")
    done = run(invite_alone, *line(), "--output", "link")
    told = "bad input: link.pending is there, and no file that a batch lies in; nothing was done"
    assert (2, told) == (done.exit_code, failure(done)[0])
    assert (invite_alone.folder / "link.pending").is_symlink()


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir], ids=["pipe", "folder"])
def test_resuming_no_file(invite_alone: Invite, make: Callable[[Path], None]) -> None:
    """Only an ordinary file is a batch; a pipe is not waited for."""
    make(invite_alone.folder / "s.csv.pending")
    done = run(invite_alone, "generate", "--resume", "s.csv.pending")
    told = "bad input: s.csv.pending is no ordinary file; nothing was changed"
    assert (2, told) == (done.exit_code, failure(done)[0])


def test_resuming_a_link(invite_alone: Invite) -> None:
    """A link is refused, for the codes would stay behind it; the file itself is named."""
    real = invite_alone.folder / "real.pending"
    real.write_text("the codes")
    (invite_alone.folder / "s.csv.pending").symlink_to(real.name)
    done = run(invite_alone, "generate", "--resume", "s.csv.pending")
    told = "bad input: s.csv.pending is a link, and only the link would be removed; "
    hint = f"hint: name the file itself: {os.path.realpath(real)}"
    assert (2, f"{told}nothing was changed", hint) == (done.exit_code, *failure(done))
    assert ("the codes", True) == (
        real.read_text(),
        (invite_alone.folder / "s.csv.pending").is_symlink(),
    )


@pytest.mark.parametrize("named", ["option", "variable", "found"])
def test_settings_that_are_no_file(invite_alone: Invite, named: str) -> None:
    """A pipe is no settings file, and is not waited for; /dev/null stands for no settings."""
    path = invite_alone.folder / (
        "found.toml" if named != "found" else ".config/invite/invite.toml"
    )
    if named == "found":
        path = invite_alone.home / path.relative_to(invite_alone.folder)
        path.parent.mkdir(parents=True)
    os.mkfifo(path)
    words = {"option": ["--config", str(path)]}.get(named, [])
    env = {**NOWHERE, "INVITE_CONFIG": str(path) if named != "option" else "/dev/null"}
    done = invite_alone(*words, "list", env=env)
    told = f"bad input: settings file {path}: cannot be read: it is no ordinary file"
    assert (2, told) == (done.exit_code, failure(done)[0])
    for device in ("/dev/zero", "/dev/tty"):
        done = invite_alone("--config", device, "list", env=NOWHERE)
        told = f"bad input: settings file {device}: cannot be read: it is no ordinary file"
        assert (2, told) == (done.exit_code, failure(done)[0])
    nothing = invite_alone("--config", "/dev/null", *line(), env=NOWHERE)
    assert failure(nothing)[0].startswith("bad input: no actor is configured")
