"""What the command line refuses: one line and a hint, exit 2, and never what was typed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from invite_admin import paths, refusals
from invite_admin.cli import cli, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CODE: Final = "JYOTISH-ABCD-EFGH"
PASSWORD: Final = "hunter2-Tr0ub4dor"
SECRETS: Final = (CODE, PASSWORD, "--" + CODE, "-" + PASSWORD, f"--{PASSWORD}={CODE}")
FILES: Final = {"--against", "--output", "--from-file", "--config", "--resume", "--log-file"}
"""Options that name a file; messages name it too, unless a code stands in its name."""
STARTS: Final = {("sandbox", "redeem"), ("sandbox", "status")}
"""Commands that would look at the sandbox, once their options are understood."""


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings, no database, no sandbox: what is not refused ends before it connects."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("INVITE_DATABASE_URL", "INVITE_CONFIG", "PGHOST", "PGSERVICE", "PGDATABASE"):
        monkeypatch.delenv(name, raising=False)


def leaves(group: click.Group = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every group and command."""
    yield path
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        else:
            yield (*path, name)


def options_of(path: tuple[str, ...]) -> list[click.Option]:
    """Return the options of a command."""
    command: click.Command | None = cli
    for word in path:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    return [p for p in command.params if isinstance(p, click.Option)]


def planted() -> Iterator[tuple[str, ...]]:
    """Yield command lines with a secret in each place where something can be typed."""
    for path in leaves():
        for secret in SECRETS:
            yield from _planted(path, secret)


def _planted(path: tuple[str, ...], secret: str) -> Iterator[tuple[str, ...]]:
    dashed = secret if secret.startswith("-") else f"--{secret}"
    yield (*path, dashed)
    yield (*path, f"--note-{secret}", secret)
    if path not in STARTS:
        yield (*path, secret)
        yield (*path, secret, secret)
    for option in options_of(path):
        name = option.opts[-1]
        yield (*path, f"{name}-{secret}")
        if name in FILES and not re.search(CODE, secret):
            continue
        if option.is_flag:
            yield (*path, f"{name}={secret}")
        elif path not in STARTS:
            yield (*path, name, secret)
            yield (*path, f"{name}={secret}", secret)


def told(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> tuple[int, str, str]:
    """Run a command line; return its exit status, standard output and standard error."""
    code = run(arguments)
    caught = capsys.readouterr()
    return code, caught.out, caught.err


def test_nothing_typed_is_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    """A code or a password in any option, argument or command name is in no message."""
    lines = list(planted())
    assert len(lines) > 500
    for arguments in lines:
        code, out, err = told(capsys, arguments)
        assert [] == [s for s in (CODE, PASSWORD) if s in out + err], arguments
        assert (2, "") == (code, out), arguments
        first, *hints = err.splitlines()[-2:] if "hint: " in err else err.splitlines()[-1:]
        assert first.startswith("invite: bad input: "), arguments
        assert all(hint.startswith("hint: ") for hint in hints), arguments


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ([], "`invite` needs a command", "run `invite --help`"),
        (["sandbox"], "`invite sandbox` needs a command", "run `invite sandbox --help`"),
        (["lsit"], "there is no such command", "is it list?"),
        (["zzz"], "there is no such command", "run `invite --help`"),
        (["list", "--limt", "1"], "`invite list` has no such option", "is it --limit?"),
        (["list", "--zzz"], "`invite list` has no such option", "run `invite list --help`"),
        (["list", "-zzz"], "`invite list` has no such option", "run `invite list --help`"),
        (["--zzz"], "`invite` has no such option", "run `invite --help`"),
        (["list", "--limit"], "--limit needs a value", "run `invite list --help`"),
        (["--config"], "--config needs a value", "run `invite --help`"),
        (["revoke", "--yes=1"], "--yes takes no value", "run `invite revoke --help`"),
        (["generate", "--points", "1"], "--count is missing", "run `invite generate --help`"),
        (
            ["check", "x"],
            "`invite check` does not take these arguments",
            "a text of several words, such as a note, stands in quotes; run `invite check --help`",
        ),
        (
            ["list", "--sort", "size"],
            "--sort must be one of created, expires, points, status",
            "run `invite list --help`",
        ),
        (
            ["list", "--limit", "0"],
            "--limit must be a whole number from 1 on, in the digits 0-9",
            "run `invite list --help`",
        ),
        (
            ["list", "--limit", "9" * 20],
            "--limit must be a whole number from 1 to 9,223,372,036,854,775,807",
            "run `invite list --help`",
        ),
        (
            ["revoke", "--from-file", "a.csv", "--from-file=b.csv", "--yes"],
            "--from-file is given more than once, and only one would count",
            "run `invite revoke --help`",
        ),
        (
            ["generate", "--count", "2", "--points", "1", "--note", "--dry-run"],
            "--note needs a value; one that begins with -- is written --note=VALUE",
            "run `invite generate --help`",
        ),
        (
            ["update", "--note", "a", "--set-note", "--dryrun", "--yes"],
            "--set-note needs a value; one that begins with -- is written --set-note=VALUE",
            "run `invite update --help`",
        ),
        (
            ["--log-file", "--sandbox", "check"],
            "--log-file needs a value; one that begins with -- is written --log-file=VALUE",
            "run `invite --help`",
        ),
        (
            ["--config", "/dev/null", "--config", "/dev/null", "check"],
            "--config is given more than once, and only one would count",
            "run `invite --help`",
        ),
        (
            ["sandbox", "redeem", "--as", "a@b"],
            "code is missing",
            "run `invite sandbox redeem --help`",
        ),
        (
            ["sandbox", "redeem", "JYOTISH\u2013FAKE\u2013FAKE", "--as", "a@b"],
            "the application refuses this code as it was typed; nothing was redeemed",
            "type it as JYOTISH-XXXX-XXXX, with plain hyphens and letters, and nothing else",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_each_refusal(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str, hint: str
) -> None:
    """Every kind of Click's refusals is one line of ours that names the option, and a hint."""
    expected = f"invite: bad input: {message}\nhint: {hint}\n"
    assert (2, "", expected) == told(capsys, tuple(arguments))


def repeated() -> Iterator[tuple[tuple[str, ...], click.Option]]:
    """Yield every option, and its command line with the option given twice."""
    for path in leaves():
        for option in options_of(path):
            given = (option.opts[-1],) if option.is_flag else (option.opts[-1], "x")
            yield (*path, *given, *given), option


def test_each_option_counts_once(capsys: pytest.CaptureFixture[str]) -> None:
    """No option drops a value that was given before: it is repeatable, or refused."""
    refusal, repeatable, single = "is given more than once", set[str](), 0
    for arguments, option in repeated():
        _, _, err = told(capsys, arguments)
        if option.multiple:
            repeatable.add(option.opts[-1])
        single += not (option.is_flag or option.multiple)
        named = f"{option.opts[-1]} {refusal}" in err
        assert named != (option.is_flag or option.multiple), (arguments, err)
    assert {"--status", "--users"} == repeatable
    assert single > 50


def test_no_option_is_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    """No option takes the one that follows for its value, as where a variable is empty."""
    takers = [(path, o.opts[-1]) for path in leaves() for o in options_of(path) if not o.is_flag]
    assert len(takers) > 50
    for path, name in takers:
        code, out, err = told(capsys, (*path, name, "--help"))
        assert (2, "") == (code, out), (path, name)
        assert err.startswith(f"invite: bad input: {name} needs a value; one that"), (path, name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list", "--raw"], "--raw and --bom go with csv only"),
        (["list", "--bom", "--format", "json"], "--raw and --bom go with csv only"),
        (["show", CODE, "--from-file", "x"], "name codes as arguments or by --from-file, not both"),
        (["show", CODE, "-"], "`-` (standard input) stands alone, without other codes"),
        (["show"], "name at least one code, id or mask, or `-` for standard input"),
        (["update", CODE], "no new value was given; nothing was changed"),
        (
            ["revoke"],
            "name codes or give filters, one of the two is needed; nothing was changed",
        ),
        (
            ["revoke", CODE, "--note", "x"],
            "name codes or give filters, not both; nothing was changed",
        ),
        (["revoke", "-"], "codes from standard input need --yes; nothing was changed"),
        (
            ["revoke", CODE],
            "without a terminal to ask on, --yes is needed; nothing was changed",
        ),
    ],
    ids=lambda value: " ".join(value).replace(CODE, "CODE") if isinstance(value, list) else "",
)
def test_options_that_exclude_each_other(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    """What cannot be meant together is refused before anything is read or sent."""
    code, out, err = told(capsys, tuple(arguments))
    assert (2, "", f"invite: bad input: {message}") == (code, out, err.splitlines()[0])


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["revoke"], "give codes, `-` or --from-file FILE, or a filter such as --note"),
        (["update", "--set-note", "x"], "give codes, `-` or --from-file FILE, or a filter"),
        (["update", CODE], "give --set-expires or --set-note, or both"),
    ],
    ids=["revoke", "update", "update CODE"],
)
def test_what_to_give(capsys: pytest.CaptureFixture[str], arguments: list[str], hint: str) -> None:
    """A change that was not told what to change, or to what, says what can be given."""
    _, _, err = told(capsys, tuple(arguments))
    assert err.splitlines()[1].startswith(f"hint: {hint}")


def test_control_characters_in_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    """The name of a file reaches the terminal with its control characters as escapes."""
    code, out, err = told(capsys, ("--config", "\x1b[31m\u202ered\n\udc80", "list"))
    assert (2, "") == (code, out)
    assert r"/\x1b[31m\u202ered\n\udc80: cannot be read: No such file or directory" in err
    assert 1 == err.count("\n")


def test_every_class_of_click_s_refusals_is_reworded() -> None:
    """Each class of refusal that Click has, with a secret in it, comes out without it."""
    context = click.Context(click.Command("list"), info_name="list")
    for kind in set(_below(click.UsageError)) - {paths.Refusal}:
        error = _made(kind, context)
        shown = refusals.reworded(error, cli)
        assert PASSWORD not in shown.message + str(shown.hint), kind
        assert "\n" not in shown.message + str(shown.hint), kind


def _below(kind: type[click.UsageError]) -> Iterator[type[click.UsageError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _below(below)


def _made(kind: type[click.UsageError], context: click.Context) -> click.UsageError:
    error = kind.__new__(kind)
    click.UsageError.__init__(error, f"message with {PASSWORD}", context)
    values = {"param": None, "param_hint": PASSWORD, "option_name": "--note", "possibilities": None}
    for name, value in {**values, "command_name": PASSWORD, "param_type": None}.items():
        setattr(error, name, value)
    return error


WORDS: Final = [
    *("list", "show", "revoke", "update", "generate", "stats", "redemptions", "check", "-", "--"),
    *("--yes", "--dry-run", "--note", "--limit", "--count", "--points", "--status", "--format"),
    *("--set-expires", "--expires", "--user", "--by", "--sort", "--raw", "csv", "30d", "5", "x=1"),
    *(CODE, PASSWORD, f"--{PASSWORD}", "\udc80", "\x1b[31m", "", " ", "\u6f22"),
]


@settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(arguments=st.lists(st.sampled_from(WORDS), max_size=6))
def test_any_command_line(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """Any command line ends in help or in one refusal, with no secret and no control character."""
    code, out, err = told(capsys, tuple(arguments))
    assert (code, out) == (2, "")
    assert [] == [s for s in (CODE, PASSWORD) if s in err]
    assert [] == [c for c in err if not c.isprintable() and c != "\n"]
    assert 1 == err.count("invite: bad input: ")
