"""The tool as the tests run it is the tool as people run it: entry points, and forks like them."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from databases import NO_ADMIN
from forks import CLOSED
from tool import MODULE, Result

import invite_admin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from databases import Database
    from tool import Invite

SCRIPT: Final = (str(Path(sys.executable).with_name("invite")),)
ENTRIES: Final = pytest.mark.parametrize("entry", [MODULE, SCRIPT], ids=["module", "script"])


def really(invite: Invite, *args: str, entry: tuple[str, ...] = MODULE) -> Result:
    """Run one command in a new interpreter."""
    with subprocess.Popen(
        [*entry, *args],
        cwd=invite.folder,
        env=invite.prepare(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        out, err = process.communicate(timeout=60)
    return Result(process.returncode, out, err)


@ENTRIES
def test_version(invite_alone: Invite, entry: tuple[str, ...]) -> None:
    """Both entry points begin, and tell the version."""
    told = f"invite {invite_admin.__version__}\n".encode()
    assert Result(0, told, b"") == really(invite_alone, "--version", entry=entry)


@ENTRIES
def test_generate(invite: Invite, database: Database, entry: tuple[str, ...]) -> None:
    """Both entry points make codes and end with the exit status of what happened."""
    line = ("generate", "--count", "2", "--points", "3", "--format", "json")
    made = really(invite, *line, entry=entry)
    assert (0, 2) == (made.exit_code, len(made.json))
    assert {code["id"] for code in made.json} == {
        str(row[0]) for row in database.rows("select id from public.redemption_codes")
    }


@ENTRIES
def test_closed_output(invite: Invite, database: Database, entry: tuple[str, ...]) -> None:
    """A new interpreter without standard output stores nothing, and says so."""
    line = '"$@" generate --count 2 --points 3 >&-'
    done = really(invite, "-c", line, "sh", *entry, entry=("/bin/sh",))
    assert (1, b"") == (done.exit_code, done.stdout_bytes)
    assert "standard output is closed" in done.stderr
    assert 0 == database.value("select count(*) from public.redemption_codes")


LINES: Final = ("--version", "--help", "list --help", "nonsense", "list", "show x", "", "show -")
DESCRIPTORS: Final = [f"show --from-file /dev/fd/{number}" for number in range(3, 9)]


@pytest.mark.parametrize("line", [*LINES, *DESCRIPTORS])
def test_forks_are_alike(invite_alone: Invite, line: str) -> None:
    """A fork leaves behind what a new interpreter does, and has no descriptor of ours open."""
    assert really(invite_alone, *line.split()) == invite_alone(*line.split())


def test_forks_are_processes(invite: Invite, database: Database) -> None:
    """Many at once are each a process with its own connection, environment and exit status."""
    actors = {"ops@example.com": 0, NO_ADMIN: 6, "nobody@example.com": 6, "no address": 2}

    def run(actor: str) -> int:
        line = ["generate", "--count", "1", "--points", "1"]
        return invite(*line, env={"INVITE_ACTOR": actor}).exit_code

    with ThreadPoolExecutor() as pool:
        assert list(actors.values()) * 3 == list(pool.map(run, list(actors) * 3))
    assert 3 == database.value("select count(*) from public.redemption_codes")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The two ends of a pipe, closed at the end."""
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


def test_forks_streams(invite_alone: Invite, pipe: tuple[int, int]) -> None:
    """A fork writes to the descriptor it is given, and begins without output where asked to."""
    told = f"invite {invite_admin.__version__}\n".encode()
    assert Result(0, b"", b"") == invite_alone("--version", stdout=pipe[1])
    assert told == os.read(pipe[0], len(told) + 1)
    assert "standard output is closed" in invite_alone("list", stdout=CLOSED).stderr
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        assert 0 != invite_alone("--version", stdout=full.fileno()).exit_code


def test_forks_are_killed(invite: Invite, database: Database) -> None:
    """A command that hangs is killed, and the next one runs all the same."""
    with database.acting("superuser") as blocking:
        blocking.execute("lock table public.redemption_codes")
        with pytest.raises(subprocess.TimeoutExpired):
            invite("list", timeout=1)
    assert 0 == invite("list").exit_code
