"""Starts the fork server of `fork_server.py`, and asks it for processes of the tool."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fork_server import NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SERVER: Final = Path(__file__).with_name("fork_server.py")
STOPPED: Final = 10.0
"""Seconds within which the server ends once it is told to."""
CLOSED: Final = -1
"""In place of a standard stream: the process begins with that descriptor closed."""


@dataclass(frozen=True)
class Start:
    """How a process of the tool begins.

    Args:
        arguments: The command line after `invite`.
        folder: The working directory.
        environment: All of it.
        streams: Descriptors that become 0, 1 and 2, or CLOSED.
        umask: Its umask; None for the tests' own.
        user: Its user and group id; None for the tests' own.
    """

    arguments: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    streams: Sequence[int]
    umask: int | None = None
    user: int | None = None

    def encoded(self) -> bytes:
        """Return what the new process reads."""
        wanted = {
            "arguments": list(self.arguments),
            "folder": str(self.folder),
            "environment": dict(self.environment),
            "closed": [n for n, stream in enumerate(self.streams) if stream == CLOSED],
            "umask": self.umask,
            "user": self.user,
        }
        return json.dumps(wanted).encode()


class Forks:
    """The fork server of a run. Several threads may use it.

    Args:
        control: The socket it listens to.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._asking = threading.Lock()

    def run(self, start: Start, timeout: float) -> int:
        """Run one process to its end; return its exit status, negative when a signal ended it.

        Raises:
            subprocess.TimeoutExpired: It took more than `timeout` seconds, and was killed.
        """
        ours, theirs = socket.socketpair()
        with ours:
            with theirs, open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor
                streams = [nothing.fileno() if n == CLOSED else n for n in start.streams]
                with self._asking:
                    socket.send_fds(self._control, [b"\0"], [theirs.fileno(), *streams])
            ours.settimeout(STOPPED)  # without its id it could not be ended
            (pid,) = NUMBER.unpack(ours.recv(NUMBER.size))
            ours.sendall(start.encoded())
            ours.settimeout(timeout)
            ours.shutdown(socket.SHUT_WR)
            try:
                (status,) = NUMBER.unpack(ours.recv(NUMBER.size))
            except BaseException as error:
                with suppress(ProcessLookupError):  # it ended by itself meanwhile
                    os.kill(pid, signal.SIGKILL)
                ours.settimeout(STOPPED)
                ours.recv(NUMBER.size)  # it is gone once its status came
                if not isinstance(error, TimeoutError):
                    raise
                raise subprocess.TimeoutExpired(["invite", *start.arguments], timeout) from None
        return os.waitstatus_to_exitcode(status)


@contextmanager
def running(program: Path = SERVER) -> Iterator[Forks]:
    """Start the server, with the modules loaded that the tests themselves see, and stop it."""
    ours, theirs = socket.socketpair()
    path = os.pathsep.join(filter(None, sys.path))
    with ours:
        with theirs:
            server = subprocess.Popen(
                [sys.executable, "-P", str(program), str(theirs.fileno())],
                env={"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        try:
            yield Forks(ours)
        finally:
            ours.close()
            server.wait(STOPPED)
