"""The log for evidence: one JSON line a command, once its outcome is known; no secret in it."""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from invite_admin.codes import shown_path
from invite_admin.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass
class Record:
    """What is known of one call of the tool, for its line.

    Attributes:
        command: The command's name; None before it is known.
        actor: E-mail address of who acts; None where nobody does.
        request_id: The audit log's name for it; None where there is none.
        counts: What was done, by outcome.
    """

    command: str | None = None
    actor: str | None = None
    request_id: str | None = None
    counts: dict[str, int] = field(default_factory=dict)


class Log:
    """A file that lines are appended to, of mode 0600.

    Args:
        path: Where.

    Raises:
        BadInput: It cannot be opened; nothing was sent.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._shown = path, shown_path(path)
        try:
            self._descriptor = _open(path)
        except OSError as error:
            raise BadInput(
                f"the log {self._shown} cannot be opened: {error.strerror}; nothing was done"
            ) from None

    def write(self, record: Record, exit_code: int, word: str, say: Callable[[str], None]) -> None:
        """Append one line, in one write; that it cannot is only a warning."""
        line: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(),
            "actor": record.actor,
            "command": record.command,
            "request_id": record.request_id,
            "counts": record.counts,
            "exit": exit_code,
            "outcome": word,
        }
        try:
            data = (self._begin() + json.dumps(line) + "\n").encode()
            whole = os.write(self._descriptor, data) == len(data)
            os.fsync(self._descriptor)
        except OSError:
            whole = False
        if not whole:
            say(f"warning: the log {self._shown} could not be written; this line is missing there")

    def _begin(self) -> str:
        """Return what begins a line: a full disk may have left half a line before it."""
        if stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            with suppress(OSError), self._path.open("rb") as file:  # empty, or not to be read
                file.seek(-1, os.SEEK_END)
                return "" if file.read(1) == b"\n" else "\n"
        return ""


def _open(path: Path) -> int:
    """Open a log to append to; a new one is its owner's alone, whatever the umask."""
    # Not blocking, for a pipe that nobody reads would let the command wait for ever.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(path, flags)
    os.fchmod(descriptor, 0o600)
    return descriptor
