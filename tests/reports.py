"""Reports for the tests of the output: other people's notes at their worst."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from invite_admin import columns
from invite_admin.report import Layout, Report

if TYPE_CHECKING:
    from collections.abc import Sequence

CREATED: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
FORMULAS: Final = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"]
LIKE_NUMBERS: Final = [
    "007",
    "1e5",
    "0x1F",
    "1_000",
    "1,000",
    "1,000.5",
    "1.50",
    "-0",
    "nan",
    "inf",
]
LIKE_VALUES: Final = ["True", "False", "None", "null", "2026-01-01", "b'x'"]
CONTROLS: Final = [
    "\x1b[31mred",
    "\x9b31m",
    "\x07",
    "\x00",
    "\u202egpj",
    "\ud800",
    "a\r\nb\rc",
    "\u2028",
]
WIDE: Final = [
    "\u6f22\u5b57\u30c6\u30b9\u30c8" * 9,
    "\U0001f642" * 40,
    "e\u0301" * 90,
    "\uff21" * 70,
]
LONG: Final = ["x" * 300, "two words " * 20]
MARKUP: Final = [
    "a|b",
    "*b* _i_ `c` ~~s~~",
    "<script>",
    "[x](javascript:y)",
    "![i](u)",
    "&lt;",
    "# h",
    "\\",
]
NOTES: Final = [*FORMULAS, *LIKE_NUMBERS, *LIKE_VALUES, *CONTROLS, *WIDE, *LONG, *MARKUP]


def listing(notes: Sequence[str | None], layout: Layout = Layout.ROWS) -> Report:
    """Return a list of codes, one with each of these notes."""
    rows = [
        (f"id{n}", "JYOTISH-****-ABCD", "available", 5, None, note, CREATED, *[None] * 6)
        for n, note in enumerate(notes)
    ]
    return Report(columns.CODE, rows, layout)
