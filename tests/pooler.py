"""PgBouncer in transaction mode between the tool and the tests' server."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg
from batches import ROOT, STRANGER
from databases import LOGINS, PASSWORD, make_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VARIABLE: Final = "INVITE_TEST_POOLER"
"""Set to 1, it puts the pooler between the tool and the server in every test of the database."""
POOL: Final = 4
"""Connections to the server for each login and database: fewer than the tests' commands."""
STARTS: Final = 30.0  # seconds in which it must answer
CONFIGURATION: Final = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
pool_mode = transaction
default_pool_size = {pool}
max_client_conn = 200
logfile = {log}
log_connections = 0
log_disconnections = 0
"""


def wanted() -> bool:
    """Tell whether every test of the database is to go through the pooler."""
    return os.environ.get(VARIABLE, "") == "1"


def program() -> str | None:
    """Return where PgBouncer is; None where it is not installed."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


@contextmanager
def pooling(server: Mapping[str, str], pool: int = POOL) -> Iterator[dict[str, str]]:
    """Start a pooler in front of a server; yield libpq's parameters that lead through it.

    Args:
        server: libpq's parameters of the superuser's connection to the server itself.
        pool: Connections to the server for each login and database.
    """
    found = program()
    assert found is not None, "PgBouncer is not installed: apt-get install pgbouncer"
    with tempfile.TemporaryDirectory(prefix="invite-pooler-") as name:
        folder, port = Path(name), _free_port()
        folder.chmod(0o777)  # PgBouncer refuses to run as root
        users = dict.fromkeys(LOGINS.values(), PASSWORD)
        users[server["user"]] = server.get("password", "")
        (folder / "users").write_text("".join(f'"{u}" "{p}"\n' for u, p in users.items()))
        (folder / "ini").write_text(
            CONFIGURATION.format(
                host=server["host"],
                port=server["port"],
                listen=port,
                users=folder / "users",
                pool=pool,
                log=folder / "log",
            )
        )
        user = STRANGER if os.getuid() == ROOT else None
        with subprocess.Popen([found, "-q", str(folder / "ini")], user=user) as running:
            try:
                own = {**server, "host": "127.0.0.1", "port": str(port), "sslmode": "disable"}
                _await(running, own, folder / "log")
                yield own
            finally:
                running.terminate()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


def _await(running: subprocess.Popen[bytes], parameters: dict[str, str], log: Path) -> None:
    """Return once it answers."""
    end = time.monotonic() + STARTS
    while True:
        try:
            psycopg.connect(make_url(parameters), connect_timeout=5).close()
        except psycopg.OperationalError:
            ended = running.poll() is not None
            assert not ended, log.read_text() if log.exists() else "it ended at once"
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.02)
        else:
            return
