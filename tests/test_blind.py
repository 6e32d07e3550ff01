"""Silence is not emptiness: who may be kept from rows gets a refusal from every command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
import stock
from databases import steps
from shelf import put

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

TABLE: Final = "public.redemption_codes"
COMMANDS: Final = (
    *("list", "list --format json", "list --limit 1", "redemptions", "show ID", "show MASK"),
    *("stats", "stats --by day", "generate --count 1 --points 1", "revoke ID --yes"),
    *("generate --count 1 --points 1 --dry-run", "revoke --note n --yes", "revoke ID --dry-run"),
    *("update ID --set-note x --yes", "update --note n --set-note x --dry-run"),
)


@steps()
def test_every_command(invite: Invite, database: Database) -> None:
    """A login that row-level security blinds is refused by each command, and told nothing else."""
    made = stock.make(database, note="n")
    before = stock.snapshot(database)
    for command in COMMANDS:
        words = command.replace("ID", made.id).replace("MASK", made.mask).split()
        done = invite(*words, login="blind")
        assert (6, "") == (done.exit_code, done.stdout), command
        assert "row-level security may hide rows from this login" in done.stderr
        assert "0 codes" not in done.stderr
    check = invite("check", "--format", "json", login="blind")
    assert (6, "refused", "rows_hidden") == (
        check.exit_code,
        check.json["findings"][0]["level"],
        check.json["findings"][0]["code"],
    )
    assert {False} == {able["available"] for able in check.json["capabilities"]}
    assert before == stock.snapshot(database)


@pytest.mark.parametrize("role", ["service_role", None])
def test_admin_runtime(invite: Invite, database: Database, role: str | None) -> None:
    """The application's own policy shows admin_runtime every row, so it is not refused."""
    made = stock.make(database, note="n")
    for command in ("list", "redemptions", "show ID", "show MASK", "stats", "stats --by day"):
        words = command.replace("ID", made.id).replace("MASK", made.mask).split()
        done = invite(*words, settings={"write_role": role})
        assert 0 == done.exit_code, done.stderr


def test_policy_dropped(invite: Invite, database: Database) -> None:
    """Without its policy admin_runtime reads as the role that sees all, or not at all."""
    made = put(database, "A")
    database.execute(f"drop policy admin_runtime_reads on {TABLE}")
    alone = invite("list", settings={"write_role": None})
    assert (6, "") == (alone.exit_code, alone.stdout)
    assert 'hint: add write_role = "service_role" to the settings' in alone.stderr
    done = invite("list", "--format", "json")
    assert [made] == [row["id"] for row in done.json]
    assert "reads: direct as service_role" in done.stderr
    check = invite("check", "--format", "json")
    assert 0 == check.exit_code
    assert "reads_by_write_role" in [finding["code"] for finding in check.json["findings"]]


OPEN: Final = f"create policy p on {TABLE} for select to invite_test_blind using (true)"
FORCED: Final = f"alter table {TABLE} force row level security;"
GRANTED: Final = f"grant select on {TABLE} to app_runtime, authenticated;"
OTHERS: Final = "; ".join(
    f"create policy {name} on {TABLE} for {command}"
    for name, command in (
        ("p", "insert with check (true)"),
        ("q", "update using (true)"),
        ("r", "delete using (true)"),
    )
)
POLICIES: Final = {
    "none": ("blind", "", 6),
    "all rows": ("blind", OPEN, 0),
    "all commands": ("blind", f"create policy p on {TABLE} to invite_test_blind using (true)", 0),
    "to public": ("blind", f"create policy p on {TABLE} using (true)", 0),
    "some rows": ("blind", f"create policy p on {TABLE} using (note is not null)", 6),
    "two of them": (
        "blind",
        f"{OPEN}; create policy q on {TABLE} for select using (note is not null)",
        0,
    ),
    "other commands": ("blind", OTHERS, 6),
    "another role": ("blind", f"create policy p on {TABLE} to service_role using (true)", 6),
    "restricted": (
        "blind",
        f"{OPEN}; create policy q on {TABLE} as restrictive using (note is not null)",
        6,
    ),
    "restricted by true": (
        "blind",
        f"{OPEN}; create policy q on {TABLE} as restrictive for select using (true)",
        6,
    ),
    "restricted for updates": (
        "blind",
        f"{OPEN}; create policy q on {TABLE} as restrictive for update using (false)",
        0,
    ),
    "another role restricted": (
        "blind",
        f"{OPEN}; create policy q on {TABLE} as restrictive to service_role using (false)",
        0,
    ),
    "only restricted": ("blind", f"create policy q on {TABLE} as restrictive using (true)", 6),
    "bypassed": ("reader", f"create policy q on {TABLE} as restrictive using (false)", 0),
    "owner": ("owner", "", 0),
    "owner forced": ("owner", FORCED, 6),
    "owner forced, a policy for its group": (
        "owner",
        f"{FORCED} create policy p on {TABLE} to schema_owner using (true)",
        0,
    ),
    "owner forced, a policy for others": (
        "owner",
        f"{FORCED} create policy p on {TABLE} to service_role using (true)",
        6,
    ),
    "superuser forced": ("superuser", FORCED, 0),
    "a policy for a group not inherited": (
        "app_runtime",
        f"{GRANTED} create policy p on {TABLE} to authenticated using (true)",
        6,
    ),
    "security off": ("blind", f"alter table {TABLE} disable row level security", 0),
}


@pytest.mark.parametrize("database", [2], indirect=True, ids=["step2"])
@pytest.mark.parametrize("name", POLICIES)
def test_policies(invite: Invite, database: Database, name: str) -> None:
    """Exactly those are let through whom the policies show every row, whatever is in the table."""
    login, change, exit_code = POLICIES[name]
    for statement in filter(None, change.split(";")):
        database.execute(statement)
    ids = {put(database, "A"), put(database, "B", note="n")}
    done = invite("list", "--format", "json", login=login)
    assert exit_code == done.exit_code, done.stderr
    if exit_code == 0:
        assert ids == {row["id"] for row in done.json}
    else:
        assert ("", True) == (done.stdout, "row-level security may hide rows" in done.stderr)
    assert exit_code == invite("stats", login=login).exit_code


def test_audit_log(invite: Invite, database: Database) -> None:
    """An audit log that may hide rows is warned of; it is no obstacle."""
    database.execute("alter table audit.admin_audit_logs enable row level security")
    found = invite("check", "--format", "json")
    assert (0, "audit_hidden") == (found.exit_code, found.json["findings"][0]["code"])
    database.execute("create policy p on audit.admin_audit_logs using (true)")
    codes = [finding["code"] for finding in invite("check", "--format", "json").json["findings"]]
    assert "audit_hidden" not in codes


SEEN: Final = "create policy p on identity.users for select to admin_runtime using (true)"


def test_users(invite: Invite, database: Database) -> None:
    """A users table that may hide rows is no missing grant: commands that write end with exit 6."""
    made = stock.make(database)
    database.execute("alter table identity.users enable row level security")
    why = "row-level security may hide rows of identity.users from this login"
    for command in (["generate", "--count", "1", "--points", "1"], ["revoke", made.id, "--yes"]):
        done = invite(*command)
        assert (6, "") == (done.exit_code, done.stdout)
        assert f"invite: denied: no actor: {why}" in done.stderr
        assert ("; nothing was changed\n" in done.stderr, "GRANT" in done.stderr) == (True, False)
    worst = invite("check", "--format", "json")
    first = worst.json["findings"][0]
    assert (6, "refused", "actor_hidden") == (worst.exit_code, first["level"], first["code"])
    assert f"no actor: {why}, so no answer would be complete" == first["message"]
    assert 0 == invite("list").exit_code
    database.execute(SEEN)
    assert (0, 0) == (invite("check").exit_code, invite("revoke", made.id, "--yes").exit_code)


def test_audit_log_hidden_from_all(invite: Invite, database: Database) -> None:
    """Where nobody here sees every row of the audit log, what reads it is refused, and so told."""
    database.execute("revoke select on audit.admin_audit_logs from service_role")
    database.execute("alter table audit.admin_audit_logs enable row level security")
    why = "row-level security may hide rows of the audit log from this login"
    found = invite("check", "--format", "json")
    first = found.json["findings"][0]
    assert (6, "refused", "audit_hidden") == (found.exit_code, first["level"], first["code"])
    assert why in first["message"]
    for command in ("list", "generate --count 1 --points 1"):
        done = invite(*command.split(), "--request-id", "x")
        assert (6, "", True) == (done.exit_code, done.stdout, why in done.stderr)


EVERY: Final = f"create policy w on {TABLE} to invite_test_blind using (true) with check (true)"
NARROW: Final = f"create policy x on {TABLE} as restrictive"
WRITES: Final = {
    "only seen": (OPEN, set()),
    "every deed": (EVERY, {"generate", "update", "revoke"}),
    "every deed, its condition said once": (
        f"create policy w on {TABLE} using (true)",
        {"generate", "update", "revoke"},
    ),
    "only made": (f"{OPEN}; create policy w on {TABLE} for insert with check (true)", {"generate"}),
    "only changed": (
        f"{OPEN}; create policy w on {TABLE} for update using (true)",
        {"update", "revoke"},
    ),
    "changed to some rows": (
        f"{OPEN}; create policy w on {TABLE} for update using (true) with check (note is null)",
        set(),
    ),
    "not every row": (
        f"{EVERY}; {NARROW} for insert with check (note is null)",
        {"update", "revoke"},
    ),
    "hidden": (f"create policy w on {TABLE} for insert with check (true)", None),
}


@pytest.mark.parametrize("database", [2], indirect=True, ids=["step2"])
@pytest.mark.parametrize("name", WRITES)
def test_policies_for_writing(invite: Invite, database: Database, name: str) -> None:
    """Who may write by its grants writes only where the policies let through every row."""
    policies, able = WRITES[name]
    for statement in policies.split(";"):
        database.execute(statement)
    ids = [stock.make(database).id for _ in range(2)]
    commands = {
        "generate": ("generate", "--count", "2", "--points", "1", "--note", "x"),
        "update": ("update", ids[0], "--set-note", "x", "--yes"),
        "revoke": ("revoke", ids[1], "--yes"),
    }
    for verb, command in commands.items():
        before = stock.snapshot(database)
        done = invite(*command, login="blind")
        if able is not None and verb in able:
            assert 0 == done.exit_code, done.stderr
            continue
        assert (6 if able is None else 5, "") == (done.exit_code, done.stdout)
        assert before == stock.snapshot(database)
        if able is not None:
            assert "row-level security may refuse rows that this login writes" in done.stderr
            assert "hint: ask for policies that let this login read and write" in done.stderr
    made = database.value(f"select count(*) from {TABLE} where note = 'x'")
    assert made == 2 * ("generate" in (able or ())) + ("update" in (able or ()))


@pytest.mark.parametrize("database", [2], indirect=True, ids=["step2"])
def test_policies_are_asked_for_at_once(invite: Invite, database: Database) -> None:
    """Who lacks grants and policies is told of both, and no third thing is missing then."""
    database.execute(f"revoke select, insert, update on {TABLE} from invite_test_blind")
    found = invite("check", "--format", "json", login="blind")
    hints = [f["hint"] for f in found.json["findings"] if f["code"].endswith("_blocked")]
    assert (5, 5) == (found.exit_code, len(hints))
    for hint in hints:
        grant, policies = hint.removeprefix("ask for: ").split("; row-level security is on: ")
        assert "polic" in policies
        database.execute(grant.replace("YOUR_LOGIN", "invite_test_blind"))
    database.execute(EVERY)
    assert 0 == invite("check", login="blind").exit_code
