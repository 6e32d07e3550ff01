"""A primary of a test's own with a streaming standby, made with the embedded server's programs."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg
from batches import ROOT
from databases import PASSWORD, make_url
from waiting import until

from invite_admin.sandbox import binaries
from invite_admin.sandbox.account import Account

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NOBODY: Final = 65534
LONGEST: Final = 120.0  # seconds that one of the programs may take
SETTINGS: Final = (
    *("-c", "listen_addresses=127.0.0.1", "-c", "wal_level=replica", "-c", "max_wal_senders=4"),
    *("-c", "hot_standby=on", "-c", "fsync=off", "-c", "unix_socket_directories="),
    *("-c", "shared_buffers=16MB", "-c", "max_connections=40"),
)


@dataclass
class Node:
    """One server of the two.

    Attributes:
        programs: PostgreSQL's programs.
        data: Its data folder.
        port: Its port on this machine.
    """

    programs: Path
    data: Path
    port: int

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters, for libpq, of the superuser's connection to it."""
        account = {"user": "postgres", "password": PASSWORD, "dbname": "postgres"}
        return {**account, "host": "127.0.0.1", "port": str(self.port)}

    def run(self, program: str, *arguments: str) -> None:
        """Run one of the programs to its end, as the server's user."""
        done = subprocess.run(
            [str(self.programs / program), *arguments],
            user=_user(),
            env={"PATH": os.defpath, "PGPASSWORD": PASSWORD},
            cwd=self.data.parent,
            capture_output=True,
            timeout=LONGEST,
            check=False,
        )
        assert 0 == done.returncode, done.stderr.decode()

    def control(self, *arguments: str) -> None:
        """Run ``pg_ctl`` on it, and wait until what it was told has happened."""
        log = ("-l", str(self.data.parent / f"{self.data.name}.log"))
        options = " ".join([*SETTINGS, "-p", str(self.port)])
        self.run("pg_ctl", "-D", str(self.data), "-w", *log, "-o", options, *arguments)

    def value(self, sql: str) -> object:
        """Return the first column of the first row of a query."""
        url = make_url(self.parameters)
        with psycopg.connect(url, connect_timeout=10, autocommit=True) as connection:
            row = connection.execute(sql.encode()).fetchone()
        assert row is not None
        found: object = row[0]
        return found


@contextmanager
def replicated() -> Iterator[tuple[Node, Node]]:
    """Start a primary and its streaming standby; yield the two, and stop them at the end."""
    with tempfile.TemporaryDirectory(prefix="invite-standby-") as name:
        folder = Path(name)
        _give(folder)
        programs = binaries.usable(Account.current(), folder).folder
        primary, standby = (
            Node(programs, folder / role, port)
            for role, port in zip(("primary", "standby"), _free_ports(2), strict=True)
        )
        _make(primary, folder)
        primary.control("start")
        try:
            copy = (make_url(primary.parameters), "-D", str(standby.data), "-R", "-X", "stream")
            standby.run("pg_basebackup", "-c", "fast", "-d", *copy)
            standby.control("start")
            try:
                yield primary, standby
            finally:
                standby.control("stop", "-m", "immediate")
        finally:
            primary.control("stop", "-m", "immediate")


def caught_up(primary: Node, standby: Node) -> None:
    """Return once the standby has replayed all that the primary has written so far."""
    written = primary.value("select pg_current_wal_lsn()::text")
    query = f"select pg_last_wal_replay_lsn() >= '{written}'::pg_lsn"
    until(lambda: standby.value(query) is True, "a standby that has caught up")


def _make(primary: Node, folder: Path) -> None:
    password = folder / "password"
    password.write_text(PASSWORD)
    password.chmod(0o644)
    options = ("--auth=scram-sha-256", f"--pwfile={password}", "--no-sync", "--encoding=UTF8")
    primary.run("initdb", "-D", str(primary.data), "-U", "postgres", "--locale=C", *options)


def _give(folder: Path) -> None:
    """Let the server's user make folders in this one."""
    if (user := _user()) is not None:
        os.chown(folder, user, -1)
        folder.chmod(0o755)


def _user() -> int | None:
    """Return whom a server runs as: PostgreSQL refuses to run as root."""
    return NOBODY if os.getuid() == ROOT else None


def _free_ports(count: int) -> Sequence[int]:
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in taken]
    for listener in taken:
        listener.close()
    return ports
