"""The rows of the table: what is measured against what, how often, and the ratio to reach."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks import works

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.place import Place, Spent

    Side = Callable[[Place, int], Spent]

FORM: Final = os.environ.get("INVITE_BENCH", "")
"""`long`, or as many codes as a number says; the quick form where it is empty."""
LONG: Final = FORM == "long"
MANY: Final = 1_000_000 if LONG else int(FORM or 10_000)
SOME: Final = 10_000 if FORM else 1_000
PAIRS: Final = 5 if FORM else 1
SHORT_PAIRS: Final = 21 if FORM else 1
"""Pairs of runs of what takes less than a second."""


@dataclass(frozen=True)
class Row:
    """One row.

    Attributes:
        work: What the tool does; `{n}` stands for how many codes.
        against: What else does it.
        reach: The ratio of their costs to reach, at the most.
        tool: Runs the one.
        bare: Runs the other.
        count: How many codes.
        pairs: How many pairs of runs.
    """

    work: str
    against: str
    reach: float
    tool: Side
    bare: Side
    count: int = MANY
    pairs: int = PAIRS


ROWS: Final = (
    Row(
        "generate {n} codes, direct, to a file",
        "psql `\\copy` of the same rows prepared beforehand, into the same empty table",
        1.15,
        works.generate,
        works.copy_in,
    ),
    Row(
        "generate {n} codes through the functions",
        "one psql script making the same calls",
        1.15,
        works.generate_by_functions,
        works.call_functions,
        count=SOME,
    ),
    Row(
        "list to csv, {n} rows",
        "psql `\\copy (select the same columns) to`",
        1.5,
        works.list_csv,
        works.copy_out,
    ),
    Row(
        "list to csv, {n} rows",
        "the same, sorted as the tool sorts them",
        1.5,
        works.list_csv,
        works.copy_out_in_order,
    ),
    Row(
        "list to jsonl, {n} rows",
        "psql `\\copy (select the same columns) to`",
        8,
        works.list_jsonl,
        works.copy_out,
    ),
    Row(
        "revoke {n} by filter, direct, to csv",
        "psql running the bare UPDATE … RETURNING id",
        1.2,
        works.revoke,
        works.update_bare,
    ),
    Row(
        "`invite --help`",
        '`python -c "import click"`',
        1.7,
        works.show_help,
        works.import_click,
        pairs=SHORT_PAIRS,
    ),
    Row(
        "`generate --count {n}` as a whole process",
        "a ten-line Python script that imports sqlalchemy and psycopg and inserts as many rows",
        1.3,
        works.generate_few,
        works.insert_few,
        count=50,
        pairs=SHORT_PAIRS,
    ),
    Row(
        "median redemption latency while {n} codes are generated",
        "the same while plain `\\copy` loads them",
        1.2,
        works.redeem_while_generating,
        works.redeem_while_copying,
    ),
)

BULK: Final = {
    "generate, direct": works.generate,
    "generate, functions": works.generate_by_functions,
    "list to csv": works.list_csv,
    "list to jsonl": works.list_jsonl,
    "revoke to csv": works.revoke,
}
"""The works whose cost and memory are followed from few codes to many."""

FEW: Final = MANY // 100
"""The size whose peak memory that of the largest is compared with."""
SIZES: Final = (100, 1_000, 10_000, 100_000, MANY) if LONG else (FEW, MANY)
PEAK_REACH: Final = 1.3
PEAK_MOST: Final = 150 * 10**6
