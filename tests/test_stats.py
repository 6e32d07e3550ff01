"""`stats`: counts and points that agree with `list`, as a whole, by note and by day."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import pytest
import stock
from databases import steps
from shelf import FORMATS, READERS, put

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

KEYS: Final = [
    *("group", "issued", "available", "redeemed", "revoked", "expired"),
    *("points_issued", "points_redeemed", "points_open", "redeemed_share"),
]
KEY_WORDS: Final = {word for key in KEYS for word in key.split("_")}
ALL: Final = 25
FILTERS: Final = [
    (),
    ("--points", "10"),
    ("--status", "available", "--status", "redeemed"),
    ("--note", "friday"),
    ("--search", "DAY"),
    ("--created-since", "1d"),
    ("--created-until", "1d"),
    ("--expires-before", "1d"),
]


def fill(database: Database) -> None:
    """Insert codes of each status, of different points, notes and days."""
    for number, status in enumerate(["available", "redeemed", "expired", "redeemed"]):
        for note in ("friday", " friday ", "monday", None, "", "  "):
            stock.make(database, status, note=note, credits=10 + number % 3)
    if database.step > 1:
        stock.make(database, "revoked", note="friday", credits=99)
    database.execute(
        "update public.redemption_codes set created_at = now() - interval '3 days'"
        " where note = 'monday'"
    )


def counted(rows: list[dict[str, Any]], group: str | None) -> dict[str, Any]:
    """Count the rows of `list` as `stats` does."""
    by: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        by[row["status"]].append(row["points"])
    return {
        "group": group,
        "issued": len(rows),
        **{status: len(by[status]) for status in ("available", "redeemed", "revoked", "expired")},
        "points_issued": sum(map(sum, by.values())),
        "points_redeemed": sum(by["redeemed"]),
        "points_open": sum(by["available"]),
        "redeemed_share": len(by["redeemed"]) / len(rows) if rows else None,
    }


@READERS
def test_agrees(invite: Invite, database: Database, login: str, role: str | None) -> None:
    """All sums are those of what `list` shows, with every key in order."""
    fill(database)
    settings = {"write_role": role}
    rows = invite("list", "--format", "json", login=login, settings=settings).json
    done = invite("stats", "--format", "json", login=login, settings=settings)
    assert 0 == done.exit_code, done.stderr
    assert [counted(rows, "all")] == done.json
    assert KEYS == list(done.json[0])


def test_filters(invite: Invite, database: Database) -> None:
    """With any filter both mean the same set."""
    fill(database)
    for line in FILTERS:
        rows = invite("list", *line, "--format", "json").json
        assert [counted(rows, "all")] == invite("stats", *line, "--format", "json").json, line
        assert 0 < len(rows) <= ALL


def test_by_note(invite: Invite, database: Database) -> None:
    """Notes are groups, equal after trimming; codes without one come last."""
    fill(database)
    rows = invite("list", "--format", "json").json
    groups = defaultdict(list)
    for row in rows:
        groups[(row["note"] or "").strip() or None].append(row)
    found = invite("stats", "--by", "note", "--format", "json").json
    assert [counted(groups[name], name) for name in ("friday", "monday", None)] == found
    assert "(no note)" in invite("stats", "--by", "note").stdout


DAYS: Final = {
    "UTC": {"2030-01-01": 2, "2030-01-02": 1},
    "Asia/Shanghai": {"2030-01-01": 1, "2030-01-02": 2},
    "America/New_York": {"2029-12-31": 1, "2030-01-01": 2},
}


@pytest.mark.parametrize("zone", DAYS)
def test_by_day(invite: Invite, database: Database, zone: str) -> None:
    """Days are those of creation in the configured time zone, in their order."""
    for name, hour in (("A", "01T04:59:59"), ("B", "01T16:00"), ("C", "02T04:59")):
        put(database, name, created_at=f"2030-01-{hour}Z")
    found = invite("stats", "--by", "day", "--format", "json", settings={"timezone": zone}).json
    assert list(DAYS[zone].items()) == [(row["group"], row["issued"]) for row in found]


def test_days_before_christ(invite: Invite, database: Database) -> None:
    """A day of another era is not told as one of ours."""
    put(database, "A", created_at="4000-01-01Z")
    put(database, "B", created_at="4000-01-01 00:00Z BC")
    found = invite("stats", "--by", "day", "--format", "json").json
    assert {"4000-01-01", "4000-01-01 BC"} == {row["group"] for row in found}


@steps()
def test_none(invite: Invite, database: Database) -> None:
    """Without codes all counts are 0 and the share is not known; there are no groups."""
    assert database.step in (1, 2, 3)
    assert [counted([], "all")] == invite("stats", "--format", "json").json
    assert [] == invite("stats", "--by", "note", "--format", "json").json
    assert [] == invite("stats", "--by", "day", "--format", "json").json


def test_large_sums(invite: Invite, database: Database) -> None:
    """Sums go beyond the range of the column."""
    for name in "ABC":
        put(database, name, credits=2**31 - 1)
    [row] = invite("stats", "--format", "json").json
    assert 3 * (2**31 - 1) == row["points_issued"] == row["points_open"]


@pytest.mark.parametrize("form", FORMATS)
def test_formats(invite: Invite, database: Database, form: str) -> None:
    """Every format has every group and every key; a table of groups leaves the share out."""
    fill(database)
    for by in ((), ("--by", "note"), ("--by", "day")):
        done = invite("stats", *by, "--format", form)
        assert 0 == done.exit_code, done.stderr
        brief = {"share"} if by and form in ("table", "markdown") else set()
        assert KEY_WORDS - brief <= set(re.findall("[a-z]+", done.stdout))
