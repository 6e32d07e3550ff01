"""Columns that must have a value, and that the tool does not know or was given none for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from batches import line, stored
from checking import told
from databases import steps
from hostile import failure
from shelf import put

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

WANTED: Final = "public.redemption_codes wants a value in campaign, which this tool does not know"
FUNCTION: Final = """
    create function public.fill() returns trigger language plpgsql as
    $$ begin new.campaign := 'beta'; return new; end $$
"""
TRIGGER: Final = "create trigger fill {} on public.redemption_codes for each {}"
FILLED: Final = f"{TRIGGER.format('before insert', 'row')} execute function public.fill()"
COLUMNS: Final = {
    "text": ("text not null", "", False),
    "domain": ("public.label", "", False),
    "trigger on update": ("text not null", FILLED.replace("insert", "update"), False),
    "trigger switched off": (
        "text not null",
        f"{FILLED}; alter table public.redemption_codes disable trigger fill",
        False,
    ),
    "trigger": ("text not null", FILLED, True),
    "may be empty": ("text", "", True),
    "default": ("text not null default 'beta'", "", True),
    "default of the domain": ("public.beta", "", True),
    "counted": ("bigint generated always as identity", "", True),
    "computed": ("integer not null generated always as (credits) stored", "", True),
}


def add(database: Database, column: str, then: str = "") -> None:
    """Add a column to the table, and what a case has besides."""
    database.execute("create domain public.label as text not null")
    database.execute("create domain public.beta as text not null default 'beta'")
    database.execute(f"alter table public.redemption_codes add column campaign {column}")
    database.execute(FUNCTION)
    for statement in filter(None, then.split("; ")):
        database.execute(statement)


@pytest.mark.parametrize("database", [1], indirect=True, ids=["step1"])
@pytest.mark.parametrize("name", COLUMNS)
def test_direct(invite: Invite, database: Database, name: str) -> None:
    """`check` says of a direct write what `generate` then does: it stores, or is blocked."""
    column, then, works = COLUMNS[name]
    add(database, column, then)
    ways = {way["name"]: way for way in told(invite, 5, login="owner")["capabilities"]}
    assert (works, True) == (ways["generate"]["available"], ways["update"]["available"])
    assert (None if works else WANTED) == ways["generate"]["reason"]
    dry = invite(*line(2), "--dry-run", login="owner")
    done = invite(*line(2), login="owner")
    expected = (0, 0, 2) if works else (5, 5, 0)
    assert expected == (dry.exit_code, done.exit_code, stored(database))
    if not works:
        said = f"unsupported: `generate` is blocked here: {WANTED}; nothing was changed"
        assert said == failure(done)[0]


def test_through_a_function(invite: Invite, database: Database) -> None:
    """What a function leaves empty only its call can show; then the column is named."""
    add(database, "text not null")
    assert told(invite)["findings"]
    said, hint = failure(done := invite(*line(2)))
    message = "failed: the database wants a value in campaign, and got none; nothing was changed"
    assert (1, 0, f"{message} (SQLSTATE 23502)") == (done.exit_code, stored(database), said)
    assert "ask the application's team for a default there" in (hint or "")


@pytest.mark.parametrize("column", ["repeat('a', 64)", "new.code_hash", "''"])
def test_what_is_no_name(invite: Invite, database: Database, column: str) -> None:
    """A column longer than a name can be, which a function may make up, is not repeated."""
    database.execute(
        "create function public.turn() returns trigger language plpgsql as $$ begin"
        f" raise exception using errcode = '23502', column = {column}; end $$"
    )
    database.execute(
        "create trigger turn before insert on public.redemption_codes"
        " for each row execute function public.turn()"
    )
    said, _ = failure(invite(*line(2)))
    told_so = "failed: the database refused a value by a rule of the table; nothing was changed"
    assert f"{told_so} (SQLSTATE 23502)" == said


@steps(1, 2)
@pytest.mark.parametrize(
    ("column", "option", "value"),
    [("note", "--note", "friday"), ("expires_at", "--expires", "30d")],
)
def test_known_columns(
    invite: Invite, database: Database, column: str, option: str, value: str
) -> None:
    """A note or an expiry that must be there is asked for before anything is sent."""
    database.execute(f"alter table public.redemption_codes alter column {column} set not null")
    for more in ([], ["--dry-run"]):
        said, hint = failure(done := invite(*line(2), *more, login="owner"))
        assert (2, 0) == (done.exit_code, stored(database))
        wanted = f"bad input: public.redemption_codes wants a value in {column}"
        assert (f"{wanted}; nothing was changed", f"hint: give {option}") == (said, hint)
    assert 0 == invite(*line(2), option, value, login="owner").exit_code
    assert 2 == stored(database)


@steps(2)
def test_taken_away(invite: Invite, database: Database) -> None:
    """An update that would leave such a column empty names it, and changes nothing."""
    database.execute("update public.redemption_codes set note = ''")
    made = put(database, "A", note="n")
    database.execute("alter table public.redemption_codes alter column note set not null")
    said, _ = failure(done := invite("update", made, "--set-note", "", "--yes", login="owner"))
    assert 1 == done.exit_code
    assert said.startswith("failed: the database wants a value in note, and got none; nothing was")
    assert "n" == database.value("select note from public.redemption_codes")
