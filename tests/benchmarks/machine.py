"""What the benchmarks ran on, as the page tells it."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from benchmarks.place import Place

LIBRARIES: Final = ("click", "sqlalchemy", "psycopg")
SERVER: Final = ("shared_buffers", "max_wal_size", "fsync", "autovacuum")


def describe(place: Place) -> list[str]:
    """Return the machine, the versions and the server's settings, a line each."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    psql = subprocess.run(
        [place.psql_program, "--version"], capture_output=True, text=True, check=True
    )
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return [
        f"{os.cpu_count()} cores, {memory:.0f} GiB of memory",
        f"{platform.system()} {platform.release()}, {platform.machine()}",
        f"PostgreSQL {place.cluster.version}, {psql.stdout.strip()}",
        f"Python {platform.python_version()}, {libraries}",
        f"the server's settings: {place.cluster.settings(SERVER)}",
    ]
