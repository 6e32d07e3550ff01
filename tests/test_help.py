"""The help of every command, walked over the tree, so that a new command is tested by existing."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import pytest

import invite_admin
from invite_admin import commands
from invite_admin.cli import cli, run
from invite_admin.commands import _modules

if TYPE_CHECKING:
    from collections.abc import Iterator

    Branch = tuple[tuple[str, ...], click.Command]

REFERENCE: Final = Path(__file__).parents[1] / "docs/reference.md"
EXTRA: Final = '''
import click

@click.command()
@click.option("--times", default=1)
def command(times: int) -> None:
    """Greet."""
    raise SystemExit(times)
'''


def branches(group: click.Group = cli, path: tuple[str, ...] = ()) -> Iterator[Branch]:
    """Yield every command and group below one, with the words that lead to it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from branches(command, (*path, name))


TREE: Final = list(branches())
EVERY: Final = pytest.mark.parametrize(
    ("path", "command"), TREE, ids=[" ".join(p) for p, _ in TREE]
)


@pytest.fixture(autouse=True)
def no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Away from any settings file and database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_the_commands() -> None:
    """The commands of the design are there."""
    promised = {"check", "generate", "list", "redemptions", "revoke", "show", "stats", "update"}
    found = {path for path, _ in TREE}
    assert {(name,) for name in promised} <= found
    assert {("sandbox", name) for name in ("status", "redeem", "reset", "stop")} <= found


@EVERY
def test_the_help_of_a_command(
    path: tuple[str, ...], command: click.Command, capsys: pytest.CaptureFixture[str]
) -> None:
    """Help says what the command does and shows an example of it, all on standard output."""
    assert 0 == run([*path, "--help"])
    told = capsys.readouterr()
    assert "" == told.err
    assert told.out.startswith(f"Usage: invite {' '.join(path)} ")
    assert "Example: invite " in told.out
    assert f"invite {' '.join(path)}" in told.out.partition("Example:")[2].replace(" --sandbox", "")
    assert [] == [line for line in told.out.splitlines() if len(line) > 80]
    assert str(command.help).isascii()


@pytest.mark.parametrize("path", [(), *dict(TREE)], ids=" ".join)
def test_the_help_is_in_the_reference(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference shows the help just as a terminal of 80 columns does."""
    monkeypatch.setenv("COLUMNS", "80")
    run([*path, "--help"])
    heading = f"### `{' '.join(('invite', *path))}`"
    assert f"{heading}\n\n```text\n{capsys.readouterr().out}```\n" in REFERENCE.read_text()


@EVERY
def test_every_option_is_explained(path: tuple[str, ...], command: click.Command) -> None:
    """Every option has a help of its own."""
    options = [p for p in command.params if isinstance(p, click.Option)]
    assert [] == [(path, option.name) for option in options if not option.help]


@EVERY
def test_the_line_in_the_list(path: tuple[str, ...], command: click.Command) -> None:
    """The list of commands shows the whole first sentence."""
    assert not command.get_short_help_str(62).endswith("..."), path


@EVERY
def test_no_option_has_a_variable(path: tuple[str, ...], command: click.Command) -> None:
    """No option is set by the environment: a forgotten variable must not confirm a revoke."""
    assert [] == [(path, p.name) for p in [*cli.params, *command.params] if p.envvar]


@pytest.mark.parametrize("name", ["INVITE_YES", "INVITE_REVOKE_YES", "INVITE_REVOKE_DRY_RUN"])
def test_safety_flags_ignore_variables(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A variable that is named like a flag does not set it."""
    monkeypatch.setenv(name, "1")
    assert 2 == run(["revoke", "--note", "x"])
    assert "without a terminal to ask on, --yes is needed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("generate", "never"),
        ("show", "standard input"),
        ("revoke", "`-` reads standard input"),
        ("list", "masks only"),
        ("update", "30d"),
        ("redemptions", "deleted"),
        ("check", "Nothing is changed"),
    ],
)
def test_what_help_must_mention(
    command: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Help names the default that costs, and how a code stays out of the shell's history."""
    run([command, "--help"])
    assert word in " ".join(capsys.readouterr().out.split())


def test_no_option_takes_a_password_or_a_url() -> None:
    """Options are seen by everybody on the machine."""
    names = {name for _, c in TREE for p in c.params for name in p.opts}
    assert [] == [n for n in names if any(w in n for w in ("pass", "url", "dsn", "host", "secret"))]


@pytest.mark.parametrize("arguments", [["-h"], ["list", "-h"], ["sandbox", "redeem", "-h"]])
def test_the_short_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """-h is --help."""
    assert 0 == run(arguments)
    short = capsys.readouterr().out
    assert 0 == run([*arguments[:-1], "--help"])
    assert short == capsys.readouterr().out
    assert short.startswith("Usage: invite ")


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    """The version is one line."""
    assert 0 == run(["--version"])
    assert f"invite {invite_admin.__version__}\n" == capsys.readouterr().out


@pytest.fixture
def found_anew() -> Iterator[None]:
    """Let the commands be looked for again, before and after the test."""
    _modules.cache_clear()
    yield
    _modules.cache_clear()


@pytest.mark.usefixtures("found_anew")
def test_a_command_is_found_by_being_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One new file is a new command; a name that Python keeps for itself has a _ behind it."""
    for name in ("greet", "import_"):
        (tmp_path / f"{name}.py").write_text(EXTRA)
        monkeypatch.delitem(sys.modules, f"{commands.__name__}.{name}", raising=False)
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    assert 0 == run(["--help"])
    told = capsys.readouterr().out
    assert [True, True] == [f"  {name} " in told for name in ("greet", "import")]
    for name in ("greet", "import"):
        with pytest.raises(SystemExit) as ended:
            run([name, "--times", "7"])
        assert 7 == ended.value.code


@pytest.mark.parametrize("name", sorted(_modules()))
def test_the_one_line_of_a_command(name: str) -> None:
    """What the tool says of a command without loading it is what its own help begins with."""
    context = click.Context(cli)
    command = cli.get_command(context, name)
    assert command is not None
    module = importlib.import_module(f"{commands.__name__}.{_modules()[name]}")
    assert module.__doc__ == (command.help or "").partition("\n")[0]
