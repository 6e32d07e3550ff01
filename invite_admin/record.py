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
from invite_admin.files import OF_A_BATCH

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEYS = (
    *("time", "actor", "server", "database", "command"),
    *("request_id", "counts", "exit", "outcome"),
)
_BEGINNING = b'{"time": "'
STANDARD_OUTPUT = 1  # its descriptor
_LONGEST = 2**16  # bytes of a line, and more than one ever has


@dataclass
class Record:
    """What is known of one call of the tool, for its line.

    Attributes:
        command: The command's name; None before it is known.
        actor: E-mail address of who acts; None where nobody does.
        server: Address of the server; None where none was reached.
        database: Name of the database; None likewise.
        request_id: The audit log's name for it; None where there is none.
        counts: What was done, by outcome.
    """

    command: str | None = None
    actor: str | None = None
    server: str | None = None
    database: str | None = None
    request_id: str | None = None
    counts: dict[str, int] = field(default_factory=dict)


class Log:
    """A file that lines are appended to, of mode 0600; it holds nothing else.

    Args:
        path: Where.

    Raises:
        BadInput: It cannot be opened, or holds or will hold something else; nothing was sent.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._shown, self._left = path, shown_path(path), False
        if any(OF_A_BATCH.fullmatch(name) for name in (path.name, _real_name(path))):
            raise self._refusal("has the name of a file that `generate` keeps a batch in")
        try:
            self._descriptor, self._made = _open(path)
        except OSError as error:
            raise BadInput(
                f"the log {self._shown} cannot be opened: {error.strerror}; nothing was done"
            ) from None
        if self._takes_the_result():
            self.leave()
            raise self._refusal("is where standard output goes")
        if not self._keeps():
            self.leave()
            raise self._refusal("is a terminal or a disk, not a file")
        if self._regular() and not _may_follow(path):
            self.leave()
            raise self._refusal("holds something else than lines of this log")

    def is_at(self, place: Path | int) -> bool:
        """Tell whether a path or a descriptor leads to this very file; a device is nobody's."""
        try:
            there = os.stat(place)  # noqa: PTH116 - a descriptor as well
        except OSError:
            return False
        return self._regular() and os.path.samestat(os.fstat(self._descriptor), there)

    def _takes_the_result(self) -> bool:
        """Tell whether standard output goes there too; what no device keeps, nobody misses."""
        held = os.fstat(self._descriptor)
        lost = stat.S_ISCHR(held.st_mode) and not os.isatty(STANDARD_OUTPUT)
        return not lost and os.path.samestat(held, os.fstat(STANDARD_OUTPUT))

    def _keeps(self) -> bool:
        """Tell whether a line may go there: into a file, a pipe, or a device such as /dev/null."""
        mode = os.fstat(self._descriptor).st_mode
        device = stat.S_ISCHR(mode) and not os.isatty(self._descriptor)
        return stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or device

    def leave(self) -> None:
        """Let go of a file that belongs to something else; one that this call made is removed."""
        self._left = True
        if self._made:
            with suppress(OSError):
                self._path.unlink()
        os.close(self._descriptor)

    def _regular(self) -> bool:
        return stat.S_ISREG(os.fstat(self._descriptor).st_mode)

    def _refusal(self, why: str) -> BadInput:
        return BadInput(
            f"the log {self._shown} {why}; nothing was done",
            hint="name another file by --log-file, a new one for instance",
        )

    def write(self, record: Record, exit_code: int, word: str, say: Callable[[str], None]) -> None:
        """Append one line, in one write; that it cannot is only a warning."""
        if self._left:
            return
        values: tuple[Any, ...] = (
            *(datetime.now(UTC).isoformat(), record.actor, record.server, record.database),
            *(record.command, record.request_id, record.counts, exit_code, word),
        )
        line = dict(zip(KEYS, values, strict=True))
        try:
            data = (self._begin() + json.dumps(line) + "\n").encode()
            whole = os.write(self._descriptor, data) == len(data)
            if self._regular():  # a pipe or a device cannot be synced
                os.fsync(self._descriptor)
        except OSError:
            whole = False
        if not whole:
            say(f"warning: the log {self._shown} could not be written; this line is missing there")

    def _begin(self) -> str:
        """Return what begins a line: a full disk may have left half a line before it."""
        if self._regular():
            with suppress(OSError), self._path.open("rb") as file:  # empty, or not to be read
                file.seek(-1, os.SEEK_END)
                return "" if file.read(1) == b"\n" else "\n"
        return ""


def _real_name(path: Path) -> str:
    return os.path.basename(os.path.realpath(path))  # noqa: PTH119 - Path.resolve may raise


def _may_follow(path: Path) -> bool:
    """Tell whether a line may follow what a file holds: nothing, or lines of this log.

    A full disk may have cut the last one short. What may be written and not be read passes: who
    made a file of codes may read it.
    """
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LONGEST))
            held = file.read()
    except OSError:
        return True
    last = held.removesuffix(b"\n").rpartition(b"\n")[2]
    if not held.endswith(b"\n"):
        return last.startswith(_BEGINNING) or _BEGINNING.startswith(last)
    try:
        found = json.loads(last)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.keys() >= set(KEYS)


def _open(path: Path) -> tuple[int, bool]:
    """Open a log to append to, and tell whether it is new: then its owner's alone."""
    # Not blocking, for a pipe that nobody reads would let the command wait for ever.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(path, flags), False
    os.fchmod(descriptor, 0o600)  # whatever the umask
    return descriptor, True
