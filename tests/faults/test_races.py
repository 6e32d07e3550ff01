"""Revoke against redeem, again and again: exactly one wins, and nobody sees an SQL error."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from databases import TESTERS, hash_of
from faults.tally import TALLY, times
from inside import committed, settings_of
from stock import BOTH_WAYS, Made, check_sound, make, revoked
from waiting import LONGEST

from invite_admin.model import Outcome
from invite_admin.session import Session

if TYPE_CHECKING:
    from concurrent.futures import Future

    import pytest
    from databases import Connection, Database

RACES: Final = times(100, 500)  # on each way to write
STATEMENTS: Final = 5
"""A revoke of one code locks its row with the third; the redemption sets off with one of these."""

FAIR: Final = {
    (Outcome.REVOKED, "revoked_code"),
    (Outcome.ALREADY_REDEEMED, None),
}
CLAIMS: Final = (
    "select set_config('request.jwt.claim.sub', %s, false),"
    " set_config('request.jwt.claim.email', %s, false), set_config('role', 'authenticated', false)"
)


class Starter:
    """Sets the redemption off when the revoke sends its statement of this number."""

    def __init__(self, number: int) -> None:
        self.go = Event()
        self._left = number

    def sent(self) -> None:
        """Count one statement."""
        if self._left == 0:
            self.go.set()
        self._left -= 1


def spy(monkeypatch: pytest.MonkeyPatch, starter: list[Starter]) -> None:
    """Tell the starter of each statement that the store sends from here on."""
    for name in ("execute", "raw"):
        original = getattr(Session, name)

        def spied(self: Session, *args: Any, original: Any = original) -> Any:  # noqa: ANN401 - as SQLAlchemy takes them
            for each in starter:
                each.sent()
            return original(self, *args)

        monkeypatch.setattr(Session, name, spied)


def redeem(connection: Connection, code: Made, starter: Starter) -> str | None:
    """Redeem once the start is given, as the application does."""
    assert starter.go.wait(LONGEST)
    query = "select error_code from public.redeem_code(%s)"
    row = connection.execute(query, [hash_of(code.code)]).fetchone()
    assert row is not None
    error: str | None = row[0]
    return error


@BOTH_WAYS
def test_revoke_against_redeem(
    database: Database, monkeypatch: pytest.MonkeyPatch, login: str
) -> None:
    """Each code is either voided or redeemed, and each side is told what is true."""
    with TALLY.one("race of revoke and redeem", RACES):
        codes, settings = [make(database) for _ in range(RACES)], settings_of(database, login)
        results: list[tuple[Outcome, str | None]] = []
        running: list[Starter] = []
        spy(monkeypatch, running)
        with database.connect("app_runtime") as connection, ThreadPoolExecutor(1) as other:
            connection.execute(CLAIMS, [str(database.person(TESTERS[0])), TESTERS[0]])
            for number, code in enumerate(codes):
                starter = Starter(number % STATEMENTS)
                with committed(settings) as store:
                    rows = list(store.reads.by_id([code.id]).values())
                    answer: Future[str | None] = other.submit(redeem, connection, code, starter)
                    running[:] = [starter]
                    outcome = store.revoke(rows)[code.id].outcome
                running.clear()
                starter.go.set()
                results.append((outcome, answer.result(LONGEST)))
        assert set() == set(results) - FAIR
        assert FAIR == set(results), Counter(results)
        won = {
            code.id
            for code, (outcome, _) in zip(codes, results, strict=True)
            if outcome is Outcome.REVOKED
        }
        assert won == revoked(database)
        check_sound(database)
