"""The tool on a pseudo-terminal, as a person uses it: questions, keys, Ctrl-C."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tool import MODULE, TIMEOUT, Result
from waiting import read_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tool import Invite

# A session's leader gets the first terminal it opens, whose keys then send signals.
_TAKE_TERMINAL: Final = (
    "import os, sys; os.open(os.ttyname(0), os.O_RDWR); os.execv({0!r}, [{0!r}, *sys.argv[1:]])"
)


class Terminal:
    """A running command whose standard input and error are a terminal; its output is a pipe.

    Args:
        process: The command.
        keys: The terminal's other end.
    """

    def __init__(self, process: subprocess.Popen[bytes], keys: int) -> None:
        self._process = process
        self._keys = keys
        self.shown = ""

    def read(self, mark: str) -> str:
        """Wait until this is shown; return all that was shown up to then."""
        self.shown += read_until(self._keys, mark.encode()).decode().replace("\r\n", "\n")
        return self.shown

    def press(self, keys: str) -> None:
        """Type on the terminal: ``\\n`` for Enter, ``\\x03`` for Ctrl-C, ``\\x04`` for Ctrl-D."""
        os.write(self._keys, keys.encode(errors="surrogateescape"))

    def end(self) -> Result:
        """Wait for the command's end; what was shown is the result's standard error."""
        out, _ = self._process.communicate(timeout=TIMEOUT)
        while piece := _rest(self._keys):
            self.shown += piece.decode(errors="backslashreplace").replace("\r\n", "\n")
        return Result(self._process.returncode, out, self.shown.encode())


@contextmanager
def terminal(
    invite: Invite,
    *args: str,
    login: str = "admin_runtime",
    env: Mapping[str, str] | None = None,
) -> Iterator[Terminal]:
    """Start one command on a terminal of its own, and make sure that it ends."""
    keys, device = pty.openpty()
    take = [sys.executable, "-c", _TAKE_TERMINAL.format(sys.executable)]
    try:
        process = subprocess.Popen(
            [*take, *MODULE[1:], *args],
            cwd=invite.folder,
            env=invite.prepare(login=login, env={"TERM": "dumb", **(env or {})}),
            stdin=device,
            stdout=subprocess.PIPE,
            stderr=device,
            start_new_session=True,
        )
        os.close(device)
        with process:
            try:
                yield Terminal(process, keys)
            finally:
                process.kill()
    finally:
        os.close(keys)


def _rest(keys: int) -> bytes:
    """Return what is left to read; a terminal whose other end is closed raises."""
    try:
        return os.read(keys, 65_536)
    except OSError:
        return b""
