"""A deploy that takes the table to step 3 while a command runs, or before a batch is settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from batches import line, stored
from cluster import FILES, MIGRATIONS
from databases import steps
from faults.aftermath import AFTER, BEFORE, CODES, check, killed, pending_of, resumed
from gates import crowded
from hostile import failure
from incall import call
from lossy import Cut, lossy
from stock import audited, make_many, snapshot
from tool import TIMEOUT
from waiting import await_gone, read_until

from invite_admin import settle

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

OWNER: Final = "owner"
HEAVY: Final = 101
ALTERED: Final = (
    "busy: the table was altered meanwhile, as by a deploy; nothing was changed",
    "hint: run `invite check`, then the command again",
)
_ADMINS: Final = """
    insert into identity.users (id, email, role) select id, email, 'user,admin' from auth.users
"""


def deploy(database: Database) -> None:
    """Bring a database to step 3, as the application's migration does."""
    for number in range(database.step + 1, max(FILES) + 1):
        database.execute((MIGRATIONS / FILES[number]).read_text(encoding="utf-8"))
    database.execute(_ADMINS)


@steps(1, 2)
@pytest.mark.parametrize("to_file", [True, False], ids=["file", "output"])
def test_an_answer_that_was_lost(
    invite: Invite,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *,
    to_file: bool,
) -> None:
    """A batch that was stored before the audit log was there is not called lost for want of it."""
    real = settle.was_stored

    def later(*args: object) -> bool | None:
        deploy(database)
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(settle, "was_stored", later)
    path = invite.folder / "codes.json"
    where = ("--output", str(path)) if to_file else ("--format", "json")
    with lossy(database.url(OWNER), Cut.ANSWER) as wire:
        env = {"INVITE_DATABASE_URL": wire.url}
        done = call(invite, *line(CODES, 7, *where), login=OWNER, env=env)
    assert (0, CODES) == (done, stored(database)), capfd.readouterr().err
    assert to_file == path.exists()


@steps(1, 2)
@pytest.mark.parametrize("arm", [BEFORE, AFTER], ids=["not stored", "stored"])
def test_a_batch_of_another_step(
    invite: Invite, database: Database, arm: tuple[str, str, str]
) -> None:
    """What a run left before the deploy is settled after it: stored already, or stored now."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, OWNER, arm)
    await_gone(database)
    deploy(database)
    done = resumed(invite, path, OWNER)
    assert (0, False) == (done.exit_code, pending_of(path).exists()), done.stderr
    assert (arm is AFTER) == ("the batch is stored already" in done.stderr)
    assert (0 if arm is AFTER else CODES) == len(audited(database, "create"))
    [void] = [text for text in done.stderr.splitlines() if text.startswith("  invite revoke")]
    assert CODES == len(check(invite, database, path))
    assert ("--request-id" in void) == (arm is BEFORE)
    listed = invite("list", *void.split()[2:], "--format", "json", login=OWNER)
    assert CODES == len(listed.json)


COMMANDS: Final = [
    line(HEAVY, 1),
    line(HEAVY, 1, "--output", "new.csv"),
    ["update", "--points", "10", "--set-note", "x", "--yes"],
    ["revoke", "--points", "10", "--yes"],
    ["revoke", "--points", "10", "--yes", "--format", "csv"],
]
"""What writes; the last two can be done from step 2 on."""


@pytest.mark.parametrize(
    ("database", "command"),
    [(step, words) for step, some in ((1, COMMANDS[:3]), (2, COMMANDS)) for words in some],
    indirect=["database"],
    ids=lambda value: " ".join(value) if isinstance(value, list) else f"step{value}",
)
def test_while_it_waits(invite: Invite, database: Database, command: list[str]) -> None:
    """A command that looked before the deploy and writes after it goes around no audit log."""
    make_many(database, HEAVY)
    with (
        crowded(database, 2, 0) as others,
        invite.start(*command, login=OWNER) as process,
    ):
        assert process.stderr is not None
        read_until(process.stderr.fileno(), b"waiting for a place, at most 8 s\n")
        deploy(database)
        before = snapshot(database)
        others.execute("commit")
        shown, said = process.communicate(timeout=TIMEOUT)
    told = tuple(text.removeprefix("invite: ") for text in said.decode().splitlines()[-2:])
    assert (8, b"", ALTERED) == (process.returncode, shown, told)
    assert before == snapshot(database)
    assert not list(invite.folder.glob("new.csv*"))


@steps(3)
def test_an_actor_that_is_gone(invite: Invite, database: Database) -> None:
    """Who cannot act as the batch's actor is told how to look for its codes all the same."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, "admin_runtime", AFTER)
    env = {"INVITE_ACTOR": "second@example.com"}
    database.execute(
        "insert into identity.users (email, role) values (%s, 'admin')", [*env.values()]
    )
    done = invite("generate", "--resume", str(pending_of(path)), env=env)
    _, hint = failure(done)
    assert 2 == done.exit_code
    assert hint is not None
    words = hint.partition("if that one is gone, look by invite ")[2].split()
    assert CODES == len(invite(*words, "--format", "json", env=env).json)
