"""Mistakes in the settings: each is told in one line with its place, and nothing is repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import PATIENT

from invite_admin.errors import BadInput
from invite_admin.settings import load

NOWHERE: Final = Path("/nonexistent")


def written(folder: Path, text: str | bytes) -> Path:
    """Write a settings file and return its path."""
    path = folder / "invite.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(folder: Path, text: str | bytes) -> str:
    """Return how a settings file is refused, its path written as FILE."""
    path = written(folder, text)
    with pytest.raises(BadInput) as caught:
        load(path, NOWHERE, {})
    return caught.value.message.replace(str(path), "FILE")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("foo = 1\n", 1),
        ("\n# foo = 1\n\nfoo = 1", 4),
        ("\r\nfoo = 1\r\n", 2),
        ('"foo" = 1', 1),
        ("'foo' = 1", 1),
        ('"f\\u006fo" = 1', 1),
        ('actor = "a@b"\n\n[foo]\nx = 1\n', 3),
        ("\n[[foo]]\nx = 1\n", 2),
        ("\nfoo.bar = 1\n", 2),
        ("\n[foo.bar]\n", 2),
        ("\ufefffoo = 1\n", 1),
        ('"a\\nb" = 1', 1),
        ('"" = 1', 1),
    ],
)
def test_the_line_of_an_unknown_key(tmp_path: Path, text: str, place: int) -> None:
    """A key that is not known is refused with its line, however TOML lets one write it."""
    assert f"FILE, line {place}: unknown key" == refused(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[limits]\nfoo = 1\n", 2),
        ("[ limits ]\n\nfoo = 1\n", 3),
        ('["limits"]\nfoo = 1\n', 2),
        ("['limits']\n'foo' = 1\n", 2),
        ("\nlimits.foo = 1\n", 2),
        ('\nlimits . "foo" = 1\n', 2),
        ("limits = {foo = 1}\n", 1),
        ("\nlimits = { points_per_code = 1, foo = 1 }\n", 2),
        ("\n[limits.foo]\nx = 1\n", 2),
        ("limits.points_per_code = 1\nlimits.foo = 1\n", 2),
        ("[timeouts]\nlock = 1\n[limits]\nfoo = 1\n", 4),
    ],
)
def test_the_line_of_an_unknown_key_in_a_section(tmp_path: Path, text: str, place: int) -> None:
    """So it is in a section: as a table, dotted, inline, quoted."""
    assert f"FILE, line {place}: unknown key in [limits]" == refused(tmp_path, text)


def test_a_key_of_the_other_section(tmp_path: Path) -> None:
    """A key is known in its own section only, and its own line is named."""
    text = "[timeouts]\nconnect = 1\n[limits]\npoints_per_code = 1\nconnect = 1\n"
    assert "FILE, line 5: unknown key in [limits]" == refused(tmp_path, text)


def test_what_looks_like_a_key_inside_a_text(tmp_path: Path) -> None:
    """A line of a longer text is not taken for the key that follows it."""
    text = 'timezone = """\\\n   UTC"""\n[timeouts]\nlock = [\n1]\n'
    assert "FILE, line 4: lock must be a whole number from 1 to 600" == refused(tmp_path, text)


@pytest.mark.parametrize("value", ["true", "1.0", '"5"', "0", "-1", "2147483648", "[5]", "{}"])
def test_wrong_numbers(tmp_path: Path, value: str) -> None:
    """A limit is a whole number within its bounds; a boolean is none."""
    expected = "FILE, line 2: points_per_code must be a whole number from 1 to 2147483647"
    assert expected == refused(tmp_path, f"[limits]\npoints_per_code = {value}\n")


@pytest.mark.parametrize(
    ("key", "most"), [("connect", 600), ("lock", 600), ("statement", 86_400), ("idle", 3_600)]
)
def test_the_bounds_of_timeouts(tmp_path: Path, key: str, most: int) -> None:
    """Every timeout has a bound, since a wait without one is none of the tool's."""
    path = written(tmp_path, f"timeouts.{key} = {most}\n")
    assert most == getattr(load(path, NOWHERE, {}).timeouts, key)
    expected = f"FILE, line 1: {key} must be a whole number from 1 to {most}"
    assert expected == refused(tmp_path, f"timeouts.{key} = {most + 1}\n")


@pytest.mark.parametrize("value", ["5", "true", "[]", "2026-01-01"])
def test_sections_must_be_sections(tmp_path: Path, value: str) -> None:
    """A section that is a plain value is refused, and so is a list of them."""
    expected = "FILE, line 1: limits must be a section, written as [limits]"
    assert expected == refused(tmp_path, f"limits = {value}\n")
    assert expected == refused(tmp_path, "[[limits]]\n")


@pytest.mark.parametrize(
    ("key", "form", "values"),
    [
        ("actor", "an e-mail address", ["5", "true", '""', '"ops"', '"a b@c"', '"a@b\\u0000"']),
        ("actor", "an e-mail address", ['"a@b@c"', '"a@\\u001b[31m"', '"a@b\\nc@d"']),
        ("table", "a table name such as public.redemption_codes", ["5", '""', '"a.b.c"', '"a."']),
        ("table", "a table name such as public.redemption_codes", ['"a b"', '"a;b"', '"t\\n"']),
        ("write_role", "the name of a database role", ["5", '""', '" r"', '"r\\n"', '"r;s"']),
        ("timezone", "a time zone such as Asia/Shanghai", ["5", '""', '"Mars/Base"', '"Asia"']),
        (
            "timezone",
            "a time zone such as Asia/Shanghai",
            ['"../../etc/passwd"', '"/etc/localtime"'],
        ),
        (
            "timezone",
            "a time zone such as Asia/Shanghai",
            ['"localtime"', '"right/UTC"', '"U\\u0000"'],
        ),
        (
            "timezone",
            "a time zone such as Asia/Shanghai",
            ['"Factory"', '"posixrules"', '"posix/UTC"'],
        ),
    ],
)
def test_wrong_texts(tmp_path: Path, key: str, form: str, values: list[str]) -> None:
    """A text that cannot be what the key means is refused; this machine's zone is no zone."""
    expected = [f"FILE, line 1: {key} must be {form}"] * len(values)
    assert expected == [refused(tmp_path, f"{key} = {value}\n") for value in values]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("actor = \n", "not TOML, at line 1, column 9"),
        ("[limits\n", "not TOML, at line 1, column 8"),
        ('note = "not-a-secret', "not TOML, at end of document"),
        (b"\xff\xfea\x00", "cannot be read: it is not UTF-8"),
        (b'# caf\xe9\nactor = "a@b"', "cannot be read: it is not UTF-8"),
    ],
)
def test_what_is_no_toml(tmp_path: Path, text: str | bytes, message: str) -> None:
    """A file that cannot be parsed is told by its place, and nothing of it is repeated."""
    with pytest.raises(BadInput) as caught:
        load(written(tmp_path, text), NOWHERE, {})
    assert ("stands in quotes" in (caught.value.hint or "")) == message.startswith("not TOML")
    assert f"settings file FILE: {message}" == refused(tmp_path, text)


NINES: Final = "9" * 5_000


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"a = {NINES}", 1),
        (f'actor = "a@b"\n[limits]\npoints_per_code = {NINES}\n[timeouts]\n', 3),
        (f"# {NINES}\nactor = '{NINES}'\na = [\n1,\n-{NINES},\n]\nb = {NINES}\n", 5),
        (f'a = """\n{NINES}\n"""\r\nb = {"1_" * 5_000}1\r\nc =', 4),
    ],
)
def test_a_number_too_long(tmp_path: Path, text: str, line: int) -> None:
    """A number of more digits than Python reads is told by its line, whatever stands around."""
    assert f"settings file FILE, line {line}: a number that is too long" == refused(tmp_path, text)


def test_nesting_too_deep(tmp_path: Path) -> None:
    """So are brackets inside brackets without an end."""
    expected = "settings file FILE, line 3: nesting that is too deep"
    assert expected == refused(tmp_path, f"\n\na = {'[' * 5_000}\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('actor = "a@b"\nactor = "c@d"\n', 2),
        ('actor = "a@b"\nactor = "c@d"', 2),
        ('actor = "a@b"\n"actor" = "c@d"\ntimezone = "UTC"\n', 2),
        ("[limits]\n[timeouts]\n[limits]\n", 3),
        ("[limits]\n[timeouts]\n[limits]", 3),
        ("\n['line 7, column 7']\n['line 7, column 7']\n", 3),
        ("limits = {}\nlimits.points_per_code = 1", 2),
        ("limits = {}\n[limits]\n", 2),
        ("limits = {codes_per_batch = 1, codes_per_batch = 2}\n", 1),
        ("limits.points_per_code = 1\n[limits]\n", 2),
    ],
)
def test_what_is_there_twice(tmp_path: Path, text: str, line: int) -> None:
    """A key or section that is given twice is told as that, by its line, and is not repeated."""
    expected = f"settings file FILE, line {line}: a key or section that is there twice"
    assert expected == refused(tmp_path, text)


def test_the_hint_names_the_known_keys(tmp_path: Path) -> None:
    """Who mistyped a key is told which ones there are."""
    path = written(tmp_path, "tabel = 1\n")
    with pytest.raises(BadInput) as caught:
        load(path, NOWHERE, {})
    expected = "known keys: table, actor, write_role, timezone, [limits], [timeouts], [smoke]"
    assert expected == caught.value.hint


@PATIENT
@given(st.text(max_size=80))
def test_any_text(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Whatever a settings file holds, it is read or refused in one line."""
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        load(path, NOWHERE, {})
    except BadInput as refusal:
        assert "\n" not in refusal.message.replace(str(path), "")  # noqa: PT017 - either is right


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("enabled = 1", "enabled must be true or false"),
        ('enabled = "yes"', "enabled must be true or false"),
        ('accounts = "ann@x"', "accounts must be a list of e-mail addresses or user ids"),
        ("accounts = [1]", "accounts must be a list of e-mail addresses or user ids"),
        ('accounts = ["ann@x", "bob"]', "accounts must be a list of e-mail addresses or user ids"),
        ("p95_seconds = 0", "p95_seconds must be a number of seconds above 0, at most 60"),
        ("p95_seconds = 61", "p95_seconds must be a number of seconds above 0, at most 60"),
        ("p95_seconds = true", "p95_seconds must be a number of seconds above 0, at most 60"),
        ("p95_seconds = nan", "p95_seconds must be a number of seconds above 0, at most 60"),
        ("users = 1", "unknown key in [smoke]"),
    ],
)
def test_smoke(tmp_path: Path, line: str, form: str) -> None:
    """What smoke cannot act by is refused with its line, and without what was written."""
    assert f"FILE, line 2: {form}" == refused(tmp_path, f"[smoke]\n{line}\n")
