"""One database of a test: who may log in, and what a test does to it behind the tool's back."""

from __future__ import annotations

import hashlib
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

import psycopg
import pytest
from psycopg.sql import SQL, Identifier, Placeholder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from uuid import UUID

    from psycopg.rows import TupleRow

    Params = Sequence[object] | Mapping[str, object] | None
    Connection = psycopg.Connection[TupleRow]

PASSWORD: Final = "not-a-secret"
"""Every login of the tests has it."""

LOGINS: Final = {
    "owner": "invite_test_owner",
    "admin_runtime": "admin_runtime",
    "app_runtime": "app_runtime",
    "blind": "invite_test_blind",
    "reader": "invite_test_reader",
}
"""What a test calls a login, and the role it is; `superuser` is the server's own."""

ACTOR: Final = "ops@example.com"
BANNED: Final = "banned@example.com"
NO_ADMIN: Final = "plain@example.com"
TESTERS: Final = tuple(f"tester{number:02}@example.com" for number in range(1, 31))

ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def steps(*numbers: int) -> pytest.MarkDecorator:
    """Run a test once on each of these steps; without numbers, on all three."""
    chosen = numbers or (1, 2, 3)
    names = [f"step{number}" for number in chosen]
    return pytest.mark.parametrize("database", chosen, indirect=True, ids=names)


def make_url(parameters: Mapping[str, str]) -> str:
    """Return libpq's parameters as one URL; a socket folder goes into its query."""
    rest = dict(parameters)
    user, password = rest.pop("user"), rest.pop("password", "")
    login = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    host = "" if "/" in rest.get("host", "/") else rest.pop("host")
    port = f":{rest.pop('port')}" if host and "port" in rest else ""
    name = quote(rest.pop("dbname"), safe="")
    return f"postgresql://{login}@{host}{port}/{name}" + (
        f"?{urlencode(rest, quote_via=quote)}" if rest else ""
    )


def make_code() -> str:
    """Return a code of the application's form, made by the tests and not by the tool."""
    symbols = [secrets.choice(ALPHABET) for _ in range(8)]
    return f"JYOTISH-{''.join(symbols[:4])}-{''.join(symbols[4:])}"


def hash_of(code: str) -> str:
    """Return the hash the application computes for what a person typed."""
    return hashlib.sha256("".join(code.split()).upper().encode()).hexdigest()


class Database:
    """A fresh copy of one step's template, and everything a test needs to look into it.

    Args:
        parameters: libpq's parameters of the superuser's connection to it.
        step: Which of the three states of the structure it is in: 1, 2 or 3.
        way: libpq's parameters that lead the tool there another way; None for the same.
    """

    def __init__(
        self, parameters: Mapping[str, str], step: int, way: Mapping[str, str] | None = None
    ) -> None:
        self.step = step
        self.name = parameters["dbname"]
        self._parameters = dict(parameters)
        self._way = {**(way or parameters), "dbname": self.name}
        self._superuser: Connection | None = None

    def url(self, login: str = "superuser") -> str:
        """Return the URL for `superuser` or one of LOGINS, as the tool gets it."""
        return make_url({**self._way, **_account(login)})

    def by_way_of(self, parameters: Mapping[str, str]) -> Database:
        """Return the same database, to which the tool is led by these parameters of libpq."""
        return Database(self._parameters, self.step, parameters)

    @property
    def server(self) -> dict[str, str]:
        """The parameters, for libpq, of the superuser's connection to the server itself."""
        return dict(self._parameters)

    def connect(self, login: str = "superuser") -> Connection:
        """Open a connection to the server itself, in autocommit mode; close it, or use `with`."""
        url = make_url({**self._parameters, **_account(login)})
        return psycopg.connect(url, autocommit=True, connect_timeout=10)

    @contextmanager
    def acting(self, login: str, role: str | None = None) -> Iterator[Connection]:
        """Open a transaction as this login, after SET LOCAL ROLE where a role is given.

        It is committed at the end, and rolled back when an error leaves it.
        """
        with self.connect(login) as connection, connection.transaction():
            if role:
                connection.execute(SQL("set local role {}").format(Identifier(role)))
            yield connection

    def refusal(
        self, login: str, sql: str, params: Params = None, *, role: str | None = None
    ) -> tuple[str, str] | None:
        """Try one statement and undo it; return SQLSTATE and message, None where it works."""
        try:
            with self.acting(login, role) as connection:
                connection.execute(sql.encode(), params)
                raise psycopg.Rollback
        except psycopg.Error as error:
            return error.sqlstate or "", error.diag.message_primary or ""
        return None

    def close(self) -> None:
        """Close the superuser's connection, if one is open."""
        if self._superuser is not None:
            self._superuser.close()
            self._superuser = None

    def execute(self, sql: str, params: Params = None) -> int:
        """Run one statement as the superuser, committed at once; return the rows it touched."""
        return self._cursor(sql, params).rowcount

    def rows(self, sql: str, params: Params = None) -> list[tuple[Any, ...]]:
        """Return all rows of a query run as the superuser."""
        return self._cursor(sql, params).fetchall()

    def value(self, sql: str, params: Params = None) -> Any:  # noqa: ANN401 - the test knows its column
        """Return the first column of the first row of a query run as the superuser."""
        row = self._cursor(sql, params).fetchone()
        assert row is not None, sql
        return row[0]

    def person(self, email: str) -> UUID:
        """Return the id of one of the people every template knows."""
        found: UUID = self.value("select id from auth.users where email = %s", [email])
        return found

    def insert_code(self, code: str | None = None, **columns: object) -> UUID:
        """Insert one code of 10 points past the tool, and return its id.

        Args:
            code: Its text, from which hash and mask follow; a new one by default.
            columns: Values for any columns of the table.
        """
        text = code or make_code()
        values: dict[str, object] = {
            "code_hash": hash_of(text),
            "code_mask": f"JYOTISH-****-{text[-4:]}",
            "credits": 10,
            **columns,
        }
        query = SQL("insert into public.redemption_codes ({}) values ({}) returning id").format(
            SQL(", ").join(map(Identifier, values)),
            SQL(", ").join(map(Placeholder, values)),
        )
        made: UUID = self.value(query.as_string(), values)
        return made

    def redeem(self, code: str, email: str | None = TESTERS[0]) -> str | None:
        """Redeem as the application does; return its error code, None on success.

        Args:
            code: The code's text, or its hash.
            email: One of the people every template knows; None for nobody logged in.
        """
        code_hash = code if len(code) == hashlib.sha256().digest_size * 2 else hash_of(code)
        with self.acting("app_runtime", "authenticated") as connection:
            return redeem_hash(connection, email and str(self.person(email)), email, code_hash)

    def _cursor(self, sql: str, params: Params) -> psycopg.Cursor[TupleRow]:
        if self._superuser is None:
            self._superuser = self.connect()
        return self._superuser.execute(sql.encode(), params)


def _account(login: str) -> dict[str, str]:
    return {} if login == "superuser" else {"user": LOGINS[login], "password": PASSWORD}


def claim(connection: Connection, user_id: str | None, email: str | None) -> None:
    """Set the claims of the person logged in, for the transaction that is open."""
    connection.execute(
        "select set_config('request.jwt.claim.sub', %s, true),"
        " set_config('request.jwt.claim.email', %s, true)",
        [user_id or "", email or ""],
    )


def redeem_hash(
    connection: Connection, user_id: str | None, email: str | None, code_hash: str
) -> str | None:
    """Redeem in the open transaction of a role that may; return the error code, None on success."""
    claim(connection, user_id, email)
    query = "select error_code from public.redeem_code(%s)"
    row = connection.execute(query, [code_hash]).fetchone()
    assert row is not None
    error: str | None = row[0]
    return error
