"""Codes that an update brings back to life are held against points_open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from databases import ACTOR
from limiting import limits
from psycopg.conninfo import conninfo_to_dict
from stock import make, snapshot
from tap import tapped
from terminal import terminal
from tool import toml

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite


REVIVING: Final = ("update", "--status", "expired", "--set-expires", "30d")


@pytest.mark.parametrize(("limit", "exit_code"), [(59, 9), (60, 0)])
@pytest.mark.parametrize("how", ["--yes", "--dry-run"])
def test_revived(invite: Invite, database: Database, limit: int, exit_code: int, how: str) -> None:
    """Expired codes that get another expiry are open again, and go through points_open."""
    for status in ("available", "redeemed", "expired", "expired", "expired", "expired", "expired"):
        make(database, status)
    before = snapshot(database)
    done = invite(*REVIVING, how, settings=limits(points_open=limit))
    assert exit_code == done.exit_code, done.stderr
    if exit_code:
        counts = "10 of 59 used, 50 wanted, 1 too many"
        assert f"invite: over a limit: points_open: {counts}; nothing was changed" in done.stderr
    if exit_code or how == "--dry-run":
        assert before == snapshot(database)


def test_refused_before_the_question(invite: Invite, database: Database) -> None:
    """What a limit forbids is not asked for first."""
    make(database, "expired")
    own = {"actor": ACTOR, "write_role": "service_role", **limits(points_open=5)}
    (invite.folder / "own.toml").write_text(toml(own))
    with terminal(invite, "--config", "own.toml", *REVIVING) as asked:
        done = asked.end()
    assert 9 == done.exit_code, done.stderr
    assert "[y/N]" not in done.stderr
    hint = "hint: points_open: more than the limit itself, so change fewer codes"
    assert hint in done.stderr


@pytest.mark.parametrize(
    "change",
    [("--set-note", "x"), ("--set-expires", "30d", "--status", "available")],
    ids=["note", "extended"],
)
def test_what_opens_nothing(invite: Invite, database: Database, change: tuple[str, ...]) -> None:
    """A change that makes no code available is free, also where the limit is exceeded already."""
    make(database)
    make(database, "expired")
    own = limits(points_open=5, codes_per_hour=1, points_per_day=1)
    done = invite("update", "--points", "10", *change, "--yes", settings=own)
    assert 0 == done.exit_code, done.stderr


def test_room_that_was_taken_meanwhile(invite: Invite, database: Database) -> None:
    """What no longer fits after the question is refused, and nothing is sent."""
    make(database, "expired")
    own = {"actor": ACTOR, "write_role": "service_role", **limits(points_open=15)}
    (invite.folder / "own.toml").write_text(toml(own))
    with tapped(database.url("admin_runtime")) as (url, heard):
        invite.database = database.by_way_of({k: str(v) for k, v in conninfo_to_dict(url).items()})
        with terminal(invite, "--config", "own.toml", *REVIVING) as asked:
            asked.read("[y/N]")
            make(database)
            asked.press("y\n")
            done = asked.end()
        assert [] == [text for text in heard.statements() if "admin_update" in text]
    assert 9 == done.exit_code, done.stderr
    assert "points_open: 10 of 15 used, 10 wanted, 5 too many; nothing was changed" in done.stderr
