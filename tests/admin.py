"""The admin functions as the application's own administration calls them, past the tool."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import psycopg
import pytest
from databases import ACTOR, hash_of, make_code

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from databases import Database

CREATE: Final = "public.admin_create_redemption_codes"
UPDATE: Final = "public.admin_update_redemption_code"
REVOKE: Final = "public.admin_revoke_redemption_code"
RESULT: Final = (
    "id, code_mask, credits, expires_at, note, created_at, redeemed_by, redeemed_email,"
    " redeemed_at, revoked_by, revoked_at"
)


class Admin:
    """Calls the functions as the actor does, each call a transaction of its own."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.actor = [database.person(ACTOR), ACTOR, "admin", "request-1"]

    def call(self, function: str, *args: object, actor: Sequence[object] = ()) -> list[Any]:
        """Call one function and return its rows."""
        given = [*(actor or self.actor), *args]
        marks = ", ".join(["%s"] * len(given))
        query = f"select {RESULT} from {function}({marks})"
        with self.database.acting("admin_runtime", "service_role") as connection:
            return connection.execute(query.encode(), given).fetchall()

    def refused(self, function: str, *args: object, actor: Sequence[object] = ()) -> str:
        """Call one function that must fail; return SQLSTATE and message."""
        with pytest.raises(psycopg.Error) as caught:
            self.call(function, *args, actor=actor)
        return f"{caught.value.sqlstate} {caught.value.diag.message_primary}"

    def audit(self) -> list[tuple[Any, ...]]:
        """Return action, before and after of the log's rows."""
        query = "select action, before_value, after_value from audit.admin_audit_logs"
        return self.database.rows(query)


def wanted(count: int, **more: object) -> str:
    """Return so many codes in the form that the create function takes."""
    texts = [make_code() for _ in range(count)]
    return json.dumps(
        [
            {
                "codeHash": hash_of(text),
                "codeMask": f"JYOTISH-****-{text[-4:]}",
                "credits": position,
                "expiresAt": None,
                "note": None,
                **more,
            }
            for position, text in enumerate(texts, 1)
        ]
    )


def change(code: UUID | str, **changes: object) -> list[object]:
    """Return the arguments of the update function for `note` and `expires_at`, where given."""
    note, expires = changes.get("note"), changes.get("expires_at")
    return [code, "note" in changes, note, "expires_at" in changes, expires]
