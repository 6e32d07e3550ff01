"""`list`: every key of every code, in each order, whatever stands in the table."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any, Final

import inside
import pytest
import stock
from databases import TESTERS, steps
from shelf import CODE_KEYS, FORMATS, NOON, READERS, asked, iso, put

from invite_admin.model import Filters, Sort

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

STATUSES: Final = ("available", "redeemed", "revoked", "expired")


@READERS
def test_values(invite: Invite, database: Database, login: str, role: str | None) -> None:
    """Each row has every key in order, with what the table holds and the login may read."""
    for status in STATUSES:
        if status != "revoked" or database.step > 1:
            stock.make(database, status, note=status, created_by=database.person(TESTERS[3]))
    found = invite("list", "--format", "json", login=login, settings={"write_role": role})
    assert 0 == found.exit_code, found.stderr
    hidden = {"created_by"} if (database.step, login) == (3, "admin_runtime") else set()
    assert stored_rows(database, hidden) == sorted(found.json, key=lambda row: row["id"])
    assert {tuple(CODE_KEYS)} == {tuple(row) for row in found.json}


def stored_rows(database: Database, hidden: set[str]) -> list[dict[str, Any]]:
    """Return what the table holds as `list` tells it; each code's note names its status."""
    names = CODE_KEYS[:-2] if database.step == 1 else CODE_KEYS
    columns = {"mask": "code_mask", "points": "credits", "status": "note"}
    query = f"""select {", ".join(columns.get(name, name) for name in names)}
        from public.redemption_codes order by id"""
    rows = []
    for values in database.rows(query):
        row = dict.fromkeys(CODE_KEYS) | dict(zip(names, values, strict=True))
        for name, value in row.items():
            if name in hidden:
                row[name] = None
            elif name.endswith("_at"):
                row[name] = iso(value)
            elif value is not None and not isinstance(value, int):
                row[name] = str(value)
        rows.append(row)
    return rows


@pytest.mark.parametrize("form", FORMATS)
def test_formats(invite: Invite, database: Database, form: str) -> None:
    """Every format has every row; a machine's every key; none has a hash."""
    for status in STATUSES:
        stock.make(database, status)
    done = invite("list", "--format", form)
    assert 0 == done.exit_code, done.stderr
    assert 4 == done.stdout.count("JYOTISH-****-")
    assert all(status in done.stdout for status in STATUSES)
    hashes = database.rows("select code_hash from public.redemption_codes")
    assert not any(row[0] in done.stdout + done.stderr for row in hashes)
    if form in ("csv", "jsonl"):
        lines = done.stdout.splitlines()
        rows = list(csv.DictReader(lines)) if form == "csv" else [json.loads(x) for x in lines]
        assert [CODE_KEYS] * 4 == [list(row) for row in rows]


@steps()
def test_empty(invite: Invite, database: Database) -> None:
    """No codes are no failure: every format says so in its own way."""
    assert 0 == database.value("select count(*) from public.redemption_codes")
    found = {form: invite("list", "--format", form) for form in FORMATS}
    assert {0} == {done.exit_code for done in found.values()}
    assert ([], [], ",".join(CODE_KEYS)) == (
        found["json"].json,
        found["jsonl"].jsonl,
        found["csv"].stdout.strip(),
    )


def test_status_at_the_instant(database: Database) -> None:
    """By the server's clock a code expires at the very instant of its expiry, not after it."""
    with inside.opened(inside.settings_of(database, "superuser")) as store:
        add = """insert into public.redemption_codes (code_hash, code_mask, credits, expires_at)
            select repeat(n::text, 64), 'JYOTISH-****-AAA' || n, 1, now() + n * '1us'::interval
            from generate_series(0, 1) n"""
        store.session._driver.execute(add)
        rows = store.reads.rows(Filters(), sort=Sort.EXPIRES, reverse=False, limit=None)
        assert ["expired", "available"] == [row.status for row in rows]


def test_status_order(invite: Invite, database: Database) -> None:
    """Redeemed wins over expired, and revoked wins over expired."""
    for name, status in (("A", "redeemed"), ("B", "revoked")):
        made = stock.make(database, status)
        change = "update public.redemption_codes set expires_at = %s, code_mask = %s where id = %s"
        database.execute(change, [stock.PAST, f"JYOTISH-****-AAA{name}", made.id])
    assert ("A", "B", "") == tuple(
        asked(invite, "list", "--status", status) for status in ("redeemed", "revoked", "expired")
    )


SORTS: Final = {
    (): "EDCBA",
    ("--reverse",): "ABCDE",
    ("--sort", "created"): "EDCBA",
    ("--sort", "expires"): "ABEDC",
    ("--sort", "expires", "--reverse"): "BACDE",
    ("--sort", "points"): "CDBEA",
    ("--sort", "points", "--reverse"): "AEBDC",
    ("--sort", "status"): "DCBEA",
    ("--sort", "status", "--reverse"): "AEBCD",
    ("--limit", "2"): "ED",
    ("--reverse", "--limit", "2"): "AB",
    ("--limit", "99"): "EDCBA",
}


def test_sort(invite: Invite, database: Database) -> None:
    """Each order is as documented, its reverse the other way round, never-expiring codes last."""
    put(database, "A", created_at=f"{NOON}1Z", credits=1, expires_at=stock.PAST)
    put(database, "B", created_at=f"{NOON}2Z", credits=5, expires_at="2999-01-01Z")
    put(database, "C", created_at=f"{NOON}3Z", credits=9)
    put(database, "D", created_at=f"{NOON}4Z", credits=7)
    put(database, "E", created_at=f"{NOON}5Z", credits=3)
    database.execute(
        "update public.redemption_codes set redeemed_by = id, redeemed_at = now()"
        " where code_mask like '%%E'"
    )
    assert SORTS == {line: asked(invite, "list", *line) for line in SORTS}


@pytest.mark.parametrize("sort", ["created", "expires", "points", "status"])
def test_ties(invite: Invite, database: Database, sort: str) -> None:
    """Codes alike in everything stand in the order of their ids, reversed with the rest."""
    ids = sorted(put(database, name, created_at=f"{NOON}0Z") for name in "ABCDEFGH")
    found = [row["id"] for row in invite("list", "--sort", sort, "--format", "json").json]
    assert ids == found
    line = ("list", "--sort", sort, "--reverse", "--format", "json")
    assert ids[::-1] == [row["id"] for row in invite(*line).json]


def test_many(invite: Invite, database: Database) -> None:
    """A table stops at 10,000 rows and shows none; csv, json and jsonl go on."""
    stock.make_many(database, 10_001)
    for form in ("table", "markdown"):
        done = invite("list", "--format", form)
        assert (2, "") == (done.exit_code, done.stdout)
        assert "more than 10,000 rows" in done.stderr
        assert "hint: use --format csv, json or jsonl, or --limit" in done.stderr
    assert 10_002 == invite("list", "--format", "table", "--limit", "10000").stdout.count("\n")
    rows = invite("list", "--format", "jsonl").jsonl
    assert 10_001 == len({row["id"] for row in rows}) == len(rows)


@pytest.mark.parametrize("limit", ["0", "-1", "1.5", "x"])
def test_no_limit(invite_alone: Invite, limit: str) -> None:
    """A limit that is no whole number from 1 on is refused before connecting."""
    done = invite_alone("list", f"--limit={limit}")
    assert (2, True) == (done.exit_code, "bad input: --limit must be" in done.stderr)
