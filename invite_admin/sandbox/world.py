"""What the sandbox holds: the existing structure, who administers it, who redeems."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, UUID, uuid5

from invite_admin.errors import Failed
from invite_admin.sandbox import files
from invite_admin.sandbox.connection import connected

if TYPE_CHECKING:
    from invite_admin.sandbox.server import Server

DATABASE = "invite_sandbox"
TABLE = "public.redemption_codes"
STEP_FILES = ("1_base.sql", "2_revocable.sql", "3_audited.sql")
LAST_STEP = len(STEP_FILES)
ROLES_FILE = "roles.sql"
OPERATOR = "admin_runtime"
APPLICATION = "app_runtime"
WRITE_ROLE = "service_role"
ACTOR = "ops@example.com"
TESTERS = tuple(f"tester{number:02}@example.com" for number in range(1, 31))
_STEP_WITH_IDENTITY = 3
_MARKER = "world.json"


@dataclass(frozen=True)
class World:
    """What was loaded.

    Args:
        step: 1, 2 or 3: how far the structure goes.
        structure: A digest of the files it was loaded from.
        passwords: The password of each login.
    """

    step: int
    structure: str
    passwords: dict[str, str] = field(repr=False)


def structure_folder() -> Path:
    """Return the folder of the structure's SQL: inside the package, or beside it in a checkout.

    Raises:
        Failed: Neither has it.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package, package.parent):
        if (folder / "migrations_readonly" / ROLES_FILE).is_file():
            return folder / "migrations_readonly"
    raise Failed("the structure's SQL is missing from the installation", hint="reinstall invite")


def structure_digest() -> str:
    """Return a digest of the structure's SQL, to tell when a sandbox is older than its tool.

    Raises:
        Failed: The files are missing.
    """
    texts = [_structure(name) for name in (ROLES_FILE, *STEP_FILES)]
    return sha256(b"".join(texts)).hexdigest()


def user_id(email: str) -> UUID:
    """Return the id of one of the sandbox's people: the same for the same e-mail, always."""
    return uuid5(NAMESPACE_URL, f"mailto:{email}")


def recall(server: Server) -> World | None:
    """Return what was loaded, or None where loading never came to its end."""
    text = files.read_file(server.folder / _MARKER)
    try:
        found = World(**json.loads(text)) if text else None
        return found if found and {OPERATOR, APPLICATION} <= set(found.passwords) else None
    except (ValueError, TypeError):
        return None


def build(server: Server, step: int) -> World:
    """Make the server and everything in it anew.

    Raises:
        Unsupported: The package with PostgreSQL's programs is not installed.
        Failed, Unavailable: The server cannot be made, or the structure cannot be loaded.
    """
    server.wipe()
    server.start()
    passwords = {login: secrets.token_urlsafe(24) for login in (OPERATOR, APPLICATION)}
    _create_roles(server, passwords)
    return _load(server, step, passwords)


def rebuild(server: Server, step: int, passwords: dict[str, str]) -> World:
    """Make the database anew in a server that has roles and logins.

    Raises:
        Unsupported, Failed, Unavailable, Busy: As in `build`; what was loaded before is gone.
    """
    with files.told("the sandbox cannot be changed"):
        (server.folder / _MARKER).unlink(missing_ok=True)
    server.start()
    return _load(server, step, passwords)


def _structure(name: str) -> bytes:
    with files.told("the structure's SQL cannot be read"):
        return (structure_folder() / name).read_bytes()


def _create_roles(server: Server, passwords: dict[str, str]) -> None:
    from psycopg import sql  # noqa: PLC0415 - heavy; only a command that runs needs it

    with connected(server.superuser_url()) as connection:
        connection.execute(_structure(ROLES_FILE))
        for login, password in passwords.items():
            command = sql.SQL("alter role {} password {}")
            connection.execute(command.format(sql.Identifier(login), sql.Literal(password)))
    lines = [f"*:*:*:{login}:{password}\n" for login, password in passwords.items()]
    files.write_file(server.password_file, "".join(lines))


def _load(server: Server, step: int, passwords: dict[str, str]) -> World:
    with connected(server.superuser_url()) as connection:
        connection.execute(f"drop database if exists {DATABASE} with (force)")
        connection.execute(f"create database {DATABASE}")
    with connected(server.superuser_url(DATABASE)) as connection:
        for name in STEP_FILES[:step]:
            with connection.transaction():
                connection.execute(_structure(name))
        people = [(user_id(email), email, "user") for email in TESTERS]
        people.append((user_id(ACTOR), ACTOR, "user,admin"))
        # At step 3 triggers copy people into auth.users; before, nobody is marked as an admin.
        with connection.cursor() as cursor:
            if step >= _STEP_WITH_IDENTITY:
                insert = "insert into identity.users (id, email, role) values (%s, %s, %s)"
                cursor.executemany(insert, people)
            else:
                insert = "insert into auth.users (id, email) values (%s, %s)"
                cursor.executemany(insert, [person[:2] for person in people])
    world = World(step, structure_digest(), passwords)
    # Last of all: without it the next command makes everything anew.
    files.write_file(server.folder / _MARKER, json.dumps(vars(world)))
    return world
