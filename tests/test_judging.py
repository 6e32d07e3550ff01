"""What a crowd's attempts come to, and when two runs may be compared."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any, Final

import pytest

from invite_admin.errors import BadInput
from invite_admin.smoke.guard import Sample
from invite_admin.smoke.judging import Answer, Attempt, Step, Tier, credited, judge, percentile
from invite_admin.smoke.runs import Conditions, Run, differences, read_run
from invite_admin.smoke.telling import judgement, sections

KEYS: Final = [
    *("tier", "users", "attempts", "redeemed", "refused", "busy", "errors", "double"),
    *("busy_share", "points_credited", "points_expected", "first_p50", "first_p95", "first_max"),
    *("whole_p50", "whole_p95", "whole_max", "met"),
]
HUGE: Final = 10**400  # no fraction holds it
CONDITIONS: Final = Conditions("1.0", "db.example.com:5432", "15.1", 100, 10, sandbox=False)


def once(number: int, answer: Answer = Answer.REDEEMED, seconds: float = 0.1) -> Attempt:
    """Return what one person came to who redeems a code of their own."""
    balance = 7 if answer is Answer.REDEEMED else None
    name = f"u{number}"
    return Attempt(Step.ONCE, name, f"c{number}", answer, seconds, seconds, balance)


def again(number: int) -> Attempt:
    """Return the same person's second attempt, refused as it must be."""
    return Attempt(Step.AGAIN, f"u{number}", f"c{number}", Answer.REFUSED, 0.1, 0.1)


GOOD: Final = [*(once(n) for n in range(10)), *(again(n) for n in range(10))]


def tier(size: int = 10, **values: Any) -> Tier:  # noqa: ANN401 - a value of any field
    """Return a crowd that met the line but for these values."""
    found = replace(judge(GOOD, size, 1, 10), **values)
    return replace(found, met=not found.misses(2.0))


def run(*tiers: Tier) -> Run:
    """Return a run with these crowds."""
    began = "2030-01-01T12:00:00+00:00"
    return Run(began, CONDITIONS, 2.0, tiers or (tier(),), connections=10)


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 10), (0.95, 19), (1, 20), (0.01, 1), (0.951, 20)]
)
def test_percentiles(share: float, expected: float) -> None:
    """A percentile is the value that so many of a hundred do not exceed."""
    assert expected == percentile([float(n) for n in range(1, 21)], share)
    assert percentile([], share) is None


def test_counts() -> None:
    """Every attempt counts once, by how it ended; times are those of people with their own code."""
    attempts = [*GOOD, once(10, Answer.BUSY, 3.0), once(11, Answer.ERROR, 0.2)]
    found = judge(attempts, 12, 1, 10)
    assert (22, 10, 10, 1, 1, 0) == (
        *(found.attempts, found.redeemed, found.refused),
        *(found.busy, found.errors, found.double),
    )
    assert (0.0455, 0.1, 3.0, 3.0) == (
        *(found.busy_share, found.first_p50, found.first_p95, found.whole_max),
    )
    assert KEYS == list(Tier.__dataclass_fields__)


def test_points() -> None:
    """Credited is what a balance rose by; a second redemption of one code shows in it."""
    assert 10 == credited(GOOD, 1)
    more = Attempt(Step.AGAIN, "u0", "c0", Answer.REDEEMED, 0.1, 0.1, 8)
    found = judge([*GOOD, more], 10, 1, 10)
    assert (1, 11, 10) == (found.double, found.points_credited, found.points_expected)


def test_nobody_was_served() -> None:
    """Without one answer there is no time, and that misses the line too."""
    nobody = [Attempt(Step.ONCE, f"u{n}", f"c{n}", Answer.BUSY) for n in range(10)]
    found = judge(nobody, 10, 1, 0)
    assert (None, None, 1.0) == (found.first_p50, found.whole_p95, found.busy_share)
    assert ["100.0% busy, above 2%", "nobody was answered"] == found.misses(2.0)


@pytest.mark.parametrize(
    ("values", "missed"),
    [
        ({}, []),
        ({"errors": 1}, ["1 error"]),
        ({"double": 2}, ["2 codes redeemed twice"]),
        ({"busy_share": 0.02}, []),
        ({"busy_share": 0.021}, ["2.1% busy, above 2%"]),
        ({"whole_p95": 2.0}, []),
        ({"whole_p95": 2.001}, ["95 of 100 took up to 2.00 s, above 2 s"]),
        ({"first_p95": 9.0}, []),
        ({"points_credited": 9}, ["9 points credited, 10 expected"]),
    ],
)
def test_the_line(values: dict[str, Any], missed: list[str]) -> None:
    """No error, nothing twice, at most 2 % busy, 95 of 100 within the seconds, points in full."""
    assert missed == tier(**values).misses(2.0)


def test_what_fails_a_run() -> None:
    """Up to ten people a miss fails it; beyond, only a code that was redeemed twice."""
    slow = {"whole_p95": 3.0}
    assert [] == run(tier(10), tier(20, **slow)).missed
    assert 10 == run(tier(10), tier(20, **slow)).largest
    assert 1 == len(run(tier(10, **slow), tier(20)).missed)
    assert 20 == run(tier(10, **slow), tier(20)).largest
    assert 1 == len(run(tier(10), tier(20, double=1)).missed)
    assert run(tier(10, **slow)).largest is None


def test_kept_and_read() -> None:
    """A kept run is read as it was, but for what no comparison needs."""
    kept = replace(run(), samples=(Sample(10, 0.0, 3, 1, 2),))
    assert replace(run(), connections=0) == read_run(kept.kept(), "FILE")
    assert KEYS == list(json.loads(kept.kept())["tiers"][0])


def test_whole_numbers_and_no_answer() -> None:
    """A kept time may be a whole number, and null where nobody was answered."""
    document = json.loads(run().kept())
    document["tiers"][0].update(busy_share=0, first_p50=1, whole_p95=None)
    (found,) = read_run(json.dumps(document).encode(), "FILE").tiers
    assert (0.0, 1.0, None) == (found.busy_share, found.first_p50, found.whole_p95)
    assert float is type(found.first_p50)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("kind"),
        lambda d: d.update(format=2),
        lambda d: d["conditions"].pop("host"),
        lambda d: d["tiers"][0].pop("met"),
        lambda d: d.update(tiers=[]),
        lambda d: d.update(began="noon"),
        lambda d: d.update(began=12),
        lambda d: d.update(p95_seconds="2"),
        lambda d: d.update(p95_seconds=HUGE),
        lambda d: d.update(p95_seconds=math.nan),
        lambda d: d["tiers"][0].update(whole_p95=math.inf),
        lambda d: d["tiers"][0].update(first_p50=-math.inf),
        lambda d: d["conditions"].update(host=None),
        lambda d: d["conditions"].update(sandbox=0),
        lambda d: d["tiers"][0].update(tier="10"),
        lambda d: d["tiers"][0].update(errors=True),
        lambda d: d["tiers"][0].update(attempts=20.5),
        lambda d: d["tiers"][0].update(busy_share="x"),
        lambda d: d["tiers"][0].update(busy_share=HUGE),
        lambda d: d["tiers"][0].update(busy_share=None),
        lambda d: d["tiers"][0].update(whole_p95=[0.1]),
    ],
)
def test_what_is_no_run(change: object) -> None:
    """A file that `--output` did not write is refused by its name."""
    document = json.loads(run().kept())
    assert callable(change)
    change(document)
    for data in (json.dumps(document).encode(), b"", b"[]", b"1", b"\xff", b'"x"'):
        with pytest.raises(BadInput, match="FILE is no run that"):
            read_run(data, "FILE")


def test_differences() -> None:
    """Host, server version, max_connections, pool and tier are named where they differ."""
    assert [] == differences(run(), run())
    other = replace(
        run(tier(), tier(20)),
        conditions=Conditions("2.0", "other:5432", "15.2", 60, 5, sandbox=True),
    )
    assert [
        "host (other:5432, now db.example.com:5432)",
        "server version (15.2, now 15.1)",
        "max_connections (60, now 100)",
        "pool (5, now 10)",
        "people at once (10, 20, now 10)",
    ] == differences(run(), other)


def test_another_line() -> None:
    """Another line is told beside the conditions; it makes no other judgement of them."""
    same, other = run(), run(tier(10), tier(20))
    assert "yes: the conditions are the same" == judgement(run(), same)
    stricter = replace(run(), p95_seconds=0.5)
    line = "the line was 2 s, now 0.5 s"
    assert f"yes: the conditions are the same; {line}" == judgement(stricter, same)
    expected = f"no, these conditions differ: people at once (10, 20, now 10); {line}"
    assert expected == judgement(stricter, other)


def test_the_tables() -> None:
    """Two runs stand side by side; the last line names the largest crowd that met the line."""
    found = sections(run(), ["nothing"], replace(run(), p95_seconds=0.5))
    titles = [section.title for section in found]
    line = ("the line: 95 of 100 within", "0.5 s", "2 s")
    assert line == found[titles.index("Compared: conditions")].rows[-1]
    assert ["yes: the conditions are the same; the line was 0.5 s, now 2 s"] == list(
        found[titles.index("Is it a before-and-after?")].rows[0]
    )
    assert ("10", "redeemed", "10", "10") in found[titles.index("Compared: people at once")].rows
    assert ("largest crowd that met it", "10 people at once") == found[-1].rows[-1]


@pytest.mark.parametrize(
    ("sizes", "result"),
    [
        ((10, 20), "met"),
        ((3, 10), "met"),
        ((9, 3), "met, by 9 people; 10 were not tried"),
        ((3, 20), "met, by 3 people; 10 were not tried"),
        ((11,), "not judged: no crowd of up to 10 was tried"),
    ],
)
def test_result(sizes: tuple[int, ...], result: str) -> None:
    """The line is met by a crowd of its own size; what a smaller or a larger one tells is said."""
    found = sections(run(*map(tier, sizes)), [], None)
    assert ("result", result) in found[-1].rows


@pytest.mark.parametrize(
    ("size", "connections", "told"),
    [
        (20, 10, "20 people at once, through 10 connections"),
        (10, 4, "10 people at once, through 4 connections"),
        (10, 10, "10 people at once"),
        (3, 10, "3 people at once"),
    ],
)
def test_shared_connections(size: int, connections: int, told: str) -> None:
    """The last line says how many connections people had who had to wait for one."""
    found = sections(replace(run(tier(size)), connections=connections), [], None)
    assert ("largest crowd that met it", told) == found[-1].rows[-1]
    had = f"the server lets in 100; these people had {connections} open"
    assert ("connections", had) in found[0].rows


def test_samples() -> None:
    """Looks that are milliseconds apart are told apart."""
    looks = (Sample(10, 0.0, 3, 1, 2), Sample(10, 0.0614, 4, 0, 1))
    found = sections(replace(run(), samples=looks), [], None)
    (rows,) = [section.rows for section in found if section.title == "The server meanwhile"]
    assert [("10", "0.000", "3", "1", "2"), ("10", "0.061", "4", "0", "1")] == list(rows)
