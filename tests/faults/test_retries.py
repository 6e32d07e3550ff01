"""What passes in a moment is tried again, said so, and bounded; nothing after it was delivered."""

from __future__ import annotations

import re
import socketserver
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Final

import incall
import pytest
from answering import refused, saying
from batches import check_nothing, check_paired, line, stored
from connecting import BRIEF, changed
from databases import make_url
from hostile import failure
from refusing import parameters_of, refusing
from stock import BOTH_WAYS, outcomes, revoked
from tap import Heard, _Pair
from waiting import read_until

from invite_admin import retries

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite, Result

AGAIN: Final = "trying again in "
TWICE: Final = """
    create sequence public.turns;
    create function public.twice() returns trigger language plpgsql security definer as $$
    begin
      if nextval('public.turns') <= 2 then
        raise exception 'hash %', new.code_hash using errcode = '{state}';
      end if;
      return new;
    end $$;
    create trigger twice before insert or update on public.redemption_codes
    for each row execute function public.twice();
"""
ALWAYS: Final = TWICE.replace("<= 2", "> 0")


def pauses(done: Result) -> list[float]:
    """Return the pauses that were said, in seconds."""
    return [float(found) for found in re.findall(rf"{AGAIN}([0-9.]+) s", done.stderr)]


class Late(socketserver.ThreadingTCPServer):
    """A way to the server whose port is refused until `open`.

    Args:
        url: Where to.
    """

    def __init__(self, url: str) -> None:
        self._to = parameters_of(url)
        handler = partial(_Pair, parameters=self._to, heard=Heard())
        super().__init__(("127.0.0.1", 0), handler, bind_and_activate=False)
        self.server_bind()

    @property
    def url(self) -> str:
        """The URL that leads this way."""
        plain = {"sslmode": "disable", "gssencmode": "disable"}
        own = {"host": "127.0.0.1", "port": str(self.server_address[1])}
        return make_url({**self._to, **own, **plain})

    def open(self) -> None:
        """Take connections from now on."""
        self.server_activate()
        Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}).start()


def test_a_server_that_starts_late(invite: Invite, database: Database) -> None:
    """A port that is refused at first: the command says that it tries again, and then does it."""
    with Late(database.url("admin_runtime")) as late:
        env = {"INVITE_DATABASE_URL": late.url}
        with invite.start(*line(5, 1, "--format", "json"), env=env) as process:
            assert process.stderr is not None
            read_until(process.stderr.fileno(), AGAIN.encode())
            late.open()
            try:
                out, told = process.communicate(timeout=60)
            finally:
                late.shutdown()
    assert 0 == process.returncode, told
    assert 5 == stored(database) == out.count(b"JYOTISH-") // 2


def test_the_wait_is_bounded(database: Database, invite: Invite) -> None:
    """A port that stays refused is waited for at most three times the connect timeout in all."""
    with refused() as port:
        url = changed(database, host="127.0.0.1", port=str(port))
        done = invite(*line(), env={"INVITE_DATABASE_URL": url}, settings=BRIEF)
    assert 7 == done.exit_code
    assert failure(done)[0].startswith("unavailable: cannot connect: nothing answers there")
    waits = pauses(done)
    assert (True, True) == (len(waits) >= 3, sum(waits) <= 3.0)
    assert waits == sorted(waits), "each pause is longer than the one before"


@pytest.mark.parametrize(
    ("state", "message", "passing"),
    [
        ("57P03", "the database system is starting up", True),
        ("57P03", "the database system is not accepting connections", True),
        ("28P01", 'password authentication failed for user "x"', False),
        ("3D000", 'database "x" does not exist', False),
        ("28000", 'no pg_hba.conf entry for host "x"', False),
        ("XX000", "Tenant or user not found", False),
    ],
)
def test_what_is_worth_another_try(
    invite_alone: Invite, state: str, message: str, *, passing: bool
) -> None:
    """A server that is starting is; a login that is refused fails at once."""
    with saying(state, message) as port:
        url = f"postgresql://login:x@127.0.0.1:{port}/db"
        done = invite_alone("list", env={"INVITE_DATABASE_URL": url}, settings=BRIEF)
    assert (passing, True) == (AGAIN in done.stderr, done.exit_code in (6, 7)), done.stderr


@pytest.mark.parametrize("state", ["40001", "40P01"])
@BOTH_WAYS
def test_generate_again(invite: Invite, database: Database, login: str, state: str) -> None:
    """Another transaction in the way: the batch is made anew, once, and each try is said."""
    database.execute(TWICE.format(state=state))
    done = invite(*line(5, 1, "--format", "json"), login=login)
    assert (0, 2) == (done.exit_code, len(pauses(done))), done.stderr
    check_paired(database, done.json)
    assert "hash" not in done.stderr


@BOTH_WAYS
def test_generate_again_into_a_file(invite: Invite, database: Database, login: str) -> None:
    """Into a file as well; nothing of the earlier tries is left."""
    database.execute(TWICE.format(state="40001"))
    done = invite(*line(5, 1, "--output", "codes.jsonl"), login=login)
    assert (0, 2, 5) == (done.exit_code, len(pauses(done)), stored(database)), done.stderr
    assert ["codes.jsonl"] == [path.name for path in invite.folder.glob("*codes*")]


@BOTH_WAYS
def test_revoke_again(invite: Invite, database: Database, login: str) -> None:
    """A serialization failure: the whole set is changed anew, and each try is said."""
    ids = sorted(str(database.insert_code()) for _ in range(5))
    database.execute(TWICE.format(state="40001"))
    done = invite("revoke", *ids, "--yes", "--format", "json", login=login)
    assert (0, ["revoked"] * 5) == (done.exit_code, outcomes(done)), done.stderr
    assert (2, set(ids)) == (len(pauses(done)), revoked(database))


@BOTH_WAYS
def test_a_deadlock_while_revoking(invite: Invite, database: Database, login: str) -> None:
    """A deadlock that passes leaves no code busy."""
    ids = [str(database.insert_code()) for _ in range(5)]
    database.execute(TWICE.format(state="40P01"))
    done = invite("revoke", *ids, "--yes", "--format", "json", login=login)
    assert (0, ["revoked"] * 5) == (done.exit_code, outcomes(done)), done.stderr
    assert set(ids) == revoked(database)


@pytest.mark.parametrize("verb", ["generate", "revoke"])
def test_given_up(
    invite: Invite,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verb: str,
) -> None:
    """What gets in the way for ever ends with exit 8; nothing is stored or changed."""
    kept = str(database.insert_code())
    database.execute(ALWAYS.format(state="40001"))
    monkeypatch.setattr(retries, "IN_ALL", 1.0)
    command = line() if verb == "generate" else ["revoke", kept, "--yes"]
    assert 8 == incall.call(invite, *command)
    told = capsys.readouterr()
    assert ("", True) == (told.out, AGAIN in told.err)
    assert "invite: busy: another transaction got in the way; nothing was " in told.err
    assert (1, set()) == (stored(database), revoked(database))


@pytest.mark.parametrize("state", ["40001", "40P01"])
@BOTH_WAYS
def test_never_after_delivery(invite: Invite, database: Database, login: str, state: str) -> None:
    """Codes that were shown are never made anew: a COMMIT that is refused voids them."""
    with refusing(database.url(login), state) as url:
        env = {"INVITE_DATABASE_URL": url}
        done = invite(*line(5, 1, "--format", "jsonl"), login=login, env=env)
        filed = invite(*line(5, 1, "--output", "codes.csv"), login=login, env=env)
    check_nothing(database, done, 8)
    assert (5, []) == (len(done.jsonl), pauses(done))
    assert "the codes shown are void" in done.stderr
    check_nothing(database, filed, 8)
    assert ([], []) == (pauses(filed), list(invite.folder.glob("*codes*")))


BOUNDS: Final = """
    create table public.bounds (allowed text);
    create function public.note() returns trigger language plpgsql security definer as $$
    begin
      insert into public.bounds values (current_setting('statement_timeout'));
      return null;
    end $$;
    create trigger note after insert or update on public.redemption_codes
    for each statement execute function public.note();
"""


@BOTH_WAYS
def test_time_for_many(invite: Invite, database: Database, login: str) -> None:
    """More than 100 codes are given 900 s a statement, unless the settings give more."""
    database.execute(BOUNDS)
    short, long = ({"timeouts": {"statement": seconds}} for seconds in (60, 1_200))
    expected = {(100, "short"): "1min", (101, "short"): "15min", (101, "long"): "20min"}
    for (count, name), bound in expected.items():
        points = str(count + len(name))
        chosen = short if name == "short" else long
        for command in (line(count, int(points)), ["revoke", "--points", points, "--yes"]):
            assert 0 == invite(*command, login=login, settings=chosen).exit_code
            assert {(bound,)} == set(database.rows("select allowed from public.bounds")), command
            database.execute("truncate public.bounds")
