"""Times that Python cannot hold, and other people's text: one odd row kills no report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
import stock
from databases import steps
from shelf import FORMATS, asked, put

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

ODD: Final = {
    "A": ("infinity", "infinity"),
    "B": ("-infinity", "-infinity"),
    "C": ("10000-01-01 00:00:00Z", "10000-01-01T00:00:00+00"),
    "D": ("294276-12-31 23:59:59Z", "294276-12-31T23:59:59+00"),
    "E": ("4713-01-01 00:00:00 BC", "4713-01-01T00:00:00+00 BC"),
    "F": ("9999-12-31 23:59:59.999999Z", "9999-12-31T23:59:59.999999+00:00"),
    "G": ("0001-01-01 00:00:00Z", "0001-01-01T00:00:00+00:00"),
}
COLUMNS: Final = ("created_at", "expires_at", "redeemed_at")
ZONES: Final = ("UTC", "Asia/Shanghai", "America/New_York")


@pytest.fixture
def ids(database: Database) -> dict[str, str]:
    """The id of a redeemed code for each odd time, which is its time of everything."""
    made = {}
    for name, (odd, _) in ODD.items():
        columns = dict.fromkeys(COLUMNS, odd)
        made[name] = put(database, name, redeemed_by=stock.UNKNOWN_ID, **columns)
    return made


@steps()
def test_values(invite: Invite, ids: dict[str, str]) -> None:
    """Each odd time is told as the server writes it, between the ordinary ones."""
    listed = invite("list", "--format", "json").json
    shown = invite("show", *ids.values(), "--format", "json").json
    redeemed = invite("redemptions", "--format", "jsonl").jsonl
    wanted = {ids[name]: told for name, (_, told) in ODD.items()}
    for column in COLUMNS:
        assert wanted == {row["id"]: row[column] for row in listed}
        assert wanted == {row["id"]: row[column] for row in shown}
    assert wanted == {row["id"]: row["redeemed_at"] for row in redeemed}


@pytest.mark.parametrize("form", FORMATS)
def test_formats(invite: Invite, ids: dict[str, str], form: str) -> None:
    """No format fails, whatever the time zone."""
    for zone in ZONES:
        for line in (["list"], ["redemptions"], ["show", *ids.values()]):
            done = invite(*line, "--format", form, settings={"timezone": zone})
            assert 0 == done.exit_code, done.stderr
            assert 7 == done.stdout.count("JYOTISH-****-AAA")
            assert "infinity" in done.stdout


def test_other_commands(invite: Invite, database: Database, ids: dict[str, str]) -> None:
    """Orders, counts and words know such times too; a code that expires at infinity is usable."""
    assert 7 == len(ids)
    database.execute(
        "update public.redemption_codes set redeemed_at = null, redeemed_by = null, note = 'odd'"
    )
    assert "BEGFCDA" == asked(invite, "list", "--sort", "expires")
    assert "ADCFGEB" == asked(invite, "list", "--sort", "created")
    assert "ADCF" == asked(invite, "list", "--status", "available")
    assert 0 == invite("stats", "--by", "note").exit_code
    assert 7 == sum(
        row["issued"] for row in invite("stats", "--by", "day", "--format", "json").json
    )
    words = [row["reason"] for row in invite("show", *ids.values(), "--format", "json").json]
    assert words[0].endswith("; expires in a very long time, at infinity")
    assert words[1] == "expired a very long time ago, at -infinity"


HOSTILE: Final = "=1+1|\x1b[31m`*_<b>\u202e\u200b\r"


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_text(invite: Invite, database: Database, form: str) -> None:
    """Notes and addresses of others break no format."""
    person = {"redeemed_by": stock.UNKNOWN_ID, "redeemed_at": "2030-01-01Z"}
    made = put(database, "A", note=HOSTILE, redeemed_email=HOSTILE, **person)
    for line in (["list"], ["redemptions"], ["show", made]):
        done = invite(*line, "--format", form)
        assert 0 == done.exit_code, done.stderr
        if form == "json":
            assert HOSTILE == done.json[0]["note"]
        if form in ("table", "markdown", "json", "jsonl"):
            assert not {"\x1b", "\u202e", "\u200b", "\r"} & set(done.stdout)
