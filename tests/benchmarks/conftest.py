"""The fixtures of the benchmarks: a server for measuring, a place, and the report."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from benchmarks.machine import describe
from benchmarks.place import NoPsqlError, Place
from benchmarks.report import PAGE, REPORT
from benchmarks.rows import FORM, LONG
from cluster import Cluster
from faults.own_server import servers
from published import is_whole, publish
from servers import URL_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

SUITE: Final = Path(__file__).parent
SETTINGS: Final = {
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",  # no checkpoint falls into a run by chance
    "checkpoint_timeout": "1h",
    "autovacuum": "off",
}


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A server for measuring: one of its own, unless the form is quick or one is given."""
    if not FORM or os.environ.get(URL_VARIABLE):
        yield request.getfixturevalue("cluster")  # the one of all tests
        return
    with servers(1) as [own]:
        own.make()
        own.start()
        for name, value in SETTINGS.items():
            own.set(name, value)
        own.restart()
        with Cluster(own.url, durable=False) as made:
            yield made


@pytest.fixture(scope="session")
def place(cluster: Cluster) -> Iterator[Place]:
    """The server, psql and a folder."""
    with tempfile.TemporaryDirectory(prefix="invite-bench-") as folder:
        try:
            made = Place(cluster, Path(folder))
        except NoPsqlError as error:
            pytest.fail(str(error), pytrace=False)
        REPORT.machine = describe(made)
        yield made


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Print the tables; a long run of the whole suite writes them into their page as well."""
    if not REPORT.machine:
        return
    terminalreporter.section(f"benchmarks, {FORM or 'quick'} form")
    for lines in REPORT.tables().values():
        for line in (*lines, ""):
            terminalreporter.write_line(line)
    if LONG and is_whole(config, SUITE) and exitstatus == 0:
        for name, lines in REPORT.tables().items():
            publish(PAGE, name, lines)
        terminalreporter.write_line(f"written to {PAGE}")
