"""The seam of ``revoke`` and ``update``: name the set, ask, then act on exactly that set."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from invite_admin import output, text
from invite_admin.changes import Item, Plan, Telling, Verb
from invite_admin.errors import BadInput, Failed, NotFound
from invite_admin.job import Job
from invite_admin.model import Capability
from invite_admin.options import as_command, filter_options, name_options, report_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from invite_admin.chosen import Chosen
    from invite_admin.codes import Name
    from invite_admin.model import Filters, Row
    from invite_admin.options import DatabaseCommand, Named
    from invite_admin.report import Report
    from invite_admin.run import Run, Target
    from invite_admin.store import Result, Store

PREVIEW = 20  # codes shown before the question


@dataclass(frozen=True)
class Act:
    """One change: its verb, and what the store does.

    Attributes:
        verb: How it is spoken of.
        prepare: Reads the command's own options, given the server's now; may refuse.
        apply: Does it; returns the results by id.
        allow: Refuses what a limit forbids, before anything is sent.
        same: Whether a code is already as it would become.
        become: The code as it would become.
    """

    verb: Verb
    apply: Callable[[Store, Sequence[Row], dict[str, Any]], dict[str, Result]]
    prepare: Callable[[Run, Store, dict[str, Any]], dict[str, Any]] = lambda _run, _store, _own: {}
    allow: Callable[[Run, Store, Sequence[Row], dict[str, Any]], None] = (
        lambda _run, _store, _rows, _extras: None
    )
    same: Callable[[Row, dict[str, Any]], bool] = lambda _row, _extras: False
    become: Callable[[Row, dict[str, Any]], Row] = lambda row, _extras: row


def change_command(act: Act) -> Callable[[Callable[..., Any]], DatabaseCommand]:
    """Make a command that changes codes; the function it decorates only checks its own options."""

    def decorate(function: Callable[..., Any]) -> DatabaseCommand:
        @click.option("--dry-run", is_flag=True, help="Say what would happen; change nothing.")
        @click.option("--yes", is_flag=True, help="Do not ask.")
        @click.pass_obj
        @functools.wraps(function)
        def callback(  # noqa: PLR0913 - one argument an option
            run: Run,
            /,
            *,
            target: Target,
            chosen: Chosen,
            named: Named,
            dry_run: bool,
            yes: bool,
            **own: Any,  # noqa: ANN401 - each command's own
        ) -> None:
            function(**own)
            _check(chosen, named, asks=not (yes or dry_run))
            names = named.read() if named else None
            changing = _Changing(run, act, target, names, chosen, own)
            changing.run_it(dry_run=dry_run, yes=yes)

        needs = (Capability.READ, act.verb.need)
        return as_command(report_options(filter_options(name_options(callback))), needs)

    return decorate


def _check(chosen: Chosen, named: Named, *, asks: bool) -> None:
    """Refuse what cannot be meant, and a question that nobody could answer."""
    if bool(chosen) == bool(named):
        how = "not both" if chosen else "one of the two is needed"
        raise BadInput(f"name codes or give filters, {how}; nothing was changed")
    if asks and named.piped:
        raise BadInput("codes from standard input need --yes; nothing was changed")
    if asks and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput("without a terminal to ask on, --yes is needed; nothing was changed")


@dataclass(frozen=True)
class _Changing:
    """One call of a changing command."""

    run: Run
    act: Act
    target: Target
    names: list[Name] | None
    chosen: Chosen
    own: dict[str, Any]

    def run_it(self, *, dry_run: bool, yes: bool) -> None:
        needs = (Capability.READ, self.act.verb.need)
        job = Job(self.run, needs, self.target)
        if dry_run:
            job.read(lambda store: self.preview(self.plan(store)))
            return
        if yes:
            job.change(lambda store: self.do(store, self.plan(store)))
            return
        with self.run.stoppable():
            self.target.open(self.run)
            with job.opened(writing=False) as store:
                plan = self.plan(store)
            if plan.usable:
                self.ask(plan)
        job.change(lambda store: self.do(store, self.still(store, plan)))

    def plan(self, store: Store) -> Plan:
        """Read the set, once; everything is checked here before anything is changed."""
        extras = self.act.prepare(self.run, store, self.own)
        if self.names is not None:
            store.require_lookup(self.names)
            found = store.reads.find(self.names)
            items = [Item(n, f.name, f.rows) for n, f in enumerate(found, start=1)]
        else:
            filters: Filters = self.chosen.at(store, self.run)
            rows = store.reads.select(filters)
            items = [Item(n, None, (row,)) for n, row in enumerate(rows, start=1)]
            if not items:
                raise NotFound("no code fits these filters; nothing was changed")
        output.check_held(self.target.form, len(items))
        plan = Plan(tuple(items), self.names is None, extras)
        self.act.allow(self.run, store, plan.rows, extras)
        return plan

    def still(self, store: Store, plan: Plan) -> Plan:
        """Return the same set of ids, as the rows are after the question."""
        now = store.reads.by_id([row.id for row in plan.rows])

        def fresh(item: Item) -> Item:
            if item.row is None:
                return item
            row = now.get(item.row.id)
            return Item(item.position, item.name, (row,) if row else ())

        return Plan(tuple(map(fresh, plan.items)), plan.by_filter, plan.extras)

    def ask(self, plan: Plan) -> None:
        """Show the set and ask, with no transaction open."""
        usable, verb = plan.usable, self.act.verb
        for row in usable[:PREVIEW]:
            self.run.say(f"  {row.mask}  {row.points:>7,} points  {row.note or ''}".rstrip())
        if len(usable) > PREVIEW:
            self.run.say(f"  and {len(usable) - PREVIEW:,} more")
        left = len(plan.items) - len(usable)
        if left:
            self.run.say(f"{text.counted(left, 'other')} cannot be changed, and will be reported")
        worth = text.counted(sum(row.points for row in usable), "point")
        question = f"{verb.word} {text.counted(len(usable), 'code')} worth {worth}? [y/N] "
        sys.stderr.write(question)
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Failed("not confirmed; nothing was changed")

    def do(self, store: Store, plan: Plan) -> Report:
        """Change what can be changed, and say of each code what became of it."""
        self.run.gate.admit(store.session, len(plan.usable))
        results = self.act.apply(store, plan.rows, plan.extras)
        telling = self.telling(plan)
        outcomes = {identity: result.outcome for identity, result in results.items()}

        def summary() -> list[str]:
            lines = telling.summary(outcomes)
            changed = any(outcome == self.act.verb.past for outcome in outcomes.values())
            return [*lines, f"request id {store.named}"] if store.named and changed else lines

        return telling.done(
            outcomes,
            {identity: result.row for identity, result in results.items() if result.row},
            summary,
        )

    def preview(self, plan: Plan) -> Report:
        """Say of each code what would become of it."""
        extras = plan.extras
        return self.telling(plan).preview(
            lambda row: self.act.same(row, extras), lambda row: self.act.become(row, extras)
        )

    def telling(self, plan: Plan) -> Telling:
        return Telling(self.act.verb, plan, self.run.preferences.timezone)
