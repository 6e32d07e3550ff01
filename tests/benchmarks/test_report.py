"""How the benchmarks pair their runs, and what they make of the figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from benchmarks import place as places
from benchmarks.place import NoPsqlError, Spent, find_psql
from benchmarks.report import Pairs, Report
from benchmarks.rows import BULK, FEW, MANY, Row
from published import publish

if TYPE_CHECKING:
    from benchmarks.place import Place

NOWHERE = cast("Place", None)


def spent(seconds: float, megabytes: int = 0, latencies: tuple[float, ...] = ()) -> Spent:
    """Return what a process spent."""
    return Spent(seconds, 0.0, megabytes * 10**6, latencies)


def row(order: list[str], pairs: int) -> Row:
    """Return a row whose sides cost nothing, and note that they ran."""

    def run(side: str) -> Spent:
        order.append(side)
        return spent(1.0)

    return Row(
        "work on {n}",
        "against",
        1.15,
        lambda *_: run("tool"),
        lambda *_: run("bare"),
        count=1000,
        pairs=pairs,
    )


def test_order_within_pairs() -> None:
    """Every other pair runs the other way round, so that neither side is always first."""
    order: list[str] = []
    Report().pair(NOWHERE, row(order, 3))
    assert ["tool", "bare", "bare", "tool", "tool", "bare"] == order


def test_ratio_is_the_median_of_pairs() -> None:
    """Each run is compared with the other of its pair; one pair that was disturbed is no matter."""
    pairs = Pairs(row([], 3), [spent(2), spent(9), spent(30)], [spent(1), spent(3), spent(1)])
    assert 3.0 == pairs.ratio


def test_latency_is_what_counts_where_there_is_one() -> None:
    """A run in which people redeemed costs their median latency."""
    assert 0.25 == spent(60, latencies=(0.5, 0.25, 0.125)).cost


@pytest.mark.parametrize(("seconds", "met"), [(1.15, "yes"), (1.16, "**no**")])
def test_reach(seconds: float, met: str) -> None:
    """A ratio that equals its reach has met it."""
    report = Report(judged=True, pairs=[Pairs(row([], 1), [spent(seconds)], [spent(1)])])
    whole = report.tables()["ratios"][-1].strip("| ").split(" | ")
    assert ["work on 1,000", "against", f"{seconds}", f"{seconds} to {seconds}"] == whole[:4]
    assert ["<= 1.15", met] == whole[4:6]


@pytest.mark.parametrize(
    ("few", "many", "met"), [(100, 130, "yes"), (100, 131, "**no**"), (149, 150, "**no**")]
)
def test_peak_memory(few: int, many: int, met: str) -> None:
    """Memory must neither grow with the codes nor be much."""
    side = BULK["list to csv"]
    report = Report(judged=True)
    report.spent |= {(side, FEW): [spent(1, few)], (side, MANY): [spent(1, many)]}
    [found] = report.tables()["ratios"][2:]
    assert [met, f"{many} MB", f"{few} MB"] == found.strip("| ").split(" | ")[-3:]


def test_no_psql(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without psql is told what to install; a variable names one."""
    monkeypatch.delenv(places.PSQL_VARIABLE, raising=False)
    monkeypatch.setattr(Path, "is_file", lambda _: False)
    with pytest.raises(NoPsqlError, match="apt-get install postgresql-client"):
        find_psql()
    monkeypatch.setenv(places.PSQL_VARIABLE, "/opt/psql")
    assert Path("/opt/psql") == find_psql()


def test_publish(tmp_path: Path) -> None:
    """Figures replace those of the run before, and nothing around them."""
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n", encoding="utf-8")
    publish(page, "x", ["new", "er"])
    publish(page, "x", ["new", "er"])
    assert "a\n<!-- x: begin -->\nnew\ner\n<!-- x: end -->\nb\n" == page.read_text("utf-8")
