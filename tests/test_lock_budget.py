"""All waits for locks of one command together last at most one lock timeout."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING

from inside import committed, opened, settings_of
from stock import BOTH_WAYS, locking, make_many, revoked

from invite_admin.model import Capability, Outcome
from invite_admin.settings import Timeouts
from invite_admin.store import pieces

if TYPE_CHECKING:
    import pytest
    from databases import Database

NO_WAIT = 1  # ms


def spied_bounds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by each lock timeout (in ms) under which a change waits."""
    bounds: list[int] = []
    original = pieces.Pieces._lock_timeout

    def spied(self: pieces.Pieces, milliseconds: int) -> None:
        if milliseconds != NO_WAIT:
            bounds.append(milliseconds)
        original(self, milliseconds)

    monkeypatch.setattr(pieces.Pieces, "_lock_timeout", spied)
    return bounds


@BOTH_WAYS
def test_one_lock_timeout_for_five_locked_codes(
    database: Database, monkeypatch: pytest.MonkeyPatch, login: str
) -> None:
    """Five locked codes of 300 cost one wait of the whole lock timeout; 295 are voided."""
    ids = make_many(database, 300)
    held, said, bounds = ids[::60], list[str](), spied_bounds(monkeypatch)
    settings = settings_of(database, login, Timeouts(lock=1))
    with locking(database, held), committed(settings, said) as store:
        results = store.revoke(list(store.reads.by_id(ids).values()))
    assert set(held) == {i for i, r in results.items() if r.outcome is Outcome.BUSY}
    assert set(ids) - set(held) == revoked(database)
    assert ["a code is in use elsewhere; waiting for it, at most 1 s"] == said
    assert [1000] == bounds


@BOTH_WAYS
def test_each_wait_leaves_less_for_the_next(
    database: Database, monkeypatch: pytest.MonkeyPatch, login: str
) -> None:
    """What one wait took is taken from the next; when nothing is left, nothing waits."""
    ids = make_many(database, 7)
    bounds, said = spied_bounds(monkeypatch), list[str]()
    ticks = count()
    clock = SimpleNamespace(monotonic=lambda: next(ticks) / 128)  # each wait takes 7.8125 ms
    monkeypatch.setattr(pieces, "time", clock)
    with locking(database, ids[:6]), opened(settings_of(database, login)) as store:
        writes = store.writes(Capability.REVOKE)
        changed = pieces.Pieces(store.session, 4 / 128, said.append).run(ids, writes.revoke)
    assert [31, 23, 15, 7] == bounds
    assert (set(ids[:6]), {ids[6]}) == (changed.locked, changed.done)
    assert 1 == len(said)
