"""What the tests of `generate` share: who can, how it is called, and what must then be stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from databases import TESTERS, hash_of, redeem_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from databases import Database
    from tool import Result

ROOT: Final = 0
STRANGER: Final = 65534
"""The user id of nobody, where the tests run as root."""

GENERATORS: Final = pytest.mark.parametrize(
    ("database", "login"),
    [
        pytest.param(step, login, id=f"step{step}-{login}")
        for step in (1, 2, 3)
        for login in ("admin_runtime", "owner", "superuser")
    ],
    indirect=["database"],
)
"""Run a test on each step, as each login that can make codes there."""

BOTH_WAYS: Final = pytest.mark.parametrize(
    ("database", "login"),
    [
        pytest.param(1, "owner", id="direct"),
        pytest.param(3, "admin_runtime", id="functions"),
    ],
    indirect=["database"],
)
"""Run a test once on direct writes and once through the admin functions."""

KEYS: Final = ["id", "code", "mask", "points", "expires_at", "note"]


def line(count: int = 3, points: int = 7, *more: str) -> list[str]:
    """Return the command line that makes so many codes."""
    return ["generate", "--count", str(count), "--points", str(points), *more]


def stored(database: Database) -> int:
    """Return how many codes the table holds."""
    found: int = database.value("select count(*) from public.redemption_codes")
    return found


def hashes(database: Database) -> dict[str, str]:
    """Return the hash of each code stored, by its id."""
    rows = database.rows("select id::text, code_hash from public.redemption_codes")
    return dict(rows)


def check_paired(database: Database, made: list[dict[str, Any]]) -> None:
    """Assert that each code shown is the one stored under its id, and that none is missing."""
    assert hashes(database) == {code["id"]: hash_of(code["code"]) for code in made}


def check_nothing(database: Database, result: Result, exit_code: int = 1) -> None:
    """Assert that a command stored nothing, has said so in one line, and showed no traceback."""
    assert (exit_code, 0) == (result.exit_code, stored(database)), result.stderr
    [told] = [text for text in result.stderr.splitlines() if text.startswith("invite: ")]
    assert "nothing was stored" in told or "nothing was changed" in told
    assert "Traceback" not in result.stderr


def redeem_all(database: Database, codes: Iterable[str]) -> list[str | None]:
    """Redeem codes as one tester of the application does; return what each answered."""
    answers: list[str | None] = []
    person = str(database.person(TESTERS[0]))
    with database.connect("app_runtime") as connection:
        for code in codes:
            with connection.transaction():
                connection.execute("set local role authenticated")
                answers.append(redeem_hash(connection, person, TESTERS[0], hash_of(code)))
    return answers
