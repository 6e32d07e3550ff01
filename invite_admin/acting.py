"""Carries a change out, or a dry run of it, group by group, and tells it in one report."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any

from invite_admin.model import SETTLED, Outcome, Result, Status
from invite_admin.report import Drawn, Report
from invite_admin.spool import Spool
from invite_admin.tally import Tally, Telling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import tzinfo

    from invite_admin.changes import Plan, Verb
    from invite_admin.model import Group, Row
    from invite_admin.run import Run
    from invite_admin.store import Store

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789*-")


@dataclass(frozen=True)
class Act:
    """One change: its verb, and what the store does.

    Attributes:
        verb: How it is spoken of.
        apply: Does it; returns the results by id.
        sweep: Does it to a whole group whose report needs nothing but ids and masks; False where
            a code is in the way. None where there is no such way.
        allow: Refuses what a limit forbids, before anything is sent.
        hold: Refuses it once more after the last code, given what the expired codes are worth
            that were changed.
        prepare: Reads the command's own options, given the server's now; may refuse.
        same: Whether a code is already as it would become.
        become: The code as it would become.
    """

    verb: Verb
    apply: Callable[[Store, Sequence[Row], dict[str, Any]], dict[str, Result]]
    sweep: Callable[[Store, Group], bool] | None = None
    prepare: Callable[[Run, Store, dict[str, Any]], dict[str, Any]] = lambda _run, _store, _own: {}
    allow: Callable[[Run, Store, Plan], None] = lambda _run, _store, _plan: None
    hold: Callable[[Run, Store, int, dict[str, Any]], None] = (
        lambda _run, _store, _points, _extras: None
    )
    same: Callable[[Row, dict[str, Any]], bool] = lambda _row, _extras: False
    become: Callable[[Row, dict[str, Any]], Row] = lambda row, _extras: row


class Acting:
    """One act on one plan, in one transaction.

    Args:
        act: What is done.
        store: The table in the open transaction.
        plan: What it is about.
        zone: The time zone of times in the report.
        advance: Told how many codes were done.

    Attributes:
        revived: What the expired codes are worth that were changed.
    """

    def __init__(
        self, act: Act, store: Store, plan: Plan, zone: tzinfo, advance: Callable[[int], None]
    ) -> None:
        self._act, self._store, self._plan = act, store, plan
        self._advance = advance
        self._tally = Tally(act.verb)
        self._telling = Telling(act.verb.columns, zone)
        self.revived = 0

    def change(self, form: str) -> Report:
        """Change what can be changed, and say of each code what became of it.

        Args:
            form: The report's format.
        """
        sweep = self._act.sweep if self._plan.by_filter and form == "csv" else None
        with self._store.expect(self._plan.codes):
            return self._report(self._changed, sweep, self._summary)

    def preview(self) -> Report:
        """Say of each code what would become of it."""
        return self._report(self._would_become, None, self._tally.preview)

    def _report(
        self,
        become: Callable[[Group], Iterator[Result]],
        sweep: Callable[[Store, Group], bool] | None,
        summary: Callable[[], list[str]],
    ) -> Report:
        tally, by_filter = self._tally, self._plan.by_filter
        rows = self._by_filter(become, sweep) if by_filter else self._by_name(become)
        return Report(
            self._act.verb.columns,
            rows,
            summary=summary,
            verdict=tally.verdict(by_filter=by_filter),
            counts={str(outcome): count for outcome, count in tally.lines.items()},
            changed=tally.codes[self._act.verb.done],
        )

    def _by_filter(
        self,
        become: Callable[[Group], Iterator[Result]],
        sweep: Callable[[Store, Group], bool] | None,
    ) -> Iterator[Sequence[Any]]:
        """Act on each group; what became of it is kept apart until it is known to be true."""
        kept: Spool[Sequence[Any]] = Spool()
        swept: list[bool] = []
        before = 0
        for group in self._plan.groups:
            swept.append(sweep is not None and _plain(group) and sweep(self._store, group))
            if swept[-1]:
                self._tally.add(self._act.verb.done, _worth(group), len(group.ids))
                kept.add([Drawn(self._drawn(group, before))])
            else:
                kept.add(list(self._told(group, become, before)))
            before += len(group.ids)
            self._advance(len(group.ids))
        if any(swept):
            self._store.check_swept(lambda: compress(self._plan.groups, swept))
        self._tally.lines = self._tally.codes
        return (row for rows in kept for row in rows)

    def _told(
        self, group: Group, become: Callable[[Group], Iterator[Result]], before: int
    ) -> Iterator[Sequence[Any]]:
        became = zip(become(group), group.masks, strict=True)
        for position, (result, mask) in enumerate(became, start=before + 1):
            self._tally.take(result)
            yield (position, *self._telling.code(mask, result))

    def _drawn(self, group: Group, before: int) -> str:
        """Write the lines of codes that were all changed, as ``output`` would."""
        empty = "," * (len(self._act.verb.columns) - 4)
        rest = f",{self._act.verb.done}{empty}\n"
        named = enumerate(zip(group.ids, group.masks, strict=True), start=before + 1)
        return "".join(
            f"{position},{identity},{mask}{rest}" for position, (identity, mask) in named
        )

    def _by_name(self, become: Callable[[Group], Iterator[Result]]) -> Iterator[Sequence[Any]]:
        """Act on each group; each name is then told in its place."""
        told: dict[str, tuple[Outcome, tuple[Any, ...]]] = {}
        for group in self._plan.groups:
            for result, mask in zip(become(group), group.masks, strict=True):
                self._tally.take(result)
                told[result.id] = result.outcome, self._telling.code(mask, result)
            self._advance(len(group.ids))
        lines = [
            told[item.id] if item.id else self._telling.unfit(item)
            for item in self._plan.items or ()
        ]
        self._tally.lines.update(outcome for outcome, _ in lines)
        return ((position, *cells) for position, (_, cells) in enumerate(lines, start=1))

    def _changed(self, group: Group) -> Iterator[Result]:
        rows = list(self._store.reads.by_id(group.ids).values())
        results = self._act.apply(self._store, rows, self._plan.extras)
        self.revived += sum(
            row.points
            for row in rows
            if row.status is Status.EXPIRED and results[row.id].outcome is self._act.verb.done
        )
        for identity in group.ids:
            yield results.get(identity) or Result(identity, Outcome.NOT_FOUND, None)

    def _would_become(self, group: Group) -> Iterator[Result]:
        rows = self._store.reads.by_id(group.ids)
        for identity in group.ids:
            row = rows.get(identity)
            yield self._would(row) if row else Result(identity, Outcome.NOT_FOUND, None)

    def _would(self, row: Row) -> Result:
        act, extras = self._act, self._plan.extras
        if row.status in SETTLED:
            return Result(row.id, SETTLED[row.status], row)
        if act.same(row, extras):
            return Result(row.id, Outcome.UNCHANGED, row)
        return Result(row.id, act.verb.would, act.become(row, extras))

    def _summary(self) -> list[str]:
        lines, named = self._tally.summary(), self._store.named
        changed = self._tally.codes[self._act.verb.done]
        return [*lines, f"request id {named}"] if named and changed else lines


def _plain(group: Group) -> bool:
    """Tell whether masks need no quotes in csv and no guard, so that they can stand as they are."""
    return _PLAIN.issuperset("".join(group.masks)) and all(
        mask[:1].isalpha() for mask in group.masks
    )


def _worth(group: Group) -> int:
    return sum(points or 0 for points in group.points)
