"""The ways to say where the database is, as libpq has them, and what other tools leave there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import pytest
from answering import refused
from databases import PASSWORD
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tap import tapped

from invite_admin.codes import Secret
from invite_admin.conninfo import parameters
from invite_admin.settings import Settings, Timeouts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from databases import Database
    from tool import Invite

LOGIN = "admin_runtime"


def talk(invite: Invite, url: str | None = None, env: Mapping[str, str] | None = None) -> list[str]:
    """Run a command that must succeed; return what it said on standard error."""
    database = {"INVITE_DATABASE_URL": url} if url else {"INVITE_DATABASE_URL": None}
    done = invite("stats", "--format", "json", env={**database, **(env or {})})
    assert 0 == done.exit_code, done.stderr
    assert [0] == [row["issued"] for row in done.json]
    return done.stderr.splitlines()


def known(database: Database) -> dict[str, str]:
    """Return libpq's parameters of the operator's login."""
    return {k: str(v) for k, v in conninfo_to_dict(database.url(LOGIN)).items()}


@pytest.mark.parametrize(
    "scheme",
    ["postgres://", "postgresql+psycopg://", "postgresql+psycopg2://", "postgres+asyncpg://"],
)
def test_schemes(database: Database, invite: Invite, scheme: str) -> None:
    """The schemes that other tools write lead to the same database."""
    url = database.url(LOGIN).replace("postgresql://", scheme)
    first, second = talk(invite, f"  {url}\n")
    assert f"database {database.name} (step 3: audited)" in first
    assert second.startswith(f"login {LOGIN}, ")


def test_keywords(database: Database, invite: Invite) -> None:
    """The form that libpq calls its own, keywords and values, will do as well."""
    assert database.name in talk(invite, make_conninfo(database.url(LOGIN)))[0]


def test_foreign_parameters(database: Database, invite: Invite) -> None:
    """What other tools leave in a URL is dropped with a hint each; the rest still counts."""
    url = database.url(LOGIN)
    foreign = {
        "pgbouncer": "true",
        "schema": "elsewhere",
        "connection_limit": "1",
        "pool_timeout": "0",
    }
    query = urlencode({"application_name": "beta", **foreign, "connect_timeout": "9"})
    said = talk(invite, f"{url}{'&' if '?' in url else '?'}{query}")
    hints = [
        f"hint: `{key}` in INVITE_DATABASE_URL is not used; the tool sets what it needs itself"
        for key in foreign
    ]
    assert hints == said[: len(hints)]


@pytest.mark.parametrize(
    ("query", "variable", "seconds"),
    [("", None, 7), ("", "3", 3), ("", "0", 7), ("?connect_timeout=5", "3", 5)],
)
def test_connect_timeout(
    monkeypatch: pytest.MonkeyPatch, query: str, variable: str | None, seconds: int
) -> None:
    """The URL's goes before libpq's variable, and that before the settings'; none is no bound."""
    monkeypatch.delenv("PGCONNECT_TIMEOUT", raising=False)
    if variable is not None:
        monkeypatch.setenv("PGCONNECT_TIMEOUT", variable)
    url = Secret(f"postgresql://db.example.com/x{query}")
    settings = Settings(database=url, timeouts=Timeouts(connect=7))
    assert str(seconds) == parameters(settings, print)["connect_timeout"]


def test_tries_in_all(invite: Invite) -> None:
    """A server is waited for as many times as long as one try may take, whoever bounds that."""
    url = "postgresql://login@127.0.0.1:1/db?connect_timeout=1"
    done = invite("list", env={"INVITE_DATABASE_URL": url}, settings={"timeouts": {"connect": 99}})
    tries = done.stderr.count("trying again in")
    assert (7, True) == (done.exit_code, 0 < tries <= 4), done.stderr  # 0.2 s, doubled


@pytest.mark.parametrize("place", ["options", "PGOPTIONS"])
def test_options(database: Database, invite: Invite, place: str) -> None:
    """Start-up options are dropped with a hint: poolers refuse them, and the tool sets its own."""
    url, env = database.url(LOGIN), {}
    if place == "options":
        url += f"{'&' if '?' in url else '?'}options=-c%20no_such_setting%3D1"
    else:
        env = {
            "PGOPTIONS": "-c no_such_setting=1",
            "PGTZ": "Nowhere",
            "PGCLIENTENCODING": "SQL_ASCII",
        }
    named = "`options` in INVITE_DATABASE_URL" if place == "options" else "PGOPTIONS"
    said = talk(invite, url, env)
    assert [f"hint: {named} is not used; the tool sets what it needs itself"] == said[:1]


def test_several_hosts(database: Database, invite: Invite) -> None:
    """Of several hosts the first that answers is taken, and named."""
    there = known(database)
    with refused() as port:
        several = {"host": f"127.0.0.1,{there['host']}", "port": f"{port},{there['port']}"}
        first, *_ = talk(invite, make_conninfo(**{**there, **several}))
    at_socket = there["host"].startswith("/")
    address = f"socket {there['host']}" if at_socket else f"{there['host']}:{there['port']}"
    assert first.startswith(f"on {address}, database {database.name}")


def test_socket_folder(database: Database, invite: Invite) -> None:
    """A socket's folder is a host like any other, and is named as what it is."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        with tapped(database.url(LOGIN), folder=folder) as (url, _):
            assert talk(invite, url)[0].startswith(f"on socket {folder}, database")


def test_password_file(database: Database, invite: Invite) -> None:
    """A URL without a password takes it from the password file."""
    there = known(database)
    del there["password"]
    passwords = invite.home / "passwords"
    passwords.write_text(f"*:*:*:{LOGIN}:{PASSWORD}\n")
    passwords.chmod(0o600)
    assert database.name in talk(invite, make_conninfo(**there), {"PGPASSFILE": str(passwords)})[0]


def open_to_others(path: Path) -> None:
    """Make a password file that others may read."""
    path.touch(0o644)


def private_folder(path: Path) -> None:
    """Make a folder that others may not read."""
    path.mkdir(0o700)


OPEN: Final = ["warning: the password file is not used: others may read it; set its mode to 0600"]
NO_FILE: Final = ["warning: the password file is not used: it is no file"]


@pytest.mark.parametrize("by_url", [True, False])
@pytest.mark.parametrize(
    ("make", "told"),
    [
        (open_to_others, OPEN),
        (Path.mkdir, NO_FILE),
        (private_folder, NO_FILE),
        (lambda path: os.mkfifo(path, 0o600), NO_FILE),
        (lambda path: path.symlink_to(os.devnull), NO_FILE),
        (lambda _path: None, []),
    ],
    ids=["open", "folder", "private folder", "pipe", "device", "none"],
)
def test_password_file_that_is_not_used(
    database: Database,
    invite: Invite,
    make: Callable[[Path], None],
    told: list[str],
    *,
    by_url: bool,
) -> None:
    """Why it is not used is told once, in our words; who gives a password needs no such file."""
    passwords = invite.home / "passwords"
    make(passwords)
    there = known(database) | ({"passfile": str(passwords)} if by_url else {})
    env = {} if by_url else {"PGPASSFILE": str(passwords)}
    first = [talk(invite, make_conninfo(**there), env)[0]]
    del there["password"]
    first.append(talk(invite, make_conninfo(**there), {**env, "PGPASSWORD": PASSWORD})[0])
    assert [True] * 2 == [line.startswith("on ") for line in first]
    done = invite("stats", env={**env, "INVITE_DATABASE_URL": make_conninfo(**there)})
    *before, failed, _hint = done.stderr.splitlines()
    assert (6, told) == (done.exit_code, before)
    assert failed.startswith("invite: denied: cannot connect: the server asks for a password")


def test_no_password_file(database: Database, invite: Invite) -> None:
    """Who names /dev/null wants none, and knows it."""
    there = known(database)
    del there["password"]
    env = {"PGPASSFILE": os.devnull, "INVITE_DATABASE_URL": make_conninfo(**there)}
    done = invite("stats", env=env)
    assert (6, 2) == (done.exit_code, len(done.stderr.splitlines()))


@pytest.mark.parametrize("by_url", [True, False])
def test_service_file(database: Database, invite: Invite, *, by_url: bool) -> None:
    """A service of libpq's service file names the database, in the URL or in PGSERVICE."""
    services = invite.home / "services.conf"
    lines = [f"{key}={value}" for key, value in known(database).items()]
    services.write_text("\n".join(["[beta]", *lines, ""]))
    env = {"PGSERVICEFILE": str(services)} | ({} if by_url else {"PGSERVICE": "beta"})
    assert database.name in talk(invite, "postgresql://?service=beta" if by_url else None, env)[0]


def test_libpq_variables(database: Database, invite: Invite) -> None:
    """Without a URL libpq's own variables count; with one, they do not."""
    there = known(database)
    names = {"dbname": "PGDATABASE", "user": "PGUSER", "password": "PGPASSWORD"}
    env = {names.get(key, f"PG{key.upper()}"): value for key, value in there.items()}
    assert database.name in talk(invite, None, env)[0]
    wrong = {**env, "PGDATABASE": "nowhere", "PGUSER": "nobody", "PGHOST": "host.invalid"}
    assert database.name in talk(invite, database.url(LOGIN), wrong)[0]
