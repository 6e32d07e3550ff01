"""The works that are measured, and what each is measured against, each one run of one process.

Each makes its own fresh copy of a prepared database, which costs no measured time, and asserts
that the work was done: the rows in the table, the lines in the file.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.redeeming import PREPARE, PREPARED, redeeming
from databases import ACTOR

if TYPE_CHECKING:
    from benchmarks.place import Place, Spent
    from databases import Database

NOTE: Final = "benchmark"
MADE: Final = "made.csv"
A_CALL: Final = 100  # codes: the most that the function takes
FIFTY: Final = Path(__file__).with_name("fifty_rows.py")
SENT: Final = "(id, code_hash, code_mask, credits, expires_at, note, created_by)"
LISTED: Final = """
select id, code_mask,
  case when redeemed_at is not null then 'redeemed' when revoked_at is not null then 'revoked'
    when expires_at <= now() then 'expired' else 'available' end as status,
  credits, expires_at, note, created_at, created_by, redeemed_by, redeemed_email, redeemed_at,
  revoked_at, revoked_by
from public.redemption_codes
"""
REVOKE: Final = f"""
update public.redemption_codes set revoked_at = now(), revoked_by = '{{actor}}'
where note = '{NOTE}' and redeemed_at is null and revoked_at is null returning id
"""
FILL: Final = f"""
insert into public.redemption_codes (code_hash, code_mask, credits, expires_at, note, created_by,
  created_at, redeemed_by, redeemed_email, redeemed_at, revoked_by, revoked_at)
select encode(sha256(n::text::bytea), 'hex'),
  'JYOTISH-****-' || upper(right(md5(n::text), 4)), 10,
  case when n %% 3 > 0 then now() + make_interval(days => n %% 400 - 30) end,
  '{NOTE}', a.id, now() - make_interval(mins => n / 1000), r.id, r.email,
  case when r.id is not null then now() end,
  case when n %% 10 = 1 then a.id end, case when n %% 10 = 1 then now() end
from generate_series(1, %s) n join auth.users a on a.email = '{ACTOR}'
left join auth.users r
  on n %% 10 = 0 and r.email = format('tester%%s@example.com', n / 10 %% 20 + 10)
"""
"""Codes of every status: a tenth each redeemed and revoked."""
CALLS: Final = """
select format('select * from public.admin_create_redemption_codes(%L, %L, %L, %L, %L);',
  a.id, a.email, 'admin', 'benchmark', jsonb_agg(jsonb_build_object('codeHash', c.code_hash,
    'codeMask', c.code_mask, 'credits', c.credits, 'expiresAt', c.expires_at, 'note', c.note)))
from (select *, row_number() over () - 1 as n from public.redemption_codes) c
join identity.users a on a.email = %s group by a.id, a.email, n / %s
"""


def generate(place: Place, count: int) -> Spent:
    """Make codes by direct writes, to a file."""
    with place.copy(empty(place, 2)) as database:
        return _generate(place, database, count)


def copy_in(place: Place, count: int) -> Spent:
    """Have psql load the same rows."""
    rows = made_rows(place, count)
    with place.copy(empty(place, 2)) as database:
        return _copy_in(place, database, rows, count)


def generate_by_functions(place: Place, count: int) -> Spent:
    """Make codes through the admin functions, to a file."""
    with place.copy(empty(place, 3)) as database:
        return _generate(place, database, count, login="admin_runtime")


def call_functions(place: Place, count: int) -> Spent:
    """Have psql make the same calls in one transaction."""
    script = made_calls(place, count)
    with place.copy(empty(place, 3)) as database:
        spent = place.psql(database, "--output=calls", f"--file={script}", login="admin_runtime")
        assert count == stored(database)
    return spent


def list_csv(place: Place, count: int) -> Spent:
    """List all codes to csv."""
    return _list(place, count, "csv")


def list_jsonl(place: Place, count: int) -> Spent:
    """List all codes to jsonl."""
    return _list(place, count, "jsonl")


def copy_out(place: Place, count: int) -> Spent:
    """Have psql write the same columns to csv."""
    return _copy_out(place, count, LISTED)


def copy_out_in_order(place: Place, count: int) -> Spent:
    """Have psql write the same columns to csv, sorted as the tool sorts them."""
    return _copy_out(place, count, f"{LISTED} order by created_at desc, id")


def revoke(place: Place, count: int) -> Spent:
    """Void all codes by a filter, each code's outcome to csv."""
    made = place.folder / "revoked.csv"
    with place.copy(available(place, count)) as database:
        line = ("revoke", "--note", NOTE, "--yes", "--output", str(made))
        spent = place.invite(database, *line)
        assert (count, count + 1) == (voided(database), take_lines(made))
    return spent


def update_bare(place: Place, count: int) -> Spent:
    """Have psql run the bare statement, the ids to a file."""
    made = place.folder / "ids"
    with place.copy(available(place, count)) as database:
        statement = REVOKE.format(actor=database.person(ACTOR))
        words = ("--no-align", "--tuples-only", f"--output={made}", "--command", statement)
        spent = place.psql(database, *words)
        assert (count, count) == (voided(database), take_lines(made))
    return spent


def show_help(place: Place, _count: int) -> Spent:
    """Show the help."""
    made = place.folder / "help"
    spent = place.invite(empty(place, 2), "--help", output=made)
    assert "generate" in made.read_text(encoding="utf-8")
    return spent


def import_click(place: Place, _count: int) -> Spent:
    """Start Python and import Click."""
    return place.run(sys.executable, "-c", "import click")


def generate_few(place: Place, count: int) -> Spent:
    """Make a few codes, to standard output."""
    made = place.folder / "few"
    with place.copy(empty(place, 2)) as database:
        line = ("generate", "--count", str(count), "--points", "10", "--format", "csv")
        spent = place.invite(database, *line, output=made)
        assert (count, count + 1) == (stored(database), take_lines(made))
    return spent


def insert_few(place: Place, count: int) -> Spent:
    """Run the ten-line script."""
    with place.copy(empty(place, 2)) as database:
        environment = {"U": database.url("owner")}
        spent = place.run(sys.executable, str(FIFTY), environment=environment)
        assert count == stored(database)
    return spent


def redeem_while_generating(place: Place, count: int) -> Spent:
    """Redeem while codes are made by direct writes."""
    with place.copy(redeemable(place)) as database:
        with redeeming(database) as latencies:
            spent = _make(place, database, count)
        _check_made(place, database, count)
        return replace(spent, latencies=tuple(latencies))


def redeem_while_copying(place: Place, count: int) -> Spent:
    """Redeem while psql loads the same rows."""
    rows = made_rows(place, count)
    with place.copy(redeemable(place)) as database:
        with redeeming(database) as latencies:
            spent = _load(place, database, rows)
        assert count == stored(database)
        return replace(spent, latencies=tuple(latencies))


@cache
def empty(place: Place, step: int) -> Database:
    """Return a database without codes, to be copied."""
    return place.cluster.create(step)


@cache
def filled(place: Place, count: int) -> Database:
    """Return a database with codes of every status, to be read."""
    made = place.cluster.create(2)
    made.execute(FILL, [count])
    return settled(made)


@cache
def available(place: Place, count: int) -> Database:
    """Return a database with codes that the tool made, all of them unused, to be copied."""
    made = place.cluster.create(2)
    _copy_in(place, made, made_rows(place, count), count)
    return settled(made)


@cache
def redeemable(place: Place) -> Database:
    """Return a database with codes that wait to be redeemed, to be copied."""
    made = place.cluster.create(2)
    made.execute(PREPARE, [PREPARED])
    return settled(made)


@cache
def made_rows(place: Place, count: int) -> Path:
    """Return a file with the rows of one run of the tool, as psql loads them."""
    rows = place.folder / f"rows-{count}"
    with place.copy(empty(place, 2)) as database:
        _generate(place, database, count)
        query = f"select {SENT.strip('()')} from public.redemption_codes"
        place.psql(database, "--command", f"\\copy ({query}) to '{rows}'")
    return rows


@cache
def made_calls(place: Place, count: int) -> Path:
    """Return a script with the calls of one run of the tool, as one transaction."""
    script = place.folder / f"calls-{count}.sql"
    with place.copy(empty(place, 3)) as database:
        _generate(place, database, count, login="admin_runtime")
        calls = [row[0] for row in database.rows(CALLS.replace("%L", "%%L"), [ACTOR, A_CALL])]
    assert -(-count // A_CALL) == len(calls)
    lines = ["begin;", "set local role service_role;", *calls, "commit;", ""]
    script.write_text("\n".join(lines), encoding="utf-8")
    return script


def settled(database: Database) -> Database:
    """Return a database as it is some time after it was filled, with nobody connected to it."""
    database.execute("vacuum (freeze, analyze) public.redemption_codes")
    database.close()
    return database


def stored(database: Database) -> int:
    """Return how many codes a run has stored."""
    query = "select count(*) from public.redemption_codes where note is distinct from 'to redeem'"
    found: int = database.value(query)
    return found


def voided(database: Database) -> int:
    """Return how many codes are revoked."""
    query = "select count(*) from public.redemption_codes where revoked_at is not null"
    found: int = database.value(query)
    return found


def take_lines(made: Path) -> int:
    """Count the lines of a file, and remove it."""
    with made.open("rb") as file:
        found = sum(1 for _ in file)
    made.unlink()
    return found


def _generate(place: Place, database: Database, count: int, login: str = "owner") -> Spent:
    spent = _make(place, database, count, login)
    _check_made(place, database, count)
    return spent


def _make(place: Place, database: Database, count: int, login: str = "owner") -> Spent:
    wanted = ("--count", str(count), "--points", "10", "--expires", "30d", "--note", NOTE)
    return place.invite(database, "generate", *wanted, "--output", MADE, login=login)


def _check_made(place: Place, database: Database, count: int) -> None:
    assert (count, count + 1) == (stored(database), take_lines(place.folder / MADE))


def _copy_in(place: Place, database: Database, rows: Path, count: int) -> Spent:
    spent = _load(place, database, rows)
    assert count == stored(database)
    return spent


def _load(place: Place, database: Database, rows: Path) -> Spent:
    command = f"\\copy public.redemption_codes {SENT} from '{rows}'"
    return place.psql(database, "--command", command)


def _copy_out(place: Place, count: int, query: str) -> Spent:
    made = place.folder / "listed"
    line = " ".join(query.split())  # one line, as psql's own commands are
    command = f"\\copy ({line}) to '{made}' (format csv, header)"
    spent = place.psql(filled(place, count), "--command", command)
    assert count + 1 == take_lines(made)
    return spent


def _list(place: Place, count: int, form: str) -> Spent:
    made = place.folder / f"listed.{form}"
    spent = place.invite(filled(place, count), "list", "--output", str(made))
    assert count + (form == "csv") == take_lines(made)
    return spent
