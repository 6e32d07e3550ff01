"""The settings: which file counts, what may stand in it, and how a mistake is told."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import Final

import pytest

from invite_admin.errors import BadInput
from invite_admin.settings import Limits, Settings, Smoke, Timeouts, load

NOWHERE: Final = Path("/nonexistent")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    made = tmp_path / "work"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


def written(folder: Path, text: str | bytes, name: str = "invite.toml") -> Path:
    """Write a settings file and return its path."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_nothing_configured(folder: Path) -> None:
    """Without a file and variables there are the defaults, in UTC, and nobody acts."""
    found = load(None, folder / "none", {})
    assert Settings() == found
    assert (None, None, None, None, "UTC") == (
        found.path,
        found.database,
        found.actor,
        found.write_role,
        str(found.timezone),
    )
    assert ("public", "redemption_codes") == (found.schema, found.table)
    assert (Limits(1_000_000, 10_000), Timeouts(10, 5, 60, 60)) == (found.limits, found.timeouts)
    assert (None, None, None) == (
        *(found.limits.codes_per_hour, found.limits.points_per_day, found.limits.points_open),
    )


def test_every_key(folder: Path) -> None:
    """Each key that the design names is read."""
    text = (
        'table = "beta.codes"\nactor = " Ops@Example.com "\nwrite_role = "service_role"\n'
        'timezone = "Asia/Shanghai"\n[limits]\npoints_per_code = 5\ncodes_per_batch = 6\n'
        "codes_per_hour = 7\npoints_per_day = 8\npoints_open = 9\n"
        "[timeouts]\nconnect = 1\nlock = 2\nstatement = 3\nidle = 4\n"
    )
    path = written(folder, text)
    found = load(None, NOWHERE, {})
    assert (path, "beta", "codes") == (found.path, found.schema, found.table)
    assert ("ops@example.com", "service_role") == (found.actor, found.write_role)
    assert "Asia/Shanghai" == str(found.timezone)
    assert (Limits(5, 6, 7, 8, 9), Timeouts(1, 2, 3, 4)) == (found.limits, found.timeouts)


def test_the_first_file_counts_alone(folder: Path, tmp_path: Path) -> None:
    """--config, INVITE_CONFIG, ./invite.toml, the user's folder: the first one, and no other."""
    user = tmp_path / "user"
    files = {
        "option": written(folder, 'actor = "option@x"\n', "option.toml"),
        "variable": written(folder, 'write_role = "variable"\n', "variable.toml"),
        "here": written(folder, "[limits]\npoints_per_code = 7\n"),
        "user": written(user, "[timeouts]\nlock = 9\n"),
    }
    option, variables = files["option"], {"INVITE_CONFIG": str(files["variable"])}
    expected = Settings(path=files["option"], named=True, actor="option@x")
    assert expected == load(option, user, variables)
    expected = Settings(path=files["variable"], named=True, write_role="variable")
    assert expected == load(None, user, variables)
    assert Settings(path=files["here"], limits=Limits(7)) == load(None, user, {"INVITE_CONFIG": ""})
    files["here"].unlink()
    assert Settings(path=files["user"], timeouts=Timeouts(lock=9)) == load(None, user, {})


def test_a_file_that_is_named_must_be_there(folder: Path) -> None:
    """A missing file that was named is refused; another is not taken in its place."""
    written(folder, 'actor = "here@x"\n')
    message = f"settings file {folder}/gone.toml: cannot be read: No such file or directory"
    for option, variables in ((Path("gone.toml"), {}), (None, {"INVITE_CONFIG": "gone.toml"})):
        with pytest.raises(BadInput) as caught:
            load(option, NOWHERE, variables)
        assert message == caught.value.message


def test_a_link_that_leads_nowhere_counts(folder: Path, tmp_path: Path) -> None:
    """A broken ./invite.toml is refused, instead of acting by the user's own file."""
    written(tmp_path / "user", 'actor = "user@x"\n')
    (folder / "invite.toml").symlink_to("gone.toml")
    with pytest.raises(BadInput, match=r"invite\.toml: cannot be read: No such file"):
        load(None, tmp_path / "user", {})


def test_a_link_is_followed(folder: Path, tmp_path: Path) -> None:
    """A symbolic link is a settings file like another."""
    (folder / "invite.toml").symlink_to(written(tmp_path / "else", 'actor = "else@x"\n'))
    assert "else@x" == load(None, NOWHERE, {}).actor


def test_a_folder_and_a_name_that_is_too_long(folder: Path) -> None:
    """What the operating system does not read is told in its words, without a traceback."""
    (folder / "invite.toml").mkdir()
    with pytest.raises(BadInput, match="cannot be read: Is a directory"):
        load(None, NOWHERE, {})
    with pytest.raises(BadInput, match="cannot be read: File name too long"):
        load(Path("x" * 300), NOWHERE, {})
    (folder / "invite.toml").rmdir()
    assert Settings() == load(None, NOWHERE / ("x" * 300), {})


def test_a_working_directory_that_was_removed(folder: Path, tmp_path: Path) -> None:
    """In a removed folder there is no ./invite.toml, and the user's own file counts."""
    folder.rmdir()
    path = written(tmp_path / "user", 'actor = "user@x"\n')
    assert Settings(path=path, actor="user@x") == load(None, tmp_path / "user", {})
    with pytest.raises(BadInput, match=r"settings file gone\.toml: cannot be read"):
        load(Path("gone.toml"), NOWHERE, {})


def test_a_code_in_the_name_is_not_repeated(folder: Path) -> None:
    """A code that was given where a file belongs is not shown."""
    with pytest.raises(BadInput) as caught:
        load(folder / "JYOTISH-ABCD-EFGH", NOWHERE, {})
    expected = "settings file (a name with a code in it): cannot be read: No such file or directory"
    assert expected == caught.value.message


def test_the_environment_overrides(folder: Path) -> None:
    """INVITE_ACTOR and INVITE_WRITE_ROLE win over the file; empty ones do not count."""
    written(folder, 'actor = "file@x"\nwrite_role = "file_role"\n')
    url = "postgresql://u:not-a-secret@h/d"
    variables = {
        "INVITE_ACTOR": "Env@X",
        "INVITE_WRITE_ROLE": "env_role",
        "INVITE_DATABASE_URL": url,
    }
    found = load(None, NOWHERE, variables)
    assert ("env@x", "env_role", url) == (found.actor, found.write_role, found.database)
    assert "not-a-secret" not in repr(found)
    found = load(None, NOWHERE, dict.fromkeys(variables, ""))
    assert ("file@x", "file_role", None) == (found.actor, found.write_role, found.database)


def test_this_process_s_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without variables given, those of the process count."""
    monkeypatch.setenv("INVITE_ACTOR", "process@x")
    assert "process@x" == load(None, folder, None).actor


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("INVITE_ACTOR", "ops", "variable INVITE_ACTOR: actor must be an e-mail address"),
        ("INVITE_ACTOR", "o\udc80@x", "variable INVITE_ACTOR: actor must be an e-mail address"),
        (
            "INVITE_WRITE_ROLE",
            "a role",
            "variable INVITE_WRITE_ROLE: write_role must be the name of a database role",
        ),
    ],
)
def test_wrong_variables(folder: Path, variable: str, value: str, message: str) -> None:
    """A variable that cannot be used is named, and its value is not repeated."""
    with pytest.raises(BadInput) as caught:
        load(None, folder, {variable: value})
    assert message == caught.value.message


def test_a_file_with_the_mark_of_a_windows_editor(folder: Path) -> None:
    """The byte order mark is no part of the first key."""
    written(folder, b'\xef\xbb\xbfactor = "a@b"\r\n')
    assert "a@b" == load(None, NOWHERE, {}).actor


def test_utc_needs_no_zone_files(folder: Path) -> None:
    """UTC, the default, is Python's own: a machine without zone files can run the tool."""
    written(folder, 'timezone = "UTC"\n')
    assert UTC is load(None, NOWHERE, {}).timezone
    assert UTC is Settings().timezone


@pytest.mark.parametrize("actor", [None, "ops@example.com"])
def test_every_write_needs_an_actor(actor: str | None) -> None:
    """The configured actor is given; where there is none, the hint says how to name one."""
    settings = Settings(actor=actor)
    if actor:
        assert actor == settings.require_actor()
        return
    with pytest.raises(BadInput, match="no actor is configured") as caught:
        settings.require_actor()
    assert 'add actor = "you@example.com"' in str(caught.value.hint)


def test_smoke(folder: Path) -> None:
    """Accounts are e-mail addresses and ids in any case, each once; nothing is enabled unsaid."""
    person = "ABCDEF00-0000-4000-8000-00000000000A"
    accounts = f'[" Ann@x ", "{person}", "ann@x", "{person.lower()}"]'
    written(folder, f"[smoke]\nenabled = true\naccounts = {accounts}\np95_seconds = 1.5\n")
    found = load(None, NOWHERE, {"INVITE_SMOKE_DATABASE_URL": "postgresql://u@h/d"})
    assert Smoke(enabled=True, accounts=("ann@x", person.lower()), p95_seconds=1.5) == found.smoke
    assert "postgresql://u@h/d" == found.users
    assert "postgresql" not in repr(found)
    written(folder, "[smoke]\np95_seconds = 3\n")
    assert Smoke(enabled=False, accounts=(), p95_seconds=3.0) == load(None, NOWHERE, {}).smoke
