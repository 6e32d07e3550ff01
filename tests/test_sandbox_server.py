"""The embedded server's life: at once, killed, half-made, in odd places and as other users."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from invite_admin.errors import Busy
from invite_admin.sandbox import binaries, files
from invite_admin.sandbox import server as server_module
from invite_admin.sandbox.account import Account
from invite_admin.sandbox.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = os.geteuid() == 0
REPOSITORY = Path(__file__).resolve().parents[1]
OPEN = """
from invite_admin import sandbox
sandbox.open_sandbox(print)
"""
# All is imported first: this Python may lie where only root can read it.
AS_USER = """
import os, sys
import psycopg, psycopg.sql
from invite_admin import sandbox
from invite_admin.sandbox.server import Server
uid, umask = int(sys.argv[1]), int(sys.argv[2], 8)
if uid != os.geteuid():
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
os.umask(umask)
said = []
access = sandbox.open_sandbox(said.append)
status = sandbox.status()
print(status.folder, os.stat(f"/proc/{status.pid}").st_uid if sys.platform == "linux" else uid)
print(sandbox.reset(1, said.append).step, sandbox.redeem("none", access.users[0]).error_code)
Server(sandbox._folder()).stop()
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server of the test's own, not yet made, in a folder with a blank and a quote."""
    server = Server(tmp_path / "o'dd place")
    yield server
    server.remove()


@pytest.fixture
def reachable(tmp_path: Path) -> Iterator[Path]:
    """A folder that any user can reach, which pytest's own is not where root runs it."""
    if not ROOT:
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="invite-test-home-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def _environment(data_home: Path, **more: str) -> dict[str, str]:
    return {
        "PATH": "/nonexistent",
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_DATA_HOME": str(data_home),
        **more,
    }


def _python(program: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _wait(condition: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def _rows(server: Server, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(server.superuser_url()) as connection:
        return connection.execute(query.encode()).fetchall()


def _kill_server(server: Server) -> None:
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert _wait(lambda: not server.running)


def _modes(*places: Path) -> dict[Path, tuple[int, int, int]]:
    """Mode, owner and group of these places, of all that lies in them, and of their parents."""
    paths = {path for place in places for path in (place, *place.parents, *place.rglob("*"))}
    found = {path: path.lstat() for path in paths}
    return {path: (stat.S_IMODE(s.st_mode), s.st_uid, s.st_gid) for path, s in found.items()}


def test_server_is_private(server: Server) -> None:
    """It has passwords in scram form, a socket for one user alone, and no network port."""
    server.start()
    socket_folder = server.socket_folder
    assert socket_folder is not None
    wrong = server.url("postgres", "wrong", "postgres")

    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(wrong)
    settings = "listen_addresses", "server_encoding", "TimeZone", "jit"
    shown = [_rows(server, f"show {name}")[0][0] for name in settings]
    stored = _rows(server, "select rolpassword ~ '^SCRAM-SHA-256' from pg_authid where rolcanlogin")

    assert ["", "UTF8", "UTC", "off"] == shown
    assert [(True,)] == stored
    assert 0o700 == stat.S_IMODE(socket_folder.stat().st_mode)
    assert 107 > len(os.fsencode(socket_folder / ".s.PGSQL.5432"))


def test_server_outlives_its_starter(tmp_path: Path, server: Server) -> None:
    """The process that started the server ends; the server stays and is nobody's child."""
    program = (
        "import sys, pathlib; from invite_admin.sandbox.server import Server;"
        " Server(pathlib.Path(sys.argv[1])).start()"
    )
    starter = _python(program, str(tmp_path / "o'dd place"), **_environment(tmp_path))

    assert ("", "") == starter.communicate(timeout=60)
    assert server.ready
    assert server.stop()
    assert not server.running


def test_killed_server_starts_again(server: Server) -> None:
    """A pid file left by a killed server counts for nothing, even if its pid lives as another."""
    server.start()
    pid_file = server.folder / "data" / "postmaster.pid"
    with psycopg.connect(server.superuser_url()) as connection:
        connection.execute("create table kept ()")
    _kill_server(server)
    lines = pid_file.read_text().splitlines(keepends=True)
    pid_file.write_text("".join([f"{os.getpid()}\n", *lines[1:]]))

    assert (False, False, None) == (server.running, server.ready, server.pid)
    assert not server.stop()
    server.start()

    assert [(0,)] == _rows(server, "select count(*) from kept")


def test_lost_socket_is_made_again(server: Server) -> None:
    """A server whose socket somebody tidied away is started anew, with its data."""
    server.start()
    made_at = (server.folder / "data" / "PG_VERSION").stat().st_mtime
    assert server.socket_folder is not None
    shutil.rmtree(server.socket_folder)

    assert (True, False) == (server.running, server.ready)
    server.start()

    assert server.ready
    assert made_at == (server.folder / "data" / "PG_VERSION").stat().st_mtime


def test_hanging_server_is_stopped(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that hears no signal is ended by the kernel, after a bounded wait."""
    monkeypatch.setattr(
        "invite_admin.sandbox.process.STOP_SIGNALS", (("INT", 0.2), ("QUIT", 0.2), ("KILL", 10))
    )
    server.start()
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)

    assert server.stop()
    assert not server.running


def test_a_restart_keeps_the_socket(server: Server, tmp_path: Path) -> None:
    """Who waits for a server that was stopped finds it again; a link in its place is left."""
    server.start()
    first = server.socket_folder
    assert first is not None
    server.stop()
    server.start()
    assert (first, True) == (server.socket_folder, server.ready)
    server.stop()
    first.symlink_to(tmp_path)
    server.start()
    second = server.socket_folder
    first.unlink()

    assert second != first
    assert server.ready


def test_another_major_version_is_made_anew(server: Server) -> None:
    """Data of another PostgreSQL are of no use to this one."""
    server.start()
    server.stop()
    (server.folder / "data" / "PG_VERSION").write_text("17\n")

    server.start()

    assert "18\n" == (server.folder / "data" / "PG_VERSION").read_text()


def test_two_first_starts_make_one(tmp_path: Path) -> None:
    """Of two commands at once one makes the sandbox, and both end well."""
    both = [_python(OPEN, **_environment(tmp_path)) for _ in range(2)]
    answers = [one.communicate(timeout=100) for one in both]
    Server(tmp_path / "invite-sandbox").remove()

    assert [0, 0] == [one.returncode for one in both]
    assert 1 == "".join(out for out, _ in answers).count("making the sandbox")


def test_waiting_is_told_and_bounded(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who finds the lock taken says that it waits, and gives up in the end."""
    said: list[str] = []
    monkeypatch.setattr(server_module, "LOCK_SECONDS", 0.1)
    with server.lock(said.append):
        assert [] == said

        with pytest.raises(Busy), server.lock(said.append):
            pytest.fail("two held the lock")

    assert ["waiting for another command that prepares the sandbox, at most 0 s"] == said


def test_killed_holder_lets_go(tmp_path: Path) -> None:
    """A command killed in the middle of initdb holds nobody up, and nothing of it is used."""
    server = Server(tmp_path / "invite-sandbox")
    killed = _python(OPEN, **_environment(tmp_path))
    assert _wait(lambda: any(server.folder.glob("making-*/data/base")))
    killed.kill()
    killed.communicate()

    assert not server.made
    again = _python(OPEN, **_environment(tmp_path))
    said, error = again.communicate(timeout=100)
    left = list(server.folder.glob("making-*"))
    server.remove()

    assert (0, "") == (again.returncode, error)
    assert "making the sandbox; this takes a few seconds, once\n" == said
    assert [] == left


@pytest.mark.parametrize("umask", ["0000", "0077", "0777"])
def test_ordinary_user_in_a_private_home(reachable: Path, umask: str) -> None:
    """All works below a 0700 home, whatever umask and language are; no other mode changes."""
    uid = Account.current().uid if ROOT else os.geteuid()
    if ROOT and binaries.installed().version(Account.current()) is None:
        pytest.skip("the binaries are installed where only root can reach them")
    home = reachable / "home of somebody" / "é'\"$HOME"
    (home / "work").mkdir(parents=True)
    (home / "work" / "file").write_text("mine")
    (home / "work").chmod(0o751)
    for path in (home.parent, home, home / "work"):
        os.chown(path, uid or -1, -1)
    home.parent.chmod(0o700)
    before = _modes(home.parent)
    environment = _environment(home, HOME=str(home), LANG="xx_YY", LC_ALL="de_DE.ISO-8859-1")
    del environment["XDG_DATA_HOME"]

    user = _python(AS_USER, str(uid), umask, PGDATA="/nowhere", PGPORT="x", **environment)
    out, error = user.communicate(timeout=60)

    folder = home / ".local" / "share" / "invite-sandbox"
    assert "" == error
    assert f"{folder} {uid}\n1 invalid_code\n" == out
    after = _modes(home.parent)
    assert before == {path: after[path] for path in before}
    assert {0} == {mode & 0o077 for path, (mode, _, _) in after.items() if path not in before}


@pytest.mark.skipif(not ROOT, reason="only root changes to another user")
def test_root_hands_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root the server is nobody's, outside the home, with copied binaries where need be."""
    package = binaries.installed().folder.parents[1]
    private = tmp_path / "site-packages"
    private.mkdir(mode=0o700)
    for name in (binaries.PACKAGE, f"{binaries.PACKAGE}.libs"):
        if (package.parent / name).is_dir():
            shutil.copytree(package.parent / name, private / name)
    copy = binaries.Binaries(private / binaries.PACKAGE / "pginstall" / "bin")
    monkeypatch.setattr(binaries, "installed", lambda: copy)
    before = _modes(private)

    server = Server(tmp_path / "data")
    try:
        server.start()
        owner = (server.folder / "data").stat().st_uid
        secret = (server.folder / "password").stat()
        copies = [path.name for path in server.folder.glob("binaries-*")]
    finally:
        server.remove()

    assert Account.current().uid == owner
    assert (0, 0o600) == (secret.st_uid, stat.S_IMODE(secret.st_mode))
    assert 1 == len(copies)
    assert not (tmp_path / "data").exists()
    assert not server.folder.is_relative_to(Path.home())
    assert before == _modes(private)


def test_files_have_exact_modes(tmp_path: Path) -> None:
    """Folders and files are made with their modes under any umask; those that exist keep theirs."""
    mine = tmp_path / "mine"
    mine.mkdir()
    mine.chmod(0o755)
    old = os.umask(0o777)
    try:
        files.make_folder(mine / "a" / "b")
        files.write_file(mine / "a" / "b" / "secret", "text")
    finally:
        os.umask(old)

    modes = [stat.S_IMODE(path.stat().st_mode) for path in (mine, mine / "a", mine / "a" / "b")]
    assert [0o755, 0o700, 0o700] == modes
    assert 0o600 == stat.S_IMODE((mine / "a" / "b" / "secret").stat().st_mode)
