"""The wire tap itself: it hears every statement, its parameters and the server's log lines."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import psycopg
import pytest
from tap import log_to_client, tapped

if TYPE_CHECKING:
    from databases import Database


@pytest.mark.parametrize("by_socket", [False, True])
def test_hears_both_sides(database: Database, *, by_socket: bool) -> None:
    """What is sent as text, what as parameter, and what the server logs of it, are told apart."""
    log_to_client(database)
    with (
        tempfile.TemporaryDirectory() as folder,
        tapped(database.url("admin_runtime"), folder=folder if by_socket else None) as (url, heard),
    ):
        with psycopg.connect(url, application_name="tapped") as connection:
            connection.execute("select 'in the text'")
            connection.execute("select %s::text", ["in a parameter"])
        statements, parameters = heard.statements(), heard.parameters()
        log = heard.log_lines()
    assert "select 'in the text'" in statements
    assert all("in a parameter" not in statement for statement in statements)
    assert any(b"in a parameter" in sent for sent in parameters)
    assert [True] == [b"tapped" in sent and b"admin_runtime" in sent for sent in heard.startup]
    assert any("in the text" in line["M"] for line in log)
    assert any("in a parameter" in line.get("D", "") for line in log)
