"""How a result is to be written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import tzinfo


@dataclass(frozen=True)
class Style:
    """How a result is to be written.

    Attributes:
        zone: The time zone of times.
        terminal: Whether a terminal shows it.
        width: How many columns a table may take.
        encoding: Of table and markdown; the other formats are UTF-8.
        raw: csv without the guard against formulas.
        bom: csv with the mark that Excel wants.
    """

    zone: tzinfo
    terminal: bool = False
    width: int = 80
    encoding: str = "utf-8"
    raw: bool = False
    bom: bool = False
