"""What a command line loads: nothing heavy until a command runs."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pathlib import Path

HEAVY: Final = ("sqlalchemy", "psycopg", "psycopg_binary", "tabulate", "wcwidth", "testcontainers")
REPORT: Final = f"""
import atexit, sys
told = lambda: [m for m in {HEAVY} if m in sys.modules]
atexit.register(lambda: print('LOADED', told(), file=sys.stderr))
"""
"""Says at the end of an interpreter, however it ends, which heavy modules it has loaded."""
LOAD: Final = f"""{REPORT}
import click
from invite_admin.cli import cli
context = click.Context(cli)
names = cli.list_commands(context)
commands = [cli.get_command(context, name) for name in names]
assert len(commands) > 8, names
"""
RUN: Final = f"{REPORT}\nfrom invite_admin.cli import run\nrun(sys.argv[1:])"
CALL: Final = """
import atexit, sys
from invite_admin.cli import cli
begin = "invite_admin.commands."
names = lambda: [m.removeprefix(begin) for m in sys.modules if m.startswith(begin)]
atexit.register(lambda: print("LOADED", names(), file=sys.stderr))
cli.main(sys.argv[1:], prog_name="invite")
"""


def loaded(code: str, folder: Path, *arguments: str, **environment: str) -> str:
    """Run Python code in a new interpreter and return what it says it has loaded at last."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stderr.rpartition("LOADED ")[2].strip()


def test_loading_every_command(tmp_path: Path) -> None:
    """Loading every command loads neither the database's libraries nor tabulate."""
    assert "[]" == loaded(LOAD, tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["generate", "--help"],
        ["generate", "--count", "0", "--points", "1"],
        ["list", "--no-such-option"],
        ["show", "no code"],
        ["revoke", "--yes"],
    ],
    ids=" ".join,
)
def test_help_and_refusals(tmp_path: Path, arguments: list[str]) -> None:
    """Help, the version and a refusal need none of them either, so they come at once."""
    assert "[]" == loaded(RUN, tmp_path, *arguments)


def completing(words: str) -> dict[str, str]:
    """Return the variables with which a shell asks to complete the last of these words."""
    return {
        "_INVITE_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }


def test_names_of_the_commands(tmp_path: Path) -> None:
    """To tell the names of the commands, and what each is for, none of them is loaded."""
    assert "[]" == loaded(CALL, tmp_path, "--help")
    assert "[]" == loaded(CALL, tmp_path, **completing("invite "))
    assert "['list']" == loaded(CALL, tmp_path, **completing("invite list --no"))
    assert "['list']" == loaded(CALL, tmp_path, "list", "--help")


def test_completion(tmp_path: Path) -> None:
    """Completing the options of a command loads nothing heavy either."""
    assert "[]" == loaded(RUN, tmp_path, **completing("invite generate --"))


def test_a_command_that_runs(tmp_path: Path) -> None:
    """A command that does run loads SQLAlchemy: this test would see it."""
    assert "'sqlalchemy'" in loaded(RUN, tmp_path, "list")
