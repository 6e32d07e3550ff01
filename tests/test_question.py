"""The question before a change, on a real terminal: what it shows, and what each answer does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from stock import (
    BOTH_WAYS,
    UNKNOWN_ID,
    by_id,
    check_sound,
    make,
    make_many,
    outcomes,
    revoked,
    snapshot,
)
from terminal import terminal
from waiting import connected

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

QUESTION = "? [y/N] "


@pytest.mark.parametrize("answer", ["n", "y"])
def test_what_was_typed_before_is_no_answer(
    database: Database, invite: Invite, answer: str
) -> None:
    """Keys pressed before the question, in haste or by a paste, do not answer it."""
    made = make(database, note="leak")
    with terminal(invite, "revoke", "--note", "leak") as screen:
        screen.press("y\n")
        screen.read(QUESTION)
        assert set() == revoked(database)
        screen.press(f"{answer}\n")
        done = screen.end()
    expected = (0, {made.id}) if answer == "y" else (1, set())
    assert expected == (done.exit_code, revoked(database)), done.stderr


@BOTH_WAYS
def test_acts_on_exactly_the_codes_shown(database: Database, invite: Invite, login: str) -> None:
    """Nothing is held open while a person thinks; new matches stay, one redeemed is told."""
    shown = [make(database, note="leak") for _ in range(2)]
    lost = make(database, note="leak")
    options = ("--note", "leak", "--format", "json")
    with terminal(invite, "revoke", *options, login=login) as screen:
        screen.read(QUESTION)
        assert [] == connected(database, "invite_test_owner" if login == "owner" else login)
        late = make(database, note="leak")
        assert database.redeem(lost.code) is None
        screen.press("y\n")
        done = screen.end()
    assert 0 == done.exit_code, done.stderr
    expected = {code.id: "revoked" for code in shown} | {lost.id: "already_redeemed"}
    assert expected == by_id(done.json)
    assert {code.id for code in shown} == revoked(database)
    assert late.id not in done.stdout
    check_sound(database)


def test_what_is_shown(database: Database, invite: Invite) -> None:
    """Where it acts, count, points, the first twenty as `list` has them; and what is left out."""
    ids = make_many(database, 23)
    note = "update redemption_codes set note = 'number ' || (%s::int) where id = %s"
    for number, code_id in enumerate(ids, start=1):
        database.execute(note, [number, code_id])
    make(database, "redeemed")
    with terminal(invite, "revoke", "--points", "10") as screen:
        lines = screen.read(QUESTION).splitlines()
        screen.press("no\n")
        done = screen.end()
    assert ["on ", "login "] == [lines[0][:3], lines[1][:6]]
    assert ["mask", "status", "points", "expires", "at", "note"] == lines[2].split()
    expected = [f"JYOTISH-****-AAAA available 10 never number {n}" for n in range(1, 21)]
    assert expected == [" ".join(line.split()) for line in lines[4:24]]
    assert ["  and 3 more", "1 other cannot be changed, and will be reported"] == lines[24:26]
    assert f"Revoke 23 codes worth 230 points{QUESTION}" == lines[26]
    assert (1, "") == (done.exit_code, done.stdout)


def test_which_have_expired(database: Database, invite: Invite) -> None:
    """Of each code it shows status and expiry, within 80 columns whatever the note."""
    soon, past = datetime(2999, 1, 31, 9, tzinfo=UTC), datetime(2001, 1, 31, 9, tzinfo=UTC)
    for expiry in (soon, past):
        database.insert_code(expires_at=expiry, note="long " * 9 + "long" * 9)
    options = ("--search", "long", "--set-expires", "never")
    with terminal(invite, "update", *options) as screen:
        lines = screen.read(QUESTION).splitlines()[2:-1]
        screen.press("n\n")
        screen.end()
    shown = [" ".join(line.split()[1:6]) for line in lines if line.startswith("JYOTISH-")]
    expected = {
        "available 10 2999-01-31 09:00Z long",
        "expired 10 2001-01-31 09:00Z long",
    }
    assert expected == set(shown)
    assert 80 >= max(map(len, lines))


@BOTH_WAYS
@pytest.mark.parametrize(
    ("keys", "exit_code", "told"),
    [
        ("n\n", 1, "invite: failed: not confirmed; nothing was changed"),
        ("\n", 1, "invite: failed: not confirmed; nothing was changed"),
        ("yess\n", 1, "invite: failed: not confirmed; nothing was changed"),
        ("\x04", 1, "invite: failed: not confirmed; nothing was changed"),
        ("\x03", 130, "invite: stopped: stopped by Ctrl-C; nothing was changed"),
    ],
    ids=["n", "enter", "else", "ctrl-d", "ctrl-c"],
)
def test_no(
    database: Database, invite: Invite, login: str, *, keys: str, exit_code: int, told: str
) -> None:
    """Any answer but y or yes changes nothing, nor does the end of input or Ctrl-C."""
    code = make(database)
    before = snapshot(database)
    with terminal(invite, "update", code.mask, "--set-note", "new", login=login) as screen:
        screen.read(f"Update 1 code worth 10 points{QUESTION}")
        screen.press(keys)
        done = screen.end()
    assert (exit_code, "") == (done.exit_code, done.stdout)
    last = done.stderr.splitlines()[-1]
    assert (True, True) == (last.startswith("invite: "), told in last)
    assert before == snapshot(database)


@pytest.mark.parametrize("answer", ["y", "YES", " yes "])
def test_yes(database: Database, invite: Invite, answer: str) -> None:
    """Named codes are changed after a yes, in any case."""
    code, redeemed = make(database), make(database, "redeemed")
    with terminal(invite, "revoke", code.id, redeemed.id) as screen:
        screen.read(QUESTION)
        screen.press(f"{answer}\n")
        done = screen.end()
    assert 4 == done.exit_code, done.stderr
    assert {code.id} == revoked(database)


def test_answer_that_is_no_text(database: Database, invite: Invite) -> None:
    """Bytes that are no UTF-8 are an answer like any other that is not yes."""
    code = make(database)
    strict = {"PYTHONIOENCODING": "utf-8:strict"}  # as under a locale such as en_US.UTF-8
    with terminal(invite, "revoke", code.id, env=strict) as screen:
        screen.read(QUESTION)
        screen.press("y\udcff\n")
        done = screen.end()
    assert 1 == done.exit_code
    assert "invite: failed: not confirmed; nothing was changed" == done.stderr.splitlines()[-1]
    assert set() == revoked(database)


def test_each_is_counted_once(database: Database, invite: Invite) -> None:
    """Who names a code or a mistake twice is told of one; the report then has both lines."""
    code, redeemed = make(database), make(database, "redeemed")
    names = [code.id, code.mask, redeemed.id, redeemed.id, UNKNOWN_ID, UNKNOWN_ID]
    with terminal(invite, "revoke", *names, "--format", "json") as screen:
        shown = screen.read(f"Revoke 1 code worth 10 points{QUESTION}").splitlines()
        screen.press("y\n")
        done = screen.end()
    assert "2 others cannot be changed, and will be reported" == shown[-2]
    expected = ["revoked"] * 2 + ["already_redeemed"] * 2 + ["not_found"] * 2
    assert expected == outcomes(done)


def test_a_name_twice_is_no_other(database: Database, invite: Invite) -> None:
    """Where every code that was named can be changed, nothing is said of others."""
    code = make(database)
    with terminal(invite, "revoke", code.id, code.id) as screen:
        shown = screen.read(QUESTION)
        screen.press("n\n")
        screen.end()
    assert "cannot be changed" not in shown


def test_output_file_appears_meanwhile(database: Database, invite: Invite) -> None:
    """A file that appears while the person thinks is not overwritten, and nothing is changed."""
    code = make(database)
    with terminal(invite, "revoke", code.id, "--output", "out.csv") as screen:
        screen.read(QUESTION)
        (invite.folder / "out.csv").write_text("mine")
        screen.press("y\n")
        done = screen.end()
    assert (2, "mine") == (done.exit_code, (invite.folder / "out.csv").read_text())
    assert set() == revoked(database)
