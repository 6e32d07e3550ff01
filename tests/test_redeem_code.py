"""`redeem_code` answers as the application's own does."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from databases import TESTERS, claim, hash_of, make_code, steps

if TYPE_CHECKING:
    from uuid import UUID

    from databases import Database

PAST = "2000-01-01Z"
REDEEM = "select success, credits, error_code from public.redeem_code(%s)"


def revoke(database: Database, code_id: UUID) -> None:
    """Revoke a code past the tool."""
    change = "update redemption_codes set revoked_at = now(), revoked_by = id where id = %s"
    database.execute(change, [code_id])


@steps()
def test_success(database: Database) -> None:
    """The row says who and when, the points arrive, the ledger gains one line."""
    tester, code = database.person(TESTERS[0]), make_code()
    database.execute("update profiles set credits = 5 where id = %s", [tester])
    made = database.insert_code(code, credits=20, expires_at="infinity")
    with database.acting("app_runtime", "authenticated") as connection:
        claim(connection, str(tester), "Any@Claim.example")
        answer = connection.execute(REDEEM, [hash_of(code)]).fetchall()
    assert answer == [(True, 25, None)]
    assert [(tester, "Any@Claim.example", True)] == database.rows(
        "select redeemed_by, redeemed_email, redeemed_at is not null from redemption_codes"
    )
    assert database.value("select credits from profiles where id = %s", [tester]) == 25
    assert [(tester, "redeem", 20, 25, str(made), made)] == database.rows(
        "select user_id, transaction_type, amount, balance_after, request_id, redemption_code_id"
        " from credit_transactions"
    )


@steps()
def test_no_claims(database: Database) -> None:
    """Without a user the answer is unauthorized; without an e-mail the snapshot is null."""
    code = make_code()
    database.insert_code(code)
    assert database.redeem(code, None) == "unauthorized"
    with database.acting("app_runtime", "authenticated") as connection:
        claim(connection, str(database.person(TESTERS[0])), None)
        assert connection.execute(REDEEM, [hash_of(code)]).fetchone() == (True, 10, None)
    assert database.rows("select redeemed_email from redemption_codes") == [(None,)]


@steps()
def test_order_of_error_codes(database: Database) -> None:
    """Redeemed wins over expired, expired over a missing profile; nothing is changed."""
    redeemed, expired, good = make_code(), make_code(), make_code()
    past = {"redeemed_by": database.person(TESTERS[1]), "redeemed_at": PAST}
    database.insert_code(redeemed, expires_at=PAST, **past)
    database.insert_code(expired, expires_at=PAST)
    database.insert_code(good)
    database.execute("delete from profiles where email = %s", [TESTERS[0]])
    actual = [database.redeem(code) for code in (make_code(), redeemed, expired, good)]
    assert actual == ["invalid_code", "already_redeemed", "expired_code", "profile_missing"]
    assert database.value("select count(*) from credit_transactions") == 0
    assert database.redeem(good, TESTERS[1]) is None


@steps(2, 3)
def test_revoked_wins_over_expired(database: Database) -> None:
    """A code revoked and expired is revoked_code."""
    code = make_code()
    revoke(database, database.insert_code(code, expires_at=PAST))
    assert database.redeem(code) == "revoked_code"


@steps()
def test_expiry_at_this_very_instant(database: Database) -> None:
    """Equality counts as expired; and an expired code that is extended works again."""
    code = make_code()
    with database.acting("superuser") as connection:
        made = database.insert_code(code)
        connection.execute("update redemption_codes set expires_at = now() where id = %s", [made])
        claim(connection, str(database.person(TESTERS[0])), TESTERS[0])
        answer = connection.execute(REDEEM, [hash_of(code)]).fetchone()
    assert answer == (False, None, "expired_code")
    database.execute("update redemption_codes set expires_at = now() + interval '1 day'")
    assert database.redeem(code) is None


@steps()
def test_ten_at_once(database: Database) -> None:
    """Of ten people with one code exactly one gets the points."""
    code = make_code()
    database.insert_code(code)
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda tester: database.redeem(code, tester), TESTERS[:10]))
    assert sorted([None, *["already_redeemed"] * 9], key=str) == sorted(answers, key=str)
    assert database.value("select sum(credits) from profiles") == 10
    assert database.value("select count(*) from credit_transactions") == 1


@steps(2, 3)
def test_waiting_on_a_revoke(database: Database) -> None:
    """A redemption that finds the code locked by a revoke waits, then sees it revoked."""
    code = make_code()
    made = database.insert_code(code)
    change = "update redemption_codes set revoked_at = now(), revoked_by = id where id = %s"
    with ThreadPoolExecutor(1) as pool:
        with database.acting("superuser") as connection:
            connection.execute(change, [made])
            answer = pool.submit(database.redeem, code)
            wait_until_blocked(database)
        assert answer.result(timeout=10) == "revoked_code"


def wait_until_blocked(database: Database) -> None:
    """Return when somebody in this database waits for a lock; fail after ten seconds."""
    waiting = (
        "select count(*) from pg_stat_activity"
        " where datname = current_database() and wait_event_type = 'Lock'"
    )
    end = time.monotonic() + 10
    while database.value(waiting) == 0:
        assert time.monotonic() < end, "nobody waits"
        time.sleep(0.01)
