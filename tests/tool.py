"""Runs the tool as an operator does: a process of its own, in a clean environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from databases import ACTOR

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from databases import Database

MODULE: Final = (sys.executable, "-m", "invite_admin")
TIMEOUT: Final = 60.0
"""Seconds after which a command that hangs is killed, and its test fails."""


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
    """

    def __init__(self, database: Database | None, folder: Path, home: Path) -> None:
        self.database = database
        self.folder = folder
        self.home = home

    def __call__(
        self,
        *args: str,
        login: str = "admin_runtime",
        stdin: str | bytes | None = None,
        env: Mapping[str, str | None] | None = None,
        settings: Mapping[str, object] | None = None,
        timeout: float = TIMEOUT,
    ) -> Result:
        """Run one command and wait for it.

        Args:
            args: The command line after `invite`.
            login: Whose URL of the database the tool gets.
            stdin: What standard input holds; None for nothing. It is never a terminal.
            env: Variables to add; None as a value takes one away.
            settings: Keys of invite.toml to add; None as a value takes one away.
            timeout: Seconds until the command is killed and TimeoutExpired raised.
        """
        done = subprocess.run(
            [*MODULE, *args],
            cwd=self.folder,
            env=self.prepare(login=login, env=env, settings=settings),
            input=stdin.encode() if isinstance(stdin, str) else stdin or b"",
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

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
        (self.folder / "invite.toml").write_text(text, encoding="utf-8")
        variables: dict[str, str | None] = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "INVITE_DATABASE_URL": self.database.url(login) if self.database else None,
            **(env or {}),
        }
        return {name: value for name, value in variables.items() if value is not None}


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
