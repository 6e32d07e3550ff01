"""What a command line loads: nothing heavy until a command runs."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pathlib import Path

HEAVY: Final = ("sqlalchemy", "psycopg", "psycopg_binary", "tabulate", "wcwidth", "testcontainers")
REPORT: Final = f"\nprint('LOADED', [m for m in {HEAVY} if m in sys.modules], file=sys.stderr)\n"
LOAD: Final = """
import click, sys
from invite_admin.cli import cli
context = click.Context(cli)
names = cli.list_commands(context)
commands = [cli.get_command(context, name) for name in names]
assert len(commands) > 8, names
"""
RUN: Final = "import sys\nfrom invite_admin.cli import run\nrun(sys.argv[1:])"


def loaded(code: str, folder: Path, *arguments: str) -> str:
    """Run Python code in a new interpreter and return which heavy modules it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT, *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
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


def test_a_command_that_runs(tmp_path: Path) -> None:
    """A command that does run loads SQLAlchemy: this test would see it."""
    assert "'sqlalchemy'" in loaded(RUN, tmp_path, "list")
