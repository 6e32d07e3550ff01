"""Sizes that make one think: of modules, functions and parameter lists."""

from __future__ import annotations

import ast
from typing import Final

from package import FUNCTIONS, functions, sources

MODULE: Final = 250
FUNCTION: Final = 30
PARAMETERS: Final = 5
CALLBACKS: Final = ("click.", "database_command(", "change_command(", "command.command(")
"""Decorators of a function that gets one argument an option, and a help for each."""


def is_callback(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether Click calls a function with its options."""
    decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
    return any(decorator.startswith(CALLBACKS) for decorator in decorators)


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function, without its docstring and the functions inside it.

    A statement of SQL counts as one line.
    """
    lines = _lines(function)
    if ast.get_docstring(function):
        lines -= _lines(function.body[0])
    for node in ast.walk(function):
        if isinstance(node, FUNCTIONS) and node is not function:
            lines -= length(node)
        elif isinstance(node, ast.Constant) and str(node.value).strip().startswith("select"):
            lines -= _lines(node) - 1
    return lines


def _lines(node: ast.stmt | ast.expr) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_modules() -> None:
    """A module is read at a sitting."""
    sizes = {name: text.count("\n") for name, text in sources().items()}
    assert {} == {name: size for name, size in sizes.items() if size >= MODULE}


def test_functions() -> None:
    """A function is seen at a glance; only Click's callbacks may be longer."""
    sizes = {name: length(f) for name, f in functions() if not is_callback(f)}
    assert {} == {name: size for name, size in sizes.items() if size >= FUNCTION}


def test_parameters() -> None:
    """A function takes five parameters, self apart; only Click's callbacks take one an option."""
    wide = {}
    for name, function in functions():
        given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        count = len([a for a in given if a.arg not in ("self", "cls")])
        if count > PARAMETERS and not is_callback(function):
            wide[name] = count
    assert {} == wide
