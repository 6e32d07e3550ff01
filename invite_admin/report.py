"""What a command found or did, in columns and rows; ``output`` alone prints it. Frozen and pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from invite_admin.batch import Batch
    from invite_admin.errors import InviteError


class Cell(Enum):
    """How a value of a report is shown."""

    TEXT = "text"
    PROSE = "prose"  # may be wrapped in a table
    MASK = "mask"  # a mask or a code
    LINE = "line"  # to be copied, so never broken
    NUMBER = "number"
    TIME = "time"


@dataclass(frozen=True)
class Column:
    """One column of a report.

    Attributes:
        key: Its name in csv, json and jsonl.
        cell: How its values are shown.
        brief: Whether a table for people has it too.
        blank: What such a table says where there is no value.
    """

    key: str
    cell: Cell = Cell.TEXT
    brief: bool = True
    blank: str = ""


class Drawn(str):
    """Rows as lines of csv, in the place of a row: without formulas, safe in a terminal."""

    __slots__ = ()


class Written(Enum):
    """How the server writes the rows of an export."""

    CSV = "csv"  # lines without a heading, formulas guarded
    RAW = "raw csv"  # the same without the guard
    JSON = "json"  # each value as JSON, a divider between two, a row a line


DIVIDER = "\x01"  # JSON has it, and the end of a line, only as escapes


class Export(Protocol):
    """Rows whose values the server writes, just as ``output`` would."""

    def __call__(
        self, written: Written, zone: tzinfo, done: Callable[[int], None]
    ) -> Iterator[bytes] | None:
        """Yield the rows in pieces; None where the server would write them differently.

        Args:
            written: How.
            zone: The time zone of times.
            done: Told how many more rows were written.
        """


class Layout(Enum):
    """How a table for people is laid out."""

    ROWS = "rows"
    RECORDS = "records"
    OBJECT = "object"


@dataclass(frozen=True)
class Report:
    """What a command found or did; ``emit`` alone prints it.

    Attributes:
        columns: Its columns, in order.
        rows: Its rows, each with a value a column; read once, perhaps straight from the server.
            Some may be ``Drawn``, where the report is for csv alone.
        layout: OBJECT means exactly one row, given as one JSON object.
        sections: The tables that people read in place of the rows; empty where they read those.
        summary: Lines for standard error, asked for once the result is delivered and true.
        verdict: The failure to end with all the same, once everything was written; None where
            all is well.
        batch: The codes that it delivers; None where it delivers none.
        counts: How many codes had which outcome; empty where the command changes none.
        changed: How many codes were changed.
        export: Has the server write the same rows; None where only Python can.
        shared: Values of the last columns, where every row has the same; ``rows`` then has the
            others only, as ids, codes and masks, which every format writes as they are.
    """

    columns: tuple[Column, ...]
    rows: Iterable[Sequence[Any]]
    layout: Layout = Layout.ROWS
    sections: tuple[Section, ...] = ()
    summary: Callable[[], Sequence[str]] = tuple
    verdict: InviteError | None = None
    batch: Batch | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    changed: int = 0
    shared: tuple[Any, ...] = ()
    export: Export | None = None

    def full(self) -> Iterator[Sequence[Any]]:
        """Return the rows with a value for each column."""
        return ((*row, *self.shared) for row in self.rows)


@dataclass(frozen=True)
class Section:
    """One table that people read.

    Attributes:
        title: Its heading.
        columns: Its columns' names; empty where it is a list of names and values.
        rows: Its cells, as text.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
