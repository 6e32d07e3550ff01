"""The layers: who may import whom, as the diagram has it, and who may print."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING, Final

import pytest
from package import ROOT, Import, functions, imports, modules, unit_of

import invite_admin

if TYPE_CHECKING:
    from collections.abc import Mapping

DIAGRAM: Final = ROOT.parent / "docs" / "architecture.md"
ARROW: Final = re.compile(r"(?m)^ {4}(\w+) (-->|-\.->) (.+)$")
THIRD_PARTY: Final = {
    "click": {
        "cli",
        "refusals",
        "commands",
        "options",
        "strict",
        "params",
        "paths",
        "changing",
        "runbook",
    },
    "tabulate": {"output"},
    "wcwidth": {"output"},
    "sqlalchemy": {"store", "database", "session", "savepoint", "catalogue", "locks", "smoke"},
    "psycopg": {
        "store",
        "database",
        "session",
        "locks",
        "conninfo",
        "copyout",
        "patient",
        "server",
        "sqlstates",
        "sandbox",
        "smoke",
    },
    "tenacity": {"retries"},
}
"""What is not in the standard library, and the only units that know it."""
SPEAKERS: Final = {
    "run.Run._write": "the voice of the tool, on standard error",
    "changing._Changing.ask": "its question",
    "run.Target.open": "gives standard output to the sink of a result",
    "commands.runbook._print": "likewise, for a page",
    "sinks.StandardOutput.finish": "points a broken standard output elsewhere",
    "sinks.StandardOutput.flush": "likewise, where its reader is found gone",
    "entry.main": "the voice before the tool is loaded",
    "record.Log.write": "appends to the log, which is no standard stream",
    "sinks.StandardOutput.discard": "likewise, for what was not delivered",
}
"""The only functions that write to a standard stream, and why; `cli` opens them."""


def inner() -> set[Import]:
    """Return the imports between units; the version at the top is everybody's."""
    own = {
        Import(found.unit, unit_of(found.target), found.loading)
        for found in imports()
        if found.target.split(".")[0] == invite_admin.__name__
    }
    return {found for found in own if found.target not in ("", found.unit)}


def arrows(*kinds: str) -> dict[str, set[str]]:
    """Return the diagram's arrows of these kinds."""
    found: dict[str, set[str]] = {}
    for begin, kind, ends in ARROW.findall(DIAGRAM.read_text(encoding="utf-8")):
        if kind in kinds:
            found.setdefault(begin, set()).update(ends.split(" & "))
    return found


def beyond(edges: Mapping[str, set[str]], unit: str) -> set[str]:
    """Return all that lies beyond a unit."""
    found: set[str] = set()
    waiting = [unit]
    while waiting:
        new = edges.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def test_every_unit_is_in_the_diagram() -> None:
    """The diagram shows every module and package, and none that is not there."""
    drawn = arrows("-->", "-.->")
    shown = set(drawn).union(*drawn.values())
    assert shown == {unit_of(module) for module in modules()} - {""}


def test_what_loading_imports() -> None:
    """A module imports, when it is loaded, only what lies beyond its solid arrows."""
    solid = arrows("-->")
    wrong = [i for i in inner() if i.loading and i.target not in beyond(solid, i.unit)]
    assert [] == wrong


def test_what_is_imported_later() -> None:
    """What is imported for a type or inside a function lies beyond its arrows of either kind."""
    every = arrows("-->", "-.->")
    assert [] == [i for i in inner() if i.target not in beyond(every, i.unit)]


def test_every_arrow_is_an_import() -> None:
    """An arrow that no import needs any more is taken out of the diagram."""
    real = {(i.unit, i.target, i.loading) for i in inner()}
    stale = [
        (begin, end)
        for kind, loading in (("-->", True), ("-.->", False))
        for begin, ends in arrows(kind).items()
        for end in ends
        if (begin, end, loading) not in real
    ]
    assert [] == stale


def test_there_is_no_way_back() -> None:
    """No unit lies beyond itself, not even by a type."""
    every = arrows("-->", "-.->")
    assert [] == [unit for unit in every if unit in beyond(every, unit)]


@pytest.mark.parametrize("package", THIRD_PARTY)
def test_who_knows_a_library(package: str) -> None:
    """A library is known to its units only, and to each of them."""
    known = {i.unit for i in imports() if i.target.split(".")[0] == package}
    assert THIRD_PARTY[package] == known


def test_no_other_library() -> None:
    """Nothing else is imported from outside the standard library."""
    roots = {i.target.split(".")[0] for i in imports()}
    allowed = {*sys.stdlib_module_names, *THIRD_PARTY, invite_admin.__name__}
    assert set() == roots - allowed


def prints(node: ast.AST) -> bool:
    """Tell whether a node prints, or takes hold of standard output."""
    name = ast.unparse(node) if isinstance(node, ast.Attribute | ast.Name) else ""
    echoes = ("print", "click.echo", "click.secho", "os.write")
    return name in (*echoes, "sys.stdout", "sys.stderr.write", "sys.stderr.buffer")


def test_who_prints() -> None:
    """Nothing prints but the voice of the tool, its question and its sink."""
    found = {name for name, function in functions() if any(map(prints, ast.walk(function)))}
    assert set(SPEAKERS) == {name for name in found if not name.startswith("cli.")}


def test_cli_does_not_print() -> None:
    """The command line prints by the voice of the tool as well."""
    calls = [ast.unparse(node) for node in ast.walk(modules()["invite_admin.cli"])]
    assert [] == [c for c in calls if c in ("print", "click.echo", "sys.stderr.write")]
