"""A change that meets a redemption in flight: bounded waits, honest outcomes, nothing broken."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from databases import TESTERS, claim, hash_of
from stock import BOTH_WAYS, by_id, check_sound, locking, make, make_many, revoked
from tool import TIMEOUT
from waiting import await_blocked, read_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from subprocess import Popen

    from databases import Connection, Database
    from tool import Invite

WAITS = "a code is in use elsewhere; waiting for it, at most"
ONE_SECOND = {"timeouts": {"lock": 1}}
PATIENT = {"timeouts": {"lock": 60}}
USERS = {"owner": "invite_test_owner", "admin_runtime": "admin_runtime"}


@contextmanager
def redeeming(database: Database, code: str) -> Iterator[None]:
    """Redeem a code, and keep the application's transaction open until the end."""
    with database.acting("app_runtime", "authenticated") as connection:
        claim(connection, str(database.person(TESTERS[0])), TESTERS[0])
        query = "select error_code from public.redeem_code(%s)"
        assert (None,) == connection.execute(query, [hash_of(code)]).fetchone()
        yield


def await_wait(database: Database, process: Popen[bytes], login: str) -> None:
    """Return once a command has said that it waits, and does."""
    assert process.stderr is not None
    read_until(process.stderr.fileno(), WAITS.encode())
    await_blocked(database, USERS[login])


@BOTH_WAYS
@pytest.mark.parametrize("by_filter", [False, True], ids=["named", "filter"])
def test_redemption_in_flight(
    database: Database, invite: Invite, login: str, *, by_filter: bool
) -> None:
    """The code in use is busy, the others are voided, and the redemption then succeeds."""
    code, others = make(database), {make(database).id for _ in range(2)}
    names = ["--points", "10"] if by_filter else [code.id, *others]
    with redeeming(database, code.code):
        options = ("--yes", "--format", "json")
        done = invite("revoke", *names, *options, login=login, settings=ONE_SECOND)
    assert (8 if by_filter else 4) == done.exit_code, done.stderr
    assert dict.fromkeys(others, "revoked") | {code.id: "busy"} == by_id(done.json)
    again = "run the command again" if by_filter else "run the command again for what is busy"
    assert f"\nhint: {again}\n" in done.stderr
    assert [f"{WAITS} 1 s"] == [line for line in done.stderr.splitlines() if WAITS in line]
    assert others == revoked(database)
    assert "already_redeemed" == database.redeem(code.code)
    check_sound(database)


@BOTH_WAYS
@pytest.mark.parametrize("redeemed", [True, False], ids=["committed", "rolled-back"])
def test_lock_freed_in_time(
    database: Database, invite: Invite, login: str, *, redeemed: bool
) -> None:
    """A change that waits sees how the other transaction ended: redeemed, or free to be voided."""
    code = make(database)
    command = ("revoke", code.id, "--yes", "--format", "json")
    with (
        locking(database, [code.id]) as holder,
        invite.start(*command, login=login, settings=PATIENT) as process,
    ):
        await_wait(database, process, login)
        if redeemed:
            _redeem_past(holder, code.id, database)
        holder.execute("commit" if redeemed else "rollback")
        out, _ = process.communicate(timeout=TIMEOUT)
    outcome = "already_redeemed" if redeemed else "revoked"
    assert f'"outcome": "{outcome}"' in out.decode()
    assert (4 if redeemed else 0, set() if redeemed else {code.id}) == (
        process.returncode,
        revoked(database),
    )


def _redeem_past(connection: Connection, code_id: str, database: Database) -> None:
    change = "update redemption_codes set redeemed_by = %s, redeemed_at = now() where id = %s"
    connection.execute(change, [database.person(TESTERS[0]), code_id])


@BOTH_WAYS
def test_order_of_ids(database: Database, invite: Invite, login: str) -> None:
    """While it waits for one code it holds all that come before in id order, none behind."""
    ids = make_many(database, 120)
    names = "\n".join(reversed(ids))
    command = ("revoke", "--from-file", "names", "--yes")
    (invite.folder / "names").write_text(names)
    with (
        locking(database, [ids[70]]) as holder,
        invite.start(*command, login=login, settings=PATIENT) as process,
    ):
        await_wait(database, process, login)
        free = "select id::text from redemption_codes order by id for update skip locked"
        assert ids[71:] == [row[0] for row in database.rows(free)]
        holder.execute("rollback")
        process.communicate(timeout=TIMEOUT)
    assert (0, set(ids)) == (process.returncode, revoked(database))


@BOTH_WAYS
def test_two_revokes_in_opposite_order(database: Database, invite: Invite, login: str) -> None:
    """Two commands at once on the same codes: each is voided once, and no deadlock is shown."""
    ids = make_many(database, 300)
    for name, order in (("a", ids), ("b", ids[::-1])):
        (invite.folder / name).write_text("\n".join(order))
    commands = [("revoke", "--from-file", n, "--yes", "--format", "jsonl") for n in ("a", "b")]
    with (
        locking(database, [ids[150]]) as holder,
        invite.start(*commands[0], login=login, settings=PATIENT) as first,
        invite.start(*commands[1], login=login, settings=PATIENT) as second,
    ):
        for process in (first, second):
            await_wait(database, process, login)
        holder.execute("rollback")
        ends = [process.communicate(timeout=TIMEOUT) for process in (first, second)]
    counts = [
        tuple(out.count(f'"{word}"'.encode()) for word in ("revoked", "already_revoked"))
        for out, _ in ends
    ]
    assert [(0, 300), (300, 0)] == sorted(counts)
    assert [0, 4] == sorted((first.returncode, second.returncode))
    assert all(b"deadlock" not in err and b"SQLSTATE" not in err for _, err in ends)
    assert set(ids) == revoked(database)
    check_sound(database)
