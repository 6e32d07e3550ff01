"""`check`: what a login can do at each step, what is blocked and why, and the exit status of it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import inside
import pytest
from checking import codes, finding, told
from databases import BANNED, NO_ADMIN, steps
from shelf import FORMATS

from invite_admin import __version__, findings

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

KEYS: Final = [
    *("tool", "server", "database", "login", "role", "step", "settings", "table", "writes"),
    *("capabilities", "findings", "gate", "limits"),
]
READING: Final = ["read", "lookup"]
EVERYTHING: Final = [*READING, "generate", "update", "revoke"]
ABLE: Final = {
    (1, "admin_runtime", "service_role"): ([*READING, "generate"], 5),
    (1, "admin_runtime", None): ([], 5),
    (1, "owner", None): ([*READING, "generate", "update"], 5),
    (1, "superuser", None): ([*READING, "generate", "update"], 5),
    (1, "reader", None): (READING, 5),
    (1, "blind", None): ([], 6),
    (1, "app_runtime", None): ([], 5),
    (2, "admin_runtime", "service_role"): ([*READING, "generate"], 5),
    (2, "admin_runtime", None): ([], 5),
    (2, "owner", None): (EVERYTHING, 0),
    (2, "superuser", None): (EVERYTHING, 0),
    (2, "reader", None): (READING, 5),
    (2, "blind", None): ([], 6),
    (2, "app_runtime", None): ([], 5),
    (3, "admin_runtime", "service_role"): (EVERYTHING, 0),
    (3, "admin_runtime", None): (["read"], 5),
    (3, "admin_runtime", "schema_owner"): (["read"], 6),
    (3, "admin_runtime", "invite_test_no_role"): (["read"], 6),
    (3, "owner", None): (EVERYTHING, 0),
    (3, "superuser", None): (EVERYTHING, 0),
    (3, "reader", None): (READING, 5),
    (3, "blind", None): ([], 6),
    (3, "app_runtime", None): ([], 5),
}


@pytest.mark.parametrize(("database", "login", "role"), ABLE, indirect=["database"])
def test_able(invite: Invite, database: Database, login: str, role: str | None) -> None:
    """Each capability is told with how it is done, or why not; the exit status follows."""
    able, exit_code = ABLE[database.step, login, role]
    found = told(invite, exit_code, login=login, settings={"write_role": role})
    ways = found["capabilities"]
    assert EVERYTHING == [way["name"] for way in ways]
    assert able == [way["name"] for way in ways if way["available"]]
    assert [["name", "available", "via", "reason"]] * 5 == [list(way) for way in ways]
    assert all((way["via"] is None) != way["available"] for way in ways)
    assert all((way["reason"] is None) == way["available"] for way in ways)
    worst = {0: {"warning", "note"}, 5: {"blocked"}, 6: {"refused"}}[exit_code]
    assert found["findings"][0]["level"] in worst


@steps()
def test_keys(invite: Invite, database: Database) -> None:
    """The object has every key in order, with where and as whom it acts."""
    found = told(invite, 0 if database.step > 2 else 5)
    assert KEYS == list(found)
    assert [["level", "code", "message", "hint"]] * len(found["findings"]) == [
        list(finding) for finding in found["findings"]
    ]
    server, _, version = found.pop("server").partition(", PostgreSQL ")
    assert server in invite("list").stderr
    assert database.value("show server_version").startswith(version)
    del found["capabilities"], found["findings"]
    assert found == {
        "tool": __version__,
        "database": database.name,
        "login": "admin_runtime",
        "role": "service_role",
        "step": database.step,
        "settings": str(invite.folder / "invite.toml"),
        "table": "public.redemption_codes",
        "writes": "functions" if database.step > 2 else "direct",
        "gate": {
            "running": 0,
            "running_at_most": 2,
            "waiting": 0,
            "waiting_at_most": 4,
            "full": False,
        },
        "limits": {
            name: {"limit": None, "used": None, "left": None}
            for name in ("codes_per_hour", "points_per_day", "points_open")
        },
    }


@pytest.mark.parametrize("form", FORMATS)
def test_formats(invite: Invite, database: Database, form: str) -> None:
    """Every format tells all capabilities and findings, the blocked ones aloud."""
    done = invite("check", "--format", form, settings={"write_role": None})
    assert 5 == done.exit_code
    assert database.name in done.stdout.replace("\\", "")
    assert all(name in done.stdout for name in EVERYTHING)
    assert "is BLOCKED: " in done.stdout
    assert 'add write_role = "service_role"' in done.stdout.replace("\\", "").replace('""', '"')
    if form == "jsonl":
        assert KEYS == list(json.loads(done.stdout))


ACTORS: Final = {
    "nobody@example.com": (6, "refused", "is not in identity.users"),
    NO_ADMIN: (6, "refused", "is no administrator in identity.users"),
    BANNED: (6, "refused", "is banned in identity.users"),
}


@pytest.mark.parametrize("actor", ACTORS)
def test_actor(invite: Invite, actor: str) -> None:
    """An actor whom the database would refuse is the worst finding."""
    exit_code, level, why = ACTORS[actor]
    found = told(invite, exit_code, settings={"actor": actor})
    one = found["findings"][0]
    assert (level, "actor_refused") == (one["level"], one["code"])
    assert f"the actor {actor} {why}" == one["message"]


@steps()
def test_no_actor(invite: Invite, database: Database) -> None:
    """Without an actor every write is blocked; before step 3 there is no admin flag to ask for."""
    found = told(invite, 5, settings={"actor": None}, login="owner")
    assert "blocked" == finding(found, "no_actor")["level"]
    assert "INVITE_ACTOR" in finding(found, "no_actor")["hint"]
    assert (database.step < 3) == ("no_admin_flag" in codes(found))
    assert 6 == invite("check", login="owner", env={"INVITE_ACTOR": "x@example.com"}).exit_code
    assert ("no_actor" in codes(told(invite, 5 * (database.step < 2), login="owner"))) is False
    assert 1 == codes(found).count("actor_is_a_claim")


def test_write_role(invite: Invite) -> None:
    """A login that could write with a role it has not set is told the line to add."""
    found = told(invite, 5, settings={"write_role": None})
    for need in ("lookup", "generate", "update", "revoke"):
        hint = finding(found, f"{need}_blocked")["hint"]
        assert 'add write_role = "service_role" to the settings' == hint
    unknown = told(invite, 6, settings={"write_role": "invite_test_no_role"})
    assert "refused" == finding(unknown, "unknown_write_role")["level"]
    foreign = finding(told(invite, 6, settings={"write_role": "schema_owner"}), "write_role_denied")
    assert ("refused", True) == (foreign["level"], "GRANT schema_owner TO" in foreign["hint"])


NOTES: Final = {
    (1, "admin_runtime"): {"actor_is_a_claim", "no_admin_flag", "reads_by_write_role"},
    (1, "owner"): {"actor_is_a_claim", "no_admin_flag", "hash_readable"},
    (2, "reader"): {"no_admin_flag", "hash_readable"},  # who writes nothing names no actor
    (3, "admin_runtime"): {"actor_is_a_claim"},
    (3, "owner"): {"actor_is_a_claim", "hash_readable"},
    (3, "superuser"): {"actor_is_a_claim", "hash_readable"},
}


@pytest.mark.parametrize(("database", "login"), NOTES, indirect=["database"])
def test_notes(invite: Invite, database: Database, login: str) -> None:
    """What one should know is a note, once each, and no obstacle."""
    found = invite("check", "--format", "json", login=login).json
    notes = [one["code"] for one in found["findings"] if one["level"] == "note"]
    assert sorted({"short_codes"} | NOTES[database.step, login]) == sorted(notes)
    assert "40 random bits" in finding(found, "short_codes")["message"]


def test_server(database: Database) -> None:
    """A clock far away, a pooler, a standby and missing settings are findings."""
    settings = inside.settings_of(database)
    with inside.opened(settings) as store:
        quiet = [one.code for one in findings.find(store, replace(settings, sandbox=True))]
        server = store.session.server
        later = server.clock + timedelta(seconds=100)
        store.session.server = replace(server, clock=later, pooled=True)
        store.shape = replace(store.shape, facts=replace(store.shape.facts, barred=("standby",)))
        found = {one.code: one for one in findings.find(store, settings)}
    assert {"clock", "pooler", "standby", "no_settings"} == found.keys() - quiet
    assert ("warning", "unavailable") == (found["clock"].level, found["standby"].level)
    assert {"note"} == {found["pooler"].level, found["no_settings"].level}
    assert found["clock"].message.startswith(
        ("the server's clock is 99 s", "the server's clock is 1")
    )
