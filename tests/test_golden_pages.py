"""The operations page of each step and of a read-only login, as a live database has it.

`INVITE_REWRITE_GOLDEN=1 python -m pytest tests/test_golden_pages.py` writes the files anew; the
difference is then reviewed like any other change.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from databases import PASSWORD, steps
from markdown_it import MarkdownIt

from invite_admin import runbook
from invite_admin.cli import cli

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite

GOLDEN = Path(__file__).parent / "golden"
REWRITE = "INVITE_REWRITE_GOLDEN" in os.environ
OPERATORS = {1: "owner", 2: "owner", 3: "admin_runtime"}
LANGUAGES = ("en", "zh")


def page(invite: Invite, login: str, language: str) -> str:
    """Return the page that the tool writes for a live database."""
    result = invite("runbook", "--lang", language, login=login)
    assert 0 == result.exit_code, result.stderr
    return result.stdout


def assert_golden(name: str, text: str) -> None:
    """Compare a page with its golden file, or write it anew where that is asked for."""
    path = GOLDEN / f"{name}.md"
    if REWRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("language", LANGUAGES)
@steps()
def test_page_of_each_step_is_golden(invite: Invite, database: Database, language: str) -> None:
    """The operator of each step gets the page that was reviewed."""
    text = page(invite, OPERATORS[database.step], language)
    assert_golden(f"step{database.step}.{language}", text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_page_of_a_read_only_login_is_golden(invite: Invite, language: str) -> None:
    """A login that only reads gets the reading sections, and the grants to ask for."""
    text = page(invite, "reader", language)
    assert_golden(f"reader.{language}", text)
    assert "invite generate" not in text
    assert "TO YOUR_LOGIN" in text


@pytest.mark.parametrize("language", LANGUAGES)
@steps(1, 3)
def test_live_page_equals_the_offline_one(
    invite: Invite, database: Database, language: str
) -> None:
    """What the tool knows of a step by heart is what the database says."""
    expected = runbook.write_page(runbook.offline(database.step), cli, language)
    assert expected == page(invite, OPERATORS[database.step], language)


@steps()
def test_page_names_nothing_of_the_place(invite: Invite, database: Database) -> None:
    """No host, port, database, login, role, actor or password stands in a page."""
    for login in ("owner", "admin_runtime", "reader"):
        text = page(invite, login, "en")
        url = database.url(login)
        port = re.search(r":(\d+)/", url)
        named = [database.name, PASSWORD, "admin_runtime", "service_role", "ops@example.com"]
        for secret in [*named, *([port[1]] if port else []), "invite_test_"]:
            assert secret not in text, secret


def test_page_does_not_change_from_run_to_run(invite: Invite) -> None:
    """Two runs, with a code made between them, write the same page."""
    first = page(invite, "admin_runtime", "en")
    invite("generate", "--count", "1", "--points", "1")
    assert first == page(invite, "admin_runtime", "en")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("stand", [1, 3])
def test_rendered_page_keeps_its_masks_and_columns(stand: int, language: str) -> None:
    """Through a Markdown renderer a mask keeps its asterisks, and every row its cells."""
    text = runbook.write_page(runbook.offline(stand), cli, language)
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert text.count("JYOTISH-****-") == html.count("JYOTISH-****-")
    for table in re.findall(r"<table>.*?</table>", html, re.DOTALL):
        rows = [len(re.findall(r"<t[hd][ >]", row)) for row in table.split("</tr>")[:-1]]
        assert len(set(rows)) == 1, rows


def test_languages_say_the_same_in_the_same_order() -> None:
    """Both pages have the same commands, outputs and tables, and no text is missing."""

    def bones(text: str) -> list[str]:
        return re.findall(r"^```\S+.*?^```$|^#+|^\|", text, re.MULTILINE | re.DOTALL)

    for step in (1, 3):
        stand = runbook.offline(step)
        english, chinese = (runbook.write_page(stand, cli, lang) for lang in LANGUAGES)
        assert bones(english) == bones(chinese)


def test_every_text_has_both_languages() -> None:
    """Each text of the page has an English and a Chinese form, and neither is empty."""

    def texts(node: object) -> list[dict[str, str]]:
        if isinstance(node, dict):
            own = [node] if {"en", "zh"} & node.keys() else []
            return own + [t for value in node.values() for t in texts(value)]
        return [t for item in node for t in texts(item)] if isinstance(node, list) else []

    found = texts(dict(runbook.page()))
    assert len(found) > 50
    for text in found:
        assert text.get("en", "").strip(), text
        assert text.get("zh", "").strip(), text
        assert not re.search("系统繁忙|稍后重试|请稍后", text["zh"])
