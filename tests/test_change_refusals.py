"""What `revoke` and `update` refuse before anything is changed, and what a dry run leaves alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from databases import ACTOR, BANNED, NO_ADMIN, steps
from hostile import failure
from stock import BOTH_WAYS, UNKNOWN_ID, make, make_many, outcomes, revoked, snapshot

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

CHANGE = {"revoke": [], "update": ["--set-note", "new"]}
VERBS = pytest.mark.parametrize("verb", CHANGE)
HELD = 10_000


@VERBS
def test_forgotten_quotes(invite: Invite, verb: str) -> None:
    """The rest of a note is not taken for a code; what was forgotten is named."""
    done = invite(verb, "--note", "friday", "testers", "--yes", *CHANGE[verb])
    told = "bad input: name codes or give filters, not both; nothing was changed"
    hint = "hint: a text of several words, such as a note, stands in quotes"
    assert (2, told, hint) == (done.exit_code, *failure(done))


@VERBS
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--yes"], "name codes or give filters, one of the two is needed"),
        (["--yes", UNKNOWN_ID, "--status", "expired"], "name codes or give filters, not both"),
        (["--yes", "-", "--points", "5"], "name codes or give filters, not both"),
        (["--yes", UNKNOWN_ID, "--from-file", "x"], "as arguments or by --from-file, not both"),
        (["--yes", "-", UNKNOWN_ID], "`-` (standard input) stands alone"),
        (["-"], "codes from standard input need --yes; nothing was changed"),
        (["--from-file", "-"], "codes from standard input need --yes; nothing was changed"),
        ([UNKNOWN_ID], "without a terminal to ask on, --yes is needed; nothing was changed"),
        (["--points", "5"], "without a terminal to ask on, --yes is needed; nothing was changed"),
        (["--yes", "-"], "standard input holds no code, id or mask; nothing was changed"),
        (["--yes", "JYOTISH-AAAA-BBB"], "argument 1: no code, id or mask; nothing was changed"),
        (["--yes", "--note", ""], "--note must be text, and not empty"),
        (["--yes", "--limit", "5"], "has no such option"),
    ],
)
def test_bad_input(invite_alone: Invite, verb: str, arguments: list[str], told: str) -> None:
    """What cannot be meant is refused before connecting: exit 2, one line and perhaps a hint."""
    done = invite_alone(verb, *arguments, *CHANGE[verb])
    assert (2, "") == (done.exit_code, done.stdout)
    line, *rest = done.stderr.splitlines()
    assert line.startswith("invite: bad input: ")
    assert told in line
    assert all(more.startswith("hint: ") for more in rest)
    assert "JYOTISH-AAAA" not in done.stderr


@VERBS
@BOTH_WAYS
def test_filter_that_fits_nothing(
    database: Database, invite: Invite, login: str, verb: str
) -> None:
    """A filter that fits no code ends with exit 3 and an empty standard output."""
    make(database)
    before = snapshot(database)
    for more in (["--yes"], ["--dry-run"]):
        done = invite(verb, "--note", "nobody's", *CHANGE[verb], *more, login=login)
        assert (3, "") == (done.exit_code, done.stdout), done.stderr
        assert "no code fits these filters; nothing was changed" in done.stderr
    assert before == snapshot(database)


@BOTH_WAYS
def test_dry_run(database: Database, invite: Invite, login: str) -> None:
    """A dry run asks nothing, says what would become of each code, and changes nothing."""
    codes = [make(database, s) for s in ("available", "expired", "redeemed", "revoked")]
    named = [*(code.id for code in codes), UNKNOWN_ID]
    before, audit = snapshot(database), _audit_rows(database)
    done = invite(
        "revoke", "-", "--dry-run", "--format", "json", stdin="\n".join(named), login=login
    )
    assert 4 == done.exit_code
    would = ["would_revoke", "would_revoke", "already_redeemed", "already_revoked", "not_found"]
    assert would == outcomes(done)
    line = "dry run: 2 codes worth 20 points would be revoked; nothing was changed"
    assert line in done.stderr.splitlines()
    filtered = ["--status", "available", "--set-note", "new", "--dry-run", "--format", "json"]
    done = invite("update", *filtered, login=login)
    assert (0, ["would_update"]) == (done.exit_code, outcomes(done))
    same = invite(
        "update", codes[1].id, "--set-note", "", "--dry-run", "--format", "json", login=login
    )
    assert (0, ["unchanged"]) == (same.exit_code, outcomes(same))
    assert (before, audit) == (snapshot(database), _audit_rows(database))


def _audit_rows(database: Database) -> int:
    if database.step < 3:
        return 0
    found: int = database.value("select count(*) from audit.admin_audit_logs")
    return found


@BOTH_WAYS
def test_more_rows_than_a_table_holds(database: Database, invite: Invite, login: str) -> None:
    """Beyond 10,000 codes table and markdown are refused before anything is changed."""
    make_many(database, HELD + 1)
    before = snapshot(database)
    for form in ("table", "markdown"):
        done = invite("revoke", "--points", "10", "--yes", "--format", form, login=login)
        assert (2, "") == (done.exit_code, done.stdout)
        held = f"10,001 rows are more than format {form} holds, which is 10,000"
        hint = "hint: add --output FILE.csv, or --format csv, json or jsonl"
        assert (f"bad input: {held}; nothing was changed", hint) == failure(done)
    assert before == snapshot(database)
    done = invite("revoke", "--points", "10", "--yes", "--format", "jsonl", login=login)
    assert (0, HELD + 1) == (done.exit_code, len(done.jsonl)), done.stderr
    assert HELD + 1 == len(revoked(database))
    # Each savepoint that wrote has an id of its own, and the transaction may have one.
    undisturbed = "select count(distinct xmin::text) from redemption_codes"
    assert 1 <= database.value(undisturbed) <= 60


@VERBS
@pytest.mark.parametrize(
    ("actor", "told"),
    [
        (None, "bad input: no actor is configured"),
        ("nobody@example.com", "denied: the actor nobody@example.com is not in identity.users"),
        (BANNED, f"denied: the actor {BANNED} is banned in identity.users"),
        (NO_ADMIN, f"denied: the actor {NO_ADMIN} is no administrator in identity.users"),
    ],
)
def test_actor(database: Database, invite: Invite, verb: str, actor: str | None, told: str) -> None:
    """A change needs an actor whom the database accepts; else nothing changes."""
    code = make(database)
    before = snapshot(database)
    done = invite(verb, code.id, *CHANGE[verb], "--yes", settings={"actor": actor})
    assert (6 if actor else 2, "") == (done.exit_code, done.stdout)
    assert f"invite: {told}" in done.stderr
    assert "nothing was changed" in done.stderr
    assert before == snapshot(database)


@steps(2, 3)
def test_where_it_acts_comes_first(database: Database, invite: Invite) -> None:
    """A change names server, database, step, login, actor and write path before all else."""
    done = invite("revoke", make(database).id, "--yes", login="owner")
    first, second, *_ = done.stderr.splitlines()
    way = "admin function" if database.step > 2 else "direct"
    word = "audited" if database.step > 2 else "revocable"
    assert first.startswith("on ")
    assert first.endswith(f", database {database.name} (step {database.step}: {word})")
    login = "invite_test_owner"
    assert f"login {login}, actor {ACTOR}, writes: {way} as {login}" == second
