"""The places in a page that a long run of a suite writes its figures into."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest


def publish(page: Path, place: str, lines: Sequence[str]) -> None:
    """Write these lines into a page, in the place of this name."""
    begin, end = f"<!-- {place}: begin -->", f"<!-- {place}: end -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    page.write_text(before + "\n".join([begin, *lines, end]) + after, encoding="utf-8")


def is_whole(config: pytest.Config, suite: Path) -> bool:
    """Tell whether the run is of this suite, and of all of it."""
    chosen = [Path(arg).resolve() for arg in config.args]
    return chosen == [suite] and not (config.option.keyword or config.option.markexpr)
