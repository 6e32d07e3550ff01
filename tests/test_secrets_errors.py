"""Errors that carry a hash in every field: nothing of it reaches a person, a file or a log."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING, Final

import pytest
from databases import hash_of, make_code
from hostile import failure, turn_on
from inside import committed, settings_of
from stock import BOTH_WAYS, make

from invite_admin import codes
from invite_admin.batch import Terms
from invite_admin.errors import InviteError
from invite_admin.store import Batches

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

STATES: Final = ("23505", "23514", "23502", "22023", "42501", "55000", "55P03", "P0001", "XX000")


@BOTH_WAYS
def test_change_of_a_known_code(database: Database, invite: Invite, login: str) -> None:
    """No state shows the hash of a code that is changed, wherever the server puts it."""
    code = make(database)
    for state in STATES:
        turn_on(database, state)
        for command in (("revoke",), ("update", "--set-note", "new")):
            done = invite(*command, "-", "--yes", stdin=code.code, login=login)
            assert 0 != done.exit_code
            failure(done)
            shown = done.stdout + done.stderr
            assert [] == [s for s in (code.code, hash_of(code.code)) if s in shown]


@BOTH_WAYS
@pytest.mark.parametrize("state", ["23505", "23514"])
def test_a_real_violation(
    database: Database, monkeypatch: pytest.MonkeyPatch, *, login: str, state: str
) -> None:
    """A unique or check violation of the table itself, its DETAIL as the server writes it."""
    code = codes.Secret(make_code())
    if state == "23505":
        database.insert_code(code)
    else:
        check = "alter table redemption_codes add check (code_hash not like %s)"
        database.execute(check.replace("%s", f"'{hash_of(code)}'"))
    monkeypatch.setattr("invite_admin.store.inserts.mint", lambda *_, **__: [code])
    shown = _of_generate(database, login)
    assert [] == [s for s in (str(code), hash_of(code)) if s in shown]


@BOTH_WAYS
@pytest.mark.parametrize("state", STATES)
def test_what_python_shows(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    *,
    login: str,
    state: str,
) -> None:
    """No traceback and no logger of a library shows code, hash or the server's words."""
    code = codes.Secret(make_code())
    monkeypatch.setattr("invite_admin.store.inserts.mint", lambda *_, **__: [code])
    turn_on(database, state)
    with caplog.at_level(logging.DEBUG):
        shown = _of_generate(database, login) + caplog.text
    assert [] == [s for s in (str(code), hash_of(code), "own words") if s in shown]


@BOTH_WAYS
@pytest.mark.parametrize("state", ["23514", "P0001"])
def test_deferred_constraint(
    database: Database, invite: Invite, monkeypatch: pytest.MonkeyPatch, *, login: str, state: str
) -> None:
    """What would fail at COMMIT fails before it, and shows no more than what fails at once."""
    turn_on(database, state, deferred=True)
    done = invite("generate", "--count", "1", "--points", "5", login=login)
    assert (1, 0) == (done.exit_code, database.value("select count(*) from redemption_codes"))
    assert "nothing was" in failure(done)[0]
    code = codes.Secret(make_code())
    monkeypatch.setattr("invite_admin.store.inserts.mint", lambda *_, **__: [code])
    shown = _of_generate(database, login)
    assert [] == [s for s in (str(code), hash_of(code), "own words") if s in shown]


def _of_generate(database: Database, login: str) -> str:
    """Store a code, which must fail; return all that Python shows of the failure."""
    with (
        pytest.raises(InviteError) as caught,
        committed(settings_of(database, login)) as store,
    ):
        Batches(store).make(1, Terms(points=5, expires_at=None, note=None))
    return "".join(traceback.format_exception(caught.value)) + repr(caught.value)
