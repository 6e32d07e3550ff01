"""A run as tables that a product owner can read. Pure."""

from __future__ import annotations

from dataclasses import astuple
from datetime import datetime
from typing import TYPE_CHECKING

from invite_admin.report import Section
from invite_admin.smoke.judging import BUSY_SHARE, LINE, shown
from invite_admin.smoke.runs import COMPARED, differences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from invite_admin.smoke.judging import Tier
    from invite_admin.smoke.runs import Run

_LINE = (
    f"up to {LINE} people: no error, no code redeemed twice, at most {BUSY_SHARE:.0%} busy, "
    "95 of 100 within {seconds:g} s; what larger crowds miss is only recorded"
)


def sections(run: Run, left: Sequence[str], before: Run | None) -> tuple[Section, ...]:
    """Return a run as tables.

    Args:
        run: The run.
        left: What it left behind, in sentences.
        before: The run to compare it with; None for none.
    """
    return (
        Section("Conditions", (), list(_conditions(run))),
        Section("What became of it", ("", *_heads(run)), _columns(run)),
        Section("The server meanwhile", *_samples(run)),
        *(_compared(run, before) if before else ()),
        Section("What it left behind", (), [(line,) for line in left]),
        Section("Verdict", (), list(_verdict(run))),
    )


def _conditions(run: Run) -> Iterator[tuple[str, str]]:
    found = run.conditions
    yield "began", _minute(run)
    yield "tool", found.tool
    yield "server", f"{found.host}, PostgreSQL {found.server_version}"
    yield (
        "connections",
        f"the server lets in {found.max_connections}; these people had {run.connections} open",
    )
    yield "times", "from when a person has a connection; the wait for one is not counted"
    if found.sandbox:
        yield "note", "this is the sandbox: it measures this machine and not the beta's server"


def _heads(run: Run) -> tuple[str, ...]:
    return tuple(f"{tier.tier} people at once" for tier in run.tiers)


def _columns(run: Run) -> list[tuple[str, ...]]:
    """Return one row a measure, one column a crowd."""
    by_tier = [dict(_measures(tier)) for tier in run.tiers]
    return [(name, *(found[name] for found in by_tier)) for name in by_tier[0]]


def _measures(tier: Tier) -> Iterator[tuple[str, str]]:
    yield "attempts", str(tier.attempts)
    yield "redeemed", str(tier.redeemed)
    yield "refused, as they must be", str(tier.refused)
    yield "busy in the end", f"{tier.busy} ({tier.busy_share:.1%})"
    yield "errors", str(tier.errors)
    yield "codes redeemed twice", f"{tier.double} (must be 0)"
    yield "points credited", f"{tier.points_credited} of {tier.points_expected}"
    yield "first answer: half of them within", shown(tier.first_p50)
    yield "first answer: 95 of 100 within", shown(tier.first_p95)
    yield "first answer: the last within", shown(tier.first_max)
    yield "with tries after busy: half of them within", shown(tier.whole_p50)
    yield "with tries after busy: 95 of 100 within", shown(tier.whole_p95)
    yield "with tries after busy: the last within", shown(tier.whole_max)
    yield "met the line", "yes" if tier.met else "no"


def _samples(run: Run) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    if run.not_sampled is not None:
        return (), [(f"not sampled: {run.not_sampled}",)]
    heads = ("people", "seconds", "connections", "waiting for a lock", "in a transaction")
    rows = [
        (str(tier), f"{second:.3f}", *map(str, counts))
        for tier, second, *counts in map(astuple, run.samples)
    ]
    return heads, rows


def _compared(run: Run, before: Run) -> Iterator[Section]:
    """Set two runs side by side, and say whether one is the other's before-and-after."""
    both = (before, run)
    rows: list[tuple[str, ...]] = [("began", *map(_minute, both))]
    for key, called in COMPARED.items():
        rows.append((called, *(str(getattr(found.conditions, key)) for found in both)))
    rows.append(("the line: 95 of 100 within", *(f"{found.p95_seconds:g} s" for found in both)))
    yield Section("Compared: conditions", ("", "before", "now"), rows)
    yield Section("Compared: people at once", ("people", "", "before", "now"), _beside(run, before))
    yield Section("Is it a before-and-after?", (), [(judgement(run, before),)])


def _beside(run: Run, before: Run) -> list[tuple[str, ...]]:
    """Return one row a measure of each crowd that both runs tried, one row for any other."""
    earlier, later = ({t.tier: dict(_measures(t)) for t in found.tiers} for found in (before, run))
    rows: list[tuple[str, ...]] = []
    for size in dict.fromkeys([*earlier, *later]):
        if size in earlier and size in later:
            rows += [
                (str(size), name, earlier[size][name], later[size][name]) for name in later[size]
            ]
        else:
            tried = ["tried" if size in found else "not tried" for found in (earlier, later)]
            rows.append((str(size), "this crowd", *tried))
    return rows


def _minute(run: Run) -> str:
    return datetime.fromisoformat(run.began).isoformat(timespec="minutes")


def judgement(run: Run, before: Run) -> str:
    """Say whether two runs may be compared as before and after, and whether by one line."""
    found = differences(run, before)
    told = "yes: the conditions are the same"
    if found:
        told = f"no, these conditions differ: {'; '.join(found)}"
    if run.p95_seconds == before.p95_seconds:
        return told
    return f"{told}; the line was {before.p95_seconds:g} s, now {run.p95_seconds:g} s"


def _verdict(run: Run) -> Iterator[tuple[str, str]]:
    yield "the line", _LINE.format(seconds=run.p95_seconds)
    for missed in run.missed:
        yield "MISSED", missed
    if not run.missed:
        yield "result", _result([tier.tier for tier in run.tiers if tier.tier <= LINE])
    yield "largest crowd that met it", _largest(run)


def _result(judged: Sequence[int]) -> str:
    """Say what it comes to that none of these crowds, for which the line is drawn, missed it."""
    if not judged:
        return f"not judged: no crowd of up to {LINE} was tried"
    if LINE in judged:
        return "met"
    return f"met, by {max(judged)} people; {LINE} were not tried"


def _largest(run: Run) -> str:
    """Say it with the connections where people had to share them: the wait is not counted."""
    if run.largest is None:
        return "none"
    shared = f", through {run.connections} connections" if run.connections < run.largest else ""
    return f"{run.largest} people at once{shared}"
