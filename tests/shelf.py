"""What the tests of the reading commands share: who can read, and codes known by a letter."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite, Result

FORMATS: Final = ("table", "csv", "json", "jsonl", "markdown")

_LOGINS: Final = ("admin_runtime", "owner", "superuser", "reader")

READERS: Final = pytest.mark.parametrize(
    ("database", "login", "role"),
    [
        *(
            pytest.param(step, login, "service_role" if login == "admin_runtime" else None)
            for step in (1, 2, 3)
            for login in _LOGINS
        ),
        pytest.param(3, "admin_runtime", None),
    ],
    indirect=["database"],
)
"""Run a test on each step, as each login that can read there, with its write role."""

CODE_KEYS: Final = [
    *("id", "mask", "status", "points", "expires_at", "note", "created_at", "created_by"),
    *("redeemed_by", "redeemed_email", "redeemed_at", "revoked_at", "revoked_by"),
]
NOON: Final = "2030-01-01T12:00:00.00000"
"""An instant but for its last digit of microseconds and its offset."""


def put(database: Database, name: str, **columns: object) -> str:
    """Insert the code `JYOTISH-FAKE-` + name, past the tool, and return its id."""
    return str(database.insert_code(f"JYOTISH-FAKE-{name:A>4}", **columns))


def names(result: Result) -> str:
    """Return the last letters of the masks of a report in JSON, in its order."""
    assert 0 == result.exit_code, result.stderr
    return "".join(row["mask"][-1] for row in result.json)


def asked(invite: Invite, *args: str, **how: Any) -> str:  # noqa: ANN401 - as the tool is called
    """Run one reading command and return the last letters of its masks, in order."""
    return names(invite(*args, "--format", "json", **how))


def iso(instant: datetime | None) -> str | None:
    """Return an instant as JSON has it where the time zone is UTC."""
    return instant.astimezone(UTC).isoformat() if instant else None
