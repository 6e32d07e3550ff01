"""A streaming standby: questions are answered on it, changes refused with what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
import standbys
from batches import line
from cluster import Cluster
from hostile import failure
from psycopg.conninfo import conninfo_to_dict
from psycopg.conninfo import make_conninfo as conninfo
from tool import Invite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from databases import Database
    from forks import Forks
    from standbys import Node

BRIEF: Final = {"timeouts": {"connect": 1}}


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Node, Node]]:
    """A primary and its standby, which is of this module alone."""
    with standbys.replicated() as made:
        yield made


@pytest.fixture(scope="module")
def replica(pair: tuple[Node, Node]) -> Iterator[Database]:
    """A database at step 3 on the pair, to which the tool is led by way of the standby."""
    primary, standby = pair
    with Cluster(_url(primary)) as cluster:
        made = cluster.create(3)
        made.insert_code("JYOTISH-ABCD-EFGH", note="friday")
        standbys.caught_up(primary, standby)
        way = made.by_way_of(standby.parameters)
        yield way
        way.close()
        cluster.drop(made)


def _url(node: Node) -> str:
    return conninfo(**node.parameters)


@pytest.fixture
def there(
    replica: Database, processes: Forks, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Invite:
    """The tool on the standby."""
    return Invite(replica, tmp_path, tmp_path_factory.mktemp("home"), processes)


@pytest.mark.parametrize("login", ["admin_runtime", "owner"])
def test_questions(there: Invite, login: str) -> None:
    """Every command that only reads does so."""
    for command in (
        ["list", "--note", "friday"],
        ["list", "--request-id", "none", "--format", "csv"],
        ["stats"],
        ["redemptions"],
        ["show", "JYOTISH-ABCD-EFGH"],
        ["runbook", "--output", "page.md"],
    ):
        done = there(*command, login=login)
        assert (0, False) == (done.exit_code, "invite: " in done.stderr), (command, done.stderr)
        (there.folder / "page.md").unlink(missing_ok=True)
    assert ["friday"] == [row["note"] for row in there("list", "--format", "json").json]


@pytest.mark.parametrize(
    "command",
    [
        line(),
        [*line(), "--output", "codes.csv"],
        [*line(), "--request-id", "x"],
        ["revoke", "JYOTISH-ABCD-EFGH", "--yes"],
        ["revoke", "--note", "friday", "--yes"],
        ["update", "JYOTISH-ABCD-EFGH", "--set-note", "x", "--yes"],
    ],
    ids=" ".join,
)
def test_changes(there: Invite, replica: Database, command: list[str]) -> None:
    """Every command that changes something ends with exit 7, and names the way to the primary."""
    done = there(*command)
    assert (7, "") == (done.exit_code, done.stdout), done.stderr
    told, hint = failure(done)
    assert told.startswith("unavailable: ")
    assert "standby" in told + str(hint)
    assert "target_session_attrs=read-write" in str(hint)
    assert [] == list(there.folder.glob("codes*"))
    assert [("friday", None)] == replica.rows("select note, revoked_at from redemption_codes")


def test_check(there: Invite) -> None:
    """`check` says that it is a standby, which allows reading only, as the commands end."""
    done = there("check", "--format", "json")
    assert 7 == done.exit_code
    why = "this server is a standby, which allows reading only"
    assert {
        "level": "unavailable",
        "code": "standby",
        "message": why,
        "hint": "connect to the primary (target_session_attrs=read-write in the URL)",
    } == done.json["findings"][0]
    blocked = {way["name"]: way["reason"] for way in done.json["capabilities"] if way["reason"]}
    assert {"generate": why, "update": why, "revoke": why} == blocked


def test_two_hosts(there: Invite, pair: tuple[Node, Node], replica: Database) -> None:
    """With both named and `read-write` asked for, a change finds the primary by itself."""
    primary, standby = pair
    account = conninfo_to_dict(replica.url("admin_runtime"))
    hosts = {
        "host": "127.0.0.1,127.0.0.1",
        "port": f"{standby.port},{primary.port}",
        "target_session_attrs": "read-write",
    }
    url = conninfo(**{k: str(v) for k, v in {**account, **hosts}.items()})
    done = there(*line(2, 3), env={"INVITE_DATABASE_URL": url})
    assert 0 == done.exit_code, done.stderr
    assert 2 == replica.value("select count(*) from redemption_codes where credits = 3")
    replica.execute("delete from redemption_codes where credits = 3")


def test_a_standby_alone_where_a_primary_is_asked_for(there: Invite, replica: Database) -> None:
    """`read-write` on a standby alone is waited for, for it may be promoted, and then exit 7."""
    url = f"{replica.url('admin_runtime')}?target_session_attrs=read-write"
    done = there(*line(), env={"INVITE_DATABASE_URL": url}, settings=BRIEF)
    assert (7, "") == (done.exit_code, done.stdout)
    assert "no server is in the role that target_session_attrs asks for" in failure(done)[0]
    assert "trying again in " in done.stderr
