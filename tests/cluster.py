"""The roles, templates and databases that the tests make on one server, and drop again."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import psycopg
from databases import ACTOR, BANNED, LOGINS, NO_ADMIN, PASSWORD, TESTERS, Database, make_url
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from databases import Connection

MIGRATIONS: Final = Path(__file__).parent.parent / "migrations_readonly"
FILES: Final = {1: "1_base.sql", 2: "2_revocable.sql", 3: "3_audited.sql"}

APPLICATION_ROLES: Final = (
    "schema_owner",
    "admin_runtime",
    "app_runtime",
    "service_role",
    "authenticated",
)
DATABASE_OWNER: Final = "invite_test_databases"
"""Owns each database that the tests make, and nothing else: so a left-over is known at sight."""

TEST_ROLES: Final = f"""
create role {DATABASE_OWNER} nologin;
create role {LOGINS["owner"]} login in role schema_owner;
create role {LOGINS["blind"]} login;
create role {LOGINS["reader"]} login bypassrls;
"""
ALL_ROLES: Final = (*APPLICATION_ROLES, DATABASE_OWNER, *LOGINS.values())

MARK: Final = "made by the tests of invite, which drop it"
RUN_LOCK: Final = (1_769_366_884, 1_952_805_748)

GRANTS: Final = """
grant select on public.redemption_codes to invite_test_reader;
grant select, insert, update on public.redemption_codes to invite_test_blind;
grant usage on schema {schema} to invite_test_reader, invite_test_blind;
grant select on {schema}.users to invite_test_reader, invite_test_blind;
"""
AUDIT_GRANTS: Final = """
grant usage on schema audit to invite_test_reader, invite_test_blind;
grant select on audit.admin_audit_logs to invite_test_reader, invite_test_blind;
"""


class ServerRefusedError(Exception):
    """The tests must not touch this server; the message says why."""


class Cluster:
    """One server, from the moment the tests make their roles there until all is dropped.

    Args:
        url: A superuser's URL.
        durable: False where the server is the tests' own, and may lose its data in a crash.

    Attributes:
        way: libpq's parameters that lead the tool to the server by another way; None for none.

    Raises:
        ServerRefusedError: On entering, where the server cannot be reached, the login is no
            superuser, another run is at work, or the server holds a table or a role of the
            application that the tests did not make.
    """

    def __init__(self, url: str, *, durable: bool = True) -> None:
        self._url = url
        self._durable = durable
        self.way: dict[str, str] | None = None
        self._templates: dict[int, str] = {}
        self._parameters: dict[str, str]
        self._admin: Connection

    def __enter__(self) -> Self:
        try:
            self._admin = psycopg.connect(self._url, autocommit=True, connect_timeout=10)
        except psycopg.Error as error:
            raise ServerRefusedError("it cannot be reached, or refuses the login") from error
        self._parameters = parameters_of(self._url, self._admin)
        try:
            self._refuse()
            self._drop_all()
            self._make_roles()
        except BaseException:
            self._admin.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._drop_all()
        finally:
            self._admin.close()

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters, for libpq, of the superuser's connection to the server."""
        return dict(self._parameters)

    @property
    def version(self) -> str:
        """The server's version, such as 15.18."""
        return self._admin.info.parameter_status("server_version") or "of an unknown version"

    def settings(self, names: Sequence[str]) -> str:
        """Return the server's settings of these names as one line."""
        query = "select name, current_setting(name) from unnest(%s::text[]) name"
        found = self._admin.execute(query, [list(names)])
        return ", ".join(f"{name} {value}" for name, value in found)

    def create(self, step: int) -> Database:
        """Make a fresh database of this step; its template is made on first use."""
        if step not in self._templates:
            self._templates[step] = self._make_template(step)
        return Database(self._at(self._copy(self._templates[step])), step, self.way)

    def copy(self, database: Database) -> Database:
        """Make a fresh database that holds what this one does; nobody may be connected to it."""
        database.close()
        return Database(self._at(self._copy(database.name)), database.step, self.way)

    def drop(self, database: Database) -> None:
        """Drop a database, whoever is connected to it."""
        database.close()
        self._drop(database.name)

    def _refuse(self) -> None:
        if self._admin.info.parameter_status("is_superuser") != "on":
            raise ServerRefusedError("the login of the test server is no superuser")
        lock = self._admin.execute("select pg_try_advisory_lock(%s, %s)", RUN_LOCK).fetchone()
        if lock != (True,):
            raise ServerRefusedError("another run of the tests is using this server")
        foreign = self._admin.execute(
            "select rolname from pg_roles where rolname = any(%s)"
            " and shobj_description(oid, 'pg_authid') is distinct from %s order by rolname",
            [list(ALL_ROLES), MARK],
        ).fetchall()
        if foreign:
            names = ", ".join(row[0] for row in foreign)
            raise ServerRefusedError(f"the server has roles that the tests did not make: {names}")
        for name in self._foreign_databases():
            if self._holds_codes(name):
                raise ServerRefusedError(f"its database {name} holds a redemption_codes table")

    def _foreign_databases(self) -> list[str]:
        query = "select datname from pg_database where datallowconn and not (datname = any(%s))"
        return [row[0] for row in self._admin.execute(query, [self._own_databases()])]

    def _own_databases(self) -> list[str]:
        query = "select datname from pg_database d join pg_roles r on r.oid = d.datdba"
        return [
            row[0] for row in self._admin.execute(f"{query} where rolname = %s", [DATABASE_OWNER])
        ]

    def _holds_codes(self, name: str) -> bool:
        with psycopg.connect(make_url(self._at(name)), connect_timeout=10) as connection:
            query = "select exists (select from pg_class where relname = 'redemption_codes')"
            return connection.execute(query).fetchone() == (True,)

    def _make_roles(self) -> None:
        if not self._durable:
            self._admin.execute("alter system set fsync = off")
            self._admin.execute("alter system set full_page_writes = off")
            self._admin.execute("select pg_reload_conf()")
        # Together, so that a run killed here leaves no role without its mark.
        with self._admin.transaction():
            self._admin.execute((MIGRATIONS / "roles.sql").read_bytes())
            self._admin.execute(TEST_ROLES.encode())
            for role in ALL_ROLES:
                comment = SQL("comment on role {} is {}").format(Identifier(role), Literal(MARK))
                self._admin.execute(comment)
            for role in LOGINS.values():
                password = SQL("alter role {} password {}")
                self._admin.execute(password.format(Identifier(role), Literal(PASSWORD)))

    def _make_template(self, step: int) -> str:
        name = self._copy("template0")
        with psycopg.connect(make_url(self._at(name)), connect_timeout=10) as connection:
            for number in range(1, step + 1):
                connection.execute((MIGRATIONS / FILES[number]).read_bytes())
            add_people(connection, step)
        return name

    def _copy(self, template: str) -> str:
        name = f"invite_test_{secrets.token_hex(6)}"
        query = SQL("create database {} owner {} template {} encoding 'UTF8'").format(
            Identifier(name), Identifier(DATABASE_OWNER), Identifier(template)
        )
        self._admin.execute(query)
        return name

    def _at(self, name: str) -> dict[str, str]:
        return {**self._parameters, "dbname": name}

    def _drop(self, name: str) -> None:
        query = SQL("drop database if exists {} with (force)").format(Identifier(name))
        self._admin.execute(query)

    def _drop_all(self) -> None:
        for name in self._own_databases():
            self._drop(name)
        with self._admin.transaction():
            for role in reversed(ALL_ROLES):
                self._admin.execute(SQL("drop role if exists {}").format(Identifier(role)))


def parameters_of(url: str, connection: Connection) -> dict[str, str]:
    """Return libpq's parameters of the URL, with what it left to libpq's own choice."""
    info = connection.info
    chosen = {"user": info.user, "dbname": info.dbname, "host": info.host, "port": str(info.port)}
    given = conninfo_to_dict(url).items()
    return chosen | {key: str(value) for key, value in given if value is not None}


def add_people(connection: Connection, step: int) -> None:
    """Add the actor, a banned admin, one who is none, thirty testers, and the tests' grants."""
    audited = step == max(FILES)
    schema = "identity" if audited else "auth"
    connection.execute(GRANTS.format(schema=schema).encode())
    everybody = [ACTOR, BANNED, NO_ADMIN, *TESTERS]
    add = f"insert into {schema}.users (email) select unnest(%s::text[])"
    connection.execute(add.encode(), [everybody])
    if audited:
        connection.execute(AUDIT_GRANTS.encode())
        promote = "update identity.users set role = 'user,admin', banned = email = %s"
        connection.execute(f"{promote} where email = any(%s)".encode(), [BANNED, [ACTOR, BANNED]])
