"""The filters of `list`, which those of `stats`, `revoke` and `update` are too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
import stock
from databases import steps
from hostile import failure
from shelf import NOON, asked, put

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

TEXTS: Final = {
    ("--search", "100%"): "A",
    ("--search", "%"): "A",
    ("--search", "_"): "B",
    ("--search", "y_x"): "B",
    ("--search", "\\"): "E",
    ("--search", "FRI"): "ABC",
    ("--search", "aaac"): "C",
    ("--search", "****-AAAB"): "B",
    ("--search", "*"): "ABCDE",
    ("--search", "nothing of it"): "",
    ("--note", "friday"): "C",
    ("--note", "  friday  "): "C",
    ("--note", "Friday"): "",
    ("--note", "friday_x"): "B",
    ("--note", "%"): "",
    ("--points", "10"): "BC",
    ("--points", "10", "--search", "_"): "B",
    ("--points", "11"): "",
    ("--points", "3"): "D",
}


def test_texts(invite: Invite, database: Database) -> None:
    """A search is literal and knows no case; a note is equal after trimming, case and all."""
    put(database, "A", note="Friday 100%", credits=1)
    put(database, "B", note="friday_x")
    put(database, "C", note=" \tfriday\n")
    put(database, "D", note=None, credits=3)
    put(database, "E", note="back\\slash \u00e9t\u00e9", credits=4)
    found = {line: asked(invite, "list", *line, "--reverse") for line in TEXTS}
    assert TEXTS == found
    # The case of other letters is the server's locale's matter: that of C knows none.
    known = database.value("select lower('\u00c9') = '\u00e9'")
    assert ("E" if known else "") == asked(invite, "list", "--search", "\u00c9T\u00c9")


TIMES: Final = {
    ("--created-since", f"{NOON}2Z"): "BC",
    ("--created-since", f"{NOON}3Z"): "C",
    ("--created-until", f"{NOON}2Z"): "A",
    ("--created-until", f"{NOON}3Z"): "AB",
    ("--created-since", f"{NOON}2Z", "--created-until", f"{NOON}3Z"): "B",
    ("--created-since", f"{NOON}2Z", "--created-until", f"{NOON}2Z"): "",
    ("--created-since", "2030-01-01T20:00:00.000002+08:00"): "BC",
    ("--created-since", "2030-01-01T20:00:00.000002"): "BC",
    ("--created-since", "2030-01-01T07:00:00.000003-05:00"): "C",
    ("--created-since", "2030-01-01"): "ABC",
    ("--created-since", "2030-01-02"): "",
    ("--created-until", "2030-01-01"): "ABC",
    ("--created-until", "2029-12-31"): "",
    ("--expires-before", f"{NOON}8Z"): "",
    ("--expires-before", f"{NOON}9Z"): "A",
    ("--expires-before", "2030-01-01"): "",
    ("--expires-before", "2030-01-02"): "A",
}


def test_times(invite: Invite, database: Database) -> None:
    """Since is inclusive, until and before exclusive, to the microsecond, in any offset."""
    put(database, "A", created_at=f"{NOON}1Z", expires_at=f"{NOON}8Z")
    put(database, "B", created_at=f"{NOON}2Z")
    put(database, "C", created_at=f"{NOON}3Z")
    zone = {"timezone": "Asia/Shanghai"}
    found = {line: asked(invite, "list", *line, "--reverse", settings=zone) for line in TIMES}
    assert TIMES == found


def test_spans(invite: Invite, database: Database) -> None:
    """A span lies behind for since and until, ahead for an expiry; the server's now counts."""
    for name, age in (("A", "90 minutes"), ("B", "30 minutes"), ("C", "-30 minutes")):
        made = put(database, name)
        database.execute(
            "update public.redemption_codes set created_at = now() - %(age)s::interval,"
            " expires_at = now() + %(age)s::interval where id = %(id)s",
            {"age": age, "id": made},
        )
    wanted = {
        ("--created-since", "1h"): "BC",
        ("--created-until", "1h"): "A",
        ("--created-until", "0h"): "AB",
        ("--expires-before", "1h"): "BC",
        ("--created-since", "1d"): "ABC",
    }
    assert wanted == {line: asked(invite, "list", *line, "--reverse") for line in wanted}


def test_echo(invite: Invite, database: Database) -> None:
    """What a time was understood as is echoed with its offset."""
    assert 3 == database.step
    zone = {"timezone": "Asia/Shanghai"}
    told = invite("list", "--created-until", "2030-01-01", settings=zone).stderr
    assert "created until 2030-01-02T00:00:00+08:00" in told


@pytest.mark.parametrize(
    ("command", "ends"),
    [
        (["list"], ("--created-since", "30d", "--created-until", "40d")),
        (["stats"], ("--created-since", "2030-01-02T00:00:01Z", "--created-until", "2030-01-01")),
        (["revoke", "--yes"], ("--created-since", "1d", "--created-until", "2020-01-01")),
        (
            ["update", "--set-note", "x", "--yes"],
            ("--created-since", "1h", "--created-until", "1d"),
        ),
        (["redemptions"], ("--since", "1h", "--until", "1d")),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_period_that_ends_before_it_begins(
    invite: Invite, database: Database, command: list[str], ends: tuple[str, ...]
) -> None:
    """Two times that were exchanged are told as that, and are no empty result."""
    stock.make(database)
    before = stock.snapshot(database)
    done = invite(*command, *ends)
    assert (2, "") == (done.exit_code, done.stdout)
    what = "redeemed" if command == ["redemptions"] else "created"
    said = f"`{what} until` lies before `{what} since`, so nothing could fit; nothing was changed"
    hint = "exchange the two times; a span such as 30d leads back from now"
    assert done.stderr.endswith(f"invite: bad input: {said}\nhint: {hint}\n")
    assert before == stock.snapshot(database)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["list", "--created-since", "99999999d"], "`created since`"),
        (["revoke", "--created-until", "99999999d", "--yes"], "`created until`"),
        (["list", "--expires-before", "99999999d"], "`expires before`"),
        (["redemptions", "--since", "99999999d"], "`redeemed since`"),
        (["generate", "--count", "1", "--points", "1", "--expires", "99999999d"], "the expiry"),
    ],
)
def test_a_span_out_of_the_calendar(invite: Invite, words: list[str], what: str) -> None:
    """Which of the times lies nowhere is told."""
    done = invite(*words)
    told = f"bad input: {what} lies outside the years 1 to 9999; nothing was changed"
    assert (2, told) == (done.exit_code, failure(done)[0])


@steps()
def test_status(invite: Invite, database: Database) -> None:
    """A status may be given several times; codes of one of them are listed."""
    kinds = ["available", "redeemed", "expired"] + ["revoked"] * (database.step > 1)
    made = {kind: stock.make(database, kind).id for kind in kinds}

    def ids(*status: str) -> set[str]:
        line = [word for one in status for word in ("--status", one)]
        return {row["id"] for row in invite("list", *line, "--format", "json").json}

    assert {kind: {made[kind]} for kind in kinds} == {kind: ids(kind) for kind in kinds}
    assert {made["redeemed"], made["expired"]} == ids("redeemed", "expired")
    assert set(made.values()) == ids(*kinds)


REFUSED: Final = {
    ("--status", "nonsense"): "--status must be one of available, redeemed, revoked, expired",
    ("--points", "1.5"): "--points must be a whole number",
    ("--search", ""): "--search must be text",
    ("--search", "JYOTISH-FAKE-FAKE"): "--search must not hold an invite code",
    ("--note", "for jyotish-fake\u2013fake"): "--note must not hold an invite code",
    ("--created-since", "yesterday"): "--created-since is no time this tool reads",
    ("--created-until", "2030-02-30"): "--created-until is no date or time that exists",
}


@pytest.mark.parametrize("line", REFUSED, ids=" ".join)
def test_refused(invite_alone: Invite, line: tuple[str, str]) -> None:
    """What cannot be a filter is refused before connecting, and not repeated."""
    done = invite_alone("list", *line)
    told = done.stderr.splitlines()[0]
    assert (2, "") == (done.exit_code, done.stdout)
    assert told.startswith(f"invite: bad input: {REFUSED[line]}")
    assert "FAKE" not in done.stderr.upper()
