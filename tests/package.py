"""The package as its source has it: its modules, parsed, and what they import and define."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import invite_admin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT: Final = Path(invite_admin.__file__).parent
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


class Import(NamedTuple):
    """One import: from which unit, of what, and whether loading the module does it."""

    unit: str
    target: str
    loading: bool


@cache
def sources() -> Mapping[str, str]:
    """Return the text of each of the package's modules by its dotted name."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = [invite_admin.__name__, *path.relative_to(ROOT).with_suffix("").parts]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path.read_text(encoding="utf-8")
    return found


@cache
def modules() -> Mapping[str, ast.Module]:
    """Return the package's modules, parsed."""
    return {name: ast.parse(text) for name, text in sources().items()}


def unit_of(module: str) -> str:
    """Return the unit a module belongs to: the module or the package right below the top."""
    return [*module.split("."), ""][1]


@cache
def imports() -> frozenset[Import]:
    """Return every import of the package."""
    return frozenset(
        Import(unit_of(module), target, loading)
        for module, tree in modules().items()
        for node, loading in _statements(tree, loading=True)
        for target in _targets(node)
    )


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield every function with the name of where it stands, such as ``run.Run.say``."""
    for module, tree in modules().items():
        yield from _functions(tree, module.partition(".")[2])


def _functions(
    tree: ast.AST, place: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        named = isinstance(node, (*FUNCTIONS, ast.ClassDef))
        below = f"{place}.{node.name}" if named else place  # type: ignore[attr-defined]
        if isinstance(node, FUNCTIONS):
            yield below, node
        yield from _functions(node, below)


def _targets(node: ast.AST) -> Iterator[str]:
    """Return the full names of the modules that a statement imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert not node.level, "imports are absolute"
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            yield full if full in modules() else str(node.module)


def _statements(tree: ast.AST, *, loading: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Yield every node, and whether it runs when the module is loaded."""
    for node in ast.iter_child_nodes(tree):
        later = isinstance(node, FUNCTIONS) or (
            isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        )
        yield node, loading
        yield from _statements(node, loading=loading and not later)
