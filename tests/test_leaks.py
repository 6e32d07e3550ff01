"""The search for secrets itself: a leak planted in any channel is found, a clean run has none."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import leaks
import psycopg
import pytest
from databases import ACTOR, hash_of, make_code
from leaks import ALLOWED, Secrets, Watch
from tap import log_to_client, tapped
from tool import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from databases import Database
    from tool import Invite

PASSWORD = "visibly fake: p@ss/word"
FORMS = ("code", "bare code", "hash", "upper hash", "password", "quoted password")


def form_of(code: str, name: str) -> str:
    """Return one form of a secret that a leak might have."""
    return {
        "code": code,
        "bare code": code.partition("-")[2].replace("-", "").lower(),
        "hash": hash_of(code),
        "upper hash": hash_of(code).upper(),
        "password": PASSWORD,
        "quoted password": "visibly%20fake%3A%20p%40ss%2Fword",
    }[name]


@pytest.fixture
def watch(database: Database, invite: Invite) -> Iterator[Watch]:
    """A watch on a database whose server tells its log, with one command run."""
    log_to_client(database)
    with tapped(database.url("admin_runtime")) as (url, heard):
        made = Watch(database, invite, url, heard)
        made.keep(invite("stats", env={"INVITE_DATABASE_URL": url}))
        yield made


def plant(watch: Watch, channel: str, text: str) -> None:
    """Put a text where a leak into this channel would put it."""
    if channel in (leaks.OUTPUT, leaks.ERROR):
        streams = (text.encode(), b"") if channel == leaks.OUTPUT else (b"", text.encode())
        watch.keep(Result(0, *streams))
    elif channel == leaks.FILES:
        (watch.invite.home / "log").write_text(text)
    elif channel in (leaks.AUDIT, leaks.TABLE):
        _plant_row(watch.database, text)
    elif channel in (leaks.ACTIVITY, leaks.PROCESS):
        _plant_process(watch, text)
    else:
        _plant_connection(watch, channel, text)


def _plant_row(database: Database, text: str) -> None:
    made = database.insert_code(note=text)
    database.execute(
        "insert into audit.admin_audit_logs (actor_user_id, actor_email, actor_role, action,"
        " target_type, target_id, after_value, request_id) values (%s, %s, 'admin',"
        " 'redemption_code.create', 'redemption_code', %s, jsonb_build_object('note', %s::text),"
        " 'planted')",
        [made, ACTOR, made, text],
    )


def _plant_process(watch: Watch, text: str) -> None:
    wait = [sys.executable, "-c", "import sys; sys.stdin.read()", text]
    with (
        watch.database.connect("reader") as connection,
        subprocess.Popen(wait, stdin=subprocess.PIPE) as process,
    ):
        connection.execute("select " + psycopg.sql.quote(text))
        watch.look(process.pid)


def _plant_connection(watch: Watch, channel: str, text: str) -> None:
    name = text if channel == leaks.STARTUP else "planted"
    with psycopg.connect(watch.url, application_name=name, autocommit=True) as connection:
        if channel == leaks.STATEMENTS:
            connection.execute("select " + psycopg.sql.quote(text))
        elif channel == leaks.PARAMETERS:
            connection.execute("select %s::text", [text])
        elif channel == leaks.LOG:
            connection.execute(
                "do $$ begin raise notice '%', " + psycopg.sql.quote(text) + "; end $$"
            )


def test_a_clean_run_has_no_leak(watch: Watch) -> None:
    """Nothing is found where nothing was planted, in channels that did receive something."""
    channels = watch.channels()
    assert set() == Secrets((make_code(),), (PASSWORD,)).seen(channels)
    silent = {leaks.AUDIT, leaks.TABLE, leaks.ACTIVITY, leaks.PROCESS}
    assert silent == {name for name, content in channels.items() if not content}


@pytest.mark.parametrize(
    "channel",
    [
        *(leaks.OUTPUT, leaks.ERROR, leaks.FILES, leaks.STATEMENTS, leaks.PARAMETERS),
        *(leaks.STARTUP, leaks.LOG, leaks.AUDIT, leaks.TABLE, leaks.ACTIVITY, leaks.PROCESS),
    ],
)
def test_a_planted_leak_is_found(watch: Watch, channel: str) -> None:
    """Each form of each secret is found in the channel where it was planted."""
    for name in FORMS:
        code = make_code()
        plant(watch, channel, form_of(code, name))
        found = Secrets((code,), (PASSWORD,)).seen(watch.channels())
        kind = name.rpartition(" ")[2]
        assert (channel, kind) in found | ALLOWED
