"""Where to connect: libpq's parameters out of the URL or libpq's own variables.

Nothing of the URL ever stands in a message: a password with odd characters may end up in any part.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING
from urllib.parse import unquote

from invite_admin.errors import BadInput
from invite_admin.settings import LIBPQ_VARIABLES, URL_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

    from invite_admin.settings import Settings

# What Prisma, JDBC, Rails, asyncpg and hosted dashboards leave in a URL; libpq refuses them.
FOREIGN = frozenset(
    [
        "pgbouncer",
        "schema",
        "currentschema",
        "connection_limit",
        "pool_timeout",
        "pool",
        "pool_size",
        "pool_mode",
        "max_overflow",
        "socket_timeout",
        "statement_cache_size",
        "prepared_statement_cache_size",
        "prepared_statements",
        "preparethreshold",
        "sslaccept",
        "sslidentity",
        "single_use_connections",
        "reconnect",
        "timeout",
        "uselibpqcompat",
        "workaround",
    ]
)
# libpq sends these as start-up parameters, which poolers refuse; the tool sets its own.
STARTUP_VARIABLES = ("PGOPTIONS", "PGTZ", "PGDATESTYLE", "PGGEQO", "PGCLIENTENCODING")
_PLACEHOLDER = re.compile(
    r"[\[<{(]+[^\]>})@/]*pass(word|wd)?[^\]>})@/]*[\]>})]+|your[-_ ]?(db[-_ ]?)?pass(word)?|\*{3,}",
    re.IGNORECASE,
)


def parameters(
    settings: Settings, say: Callable[[str], None], variable: str = URL_VARIABLE
) -> dict[str, str]:
    """Return libpq's connection parameters for these settings.

    Args:
        settings: Where the URL and the connect timeout come from.
        say: Told what was left out, and why.
        variable: What the URL is called in messages.

    Raises:
        BadInput: No database is configured, or the text cannot be read as one.
    """
    _drop_startup_variables(os.environ, say)
    if settings.database is not None:
        found = _parse(settings.database.strip(), say, variable)
    elif configured(settings):
        found = {}
    else:
        raise BadInput(
            f"no database is configured; set {variable}",
            hint="or PGHOST, PGSERVICE or PGDATABASE, or try `invite --sandbox`",
        )
    named = {**found, **{k: os.environ.get(f"PG{k.upper()}", "") for k in ("host", "service")}}
    if settings.database is not None and not any(
        found.get(key) or named.get(key) for key in ("host", "hostaddr", "service")
    ):
        raise BadInput(f"{variable} names no host", hint="postgresql://LOGIN@HOST/DATABASE")
    ours = _ours(found, _connect_seconds(found, variable) or settings.timeouts.connect)
    return {**found, **ours, **_password_file(found, say)}


def _connect_seconds(found: dict[str, str], variable: str) -> int | None:
    """Return the timeout that libpq's own ways give; None where they give none, or no bound."""
    given, place = found.get("connect_timeout"), f"`connect_timeout` in {variable}"
    if given is None:
        given, place = os.environ.get("PGCONNECT_TIMEOUT") or "0", "PGCONNECT_TIMEOUT"
    if not re.fullmatch(r"-?[0-9]+", given.strip()):
        raise BadInput(f"{place} is no whole number of seconds")
    return max(0, int(given)) or None


def _password_file(found: dict[str, str], say: Callable[[str], None]) -> dict[str, str]:
    """Keep libpq from a password file that it would refuse; it would warn in its own words."""
    if found.get("password") or os.environ.get("PGPASSWORD"):
        return {}  # then it looks at no file
    named = found.get("passfile") or os.environ.get("PGPASSFILE")
    path = named or os.path.expanduser("~/.pgpass")  # noqa: PTH111 - Path.expanduser may raise
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - a plain number is asked for
    except OSError:
        return {}
    if stat.S_ISREG(mode) and not mode & 0o077:
        return {}
    if path != os.devnull:  # which stands for none
        why = "others may read it; set its mode to 0600" if stat.S_ISREG(mode) else "it is no file"
        say(f"warning: the password file is not used: {why}")
    return {"passfile": os.path.join(os.devnull, "none")}  # noqa: PTH118 - it must not exist


def configured(settings: Settings) -> bool:
    """Tell whether any database is named: by the URL, or by libpq's own variables."""
    named = any(os.environ.get(name) for name in LIBPQ_VARIABLES)
    return settings.database is not None or named


def _ours(found: dict[str, str], connect: int) -> dict[str, str]:
    """Add the bounds of every wait on the network, and what the tool's own reading needs."""
    return {
        "connect_timeout": str(connect),
        "client_encoding": "utf8",
        "application_name": found.get("application_name", "invite"),
        "keepalives": "1",
        "keepalives_idle": found.get("keepalives_idle", "30"),
        "keepalives_interval": found.get("keepalives_interval", "10"),
        "keepalives_count": found.get("keepalives_count", "3"),
        "tcp_user_timeout": found.get("tcp_user_timeout", "60000"),
    }


def _parse(text: str, say: Callable[[str], None], variable: str) -> dict[str, str]:
    from psycopg import Error  # noqa: PLC0415 - heavy; only a command that runs needs it
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415 - likewise

    text = re.sub(r"^postgres(?:ql)?(?:\+[a-z0-9_]+)?://", "postgresql://", text)
    if text.startswith("postgresql://"):
        if _PLACEHOLDER.search(unquote(text.rpartition("@")[0])):
            raise _placeholder(variable)
        text = _without_foreign(text, say, variable)
    try:
        found = {k: str(v) for k, v in conninfo_to_dict(text).items() if v is not None}
    except (Error, UnicodeError):
        raise BadInput(
            f"{variable} cannot be read as a PostgreSQL connection string",
            hint="postgresql://LOGIN@HOST:PORT/DATABASE, and the password in ~/.pgpass; "
            "@ : / ? # % and blanks in a name are written %40 %3A %2F %3F %23 %25 %20; "
            "after the ? only PostgreSQL's own parameters",
        ) from None
    if _PLACEHOLDER.fullmatch(found.get("password", "")) or found.get("password") == "PASSWORD":
        raise _placeholder(variable)
    if found.pop("options", None):
        say(_left_out(f"`options` in {variable}"))
    return found


def _placeholder(variable: str) -> BadInput:
    return BadInput(
        f"{variable} still holds a placeholder where the password belongs",
        hint="put the login's password there, or leave it out and use a password file (~/.pgpass)",
    )


def _without_foreign(url: str, say: Callable[[str], None], variable: str) -> str:
    address, mark, query = url.partition("?")
    kept: list[str] = []
    dropped: list[str] = []
    for pair in filter(None, query.split("&")):
        key = unquote(pair.partition("=")[0]).lower()
        (dropped if key in FOREIGN else kept).append(pair if key not in FOREIGN else key)
    for key in dropped:
        say(_left_out(f"`{key}` in {variable}"))
    return address + (mark + "&".join(kept) if kept else "")


def _drop_startup_variables(
    environment: MutableMapping[str, str], say: Callable[[str], None]
) -> None:
    for name in STARTUP_VARIABLES:
        if environment.pop(name, "") and name == "PGOPTIONS":
            say(_left_out("PGOPTIONS"))


def _left_out(what: str) -> str:
    return f"hint: {what} is not used; the tool sets what it needs itself"
