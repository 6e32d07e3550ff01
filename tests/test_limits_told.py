"""How the limits stand is told by `check` and by a dry run; who cannot count is told so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from batches import line, stored
from checking import told
from databases import steps
from inside import opened, settings_of
from limiting import ENOUGH, limits, said
from stock import make, make_many

from invite_admin.errors import Denied
from invite_admin.store import Issued

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite


def test_dry_run(invite: Invite, database: Database) -> None:
    """A dry run shows what is used and left, and is refused as the command would be."""
    make(database)
    own = limits(codes_per_hour=1_000, points_open=2_000)
    done = invite(*line(3, 5, "--dry-run"), settings=own)
    shown = [text for text in done.stderr.splitlines() if text.startswith("limit ")]
    assert [
        "limit codes_per_hour: 1 of 1,000 used, 999 left",
        "limit points_open: 10 of 2,000 used, 1,990 left",
    ] == shown
    refused = invite(*line(3, 1_000, "--dry-run"), settings=own)
    assert (9, 1) == (refused.exit_code, stored(database))
    assert "limit points_open: 10 of 2,000 used, 1,990 left" in refused.stderr


@steps()
def test_check(invite: Invite, database: Database) -> None:
    """`check` shows each limit on every step: unset, used and left, and used up."""
    make_many(database, 3)
    exit_code = 0 if database.step > 2 else 5
    unset = {"limit": None, "used": None, "left": None}
    assert dict.fromkeys(ENOUGH, unset) == told(invite, exit_code)["limits"]
    own = limits(codes_per_hour=1_000, points_open=20)
    assert {
        "codes_per_hour": {"limit": 1_000, "used": 3, "left": 997},
        "points_per_day": unset,
        "points_open": {"limit": 20, "used": 30, "left": 0},
    } == told(invite, exit_code, settings=own)["limits"]
    lines = [text.split() for text in invite("check", settings=own).stdout.splitlines()]
    assert [
        ["codes_per_hour", "1,000", "3", "997"],
        ["points_per_day", "not", "set"],
        ["points_open", "20", "30", "0"],
    ] == [text for text in lines if text and text[0] in ENOUGH]


def test_who_cannot_count(invite: Invite, database: Database) -> None:
    """A login that makes codes and reads none is refused by a limit, and only by a limit."""
    table = "public.redemption_codes"
    database.execute(f"revoke select on {table} from admin_runtime, service_role")
    own = limits(codes_per_hour=10)
    for command in (line(1, 1), line(1, 1, "--dry-run")):
        done = invite(*command, settings=own)
        assert (5, 0) == (done.exit_code, stored(database)), done.stderr
        told_first, hint = said(done)
        why = "the limits cannot be held where not every row can be counted"
        assert told_first.startswith(f"invite: unsupported: {why}: this login may not read ")
        assert told_first.endswith("; nothing was changed")
        assert "GRANT SELECT" in hint
    found = told(invite, 5, settings=own)["limits"]["codes_per_hour"]
    assert {"limit": 10, "used": None, "left": None} == found
    assert "unknown" in invite("check", settings=own).stdout
    assert 0 == invite(*line(1, 1)).exit_code


def test_hidden_rows(invite: Invite, database: Database) -> None:
    """Where row-level security may hide rows nothing is counted, rather than less."""
    database.execute("drop policy admin_runtime_reads on public.redemption_codes")
    settings = settings_of(database)
    hidden = pytest.raises(Denied, match="row-level security may hide rows")
    with opened(replace(settings, write_role=None)) as store, hidden:
        Issued(store.session, store.shape)
    done = invite(*line(11, 1), settings=limits(codes_per_hour=10))
    assert (9, 0) == (done.exit_code, stored(database))  # counted as the role that sees all
