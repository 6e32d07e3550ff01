"""Exports: by COPY, whatever is looked for, and whatever the server's zones and wires do."""

from __future__ import annotations

import csv
import io
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import incall
import pytest
import stock
from hostile import failure
from lossy import Cut, lossy
from shelf import put
from stopping import PATIENT, SIGNALS, stop
from tap import tapped
from test_blocked_output import await_full
from tool import TIMEOUT
from waiting import await_gone

from invite_admin import progress

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite, Result

ZONES: Final = Path("/usr/share/zoneinfo")
ROWS: Final = 20_000  # more than all buffers on the way hold
HOSTILE: Final = [
    *("'", "''", "' or true --", "\\", "\\'", "\\\\", "%", "%%", "%s", "%(note)s", "_", "/%"),
    *("$1", ":note", "$$", '"', "b\nc", "a\tb\r\nc", "\u202e\U0001f642", "E'\\x41'", "x" * 20_000),
    "'); drop table public.redemption_codes; --",
]


def ids(result: Result) -> list[str]:
    """Return the ids of a report in csv."""
    assert 0 == result.exit_code, result.stderr
    text = io.StringIO(result.stdout_bytes.decode(), newline="")
    return [row["id"] for row in csv.DictReader(text, strict=True)]


def zones(tmp_path: Path, **files: str) -> str:
    """Make a folder of time zones, each a copy of another one, and return it."""
    for name, copied in files.items():
        path = tmp_path / "zones" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ZONES / copied, path)
    return str(tmp_path / "zones")


@pytest.fixture
def by_python(tmp_path: Path) -> dict[str, Any]:
    """What has Python write an export: a zone, alike with UTC, that the server has not."""
    known = zones(tmp_path, Mars__Olympus="Etc/UTC")
    return {"settings": {"timezone": "Mars/Olympus"}, "env": {"PYTHONTZPATH": known}}


@pytest.mark.parametrize("verb", ["list", "redemptions"])
@pytest.mark.parametrize("option", ["--note", "--search"])
def test_hostile_words(
    invite: Invite, database: Database, by_python: dict[str, Any], option: str, verb: str
) -> None:
    """What is looked for in an export is a text and nothing else, however it is written."""
    person = {"redeemed_by": stock.UNKNOWN_ID, "redeemed_at": "2030-01-01Z"}
    made = {text: str(database.insert_code(note=f"a{text}", **person)) for text in HOSTILE}
    for text, identity in made.items():
        line = (verb, option, f"a{text}" if option == "--note" else text)
        rows = invite(*line, "--format", "jsonl", **by_python).jsonl
        found = [row["id"] for row in rows]
        assert identity in found
        assert found == ids(invite(*line, "--format", "csv"))


def test_every_filter(invite: Invite, database: Database, by_python: dict[str, Any]) -> None:
    """An export takes every filter, order and limit that a list takes."""
    for status in ("available", "redeemed", "revoked", "expired") * 2:
        stock.make(database, status, note=f"a {status} one", credits=len(status))
    asked = [
        ["--status", "available", "--status", "revoked"],
        ["--points", "7", "--reverse"],
        ["--sort", "status", "--limit", "5"],
        ["--sort", "expires", "--reverse", "--limit", "7"],
        ["--created-since", "1h", "--expires-before", "30d"],
        ["--created-until", "2000-01-01"],
    ]
    for line in asked:
        rows = invite("list", *line, "--format", "jsonl", **by_python).jsonl
        assert [row["id"] for row in rows] == ids(invite("list", *line, "--format", "csv"))
        assert rows == invite("list", *line, "--format", "json").json


@pytest.mark.parametrize(
    ("zone", "offset"), [("Asia/Shanghai", "+09:00"), ("Mars/Olympus", "-03:00")]
)
def test_zones_that_the_server_has_not(
    invite: Invite, database: Database, tmp_path: Path, zone: str, offset: str
) -> None:
    """Where the server has other rules for a zone, or none, times are this machine's all the same.

    Here clocks in Shanghai show Tokyo's time, and those on Mars Buenos Aires'.
    """
    put(database, "A", created_at="2026-01-01Z", expires_at="2100-01-01Z")
    known = zones(
        tmp_path, Asia__Shanghai="Asia/Tokyo", Mars__Olympus="America/Argentina/Buenos_Aires"
    )
    how: dict[str, Any] = {"settings": {"timezone": zone}, "env": {"PYTHONTZPATH": known}}
    (row,) = invite("list", "--format", "jsonl", **how).jsonl
    done = invite("list", "--format", "csv", **how)
    assert (0, 2) == (done.exit_code, len(done.stdout.splitlines()))
    assert row["created_at"].endswith(offset)
    assert f",{row['expires_at']},,{row['created_at']}," in done.stdout


@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_how_it_is_asked(invite: Invite, database: Database, form: str) -> None:
    """An export for a machine is one COPY, in which the values stand quoted."""
    put(database, "A", note="it's")
    with tapped(database.url("owner")) as (url, heard):
        done = invite(
            *("list", "--note", "it's", "--format", form),
            login="owner",
            settings={"timezone": "Asia/Shanghai"},
            env={"INVITE_DATABASE_URL": url},
        )
    assert (0, 1) == (done.exit_code, done.stdout.count("it's"))
    (copy,) = [text for text in heard.statements() if text.startswith("copy ")]
    assert "'it''s'" in copy
    assert [] == [text for text in heard.statements() if text.startswith("DECLARE")]


@pytest.mark.parametrize(("form", "begin"), [("csv", b"id,mask"), ("jsonl", b'{"id": ')])
def test_a_reader_that_leaves(invite: Invite, database: Database, form: str, begin: bytes) -> None:
    """A reader that has seen enough is no failure, and leaves nothing open."""
    stock.make_many(database, ROWS)
    with invite.start("list", "--format", form, settings=PATIENT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert begin == process.stdout.read(7)
        process.stdout.close()
        process.wait(TIMEOUT)
        await_gone(database)
        told = process.stderr.read().decode()
    assert (0, 2) == (process.returncode, len(told.splitlines())), told


@SIGNALS
@pytest.mark.parametrize("form", ["csv", "json"])
def test_while_nobody_reads(
    database: Database, invite: Invite, *, form: str, number: int, exit_code: int, named: str
) -> None:
    """An export whose reader does not read ends when it is told to, and leaves nothing open."""
    stock.make_many(database, ROWS)
    with invite.start("list", "--format", form, settings=PATIENT) as process:
        await_full(process)
        line = stop(process, number)
        await_gone(database)
    assert exit_code == process.returncode
    assert f"invite: stopped: stopped by {named}; nothing was changed" == line


@pytest.mark.parametrize("name", ["codes.csv", "codes.json"])
def test_a_wire_that_breaks(invite: Invite, database: Database, tmp_path: Path, name: str) -> None:
    """A connection that is lost half-way leaves no file that looks whole."""
    stock.make_many(database, ROWS)
    with lossy(database.url("owner"), Cut.BACK, 1_000_000) as wire:
        done = invite(
            *("list", "--output", name),
            login="owner",
            env={"INVITE_DATABASE_URL": wire.url},
        )
    said, _ = failure(done)
    assert (7, "unavailable: the connection to the server was lost") == (
        done.exit_code,
        said.partition(";")[0],
    )
    assert wire.broken
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_server_that_falls_silent(invite: Invite, database: Database, form: str) -> None:
    """A server that sends nothing more is waited for as long as a statement may take."""
    stock.make_many(database, ROWS)
    with lossy(database.url("owner"), Cut.HANG, 1_000_000) as wire:
        done = invite(
            *("list", "--format", form),
            login="owner",
            env={"INVITE_DATABASE_URL": wire.url},
            settings={"timeouts": {"statement": 1}},
        )
        said, hint = failure(done)
    assert (7, True) == (done.exit_code, str(hint).startswith("hint: it may hang, or a pooler"))
    assert "unavailable: the server gave no answer for 1 s" == said.partition(",")[0]
    assert "; the result is incomplete" in said


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_wire_that_breaks_before_a_reader(invite: Invite, database: Database, form: str) -> None:
    """Who reads standard output is told that there was more to come."""
    stock.make_many(database, ROWS)
    with lossy(database.url("owner"), Cut.BACK, 1_000_000) as wire:
        env = {"INVITE_DATABASE_URL": wire.url}
        done = invite("list", "--format", form, login="owner", env=env)
    said, _ = failure(done)
    told = "unavailable: the connection to the server was lost; the result is incomplete"
    assert (7, told, True) == (done.exit_code, said, "JYOTISH" in done.stdout)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_how_far_it_is(
    invite: Invite,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    form: str,
) -> None:
    """An export to a file counts its rows on a terminal; one to a terminal shows itself."""
    stock.make_many(database, ROWS)
    monkeypatch.setattr(progress, "SILENT", 0.0)
    monkeypatch.setattr(progress, "AGAIN", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert 0 == incall.call(invite, "list", "--output", f"codes.{form}")
    lines = capsys.readouterr().err.split("\r")
    counts = [int(line.split()[0].replace(",", "")) for line in lines if " written, " in line]
    assert (ROWS, sorted(counts)) == (counts[-1], counts)
    assert f"written to codes.{form}\n" == lines[-1]
    assert 0 == incall.call(invite, "list", "--format", form)
    assert " written, " not in capsys.readouterr().err
