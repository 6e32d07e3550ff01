"""Writes the operations page: the command tree and what the table can do in, Markdown out. Pure."""

from __future__ import annotations

import shlex
import tomllib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import click

from invite_admin import errors
from invite_admin.runbook.samples import Samples
from invite_admin.runbook.stand import Stand, live, offline
from invite_admin.shape import BARS, STEPS, Block, Way

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["LANGUAGES", "Stand", "live", "offline", "page", "write_page"]

LANGUAGES = ("en", "zh")


@cache
def page() -> Mapping[str, Any]:
    """Return the page as it is kept: both languages side by side."""
    text = resources.files(__package__).joinpath("page.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def write_page(stand: Stand, tree: click.Group, language: str) -> str:
    """Write the page for one table and login.

    Args:
        stand: What there is and what can be done.
        tree: The commands; one that the page uses and the tree has not fails.
        language: One of ``LANGUAGES``.

    Raises:
        click.UsageError: The page uses a command or an option that does not exist.
    """
    return "\n\n".join(_Writer(stand, tree, language).paragraphs()) + "\n"


class _Writer:
    """Writes one page; a class because every paragraph needs stand, tree and language."""

    def __init__(self, stand: Stand, tree: click.Group, language: str) -> None:
        self._shape, self._tree, self._language = stand.shape, tree, language
        self._bar = next((BARS[name] for name in stand.shape.facts.barred), Way())
        self._ways = {
            "server": self._bar,
            **{str(need): way for need, way in stand.shape.ways.items()},
            "request_id": stand.shape.audit,
        }
        self._samples = Samples(stand)

    def paragraphs(self) -> Iterator[str]:
        shape, page_ = self._shape, page()
        yield f"# {self._say(page_['title'])}"
        yield self._text(page_["intro"]).format(
            table=shape.name,
            step=shape.step,
            step_name=STEPS.get(shape.step, "?"),
            path=self._say(page_["path"][self._path()]),
        )
        for section in page_["section"]:
            if self._applies(section):
                yield f"## {self._say(section)}"
                yield from self._section(section)

    def _section(self, section: Mapping[str, Any]) -> Iterator[str]:
        special = {"exits": self._exits, "blocked": self._blocked}
        if name := section.get("special"):
            yield from special[name]()
        for part in section.get("part", ()):
            if self._applies(part):
                yield from self._run(part) if "run" in part else [self._text(part)]

    def _text(self, part: Mapping[str, Any]) -> str:
        """Return a part's text; one of several lines has those that apply."""
        lines = part.get("line", (part,))
        return "\n".join(self._say(line) for line in lines if self._applies(line))

    def _run(self, part: Mapping[str, Any]) -> Iterator[str]:
        """Write a command, what is pasted into it, and the output to expect."""
        self._known(part["run"])
        for line in part.get("test", ()):
            yield f"<!-- test: {line} -->"
        yield f"```sh\n{part['run']}\n```"
        if "stdin" in part:
            yield f"```stdin\n{part['stdin'].strip()}\n```"
        if "sample" in part:
            status = part.get("exit", 0)
            status = self._samples.check_exit() if status == "check" else status
            yield f"```text exit={status}\n{self._samples.get(part['sample'])}\n```"

    def _known(self, line: str) -> None:
        """Refuse a command line that the command tree does not take."""
        words = [word for word in shlex.split(line) if word != "--sandbox"]
        if words[0] != "invite":
            return
        root = click.Context(self._tree, info_name="invite", **self._tree.context_settings)
        command = self._tree.get_command(root, words[1])
        if command is None:
            root.fail(f"the page uses `{words[1]}`, which is not there")
        context = click.Context(command, parent=root, info_name=words[1])
        command.make_parser(context).parse_args(words[2:])

    def _exits(self) -> Iterator[str]:
        texts = page()["exits"]
        lines = [self._say(texts["head"]), f"| 0 | | {self._say(texts['0'])} |"]
        for kind in errors.failures():
            what = self._say(texts[str(kind.exit_code)])
            lines.append(f"| {kind.exit_code} | {kind.word} | {what} |")
        yield "\n".join(lines)

    def _blocked(self) -> Iterator[str]:
        ways = {**self._ways, "change": self._shape.actor}
        blocks = [
            (what, way)
            for what, way in ways.items()
            if way.block not in (None, Block.NO_AUDIT)  # no log is no right that is lacking
            and (what == "server" or way is not self._bar)
        ]
        if not blocks:
            yield self._say(page()["nothing_blocked"])
        for what, way in blocks:
            yield self._bullet(what, str(way.block))
            if way.grant:
                yield f"  ```sql\n  {way.grant};\n  ```"
            if way.bound:
                yield f"  {self._say(page()['bound'][way.bound])}"

    def _bullet(self, what: str, why: str) -> str:
        """Say what is blocked and why, by the texts' own words."""
        texts = page()
        return self._say(texts["bullet"]).format(
            what=self._say(texts["capability"][what]), why=self._say(texts["block"][why])
        )

    def _applies(self, item: Mapping[str, Any]) -> bool:
        return (
            all(self._ways[need].available for need in item.get("needs", ()))
            and not any(self._ways[need].available for need in item.get("blocked", ()))
            and item.get("by", self._path()) == self._path()
        )

    def _path(self) -> str:
        """Name the path that writes take, by the texts' own words."""
        if not any(way.available for need, way in self._shape.ways.items() if need.writes):
            return "none"
        return "functions" if self._shape.by_functions else "direct"

    def _say(self, text: Mapping[str, str]) -> str:
        return text[self._language].strip()
