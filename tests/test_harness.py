"""What the tests stand on: URLs, settings files, the tool's clean environment, the loud header."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest
from databases import make_url
from psycopg.conninfo import conninfo_to_dict
from servers import Choice, Kind
from tool import toml

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite


@pytest.mark.parametrize("host", ["127.0.0.1", "/tmp/a folder"])  # noqa: S108 - a name, never opened
def test_urls(host: str) -> None:
    """A URL tells libpq the parameters it was made of, odd ones too."""
    parameters = {
        "user": "o'ne@host",
        "password": "p/w:?#%",
        "host": host,
        "port": "5433",
        "dbname": "a b",
        "sslmode": "prefer",
    }
    assert parameters == conninfo_to_dict(make_url(parameters))


def test_settings_file() -> None:
    """Values and tables arrive as they were given; None is left out."""
    settings = {"limits": {"points_per_code": 5}, "actor": 'a"\\ü', "table": None}
    assert tomllib.loads(toml(settings)) == {"actor": 'a"\\ü', "limits": {"points_per_code": 5}}


def test_environment(invite: Invite, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool gets nothing of ours but the PATH, and what the test adds or takes away."""
    monkeypatch.setenv("PGHOST", "elsewhere")
    monkeypatch.setenv("INVITE_ACTOR", "somebody@example.com")
    made = invite.prepare(login="reader", env={"LANG": "C", "HOME": None})
    assert {"PATH", "INVITE_DATABASE_URL", "LANG"} == made.keys()
    assert database.url("reader") == made["INVITE_DATABASE_URL"]
    assert (invite.folder / "invite.toml").read_text() == 'actor = "ops@example.com"\n'


def test_headline() -> None:
    """The header is loud for every server but the wanted one."""
    loud = {kind: "*** NOT TESTCONTAINERS ***" in Choice(kind, "why").headline for kind in Kind}
    assert loud == {Kind.GIVEN: True, Kind.CONTAINER: False, Kind.EMBEDDED: True}
