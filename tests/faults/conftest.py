"""The fixtures of the fault suite: processes that can be told where to die, and the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import forks
import pytest
from faults import tally
from published import is_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cluster import Cluster

ARMED = Path(__file__).with_name("armed_server.py")
SUITE = Path(__file__).parent


@pytest.fixture(scope="session")
def processes() -> Iterator[forks.Forks]:
    """What makes the processes of the tool, which take INVITE_TEST_ARMS."""
    with forks.running(ARMED) as made:
        yield made


@pytest.fixture(scope="session")
def cluster(cluster: Cluster) -> Cluster:
    """The server of this run, whose version the report names."""
    tally.TALLY.server = f"PostgreSQL {cluster.version}"
    return cluster


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Print the report; a long run of the whole suite writes it into its page as well."""
    if not tally.TALLY.counts:
        return
    terminalreporter.section("faults" + (", long form" if tally.LONG else ", quick form"))
    for line in tally.TALLY.lines():
        terminalreporter.write_line(line)
    if tally.LONG and is_whole(config, SUITE) and exitstatus in {0, 1}:
        tally.TALLY.publish()
        terminalreporter.write_line(f"written to {tally.PAGE}")
