"""The fixtures of all tests: a server, a fresh database of a step, and the tool run for real."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import forks
import pooled
import pooler
import pytest
import servers
from admin import Admin
from cluster import Cluster, ServerRefusedError
from tool import Invite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from databases import Database

CHOICE: Final = pytest.StashKey[servers.Choice]()
USED: Final = pytest.StashKey[str]()
LAST_STEP: Final = 3
SLOW: Final = frozenset(
    {
        *("test_pages", "test_sandbox_server", "test_pooler", "test_secrets", "test_signals"),
        *("test_blocked_output", "test_change_refusals", "test_log_file", "test_request_id"),
        *("test_sqlstates", "test_update", "test_structures", "test_secrets_errors"),
        *("test_smoke", "test_watch"),
        *("test_bulk_changes", "test_gate", "test_gate_races", "test_limits_races"),
        *("test_bulk", "test_exports", "test_export_cells", "test_limits", "test_lock_budget"),
        *("test_connection_failures", "test_golden_pages", "test_login_settings"),
        *("test_generate_terms", "test_stats", "test_blind", "test_question", "test_demanded"),
        *("test_migrations", "test_delivery", "test_progress", "test_lost_commit"),
        *("test_connection_words", "test_unanswered", "test_request_id_waits"),
        *("test_refused_codes", "test_request_id_foreign", "test_powerless"),
    }
)
"""Modules that take long, beside the suites; the whole check runs them too."""
SUITES: Final = frozenset({"faults", "benchmarks"})
"""Folders of what takes long."""


def pytest_configure(config: pytest.Config) -> None:
    """Choose the server, and let SIGTERM end a run as Ctrl-C does: with all dropped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.stash[CHOICE] = servers.choose()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what takes long, and what can be run on another database server as well."""
    for item in items:
        if SUITES & set(item.path.parts) or item.path.stem in SLOW:
            item.add_marker("slow")
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker("database")
            if pooler.wanted() and (reason := pooled.reason_against(item.nodeid)):
                item.add_marker(pytest.mark.skip(reason=f"not through a pooler: {reason}"))


def pytest_report_header(config: pytest.Config) -> str:
    """Name the server chosen, loudly where it is not testcontainers."""
    return config.stash[CHOICE].headline


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Name the server that was really used, also in a quiet run."""
    if used := config.stash.get(USED, ""):
        terminalreporter.write_line(used)


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The server of this run with the roles of the application and of the tests on it.

    The run ends here, with one sentence, where no server can be had or it must not be touched.
    """
    stash = request.config.stash
    with ExitStack() as stack:
        try:
            url, choice = _start(stack, stash[CHOICE])
            durable = choice.kind is servers.Kind.GIVEN
            made = stack.enter_context(Cluster(url, durable=durable))
        except (servers.NoServerError, ServerRefusedError) as error:
            pytest.exit(
                f"no database for the tests: {error}", returncode=pytest.ExitCode.USAGE_ERROR
            )
        stash[USED] = f"{choice.headline}, PostgreSQL {made.version}"
        if pooler.wanted():
            made.way = stack.enter_context(pooler.pooling(made.parameters))
            stash[USED] += ", through PgBouncer in transaction mode"
        yield made


def _start(stack: ExitStack, choice: servers.Choice) -> tuple[str, servers.Choice]:
    try:
        return stack.enter_context(servers.running(choice)), choice
    except servers.NoServerError as error:
        if choice.kind is not servers.Kind.CONTAINER:
            raise
        instead = servers.Choice(servers.Kind.EMBEDDED, str(error))
        return stack.enter_context(servers.running(instead)), instead


@pytest.fixture
def database(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[Database]:
    """A fresh database with the people of `databases`, dropped after the test.

    It is at step 3; `@steps(1, 2)` (from `databases`) runs the test once on each step named.
    """
    made = cluster.create(getattr(request, "param", LAST_STEP))
    try:
        yield made
    finally:
        cluster.drop(made)


@pytest.fixture(scope="session")
def processes() -> Iterator[forks.Forks]:
    """What makes the processes of the tool."""
    with forks.running() as made:
        yield made


@pytest.fixture
def invite(
    database: Database,
    processes: forks.Forks,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Invite:
    """The tool on `database`, as a process of its own with its HOME and working directory."""
    return Invite(database, tmp_path, tmp_path_factory.mktemp("home"), processes)


@pytest.fixture
def invite_alone(
    processes: forks.Forks, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Invite:
    """The tool with no database configured, and no server started for it."""
    return Invite(None, tmp_path, tmp_path_factory.mktemp("home"), processes)


@pytest.fixture
def admin(database: Database) -> Admin:
    """The admin functions, called as the actor on `database`, which must be at step 3."""
    return Admin(database)
