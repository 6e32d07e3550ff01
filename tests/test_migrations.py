"""The database structure that the sandbox and the tests load is the one the tool was written for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from databases import BANNED, TESTERS, make_code, steps

if TYPE_CHECKING:
    from databases import Database


@steps()
def test_redeem(database: Database) -> None:
    """A code is redeemed once."""
    code = make_code()
    database.insert_code(code)
    assert database.redeem(code) is None
    assert database.redeem(code, TESTERS[1]) == "already_redeemed"
    assert database.redeem(code, None) == "unauthorized"
    assert database.redeem(make_code(), BANNED) == "invalid_code"
