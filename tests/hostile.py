"""A database that turns on the tool: each write or read fails as the test wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from databases import Database
    from tool import Result

SERVER_TEXT: Final = "the server's own words"

_RAISE: Final = """
    create function public.turn_on() returns trigger language plpgsql as $$
    begin
      raise warning 'warned of %', new.code_hash;
      raise exception using errcode = '{state}', message = '{text} ' || new.code_hash,
        detail = 'Key (code_hash)=(' || new.code_hash || ')', hint = '{text} ' || new.code_hash,
        table = '{table}', column = 'code_hash', constraint = '{text}';
    end $$;
    create {kind} insert or update on public.redemption_codes {when}
    for each row execute function public.turn_on();
"""
_AT_ONCE: Final = {"kind": "trigger turn_on before", "when": ""}
_AT_LAST: Final = {
    "kind": "constraint trigger turn_on after",
    "when": "deferrable initially deferred",
}


def turn_on(
    database: Database, state: str, *, table: str = "elsewhere", deferred: bool = False
) -> None:
    """Let each insert and update of a code fail with this SQLSTATE, its hash in every field.

    Args:
        database: Which one.
        state: The SQLSTATE.
        table: The table that the error names.
        deferred: Whether it fails only when the transaction's constraints are checked.
    """
    text = SERVER_TEXT.replace("'", "''")
    kind = _AT_LAST if deferred else _AT_ONCE
    database.execute("drop function if exists public.turn_on() cascade")
    database.execute(_RAISE.format(state=state, text=text, table=table, **kind))


def failure(result: Result) -> tuple[str, str | None]:
    """Return the one line of a failed command, and its hint; assert that there is no more."""
    lines = result.stderr.splitlines()
    (at,) = (number for number, line in enumerate(lines) if line.startswith("invite: "))
    rest = lines[at + 1 :]
    assert len(rest) <= 1, rest
    assert all(line.startswith("hint: ") for line in rest)
    told = [
        word
        for word in ("Traceback", "psycopg", "sqlalchemy", SERVER_TEXT)
        if word.lower() in result.stderr.lower()
    ]
    assert [] == told, result.stderr
    return lines[at].removeprefix("invite: "), rest[0] if rest else None
