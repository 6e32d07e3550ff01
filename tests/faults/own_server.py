"""A PostgreSQL of a test's own, which may be crashed, and a streaming standby of it."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg
from cluster import Cluster
from databases import make_url
from psycopg.conninfo import conninfo_to_dict
from waiting import until

from invite_admin.sandbox import binaries
from invite_admin.sandbox.account import Account

if TYPE_CHECKING:
    from collections.abc import Iterator

    from databases import Database

SECONDS: Final = 60
SETTINGS: Final = """
listen_addresses = ''
unix_socket_directories = '{folder}'
port = 5432
shared_buffers = '16MB'
fsync = off
max_connections = 30
hot_standby = on
wal_level = replica
"""


class OwnServer:
    """One server, in a folder of its own.

    Args:
        folder: A short path that its account may reach; socket and data lie there.
        programs: Where PostgreSQL's programs are.
        account: Who runs it.
    """

    def __init__(self, folder: Path, programs: Path, account: Account) -> None:
        self.folder = folder
        self._data = folder / "data"
        self._programs, self._account = programs, account
        folder.mkdir(mode=0o700)
        account.own(folder)

    @property
    def url(self) -> str:
        """A superuser's URL."""
        return make_url({"user": "postgres", "dbname": "postgres", "host": str(self.folder)})

    def make(self) -> None:
        """Make its data."""
        self.program("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "--no-sync",
                     "-E", "UTF8", "--locale=C")  # fmt: skip
        self.configure()

    def configure(self) -> None:
        """Add the settings that hold for this folder."""
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(SETTINGS.format(folder=self.folder))

    def follow(self, primary: OwnServer) -> None:
        """Make it a streaming standby of another server, from a copy of its data."""
        self.program("pg_basebackup", "-D", self._data, "-h", primary.folder, "-U", "postgres",
                     "-R", "-c", "fast", "--no-sync")  # fmt: skip
        self.configure()

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        self.program("pg_ctl", "start", "-w", "-D", self._data, "-l", self.folder / "log")

    def restart(self) -> None:
        """Stop it in order and start it again, for settings that hold from a start on."""
        self.program("pg_ctl", "restart", "-w", "-D", self._data, "-l", self.folder / "log")

    def crash(self) -> None:
        """Stop it at once, as in a crash."""
        self.program("pg_ctl", "stop", "-w", "-m", "immediate", "-D", self._data)

    def kill(self) -> None:
        """Kill its first process; the others end when they notice."""
        number = int((self._data / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        os.kill(number, signal.SIGKILL)

    def promote(self) -> None:
        """Make a standby a primary."""
        self.execute("select pg_promote(true, 30)")

    def set(self, name: str, value: str) -> None:
        """Set one of its settings from here on."""
        self.execute(f"alter system set {name} = '{value}'")
        self.execute("select pg_reload_conf()")

    def execute(self, statement: str) -> None:
        """Run one statement as the superuser."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement.encode())

    def end(self) -> None:
        """End it, if it runs."""
        if (self._data / "postmaster.pid").exists():
            self.program("pg_ctl", "stop", "-m", "immediate", "-D", self._data, may_fail=True)

    def program(self, name: str, *words: str | Path, may_fail: bool = False) -> None:
        """Run one of PostgreSQL's programs; what it says lies in a file."""
        with (self.folder / "said").open("ab") as said:
            command = [self._programs / name, *words]
            done = self._account.run(command, timeout=SECONDS, output=said.fileno())
        assert may_fail or done.returncode == 0, (self.folder / "said").read_text()


@contextmanager
def servers(number: int) -> Iterator[list[OwnServer]]:
    """Yield servers that do not run yet; all are ended and removed."""
    account = Account.current()
    base = Path(tempfile.mkdtemp(prefix="ivt", dir="/tmp"))
    base.chmod(0o755)
    programs = binaries.usable(account, base).folder
    made = [OwnServer(base / str(n), programs, account) for n in range(number)]
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, base, ignore_errors=True)
        for server in made:
            stack.callback(server.end)
        yield made


def database_on(server: OwnServer) -> Database:
    """Make the application's structure on a new server; nothing is dropped, the server is."""
    with Cluster(server.url) as cluster:
        made = cluster.create(3)
        cluster._drop_all = lambda: None  # type: ignore[method-assign]
    return made


def both(database: Database, servers: list[OwnServer], login: str = "admin_runtime") -> str:
    """Return the URL that names all these servers, and wants the one that takes writes."""
    parameters = {k: str(v) for k, v in conninfo_to_dict(database.url(login)).items() if v}
    hosts = {
        "host": ",".join(str(server.folder) for server in servers),
        "port": ",".join("5432" for _ in servers),
        "target_session_attrs": "read-write",
    }
    return make_url({**parameters, **hosts})


def at(database: Database, server: OwnServer) -> Database:
    """Return the same database on another server."""
    parameters = {**database._parameters, "host": str(server.folder)}
    return type(database)(parameters, database.step)


def await_commit(server: OwnServer) -> None:
    """Return once a session waits in COMMIT for a standby that is not there."""
    query = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'"

    def waits() -> bool:
        with psycopg.connect(server.url) as connection:
            return connection.execute(query).fetchone() == (1,)

    until(waits, "a COMMIT that waits")


def caught_up(primary: OwnServer, standby: OwnServer) -> None:
    """Return once a standby has applied all that its primary has written."""
    with psycopg.connect(primary.url) as connection:
        row = connection.execute("select pg_current_wal_flush_lsn()::text").fetchone()
    assert row is not None

    def applied() -> bool:
        with psycopg.connect(standby.url) as connection:
            query = "select pg_last_wal_replay_lsn() >= %s::pg_lsn"
            return connection.execute(query, [row[0]]).fetchone() == (True,)

    until(applied, "a standby that caught up")
