"""What a command asks of the server before it comes to its own: no more than it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
import stock
from tap import tapped

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

OPENING: Final = "select set_config('lock_timeout'"
CATALOGUE: Final = "with routine as ("
ACTOR: Final = "select id::text, lower(btrim(email)) as email"
UNBOUND: Final = "select set_config('statement_timeout', '0', true)"
READING: Final = [OPENING, CATALOGUE]
WRITING: Final = [OPENING, CATALOGUE, ACTOR]
ALL: Final = ("--points", "10")
SET: Final = "savepoint"  # in which the set is read, so that no lock of it is kept


@pytest.mark.parametrize(
    ("line", "before", "own"),
    [
        (["list"], READING, "DECLARE"),
        (["list", "--format", "csv"], [*READING, UNBOUND], "copy ("),
        (["redemptions", "--format", "markdown"], READING, "DECLARE"),
        (["redemptions", "--format", "jsonl"], [*READING, UNBOUND], "copy ("),
        (["redemptions", "--format", "csv"], [*READING, UNBOUND], "copy ("),
        (["show", "JYOTISH-****-AAAA"], READING, "SELECT public."),
        (["stats"], READING, "SELECT 'all'"),
        (["revoke", *ALL, "--yes"], WRITING, SET),
        (["update", *ALL, "--set-note", "x", "--yes"], WRITING, SET),
        (
            ["generate", "--count", "1", "--points", "1"],
            WRITING,
            "select pg_try_advisory_xact_lock",
        ),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else None,
)
def test_before_its_own(
    invite: Invite, database: Database, line: list[str], before: list[str], own: str
) -> None:
    """At most three statements come before a command's own, and none of them is SQLAlchemy's."""
    stock.make(database)
    with tapped(database.url("admin_runtime")) as (url, heard):
        invite(*line, env={"INVITE_DATABASE_URL": url})
    begin, *asked = heard.statements()
    assert begin.startswith("BEGIN")
    assert len(before) <= 3
    assert [*before, own] == [
        text.strip()[: len(begun)] for text, begun in zip(asked, [*before, own], strict=False)
    ]
