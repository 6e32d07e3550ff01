"""Runs the tool as an operator does: a process of its own, in a clean environment.

A call is a fork of one interpreter that has loaded the modules; `start`, and a call whose
environment changes the interpreter itself, is a new interpreter.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from databases import ACTOR
from forks import CLOSED, Start

if TYPE_CHECKING:
    from collections.abc import Mapping

    from databases import Database
    from forks import Forks

__all__ = ["CLOSED", "MODULE", "Invite", "Result", "toml"]

MODULE: Final = (sys.executable, "-m", "invite_admin")
TIMEOUT: Final = 60.0
"""Seconds after which a command that hangs is killed, and its test fails."""
INTERPRETER: Final = ("PYTHON", "LC_", "LANG")
"""Beginnings of the variables that an interpreter reads when it starts."""


@dataclass(frozen=True)
class Result:
    """What a command left behind.

    Args:
        exit_code: Its exit status; negative when a signal ended it.
        stdout_bytes: Standard output as it came.
        stderr_bytes: Standard error as it came.
    """

    exit_code: int
    stdout_bytes: bytes
    stderr_bytes: bytes

    @property
    def stdout(self) -> str:
        """Standard output; bytes that are no UTF-8 show as escapes."""
        return self.stdout_bytes.decode(errors="backslashreplace")

    @property
    def stderr(self) -> str:
        """Standard error; bytes that are no UTF-8 show as escapes."""
        return self.stderr_bytes.decode(errors="backslashreplace")

    @property
    def json(self) -> Any:  # noqa: ANN401 - the test knows the shape it asked for
        """Standard output, read as one JSON text."""
        return json.loads(self.stdout_bytes)

    @property
    def jsonl(self) -> list[Any]:
        """Standard output, read as one JSON text a line."""
        return [json.loads(line) for line in self.stdout_bytes.splitlines()]


class Invite:
    """The tool on one database. Call it to run a command to its end.

    Args:
        database: Whose URL it gets as INVITE_DATABASE_URL; None for none.
        folder: The working directory, where its invite.toml is written.
        home: Its HOME.
        forks: Makes its processes.
    """

    def __init__(self, database: Database | None, folder: Path, home: Path, forks: Forks) -> None:
        self.database = database
        self.folder = folder
        self.home = home
        self._forks = forks

    def __call__(
        self,
        *args: str,
        login: str = "admin_runtime",
        stdin: str | bytes | None = None,
        stdout: int | None = None,
        env: Mapping[str, str | None] | None = None,
        settings: Mapping[str, object] | None = None,
        umask: int | None = None,
        user: int | None = None,
        timeout: float = TIMEOUT,
    ) -> Result:
        """Run one command and wait for it.

        Args:
            args: The command line after `invite`.
            login: Whose URL of the database the tool gets.
            stdin: What standard input holds; None for nothing. It is never a terminal.
            stdout: A descriptor that becomes standard output, or CLOSED; None to keep what comes.
            env: Variables to add; None as a value takes one away.
            settings: Keys of invite.toml to add; None as a value takes one away.
            umask: Its umask; None for the tests' own.
            user: Its user and group id; None for the tests' own.
            timeout: Seconds until the command is killed and TimeoutExpired raised.
        """
        environment = self.prepare(login=login, env=env, settings=settings)
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin.encode() if isinstance(stdin, str) else stdin or b"")
            given.seek(0)
            streams = (given.fileno(), out.fileno() if stdout is None else stdout, err.fileno())
            begin = Start(args, self.folder, environment, streams, umask, user)
            new = any(name.startswith(INTERPRETER) for name in environment)
            assert not new or stdout != CLOSED, "a new interpreter is not started without output"
            status = interpret(begin, timeout) if new else self._forks.run(begin, timeout)
            out.seek(0)
            err.seek(0)
            return Result(status, out.read(), err.read())

    def start(
        self,
        *args: str,
        login: str = "admin_runtime",
        env: Mapping[str, str | None] | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start one command with a pipe on each standard stream; use `with` and end it."""
        return subprocess.Popen(
            [*MODULE, *args],
            cwd=self.folder,
            env=self.prepare(login=login, env=env, settings=settings),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def prepare(
        self,
        *,
        login: str = "admin_runtime",
        env: Mapping[str, str | None] | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> dict[str, str]:
        """Write invite.toml into the working directory and return the whole environment."""
        defaults = {
            "actor": ACTOR,
            "write_role": "service_role" if login == "admin_runtime" else None,
        }
        text = toml({**defaults, **(settings or {})})
        with tempfile.NamedTemporaryFile(dir=self.home, delete=False) as made:
            made.write(text.encode())
            os.fchmod(made.fileno(), 0o644)
        # At once, for another call may be reading it.
        Path(made.name).replace(self.folder / "invite.toml")
        variables: dict[str, str | None] = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "INVITE_DATABASE_URL": self.database.url(login) if self.database else None,
            **(env or {}),
        }
        return {name: value for name, value in variables.items() if value is not None}


def interpret(begin: Start, timeout: float) -> int:
    """Run one command in a new interpreter; return its exit status."""
    return subprocess.run(
        [*MODULE, *begin.arguments],
        cwd=begin.folder,
        env=begin.environment,
        stdin=begin.streams[0],
        stdout=begin.streams[1],
        stderr=begin.streams[2],
        umask=-1 if begin.umask is None else begin.umask,
        user=begin.user,
        timeout=timeout,
        check=False,
    ).returncode


def toml(settings: Mapping[str, object]) -> str:
    """Return settings as TOML: plain values first, then one table for each mapping."""
    kept = {key: value for key, value in settings.items() if value is not None}
    plain = [
        f"{key} = {json.dumps(value)}\n"
        for key, value in kept.items()
        if not isinstance(value, dict)
    ]
    tables = [f"[{key}]\n{toml(value)}" for key, value in kept.items() if isinstance(value, dict)]
    return "".join(plain + tables)
