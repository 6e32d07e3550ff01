"""Which tests of the database cannot hold through a pooler in transaction mode, and why."""

from __future__ import annotations

from typing import Final

NOT_POOLED: Final[dict[str, str]] = {
    "test_watch.py::test_the_database_goes_away": "a pooler keeps its connections to the server",
    "test_smoke.py::test_a_full_server": "it counts the server's own connections",
    "test_smoke.py::test_the_server_is_lost": "a pooler lets the tool wait for a lost server",
    "test_limits_races.py::test_heavy_ones": "it needs a connection for each job at the gate",
    "test_gate_races.py": "it runs each test through a pooler of its own, with room for all jobs",
    "test_benchmarks.py": "a pooler's connections keep a database from being copied",
    "test_login_settings.py::test_what_to_ask_for": "a pooler's connections keep a role's settings",
    "test_check.py::test_notes": "it lists every note on a connection without a pooler",
    "test_check.py::test_server": "it states what a connection without a pooler is",
}
"""A file, or a test in it, and the reason."""


def reason_against(node: str) -> str | None:
    """Return why this test is not run through the pooler; None where it is."""
    name = node.rpartition("/")[2].partition("[")[0]
    return NOT_POOLED.get(name) or NOT_POOLED.get(name.partition("::")[0])
