"""The words of servers and of libpq: they decide the exit code, and are never shown."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import pytest
from answering import saying
from connecting import BAD, DENIED, ODD, UNAVAILABLE, fail_to_connect
from hostile import failure

if TYPE_CHECKING:
    from tool import Invite

NO_ENTRY = "denied: cannot connect: the server does not let this login in from here"
NO_LOGIN = "denied: cannot connect: the server refused this login: wrong login or password"
FULL = "unavailable: cannot connect: the server has no connection free"
STARTING = "unavailable: cannot connect: the server is starting or stopping"
UNKNOWN = "unavailable: cannot connect to the database"
OTHER_ROLE = (
    "unavailable: cannot connect: no server is in the role that target_session_attrs asks for"
)
MISNAMED = "unavailable: cannot connect: the server's certificate is for another host name"


@pytest.mark.parametrize(
    ("told", "state", "message"),
    [
        (NO_ENTRY, "28000", 'no pg_hba.conf entry for host "x", user "ODD", no encryption'),
        (NO_ENTRY, "28000", 'pg_hba.conf rejects connection for host "x", user "ODD"'),
        (NO_ENTRY, "28000", 'role "ODD" is not permitted to log in'),
        (NO_ENTRY, "28000", 'role "ODD" does not exist'),
        (NO_LOGIN, "28P01", 'password authentication failed for user "ODD"'),
        (NO_LOGIN, "08P01", "SASL authentication failed"),
        (FULL, "53300", "sorry, too many clients already"),
        (FULL, "53300", "remaining connection slots are reserved for superusers"),
        (FULL, "53300", 'too many connections for role "ODD"'),
        (FULL, "08P01", "no more connections allowed (max_client_conn)"),
        (STARTING, "57P03", "the database system is starting up"),
        (STARTING, "57P03", "the database system is shutting down"),
        (STARTING, "57P03", "the database system is not yet accepting connections"),
        (MISNAMED, "08001", 'server certificate for "ODD" does not match host name "x"'),
        (OTHER_ROLE, "08001", "server is in hot standby mode"),
        (OTHER_ROLE, "08001", "session is read-only"),
        (UNKNOWN, "08001", "no route is known to read-only-1"),
        (UNKNOWN, "XX000", "Tenant or user not found: ODD"),
        (UNKNOWN, "28P01", "Passwort-Authentifizierung fehlgeschlagen: ODD"),
    ],
)
def test_what_servers_say(invite_alone: Invite, told: str, state: str, message: str) -> None:
    """Words that are known have their exit code; all others say that there is no connection."""
    with saying(state, message.replace("ODD", ODD)) as port:
        url = f"postgresql://login:{quote(ODD, safe='')}@127.0.0.1:{port}/db"
        done, line = fail_to_connect(invite_alone, url)
    code = DENIED if told.startswith("denied") else UNAVAILABLE
    assert (code, told) == (done.exit_code, line)


@pytest.mark.parametrize("host", ["zebra..quark", "zebra" * 20, "\udcffzebra"])
def test_host_that_is_no_name(invite_alone: Invite, host: str) -> None:
    """A host that cannot even be looked up is told like one that is not known."""
    told = "unavailable: cannot connect: the host's name cannot be resolved"
    done = invite_alone("stats", env={"PGHOST": host, "PGPORT": "1"})
    assert UNAVAILABLE == done.exit_code
    assert told == failure(done)[0].partition(";")[0]
    assert "zebra" not in done.stderr


@pytest.mark.parametrize(
    ("query", "code", "told"),
    [
        ("sslmode=zebra", BAD, "cannot connect: sslmode has a value that is not known"),
        ("port=99999", BAD, "cannot connect: the port is no number from 1 to 65535"),
        ("port=zebra", BAD, "cannot connect: the port is no number from 1 to 65535"),
        ("connect_timeout=zebra", BAD, "`connect_timeout` in INVITE_DATABASE_URL is no whole"),
        ("connect_timeout=2.5", BAD, "`connect_timeout` in INVITE_DATABASE_URL is no whole"),
        ("gssencmode=require", UNAVAILABLE, "the server does not offer what gssencmode or"),
    ],
)
def test_parameters(invite_alone: Invite, query: str, code: int, told: str) -> None:
    """What is wrong with a connection parameter is told by the parameter's name."""
    with saying("28000", "never reached") as port:
        url = f"postgresql://a:b@127.0.0.1:{port}/db?sslmode=disable&{query}"
        done, line = fail_to_connect(invite_alone, url)
    assert code == done.exit_code
    assert told in line


def test_connect_timeout_that_is_no_number(invite_alone: Invite) -> None:
    """Nor is libpq's variable ignored where it says nothing."""
    env = {"INVITE_DATABASE_URL": "postgresql://a:b@127.0.0.1:1/db", "PGCONNECT_TIMEOUT": "zebra"}
    done = invite_alone("stats", env=env)
    told = "bad input: PGCONNECT_TIMEOUT is no whole number of seconds"
    assert (BAD, told) == (done.exit_code, failure(done)[0])


@pytest.mark.parametrize("mode", ["require", "verify-full"])
def test_no_ssl(invite_alone: Invite, mode: str) -> None:
    """An `sslmode` that a server without SSL cannot satisfy is told as such."""
    with saying("28000", "never reached") as port:
        url = f"postgresql://a:b@127.0.0.1:{port}/db?sslmode={mode}"
        done, line = fail_to_connect(invite_alone, url)
    told = "unavailable: cannot connect: no encrypted connection as `sslmode` asks for it"
    assert (UNAVAILABLE, told) == (done.exit_code, line)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://login:{ODD}@127.0.0.1:1/db",
        f"postgresql://{ODD}@127.0.0.1:1/db",
        f"postgresql://login:zebra%4@127.0.0.1:1/db?{ODD}=1",
        f"postgresql://login:x@127.0.0.1:1/db?sslmode={ODD}",
        f"postgresql://login:x@127.0.0.1:1/db?options={ODD}",
        f"host=127.0.0.1 port=1 password={ODD}",
        f"host=127.0.0.1 port={ODD}",
        f"host=127.0.0.1 port=1 service={ODD}",
        f"{ODD}",
        f"mysql://login:{ODD}@127.0.0.1:1/db",
    ],
)
def test_password_that_was_not_quoted(invite_alone: Invite, url: str) -> None:
    """A password with odd characters may end up in any part of a URL; no piece of it is shown."""
    done, _ = fail_to_connect(invite_alone, url, timeouts={"connect": 1})
    assert done.exit_code in (BAD, UNAVAILABLE)


@pytest.mark.parametrize(
    "password",
    [
        "[YOUR-PASSWORD]",
        "[YOUR PASSWORD]",
        "%5BYOUR-PASSWORD%5D",
        "<password>",
        "YOUR_PASSWORD",
        "********",
    ],
)
def test_placeholder_password(invite_alone: Invite, password: str) -> None:
    """A password that was never filled in is told before connecting."""
    for url in (
        f"postgresql://login:{password}@127.0.0.1:1/db",
        f"host=127.0.0.1 port=1 password='{unquote(password)}'",
    ):
        done, line = fail_to_connect(invite_alone, url)
        told = "bad input: INVITE_DATABASE_URL still holds a placeholder"
        assert (BAD, told) == (done.exit_code, line.partition(" where")[0])
