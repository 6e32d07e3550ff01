"""Connections that a real server or libpq refuses: one line of ours and the right exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from answering import dropping, refused, silent
from connecting import BAD, DENIED, ODD, UNAVAILABLE, changed, fail_to_connect
from hostile import failure
from psycopg.conninfo import conninfo_to_dict, make_conninfo

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

NO_LOGIN = "denied: cannot connect: the server refused this login: wrong login or password"
NO_DATABASE = "unavailable: cannot connect: the server has no such database"
NO_HOST = "unavailable: cannot connect: the host's name cannot be resolved"
NO_ANSWER = "unavailable: cannot connect: nothing answers there"
NO_STANDBY = (
    "unavailable: cannot connect: no server is in the role that target_session_attrs asks for"
)
NO_SSLMODE = "bad input: cannot connect: sslmode has a value that is not known"
NO_PORT = "bad input: cannot connect: the port is no number from 1 to 65535"
NOT_OFFERED = (
    "unavailable: cannot connect: the server does not offer what gssencmode or channel_binding "
    "asks for"
)
NO_METHOD = (
    "unavailable: cannot connect: the server does not offer a login as require_auth asks for it"
)
BAD_VALUE = "bad input: cannot connect: a connection parameter has a value that cannot be used"


@pytest.mark.parametrize(
    ("parameters", "exit_code", "told"),
    [
        ({"password": ODD}, DENIED, NO_LOGIN),
        ({"user": "nobody"}, DENIED, NO_LOGIN),
        ({"dbname": "invite_test_none"}, UNAVAILABLE, NO_DATABASE),
        ({"host": "host.invalid"}, UNAVAILABLE, NO_HOST),
        ({"host": "/nowhere/at all"}, UNAVAILABLE, NO_ANSWER),
        ({"sslmode": "nonsense"}, BAD, NO_SSLMODE),
        ({"port": "99999"}, BAD, NO_PORT),
        ({"gssencmode": "nonsense"}, BAD, BAD_VALUE),
        ({"channel_binding": "require"}, UNAVAILABLE, NOT_OFFERED),
        ({"require_auth": "none"}, UNAVAILABLE, NO_METHOD),
        ({"require_auth": "!scram-sha-256"}, UNAVAILABLE, NO_METHOD),
        ({"require_auth": "nonsense"}, BAD, BAD_VALUE),
        ({"target_session_attrs": "standby"}, UNAVAILABLE, NO_STANDBY),
    ],
)
def test_wrong_parameters(
    database: Database, invite: Invite, parameters: dict[str, str], *, exit_code: int, told: str
) -> None:
    """What is wrong in the URL is told by its kind, whatever the server or libpq says."""
    done, line = fail_to_connect(invite, changed(database, **parameters))
    assert (exit_code, told) == (done.exit_code, line)


@pytest.mark.parametrize("named", ["not at all", "by PGPASSFILE", "by the URL"])
def test_no_password(database: Database, invite: Invite, named: str) -> None:
    """Whatever names the password file, the hint does not send to one that is not read."""
    given = {k: str(v) for k, v in conninfo_to_dict(changed(database)).items() if k != "password"}
    file = str(invite.folder / "passwords")
    url = make_conninfo(**given, **({"passfile": file} if named == "by the URL" else {}))
    variables = {"PGPASSFILE": file} if named == "by PGPASSFILE" else {}
    done = invite("stats", env={"INVITE_DATABASE_URL": url, **variables})
    told = "denied: cannot connect: the server asks for a password, and none was given"
    hint = (
        "hint: a line in the password file (mode 0600), which is ~/.pgpass, unless PGPASSFILE or "
        "`passfile` in the URL names another"
    )
    assert (DENIED, f"{told}; nothing was changed", hint) == (done.exit_code, *failure(done))


def test_no_right_to_connect(database: Database, invite: Invite) -> None:
    """A login that may not connect to the database is denied."""
    database.execute(f"revoke connect on database {database.name} from public")
    done, line = fail_to_connect(invite, database.url("admin_runtime"))
    told = "denied: cannot connect: this login may not connect to that database"
    assert (DENIED, told) == (done.exit_code, line)


def test_too_many_connections(database: Database, invite: Invite) -> None:
    """A database whose connections are all taken is unavailable, for now."""
    database.execute(f"alter database {database.name} connection limit 0")
    done, line = fail_to_connect(invite, database.url("admin_runtime"))
    told = "unavailable: cannot connect: the server has no connection free"
    assert (UNAVAILABLE, told) == (done.exit_code, line)


def test_refused_port(database: Database, invite: Invite) -> None:
    """A port where nothing listens."""
    with refused() as port:
        url = changed(database, host="127.0.0.1", port=str(port), password=ODD)
        done, line = fail_to_connect(invite, url)
    assert (UNAVAILABLE, NO_ANSWER) == (done.exit_code, line)


def test_server_that_never_answers(database: Database, invite: Invite) -> None:
    """A server that accepts and then says nothing is given up after the connect timeout."""
    with silent() as port:
        url = changed(database, host="127.0.0.1", port=str(port))
        done, line = fail_to_connect(invite, url, timeouts={"connect": 1})
    told = "unavailable: cannot connect: no answer within the connect timeout"
    assert (UNAVAILABLE, told) == (done.exit_code, line)


def test_server_that_drops_connections(database: Database, invite: Invite) -> None:
    """One that drops a connection, as a proxy of a server that fails over, is tried again."""
    with dropping() as (port, dropped):
        url = changed(database, host="127.0.0.1", port=str(port), sslmode="disable")
        done, line = fail_to_connect(invite, url, timeouts={"connect": 1})
    told = "unavailable: cannot connect: the server closed the connection"
    assert (UNAVAILABLE, told, True) == (done.exit_code, line, len(dropped) > 1)


def test_every_host_fails(database: Database, invite: Invite) -> None:
    """Of several hosts that all fail, the refused login counts more than the silent port."""
    known = conninfo_to_dict(database.url("admin_runtime"))
    with refused() as port:
        hosts, ports = f"127.0.0.1,{known['host']}", f"{port},{known['port']}"
        text = make_conninfo(database.url("blind"), host=hosts, port=ports, user="nobody")
        done, line = fail_to_connect(invite, text)
    assert (DENIED, NO_LOGIN) == (done.exit_code, line)


@pytest.mark.parametrize("role", ["standby", "read-only"])
@pytest.mark.parametrize("silent_first", [False, True])
def test_no_host_in_the_role(
    database: Database, invite: Invite, role: str, *, silent_first: bool
) -> None:
    """Of several hosts, one that answers in another role counts more than the silent port."""
    known = conninfo_to_dict(database.url("admin_runtime"))
    with refused() as port:
        hosts = [(str(known["host"]), str(known["port"])), ("127.0.0.1", str(port))]
        hosts = hosts[::-1] if silent_first else hosts
        host, ports = (",".join(part) for part in zip(*hosts, strict=True))
        text = make_conninfo(
            database.url("admin_runtime"), host=host, port=ports, target_session_attrs=role
        )
        done, line = fail_to_connect(invite, text)
    assert (UNAVAILABLE, NO_STANDBY) == (done.exit_code, line)


def test_no_database_configured(invite_alone: Invite) -> None:
    """Without a URL and libpq's variables nothing is connected to by default."""
    done = invite_alone("stats")
    assert (
        "bad input: no database is configured; set INVITE_DATABASE_URL",
        "hint: or PGHOST, PGSERVICE or PGDATABASE, or try `invite --sandbox`",
    ) == failure(done)
    assert (BAD, "") == (done.exit_code, done.stdout)
