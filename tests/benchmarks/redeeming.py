"""A few people who redeem codes at a steady, modest rate while something else goes on."""

from __future__ import annotations

import hashlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from databases import TESTERS, redeem_hash
from waiting import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from databases import Connection, Database

PEOPLE: Final = 4
PAUSE: Final = 0.1
"""Seconds from the beginning of one redemption of a person to that of the next."""
PREPARED: Final = 40_000
"""Codes that wait to be redeemed: more than all of them need in a quarter of an hour."""
PREPARE: Final = """
insert into public.redemption_codes (code_hash, code_mask, credits, note)
select encode(sha256(n::text::bytea), 'hex'), 'JYOTISH-****-AAAA', 1, 'to redeem'
from generate_series(0, %s - 1) n
"""
REDEEMED: Final = "select count(*) from public.redemption_codes where redeemed_at is not null"


@contextmanager
def redeeming(database: Database) -> Iterator[list[float]]:
    """Redeem until the block ends; the list then holds the seconds that each redemption took."""
    latencies: list[float] = []
    people = [str(database.person(email)) for email in TESTERS[:PEOPLE]]
    ready, ended = threading.Barrier(PEOPLE + 1), threading.Event()
    with ThreadPoolExecutor(PEOPLE) as pool:
        running = [
            pool.submit(_redeem, database, number, person, ready, ended)
            for number, person in enumerate(people)
        ]
        try:
            ready.wait(LONGEST)
            yield latencies
        finally:
            ended.set()
        for one in running:
            latencies += one.result()
    assert PEOPLE + len(latencies) == database.value(REDEEMED)


def _redeem(
    database: Database, number: int, person: str, ready: threading.Barrier, ended: threading.Event
) -> list[float]:
    """Redeem every PEOPLE-th code as one person, each at its planned time.

    Where a redemption lasts into the time planned for the next, that one counts from then: people
    do not wait for each other.
    """
    taken: list[float] = []
    with database.connect("app_runtime") as connection:
        connection.prepare_threshold = None  # as behind a pooler
        # The application's connections are old ones, and a first redemption plans its statements.
        _redeem_one(connection, person, TESTERS[number], number)
        ready.wait(LONGEST)
        planned = time.perf_counter() + PAUSE * number / PEOPLE
        while not taken or not ended.is_set():
            late = time.perf_counter() > planned
            ended.wait(planned - time.perf_counter())
            begin = planned if late else time.perf_counter()
            code = (1 + len(taken)) * PEOPLE + number
            _redeem_one(connection, person, TESTERS[number], code)
            taken.append(time.perf_counter() - begin)
            planned += PAUSE
    return taken


def _redeem_one(connection: Connection, person: str, email: str, code: int) -> None:
    with connection.transaction():
        connection.execute("set local role authenticated")
        code_hash = hashlib.sha256(str(code).encode()).hexdigest()
        assert redeem_hash(connection, person, email, code_hash) is None
