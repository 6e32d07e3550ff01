"""The operations pages and the README, followed as an operator would, block by block."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pages
import pytest

from invite_admin import runbook
from invite_admin.cli import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PAGES = {
    "en": ROOT / "docs/operations/beta-invite-codes.md",
    "zh": ROOT / "docs/operations/beta-invite-codes.zh.md",
}
SET_UP = ("Try it", "Test it")  # .ci/run runs these on a clean clone


@pytest.fixture
def operator() -> Iterator[pages.Operator]:
    """An operator in front of a fresh sandbox of step 3."""
    yield from pages.operator()


def readme() -> str:
    """Return the README without the lines that set up."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for title in SET_UP:
        text = re.sub(rf"^## {title}$.*?(?=^## )", "", text, flags=re.MULTILINE | re.DOTALL)
    return text


@pytest.mark.parametrize("page", ["en", "zh", "README"])
def test_every_block_runs_as_it_is_written(page: str, operator: pages.Operator) -> None:
    """Each command of a page ends as the page says, with the output it promises word for word."""
    text = readme() if page == "README" else PAGES[page].read_text(encoding="utf-8")
    steps = pages.steps_of(text)
    assert len(steps) > 5
    for step in steps:
        exit_code, shown = operator.follow(step)
        assert (step.command, step.exit_code) == (step.command, exit_code), shown
        if step.expected is not None:
            assert re.fullmatch(pages.pattern(step.expected), shown), (
                f"{step.command}\n--- promised\n{step.expected}\n--- shown\n{shown}"
            )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_committed_pages_are_current(language: str) -> None:
    """The committed page is what the tool writes now; `invite runbook --output` renews it."""
    expected = runbook.write_page(runbook.offline(3), cli, language)
    assert expected == PAGES[language].read_text(encoding="utf-8")


def test_every_promised_output_is_compared() -> None:
    """No `text` block of a page escapes the comparison by another fence."""
    for path in PAGES.values():
        text = path.read_text(encoding="utf-8")
        compared = [step for step in pages.steps_of(text) if step.expected is not None]
        assert text.count("```text") == len(compared)


def test_a_renamed_option_fails_at_the_block_that_uses_it() -> None:
    """A page cannot be written with an option that the command does not have."""
    command = cli.get_command(click.Context(cli), "generate")
    assert command is not None
    renamed = click.Command("generate", params=[p for p in command.params if p.name != "count"])
    tree = click.Group(
        "invite",
        commands={name: _command(name) for name in cli.list_commands(click.Context(cli))}
        | {"generate": renamed},
    )
    with pytest.raises(click.NoSuchOption, match="--count"):
        runbook.write_page(runbook.offline(3), tree, "en")


def test_a_promise_that_differs_by_a_word_is_found() -> None:
    """The comparison lets codes, ids, instants and names pass, and nothing else."""
    promised = "on SERVER, database DATABASE\nrevoked: 1 code JYOTISH-****-XX01\n"
    shown = "on db.example.com:5432, database beta\nrevoked: 1 code JYOTISH-****-AB23\n"
    assert re.fullmatch(pages.pattern(promised), shown)
    for changed in (shown.replace("revoked", "voided"), shown.replace("1 code", "2 code")):
        assert not re.fullmatch(pages.pattern(promised), changed)


def _command(name: str) -> click.Command:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command
