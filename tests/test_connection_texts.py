"""Garbage where the database should stand: whatever it is, no piece of it is shown."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import psycopg
from hypothesis import example, given, settings
from hypothesis import strategies as st

from invite_admin import conninfo, sqlstates
from invite_admin.codes import Secret
from invite_admin.errors import InviteError
from invite_admin.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKENS: Final = ("Zq7xK1", "wVj9Qq", "Qx3zzK", "j8Wqvx", "8080765")
MARKS: Final = (
    *(
        "://",
        ":",
        "@",
        "/",
        "//",
        "?",
        "#",
        "%",
        "%zz",
        "%00",
        "%ff",
        "%5B",
        "[",
        "]",
        "&",
        "=",
        ",",
        ";",
    ),
    *(" ", "'", '"', "\\", "\t", "\n", "\udcff", "é", "postgresql://", "postgres://", "host="),
    *("password=", "options=", "sslmode=", "service=", "port=", "hostaddr=", "mysql://", "schema="),
)
GARBAGE: Final = st.lists(st.sampled_from(TOKENS + MARKS), max_size=14).map("".join)


@contextmanager
def no_libpq_variables() -> Iterator[None]:
    """Take libpq's variables away for a while."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PG")}
    try:
        yield
    finally:
        os.environ.update(kept)


def said_of(text: str) -> str:
    """Return all that the tool says of a text that is to name the database."""
    said: list[str] = []
    configured = Settings(database=Secret(text))
    with no_libpq_variables():
        try:
            found = conninfo.parameters(configured, said.append)
        except InviteError as error:
            return "\n".join([*said, error.message, error.hint or ""])
        said.append(_of_libpq(found))
    return "\n".join(said)


def _of_libpq(found: dict[str, str]) -> str:
    """Connect to where nothing listens, with all else as it is; return what the tool says."""
    nowhere = {"host": "127.0.0.1", "hostaddr": "127.0.0.1", "connect_timeout": "2"}
    port = {} if any(token in found.get("port", "") for token in TOKENS) else {"port": "1"}
    try:
        psycopg.connect(**{**found, **nowhere, **port}).close()  # type: ignore[arg-type]
    except psycopg.Error as error:
        told = sqlstates.translate_connecting(error)
        return f"{told.message}\n{told.hint}"
    raise AssertionError("something listens on port 1")


@given(GARBAGE)
@example("postgresql://Zq7xK1:wVj9Qq@Qx3zzK:j8Wqvx/8080765?sslmode=Zq7xK1")
@example("postgresql://login:p\udcff@127.0.0.1:1/db")
@example("postgresql://login:Zq7xK1%@127.0.0.1:1/wVj9Qq")
@example("host=127.0.0.1 port=8080765")
@example("postgresql://login:Zq7xK1%ff@127.0.0.1:1/db")
@example("service=Zq7xK1")
@example("postgresql://[Zq7xK1/wVj9Qq")
@example("\x00Zq7xK1")
@settings(max_examples=300)
def test_no_piece_is_shown(text: str) -> None:
    """Whatever the text is, it is refused or fails in our own words, without a piece of it."""
    said = said_of(text)
    assert [] == [token for token in TOKENS if token.lower() in said.lower()]
    assert None is re.search(r"psycopg|libpq|missing \"=\"", said)
