"""No code, no hash and no password leaves the tool by any channel but the one that shows codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from databases import PASSWORD, TESTERS, hash_of, make_code
from leaks import Secrets, Watch
from stock import locking
from tap import log_to_client, tapped
from tool import TIMEOUT
from waiting import await_blocked

from invite_admin import codes
from invite_admin.batch import Piece
from invite_admin.codes import Secret, digest, read_name
from invite_admin.settings import Settings

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite, Result

CODE = "JYOTISH-AAAA-BBBB"
HASH = hash_of(CODE)
LOG = "evidence.jsonl"


class Operator:
    """Runs commands on one database, every channel of them watched."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.login = {"INVITE_DATABASE_URL": watch.url}

    def run(self, *args: str, stdin: str = "", shows_codes: bool = False) -> Result:
        """Run one command to its end."""
        done = self.watch.invite("--log-file", LOG, *args, stdin=stdin, env=self.login)
        return self.watch.keep(done, shows_codes=shows_codes)

    def generate(self, *args: str) -> list[str]:
        """Make codes and return them."""
        done = self.run("generate", "--format", "json", *args, shows_codes=True)
        assert 0 == done.exit_code, done.stderr
        return [row["code"] for row in done.json]


def test_a_days_work(database: Database, invite: Invite) -> None:
    """Every command with real codes: they, their hashes and the password are seen nowhere."""
    log_to_client(database)
    with tapped(database.url("admin_runtime")) as (url, heard):
        operator = Operator(Watch(database, invite, url, heard))
        codes = operator.generate("--count", "6", "--points", "5", "--note", "friday")
        codes += _to_a_file(operator)
        assert database.redeem(codes[0], TESTERS[3]) is None
        _be_watched(operator, codes[1])
        codes.append(make_code())  # one that the table does not have
        _look_and_change(operator, codes)
        _slip(operator, codes[0])
        channels = operator.watch.channels()
    assert len((invite.folder / LOG).read_text().splitlines()) > 20
    assert all(channels.values()), [name for name, content in channels.items() if not content]
    assert set() == Secrets(tuple(codes), (PASSWORD,)).seen(channels)


def _to_a_file(operator: Operator) -> list[str]:
    path = operator.watch.invite.folder / "codes.jsonl"
    operator.run("generate", "--count", "2", "--points", "5", "--dry-run")
    operator.run("generate", "--count", "2", "--points", "5", "--output", str(path))
    operator.watch.shown.add(path)
    return [json.loads(line)["code"] for line in path.read_text().splitlines()]


def _look_and_change(operator: Operator, codes: list[str]) -> None:
    lines = "\n".join(codes)
    for form in ("table", "csv", "json", "jsonl", "markdown"):
        operator.run("list", "--format", form)
        operator.run("show", "-", "--format", form, stdin=lines)
    operator.run("show", *codes)
    operator.run("redemptions", "--output", "seen.csv")
    operator.run("stats", "--by", "note")
    operator.run("check")
    operator.run("check", "--format", "json")
    operator.run("update", "-", "--set-note", "leaked", "--yes", stdin=lines)
    operator.run("revoke", "-", "--dry-run", stdin=lines)
    operator.run("revoke", *codes[2:], "--yes")
    operator.run("revoke", "-", "--yes", "--format", "markdown", stdin=lines)


def _slip(operator: Operator, code: str) -> None:
    """Put a code where something else belongs."""
    words = ("generate", "--points", "5", "--count")
    for slip in (
        *((code,), ("show", code, f"{code}x"), ("show", f"--{code}"), ("list", code)),
        *(("list", "--note", code), ("list", "--search", code), ("list", "--status", code)),
        *(("list", "--sort", code), ("list", "--format", code), ("list", "--points", code)),
        *(("list", "--created-since", code), ("redemptions", "--user", code)),
        *((*words, code), (*words, "1", "--note", code), (*words, "1", "--expires", code)),
        *(("update", code, "--set-note", code), ("update", code, "--set-expires", code)),
        *(("revoke", "--from-file", code, "--yes"), ("--config", code, "list")),
        *(("list", "--output", f"{code}/x"), ("list", f"--raw={code}")),
        *(("sandbox", code), ("sandbox", "reset", "--step", code), ("sandbox", "redeem", code)),
    ):
        assert 0 != operator.run(*slip).exit_code, slip
    operator.run("revoke", "-", "--yes", stdin=f"{code}\n{code}{code}\n")
    operator.run("revoke", "-", "--yes", stdin=f'[{{"id": "{code}"}}]')


def _be_watched(operator: Operator, code: str) -> None:
    """Run a command that waits, and look at it meanwhile from outside."""
    watch = operator.watch
    name = read_name(code)
    assert name is not None
    code_id = watch.database.value(
        "select id::text from redemption_codes where code_hash = %s", [str(name.value)]
    )
    settings = {"timeouts": {"lock": 60}}
    command = ("update", "-", "--set-expires", "9d", "--yes")
    with (
        locking(watch.database, [code_id]) as holder,
        watch.invite.start(*command, env=operator.login, settings=settings) as process,
    ):
        assert process.stdin is not None
        process.stdin.write(code.encode())
        process.stdin.close()
        process.stdin = None
        await_blocked(watch.database)
        watch.look(process.pid)
        holder.execute("rollback")
        process.communicate(timeout=TIMEOUT)


@pytest.mark.parametrize(
    "holder",
    [
        Secret("p@ssword"),
        Settings(database=Secret("postgresql://login:p@ssword@host/db")),
        {"url": Secret("p@ssword"), "hash": digest(CODE)},
        Piece(["id"], codes.Secrets([CODE])),
        [codes.Secrets([CODE]), codes.digests([CODE])],
        read_name(CODE),
    ],
    ids=["secret", "settings", "mapping", "piece", "many", "name"],
)
def test_repr_is_blank(holder: Any) -> None:  # noqa: ANN401 - whatever may hold a secret
    """What Python shows of a value in a traceback or a log holds no secret."""
    shown = repr(holder)
    assert [] == [part for part in ("p@ssword", "JYOTISH-A", HASH) if part in shown]
