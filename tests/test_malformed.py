"""What cannot be meant: in any option, file, setting or on standard input, it is one refusal."""

from __future__ import annotations

import io
import json
import string
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from unicodedata import category

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_settings_mistakes import written

from invite_admin.cli import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Texts = st.SearchStrategy[str]

EXAMPLES: Final = 300
CONTROLS: Final = {"Cc", "Cf", "Cs", "Zl", "Zp"}
MADE: Final = ("generate", "--count", "1", "--points", "1")
LETTERS: Final = string.ascii_letters + string.punctuation + " \t\u6f22\u0661\uff11\u202e\x1b"
ARGUMENT: Final = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
WORDS: Final = st.text(LETTERS, min_size=1, max_size=20)
"""Texts without a digit: no number, no time, no id, no code of this application."""

NUMBERS: Final = st.one_of(
    WORDS,
    st.integers(max_value=0).map(str),
    st.decimals(allow_nan=True, allow_infinity=True, places=2).map(str),
    st.sampled_from(["", "1_000", "0x10", "1e3", "+5", " 5", "\u0665", "\uff15", "5;"]),
)
TIMES: Final = st.one_of(
    WORDS.filter(lambda text: text.strip() != "never"),
    st.sampled_from(["", "2026-13-01", "2026-02-30", "2026-12-31T25:00", "30x", "-30d", "1.5d"]),
    st.sampled_from(["2026-12-31T18:00+99:00", "20261231", "31.12.2026", "9" * 40 + "d"]),
    st.integers(10_000, 99_999).map(lambda year: f"{year}-01-01"),
)
NOTES: Final = st.one_of(
    st.text(string.ascii_letters, min_size=501, max_size=520),
    st.sampled_from(["a\nb", "\x1b[31mred", "a\tb", "a\u202eb", "JYOTISH-ABCD-EFGH"]),
)
SEARCHES: Final = st.sampled_from(["", " ", "\t", "JYOTISH-ABCD-EFGH", "x jyotish-abcd-efgh"])
IDS: Final = st.one_of(SEARCHES, st.just("x" * 201), st.sampled_from(["a\nb", "a\x1b", "a\u202eb"]))
USERS: Final = st.one_of(WORDS.filter(lambda text: "@" not in text), SEARCHES)
CHOICES: Final = WORDS.map(lambda text: text + "!")
NAMES: Final = st.text(string.ascii_lowercase + "$%(){}<>\u6f22", min_size=1, max_size=20)

TYPED: Final[list[tuple[tuple[str, ...], str, Texts]]] = [
    (("generate", "--points", "1"), "--count", NUMBERS),
    (("generate", "--count", "1"), "--points", NUMBERS),
    (MADE, "--expires", TIMES),
    (MADE, "--note", NOTES),
    (MADE, "--request-id", IDS),
    (MADE, "--format", CHOICES),
    (("list",), "--limit", NUMBERS),
    (("list",), "--points", NUMBERS),
    (("list",), "--created-since", TIMES),
    (("list",), "--created-until", TIMES),
    (("list",), "--expires-before", TIMES),
    (("list",), "--note", SEARCHES),
    (("list",), "--search", SEARCHES),
    (("list",), "--request-id", IDS),
    (("list",), "--status", CHOICES),
    (("list",), "--sort", CHOICES),
    (("stats",), "--by", CHOICES),
    (("redemptions",), "--user", USERS),
    (("redemptions",), "--since", TIMES),
    (("redemptions",), "--until", TIMES),
    (("redemptions",), "--limit", NUMBERS),
    (("revoke", "--yes"), "--points", NUMBERS),
    (("revoke", "--yes"), "--status", CHOICES),
    (("update", "--note", "x", "--yes"), "--set-expires", TIMES),
    (("update", "--note", "x", "--yes"), "--set-note", NOTES),
    (("runbook",), "--lang", CHOICES),
    (("sandbox", "reset"), "--step", CHOICES),
]
"""A command, its option, and what that cannot mean."""

BROKEN_KEYS: Final = st.sampled_from([
    *("actor = {}", "table = {}", "timezone = {}", "write_role = {}", "limits = {}", "{} = 1"),
    *("[limits]\npoints_per_code = '{}'", "[timeouts]\nlock = -1 # {}", "[timeouts]\n{} = 1"),
])  # fmt: skip


@dataclass
class Malformed:
    """One call that cannot be meant.

    Attributes:
        arguments: The command line; FILE and CONFIG in it stand for files that are made.
        file: What FILE holds.
        config: What CONFIG holds.
        stdin: What standard input holds.
        env: Variables.
    """

    arguments: tuple[str, ...]
    file: bytes = b""
    config: str = ""
    stdin: bytes = b""
    env: dict[str, str] = field(default_factory=dict)


def options() -> st.SearchStrategy[Malformed]:
    """Draw a value that an option cannot take."""
    return st.sampled_from(TYPED).flatmap(
        lambda typed: typed[2].map(lambda text: Malformed((*typed[0], f"{typed[1]}={text}")))
    )


def names() -> st.SearchStrategy[Malformed]:
    """Draw names of codes that are none, as arguments, in a file, on standard input."""
    lines = st.lists(NAMES, min_size=1, max_size=5).map(lambda found: "\n".join(found).encode())
    command = st.sampled_from([("show",), ("revoke", "--yes"), ("update", "--set-note=x", "--yes")])
    return st.one_of(
        st.builds(lambda words, name: Malformed((*words, "--", name)), command, NAMES),
        st.builds(lambda words, data: Malformed((*words, "-"), stdin=data), command, lines),
        st.builds(
            lambda words, data: Malformed((*words, "--from-file", "FILE"), file=data),
            command,
            lines | st.binary(max_size=40).map(lambda data: b"\xff" + data),
        ),
    )


def pending_files() -> st.SearchStrategy[Malformed]:
    """Draw files for `--resume` that are no whole pending file."""
    tampered = st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text())
    content = st.one_of(
        st.binary(max_size=60),
        st.lists(tampered, max_size=4).map(lambda all_: "\n".join(map(json.dumps, all_)).encode()),
    )
    return content.map(lambda data: Malformed(("generate", "--resume", "FILE"), file=data))


def settings_files() -> st.SearchStrategy[Malformed]:
    """Draw settings that mean nothing, for a command that is in order."""
    return st.builds(
        lambda form, text: Malformed(
            ("--config", "CONFIG", "list"), config=form.format(json.dumps(text + "!\u202e"))
        ),
        BROKEN_KEYS,
        st.text(ARGUMENT, max_size=10),
    )


def variables() -> st.SearchStrategy[Malformed]:
    """Draw variables of the environment that mean nothing."""
    url = "postgresql://127.0.0.1:1/db"
    return st.builds(
        lambda name, text: Malformed(
            ("list",), env={"INVITE_DATABASE_URL": url, name: f"{text} \u202e"}
        ),
        st.sampled_from(["INVITE_ACTOR", "INVITE_WRITE_ROLE", "INVITE_CONFIG"]),
        st.text(ARGUMENT, max_size=10),
    )


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[Malformed], tuple[int, str, str]]:
    """Run a call in this process; it gives exit status, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("INVITE_DATABASE_URL", "INVITE_CONFIG", "PGHOST", "PGSERVICE", "PGDATABASE"):
        monkeypatch.delenv(name, raising=False)
    config = written(tmp_path, "")

    def calling(given: Malformed) -> tuple[int, str, str]:
        files = {"FILE": str(tmp_path / "codes.csv.pending"), "CONFIG": str(config)}
        (tmp_path / "codes.csv.pending").write_bytes(given.file)
        config.write_text(given.config or 'actor = "ops@example.com"', encoding="utf-8")
        with monkeypatch.context() as patch:
            for name, value in given.env.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.stdin)))
            code = run([files.get(word, word) for word in given.arguments])
        caught = capsys.readouterr()
        return code, caught.out, caught.err

    return calling


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    given_=st.one_of(options(), options(), names(), pending_files(), settings_files(), variables())
)
@example(Malformed(("generate", "--resume", "FILE"), file=b"[]\n"))
@example(Malformed(("generate", "--resume", "FILE"), file=b"1\n2\n"))
@example(Malformed(("show", "-"), stdin=b'{"id": 5}\n'))
@example(Malformed(("show", "-"), stdin=b'["x"'))
@example(Malformed(("list", "--config=")))
def test_one_refusal(call: Callable[[Malformed], tuple[int, str, str]], given_: Malformed) -> None:
    """Exit 2, nothing on standard output, one line for it, and at most one that hints."""
    code, out, err = call(given_)
    assert (2, "") == (code, out), err
    first, *rest = err.splitlines()
    assert first.startswith("invite: bad input: "), err
    assert "no database is configured" not in first, "it was taken for a good one"
    assert (True, []) == (len(rest) <= 1, [x for x in rest if not x.startswith("hint: ")]), err
    assert [] == [c for c in err if category(c) in CONTROLS and c != "\n"]
    assert "JYOTISH-ABCD-EFGH" not in err.upper()
