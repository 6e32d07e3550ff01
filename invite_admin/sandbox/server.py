"""One embedded PostgreSQL with its data: make, start, stop, remove.

Only PostgreSQL's own `initdb` and `postgres` are run. The server outlives the process that starts
it. It is reached through a socket in a short folder of its own and listens on no network port.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from invite_admin.errors import Failed
from invite_admin.sandbox import binaries, files
from invite_admin.sandbox.account import ROOT_BASE, Account
from invite_admin.sandbox.configuration import PORT
from invite_admin.sandbox.process import Process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from invite_admin.sandbox.binaries import Binaries

SUPERUSER = "postgres"
LOCK_SECONDS = 120
INITDB_SECONDS = 120
_KEPT = {"lock", "alive"}  # held by other processes, who would go on holding deleted files
_LOCALE = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")


class Server:
    """The life of one server.

    Callers that may share a folder with another process hold `lock` while they start, stop or wipe.

    Args:
        folder: Where the data belong; a path of any length, with any characters. Root's data go to
            a folder below /var/lib/invite-sandbox instead, one for each folder asked for.

    Raises:
        Unsupported: The system is neither Linux nor macOS.
        Failed: The caller is root and the system has no user `nobody` to run the server.
    """

    def __init__(self, folder: Path) -> None:
        self._account = Account.current()
        self.folder = self._account.folder(folder)
        self._data = self.folder / "data"
        self._password = self.folder / "password"
        self.password_file = self.folder / "pgpass"  # libpq's form, for people with psql
        self._process = Process(self.folder, self._data, self._account)

    @contextmanager
    def lock(self, say: Callable[[str], None]) -> Iterator[None]:
        """Keep other processes from this folder, made if missing; a killed holder lets go.

        Raises:
            Busy: Another process held it for two minutes.
            Failed: The folder cannot be made.
        """
        with files.told("the sandbox's folder cannot be used", files.ELSEWHERE):
            self._make_folder()
            descriptor = files.open_private(self.folder / "lock")
        try:
            with files.told("the sandbox's folder cannot be locked"):
                files.wait_for(descriptor, LOCK_SECONDS, say)
            yield
        finally:
            os.close(descriptor)

    @property
    def made(self) -> bool:
        """Whether a whole data folder exists; a half-made one does not count."""
        return self._password.exists() and (self._data / "PG_VERSION").exists()

    @property
    def running(self) -> bool:
        """Whether the server's process lives, ready or not; a stale pid file does not count."""
        return self._process.running

    @property
    def ready(self) -> bool:
        """Whether the server runs and takes connections now."""
        return self._process.ready

    @property
    def pid(self) -> int | None:
        """The server's process id, or None where none runs or it is not known yet."""
        return self._process.pid

    @property
    def socket_folder(self) -> Path | None:
        """The folder of the socket (libpq's host), or None before the first start."""
        return self._process.socket_folder

    def start(self) -> None:
        """Make what is missing and start the server, where it does not run already.

        Raises:
            Unsupported: The package with PostgreSQL's programs is not installed.
            Failed: The server cannot be made or started.
        """
        if self.ready:
            return
        with files.told("the sandbox's server cannot be started"):
            self._make_folder()
            programs = binaries.usable(self._account, self.folder)
            self.stop()
            if not self._fits(programs):
                self._make(programs)
            self._process.launch(programs.postgres)

    def stop(self) -> bool:
        """Stop the server and wait for its end, 20 seconds at most; False where none ran.

        Raises:
            Failed: The server is still there after all this time.
        """
        with files.told("the sandbox's server cannot be stopped"):
            return self._process.end()

    def wipe(self) -> None:
        """Stop the server and delete its data, so that the next start makes everything anew.

        Raises:
            Failed: The server does not end, or the data cannot be deleted.
        """
        with files.told("the sandbox's data cannot be deleted"):
            self._process.end()
            self._make_folder()
            # Files first: a deletion that is interrupted leaves nothing that looks whole.
            for path in sorted(self.folder.iterdir(), key=Path.is_dir):
                if path.is_file() and path.name not in _KEPT:
                    path.unlink()
                elif path.is_dir() and not path.name.startswith(binaries.COPY_PREFIX):
                    # An initdb whose command was killed may still write into a half-made folder.
                    shutil.rmtree(path, ignore_errors=path != self._data)

    def remove(self) -> None:
        """Stop the server and delete all that belongs to it.

        Raises:
            Failed: The server does not end.
        """
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.folder.parent == ROOT_BASE:
            with suppress(OSError):  # another sandbox is still in it
                ROOT_BASE.rmdir()

    def url(self, user: str, password: str, dbname: str) -> str:
        """Return a URL for libpq that names host and port, so PGHOST and PGPORT do not count.

        Raises:
            Failed: The server was never started.
        """
        folder = self.socket_folder
        if folder is None:
            raise Failed("the sandbox's server was never started")
        login = f"{quote(user, safe='')}:{quote(password, safe='')}"
        place = f"host={quote(str(folder), safe='')}&port={PORT}"
        return f"postgresql://{login}@/{quote(dbname, safe='')}?{place}"

    def superuser_url(self, dbname: str = "postgres") -> str:
        """Return a URL for the server's superuser.

        Raises:
            Failed: The server was never started.
        """
        return self.url(SUPERUSER, files.read_file(self._password) or "", dbname)

    def _make_folder(self) -> None:
        # As root passable for the server's user, who owns only `data` in it; secrets are 0600.
        as_root = self._account.uid is not None
        files.make_folder(self.folder.parent, 0o755 if as_root else files.PRIVATE_FOLDER)
        files.make_folder(self.folder, 0o711 if as_root else files.PRIVATE_FOLDER)

    def _fits(self, programs: Binaries) -> bool:
        """Whether the data are whole and of the major version of these programs."""
        version = programs.version(self._account) or ""
        found = files.read_file(self._data / "PG_VERSION") if self.made else None
        return found is not None and found.strip() == version.partition(".")[0]

    def _make(self, programs: Binaries) -> None:
        """Run initdb beside the final place, and move the result there when it is whole."""
        self.wipe()
        making = Path(tempfile.mkdtemp(prefix="making-", dir=self.folder))
        making.chmod(files.PRIVATE_FOLDER)
        password = secrets.token_urlsafe(24)
        for_initdb = making / "password"
        files.write_file(for_initdb, password)
        self._account.own(for_initdb)
        self._account.own(making)
        files_of_it = (f"--pgdata={making / 'data'}", f"--pwfile={for_initdb}")
        options = (f"--username={SUPERUSER}", "--auth=scram-sha-256", "--no-sync", *_LOCALE)
        command = [str(programs.initdb), *files_of_it, *options]
        if not self._run(command):
            raise Failed(f"the sandbox's data cannot be made; see {self._process.log}")
        files.write_file(self._password, password)
        (making / "data").rename(self._data)
        # With what an initdb wrote whose command was killed: it ends where `wipe` took its folder.
        for folder in self.folder.glob("making-*"):
            shutil.rmtree(folder, ignore_errors=True)

    def _run(self, command: list[str]) -> bool:
        log = files.open_private(self._process.log, os.O_TRUNC | os.O_APPEND)
        try:
            done = self._account.run(command, timeout=INITDB_SECONDS, output=log)
        finally:
            os.close(log)
        return done.returncode == 0
