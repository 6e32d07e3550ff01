"""`redemptions`: who redeemed what and when, people who are gone since too."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Final

import pytest
import stock
from databases import TESTERS, steps
from shelf import FORMATS, NOON, READERS, asked, iso, put

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

KEYS: Final = ["id", "mask", "points", "redeemed_by", "redeemed_email", "redeemed_at", "note"]
NOBODY: Final = "00000000-0000-4000-8000-000000000000"


def redeemed(database: Database, name: str, at: str, **columns: object) -> str:
    """Insert a code that was redeemed at this time, by a person nobody knows by default."""
    columns = {"redeemed_by": NOBODY, "redeemed_at": at, **columns}
    return put(database, name, **columns)


@READERS
def test_values(invite: Invite, database: Database, login: str, role: str | None) -> None:
    """Exactly the redeemed codes are shown, with every key in order."""
    made = stock.make(database, "redeemed", credits=25, note="friday")
    others = ["available", "expired"] + ["revoked"] * (database.step > 1)
    for status in others:
        stock.make(database, status)
    line = ("redemptions", "--format", "json")
    done = invite(*line, login=login, settings={"write_role": role})
    assert 0 == done.exit_code, done.stderr
    at = database.value("select redeemed_at from public.redemption_codes where note = 'friday'")
    person = str(database.person(TESTERS[0]))
    expected = [made.id, made.mask, 25, person, TESTERS[0], iso(at), "friday"]
    assert [dict(zip(KEYS, expected, strict=True))] == done.json
    assert KEYS == list(done.json[0])


@pytest.mark.parametrize("form", FORMATS)
def test_formats(invite: Invite, database: Database, form: str) -> None:
    """Every format has every redemption; a machine's every key."""
    for name in "ABC":
        redeemed(database, name, f"{NOON}1Z", redeemed_email="who@example.com")
    done = invite("redemptions", "--format", form)
    assert (0, 3) == (done.exit_code, done.stdout.count("JYOTISH-****-AAA"))
    assert 3 == done.stdout.replace("\\", "").count("who@example.com")
    if form in ("csv", "jsonl"):
        lines = done.stdout.splitlines()
        rows = list(csv.DictReader(lines)) if form == "csv" else [json.loads(x) for x in lines]
        assert [KEYS] * 3 == [list(row) for row in rows]


@steps()
def test_deleted_people(invite: Invite, database: Database) -> None:
    """A redeemer whose account is gone is still listed, and found by address and id."""
    made = stock.make(database, "redeemed")
    person = str(database.person(TESTERS[0]))
    users = "identity.users" if database.step > 2 else "auth.users"
    assert 1 == database.execute(f"delete from {users} where email = %s", [TESTERS[0]])
    for user in ((), ("--user", TESTERS[0]), ("--user", person)):
        found = invite("redemptions", *user, "--format", "json").json
        assert [(made.id, person, TESTERS[0])] == [
            (row["id"], row["redeemed_by"], row["redeemed_email"]) for row in found
        ]


def test_users(invite: Invite, database: Database) -> None:
    """A user is an address without regard to case and blanks, or an id in any case."""
    other = "ABCDEF00-0000-4000-8000-00000000000A"
    redeemed(database, "A", f"{NOON}1Z", redeemed_email=" Ann@Example.com")
    redeemed(database, "B", f"{NOON}2Z", redeemed_email="ann@example.com", redeemed_by=other)
    redeemed(database, "C", f"{NOON}3Z", redeemed_email=None, redeemed_by=other)
    redeemed(database, "D", f"{NOON}4Z", redeemed_email="joann@example.com")
    wanted = {
        "ann@example.com": "BA",
        " ANN@EXAMPLE.COM ": "BA",
        "%@example.com": "",
        "_nn@example.com": "",
        other: "CB",
        other.lower(): "CB",
        NOBODY: "DA",
        "00000000-0000-4000-8000-00000000000f": "",
    }
    assert wanted == {user: asked(invite, "redemptions", "--user", user) for user in wanted}


LINES: Final = {
    (): "EDCBA",
    ("--limit", "2"): "ED",
    ("--since", f"{NOON}2Z"): "EDCB",
    ("--until", f"{NOON}2Z"): "A",
    ("--since", f"{NOON}2Z", "--until", f"{NOON}3Z"): "B",
    ("--since", "2030-01-02"): "",
    ("--until", "2030-01-01"): "EDCBA",
    ("--note", "friday"): "BA",
    ("--note", " friday "): "BA",
    ("--note", "Friday"): "",
    ("--search", "FRIDAY"): "CBA",
    ("--search", "%"): "C",
    ("--search", "aaad"): "D",
    ("--search", "friday", "--since", f"{NOON}2Z"): "CB",
}


def test_filters(invite: Invite, database: Database) -> None:
    """Since is inclusive and until exclusive, by the time of redemption; newest first."""
    notes = {"A": "friday", "B": "\tfriday ", "C": "friday 100%", "D": None, "E": "_"}
    for number, (name, note) in enumerate(notes.items(), start=1):
        redeemed(database, name, f"{NOON}{number}Z", note=note, created_at=f"{NOON}{9 - number}Z")
    put(database, "F", note="friday")
    assert LINES == {line: asked(invite, "redemptions", *line) for line in LINES}


def test_ties(invite: Invite, database: Database) -> None:
    """Redemptions of one instant stand in the order of the codes' ids."""
    ids = sorted(redeemed(database, name, f"{NOON}0Z") for name in "ABCDEFGH")
    assert ids == [row["id"] for row in invite("redemptions", "--format", "json").json]


@pytest.mark.parametrize("user", ["", "  ", "somebody", "1234", "JYOTISH-FAKE-FAKE"])
def test_no_user(invite_alone: Invite, user: str) -> None:
    """What is neither an address nor an id is refused before connecting, and not repeated."""
    done = invite_alone("redemptions", "--user", user)
    assert (2, "") == (done.exit_code, done.stdout)
    assert done.stderr.startswith("invite: bad input: --user must ")
    assert "FAKE" not in done.stderr
