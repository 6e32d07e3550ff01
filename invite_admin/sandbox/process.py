"""The running server: started detached, watched by a lock that it holds, ended by signals."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from invite_admin.errors import Failed
from invite_admin.sandbox import files
from invite_admin.sandbox.configuration import HBA, PORT, configuration

if TYPE_CHECKING:
    from invite_admin.sandbox.account import Account

START_SECONDS = 60
# Sessions end in order; then as in a crash; then the kernel's way, for a server that hangs.
STOP_SIGNALS = (("INT", 10), ("QUIT", 5), ("KILL", 5))
# A socket's path may have about 100 bytes, so its folder cannot lie below the data.
_SOCKET_BASE = "/tmp"  # noqa: S108 - the folder made there is 0700 and has a random name
# The shell ends at once and leaves the server to the system: no child of ours, no zombie.
_LAUNCH = '"$@" >&2 </dev/null &'
_STATE_LINE = 7  # of postmaster.pid, counted from 0


class Process:
    """The processes of one server, found by the lock file that all of them hold open.

    Neither a pid file left by a dead server nor somebody else's process with its id counts.

    Args:
        folder: Where lock, log and configuration lie.
        data: The server's data folder.
        account: The user that runs it.
    """

    def __init__(self, folder: Path, data: Path, account: Account) -> None:
        self._account = account
        self._data = data
        self._alive = folder / "alive"
        self._socket = folder / "socket"
        self._configuration = folder / "postgresql.conf"
        self._hba = folder / "pg_hba.conf"
        self.log = folder / "server.log"

    @property
    def running(self) -> bool:
        """Whether any process of this server lives.

        Raises:
            Failed: The lock file cannot be read.
        """
        with files.told("the sandbox's folder cannot be used", files.ELSEWHERE):
            try:
                descriptor = os.open(self._alive, os.O_RDWR)
            except (FileNotFoundError, NotADirectoryError):
                return False
            try:
                return not files.take(descriptor, 0, shared=True)
            finally:
                os.close(descriptor)

    @property
    def ready(self) -> bool:
        """Whether the server runs and takes connections now."""
        return self.running and self._status()[_STATE_LINE:] == ["ready"] and self._answers()

    @property
    def pid(self) -> int | None:
        """The server's process id, or None where none runs or it is not known yet."""
        status = self._status() if self.running else []
        return int(status[0]) if status and status[0].isdecimal() else None

    @property
    def socket_folder(self) -> Path | None:
        """The folder of the socket (libpq's host), or None before the first start."""
        text = files.read_file(self._socket)
        return Path(text) if text else None

    def launch(self, postgres: Path) -> None:
        """Start the server, with a lock in its hands that ends with its last process.

        Raises:
            Failed: It does not take connections within a minute.
            OSError: A file or the program cannot be used.
        """
        alive = files.open_private(self._alive)
        try:
            # A look of another process at `running` takes the lock for a moment.
            if not files.take(alive, 5):
                raise Failed("the sandbox's server runs already")
            # The lock proves that no server lives: a pid file is stale, whoever has its pid now.
            (self._data / "postmaster.pid").unlink(missing_ok=True)
            self._configure()
            server = [str(postgres), "-D", str(self._data), f"--config-file={self._configuration}"]
            command = ["/bin/sh", "-c", _LAUNCH, "sh", *server]
            log = files.open_private(self.log, os.O_TRUNC | os.O_APPEND)
            try:
                self._account.run(command, timeout=START_SECONDS, output=log, keep=(alive,))
            finally:
                os.close(log)
        finally:
            os.close(alive)
        self._wait_until_ready()

    def end(self) -> bool:
        """End the server and wait for it, 20 seconds at most; False where none ran.

        Raises:
            Failed: It is still there after all this time.
        """
        ran = self.running
        for name, seconds in STOP_SIGNALS:
            if self._end_by(name, seconds):
                self._remove_socket()
                return ran
        raise Failed(f"the sandbox's server (process {self.pid}) does not end; see {self.log}")

    def _configure(self) -> None:
        self._remove_socket()
        folder = self._new_socket_folder()
        folder.chmod(files.PRIVATE_FOLDER)
        self._account.own(folder)
        files.write_file(self._socket, str(folder))
        # Outside the data: root writes nothing into a folder where another user can put links.
        mode = files.PRIVATE_FILE if self._account.uid is None else 0o644
        files.write_file(self._hba, HBA, mode)
        files.write_file(self._configuration, configuration(folder, self._hba), mode)

    def _new_socket_folder(self) -> Path:
        """Make the socket's folder, under its former name if that is free: who waits finds it."""
        former = self.socket_folder
        if former is not None:
            with suppress(OSError):
                former.mkdir(files.PRIVATE_FOLDER)
                return former
        return Path(tempfile.mkdtemp(prefix="invite-sandbox-", dir=_SOCKET_BASE))

    def _wait_until_ready(self) -> None:
        end = time.monotonic() + START_SECONDS
        while not self.ready:
            if not self.running or time.monotonic() > end:
                raise Failed(f"the sandbox's server does not start; see {self.log}")
            time.sleep(files.POLL)

    def _end_by(self, signal: str, seconds: int) -> bool:
        """Send one signal, as the server's own user; whether the server ended in these seconds."""
        end = time.monotonic() + seconds
        sent = False
        while self.running:
            pid = self.pid
            if pid is not None and not sent:
                kill = ["/bin/sh", "-c", 'kill -s "$1" "$2"', "sh", signal, str(pid)]
                self._account.run(kill, timeout=seconds)
                sent = True
            if time.monotonic() > end:
                return False
            time.sleep(files.POLL)
        return True

    def _remove_socket(self) -> None:
        folder = self.socket_folder
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _status(self) -> list[str]:
        text = files.read_file(self._data / "postmaster.pid")
        return [line.strip() for line in (text or "").splitlines()]

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(5)
            try:
                probe.connect(f"{self.socket_folder}/.s.PGSQL.{PORT}")
            except OSError:
                return False
        return True
