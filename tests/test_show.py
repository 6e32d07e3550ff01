"""`show`: a code is found by text, id or mask, and told in words why it can be redeemed or not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
import stock
from databases import ACTOR, TESTERS, steps
from hostile import failure
from shelf import CODE_KEYS, READERS, put
from terminal import terminal

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

PAGES: Final = Path(__file__).parent.parent / "docs" / "operations"
KEYS: Final = [*CODE_KEYS, "position", "reason"]
AT: Final = r"\d{4}-\d\d-\d\d \d\d:\d\dZ"
UNFIT: Final = "it must be typed with plain hyphens and letters"


def reasons(invite: Invite, *words: str, zone: str = "UTC") -> list[str]:
    """Show codes and return what is said of each."""
    done = invite("show", *words, "--format", "json", settings={"timezone": zone})
    assert 0 == done.exit_code, done.stderr
    return [row["reason"] for row in done.json]


@READERS
def test_values(invite: Invite, database: Database, login: str, role: str | None) -> None:
    """Each code has all that `list` tells, its position and a reason; in the order asked for."""
    made = [stock.make(database) for _ in range(3)]
    settings = {"write_role": role}
    rows = invite("list", "--format", "json", login=login, settings=settings).json
    listed = {row["id"]: row for row in rows}
    wanted = [made[2].id, made[0].id, made[2].id]
    shown = invite("show", *wanted, "--format", "json", login=login, settings=settings)
    assert 0 == shown.exit_code, shown.stderr
    assert [KEYS] * 3 == [list(row) for row in shown.json]
    assert [1, 2, 3] == [row["position"] for row in shown.json]
    assert [listed[identity] for identity in wanted] == [
        {key: row[key] for key in CODE_KEYS} for row in shown.json
    ]


@steps()
@pytest.mark.parametrize("login", ["admin_runtime", "owner", "superuser", "reader"])
def test_by_text(invite: Invite, database: Database, login: str) -> None:
    """A code's text finds it wherever login or write role can read the hash."""
    made = stock.make(database)
    done = invite("show", made.code, stock.make(database).id, "--format", "json", login=login)
    assert (0, made.id) == (done.exit_code, done.json[0]["id"]), done.stderr
    assert made.code not in done.stdout + done.stderr


def test_pasted_on_a_terminal(invite: Invite, database: Database) -> None:
    """Whoever is waited for is told what to do, so that no paste ends up in the shell."""
    made = stock.make(database)
    with terminal(invite, "show", "-", "--format", "json") as screen:
        told = screen.read("its own line")
        screen.press(f"{made.code}\n\x04")
        done = screen.end()
    assert "paste codes, ids or masks, one a line; then Enter, and Ctrl-D on its own line" in told
    assert (0, made.id) == (done.exit_code, done.json[0]["id"]), done.stderr


def test_the_one_code_that_a_tester_redeems(invite: Invite) -> None:
    """What redeems asks for a code's whole text, and for nothing that it would refuse."""
    with terminal(invite, "sandbox", "redeem", "-", "--as", TESTERS[0]) as screen:
        told = screen.read("its own line")
        screen.press("JYOTISH-****-FAKE\n\x04")
        done = screen.end()
    assert "paste the code; then Enter" in told
    refused = "bad input: one invite code is needed, its whole text"
    assert (2, refused) == (done.exit_code, failure(done)[0])


def test_hash_unreadable(invite: Invite, database: Database) -> None:
    """Where nobody may read the hash a text is not looked up: never called not found."""
    made = stock.make(database)
    alone = {"write_role": None}
    for words in ([made.code], [made.id, made.code], ["JYOTISH-FAKE-FAKE"]):
        done = invite("show", *words, settings=alone)
        assert (5, "") == (done.exit_code, done.stdout)
        assert (
            "this login cannot read the hash, so a code's text cannot be looked up" in done.stderr
        )
        assert 'hint: add write_role = "service_role" to the settings' in done.stderr
        assert "not found" not in done.stderr
        assert "no such code" not in done.stderr
    assert 0 == invite("show", made.id, made.mask, settings=alone).exit_code


WORDS: Final = {
    "available": rf"can be redeemed; available since {AT}; never expires",
    "redeemed": rf"redeemed by {TESTERS[0]} \(user [0-9a-f-]{{36}}\) at {AT}",
    "revoked": rf"revoked by user [0-9a-f-]{{36}} at {AT}",
    "expired": r"expired \d,\d\d\d days ago, at 2000-01-01 00:00Z",
}


@steps()
def test_words(invite: Invite, database: Database) -> None:
    """Each status is told in words."""
    kinds = [kind for kind in WORDS if kind != "revoked" or database.step > 1]
    told = reasons(invite, *[stock.make(database, kind).id for kind in kinds])
    assert len(kinds) == len(told)
    for kind, reason in zip(kinds, told, strict=True):
        assert re.fullmatch(WORDS[kind], reason), reason


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.name)
def test_what_the_page_explains(invite: Invite, database: Database, page: Path) -> None:
    """Each reason begins with one row of the operations page, and each row with some reason."""
    *_, table = re.findall(r"(?m)^\| `reason`.*\n\| ---.*\n((?:\|.*\n)+)", page.read_text("utf-8"))
    beginnings = [row.split(" | ")[0].removeprefix("| ") for row in table.splitlines()]
    ids = [stock.make(database, kind).id for kind in WORDS]
    for text in ("JYOTISH-FAKE-AAAA", "JYOTISH-EKAF-AAAA"):
        database.insert_code(text)
    told = reasons(invite, *ids, "JYOTISH-****-AAAA", stock.UNKNOWN_ID)
    found = [[begin for begin in beginnings if reason.startswith(begin)] for reason in told]
    assert [1] * len(told) == [len(fitting) for fitting in found], told
    assert set(beginnings) == {begin for [begin] in found}


SPANS: Final = {
    "90 days": "expires in 89 days",
    "25 hours": "expires in 1 day",
    "3 hours": "expires in 2 hours",
    "90 seconds": "expires in 1 minute",
    "-2 days": "expired 2 days ago",
    "-3 hours": "expired 3 hours ago",
    "-90 seconds": "expired 1 minute ago",
}


def test_spans(invite: Invite, database: Database) -> None:
    """How far an expiry is away is told in the largest whole unit."""
    ids = [stock.make(database).id for _ in SPANS]
    for identity, span in zip(ids, SPANS, strict=True):
        change = "update public.redemption_codes set expires_at = now() + %s::interval"
        database.execute(f"{change} where id = %s", [span, identity])
    told = reasons(invite, *ids)
    assert [True] * len(SPANS) == [
        wanted in reason for wanted, reason in zip(SPANS.values(), told, strict=True)
    ], told


def test_who(invite: Invite, database: Database) -> None:
    """A redeemer without an address is named by id; who has redeemed wins over an expiry."""
    user = stock.UNKNOWN_ID
    person = {"redeemed_by": user, "redeemed_at": "2030-01-02 03:04:05Z"}
    words = {
        put(database, "A", **person): f"redeemed by user {user} at 2030-01-02 03:04Z",
        put(database, "B", **person, expires_at=stock.PAST, redeemed_email="a@example.com"): (
            f"redeemed by a@example.com (user {user}) at 2030-01-02 03:04Z"
        ),
        put(database, "C", revoked_at="2030-01-02Z", revoked_by=user, expires_at=stock.PAST): (
            f"revoked by user {user} at 2030-01-02 00:00Z"
        ),
    }
    assert list(words.values()) == reasons(invite, *words)


@steps(2, 3)
@pytest.mark.parametrize("login", ["admin_runtime", "owner", "reader"])
def test_who_revoked(invite: Invite, database: Database, login: str) -> None:
    """Who voided a code is named by e-mail address, where this login may read the users."""
    schema = "identity" if database.step == 3 else "auth"
    user = database.value(f"select id::text from {schema}.users where email = %s", [ACTOR])
    made = put(database, "A", revoked_at="2030-01-02Z", revoked_by=user)
    show = ("show", made, "--format", "json")
    told = f"revoked by {ACTOR} (user {user}) at 2030-01-02 00:00Z"
    assert told == invite(*show, login=login).json[0]["reason"]
    readers = "public, admin_runtime, service_role, invite_test_reader"
    database.execute(f"revoke all on {schema}.users from {readers}")
    if login != "owner":
        alone = invite(*show, login=login)
        assert (0, f"revoked by user {user} at 2030-01-02 00:00Z") == (
            alone.exit_code,
            alone.json[0]["reason"],
        )


def test_zone(invite: Invite, database: Database) -> None:
    """Times in words are in the configured zone."""
    made = put(database, "A", expires_at="2000-01-01T00:00Z")
    [told] = reasons(invite, made, zone="Asia/Shanghai")
    assert told.endswith(" ago, at 2000-01-01 08:00+08:00")


@steps()
def test_unknown(invite: Invite, database: Database) -> None:
    """What is not there is a row that says so; exit 3 only where nothing was found."""
    made = stock.make(database)
    unknown = ["JYOTISH-FAKE-FAKE", stock.UNKNOWN_ID, "JYOTISH-****-0000"]
    done = invite("show", *unknown, "--format", "json")
    assert 3 == done.exit_code
    assert "invite: not found: none of the 3 codes is in this table\n" in done.stderr
    alone = invite("show", stock.UNKNOWN_ID, "--format", "json")
    assert "invite: not found: that code is not in this table\n" in alone.stderr
    assert [(n, "no such code in this table") for n in (1, 2, 3)] == [
        (row["position"], row["reason"]) for row in done.json
    ]
    assert "JYOTISH-****-FAKE" == done.json[0]["mask"]
    assert "JYOTISH-FAKE-FAKE" not in done.stdout + done.stderr
    both = invite("show", *unknown, made.id, "--format", "json")
    assert (0, 4) == (both.exit_code, len(both.json))


@pytest.mark.parametrize(
    ("code", "misread"),
    [
        ("JYOTISH-FAKE-FAKE", False),
        ("JYOTISH-FAKE-FAK0", True),
        ("JYOTISH-F1KE-FAKE", True),
        ("JYOTISH-FAKE-OAKE", True),
        ("JYOTISH-IAKE-FAKE", True),
    ],
)
def test_misread(invite: Invite, database: Database, code: str, *, misread: bool) -> None:
    """A code with a symbol that no code has is not there because it was misread, and told so."""
    there = put(database, "K7QZ")
    told = "no such code in this table; it was misread, for no code has 0, 1, I, O"
    assert (told if misread else told.partition(";")[0]) == reasons(invite, code, there)[0]


FOLDED: Final = {
    "JYOTISH-FAKE-K7QZ": False,
    " jyotish-fake-k7qz\t": False,
    "JYOTISH - FAKE - K7QZ": False,
    "jyotish\u2013fake\u2013k7qz": True,
    "JYOTISH\u2014FAKE\u2212K7QZ": True,
    "JYOTISH\u2010FAKE\u2011K7QZ": True,
    "JYOTISH-FA\u200bKE-K7QZ\ufeff": True,
    "\uff2a\uff39\uff2f\uff34\uff29\uff33\uff28\uff0d\uff26\uff21\uff2b\uff25-K7QZ": True,
    "JYOTISH-\u2066FAKE\u2069-K7QZ": True,
}


def test_folding(invite: Invite, database: Database) -> None:
    """What people paste is folded, and said where the application would not fold it."""
    put(database, "K7QZ")
    told = reasons(invite, *FOLDED)
    assert FOLDED == {text: UNFIT in reason for text, reason in zip(FOLDED, told, strict=True)}
    piped = invite("show", "-", "--format", "json", stdin="\n".join(FOLDED) + "\n\n")
    assert told == [row["reason"] for row in piped.json]


def test_masks(invite: Invite, database: Database) -> None:
    """A mask that fits several codes shows all of them, and says how many they are."""
    ids = {put(database, "AAAA"), str(database.insert_code("JYOTISH-EKAF-AAAA"))}
    redeemed = {"redeemed_by": stock.UNKNOWN_ID, "redeemed_at": "2030-01-01Z"}
    ids.add(str(database.insert_code("JYOTISH-KEFA-AAAA", **redeemed)))
    other = put(database, "BBBB")
    rows = invite("show", "jyotish-****-aaaa", "JYOTISH-****-BBBB", "--format", "json").json
    assert ids == {row["id"] for row in rows if row["position"] == 1}
    assert [True] * 3 == [row["reason"].startswith("the mask fits 3 codes; ") for row in rows[:3]]
    assert [(2, other)] == [(row["position"], row["id"]) for row in rows[3:]]
    assert "the mask fits" not in rows[3]["reason"]


@pytest.mark.parametrize("words", [[], ["nonsense"], ["-", "JYOTISH-FAKE-FAKE"], ["JYOTISH-FAKE"]])
def test_refused(invite_alone: Invite, words: list[str]) -> None:
    """What names no code is refused before connecting, and not repeated."""
    done = invite_alone("show", *words)
    assert (2, "") == (done.exit_code, done.stdout)
    assert not any(word in done.stderr for word in words if word != "-")


def test_table(invite: Invite, database: Database) -> None:
    """For people each code is a record that leaves out what is not known."""
    made = stock.make(database, note="friday", created_by=database.person(ACTOR))
    told = invite("show", made.id, login="owner").stdout
    found = [row.split(maxsplit=1)[0] for row in told.splitlines() if not row.startswith(" ")]
    assert [
        "id",
        "mask",
        "status",
        "points",
        "note",
        "created",
        "created",
        "position",
        "reason",
    ] == (found)


@pytest.mark.parametrize(
    ("role", "why"),
    [
        ("nosuch", "write_role nosuch does not exist on this server"),
        ("schema_owner", "this login may not take the write_role schema_owner"),
    ],
)
def test_wrong_write_role(invite: Invite, role: str, why: str) -> None:
    """A slip in the write role is told as that, and no right to read hashes is asked for."""
    done = invite("show", "JYOTISH-AAAA-BBBB", settings={"write_role": role})
    assert (6, True) == (done.exit_code, why in done.stderr), done.stderr
    assert "code_hash" not in done.stderr


def test_a_superuser_as_write_role(invite: Invite, database: Database) -> None:
    """Nobody is advised to ask for a superuser's rights, neither by a command nor by `check`."""
    role = database.value("select current_user::text")
    settings = {"write_role": role}
    done = invite("show", "JYOTISH-AAAA-BBBB", settings=settings)
    assert (6, True) == (done.exit_code, f"may not take the write_role {role}" in done.stderr)
    hint = "correct write_role in the settings, or INVITE_WRITE_ROLE"
    assert done.stderr.endswith(f"\nhint: {hint}\n")
    found = invite("check", "--format", "json", settings=settings).json["findings"]
    assert [hint] == [one["hint"] for one in found if one["code"] == "write_role_denied"]
