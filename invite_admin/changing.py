"""The seam of ``revoke`` and ``update``: name the set, ask, then act on exactly that set."""

from __future__ import annotations

import functools
import sys
import termios
from contextlib import suppress
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

import click

from invite_admin import columns, output, text
from invite_admin.acting import Acting
from invite_admin.changes import Item, Plan, Usable
from invite_admin.errors import NOTHING_CHANGED, QUOTES, BadInput, Failed, NotFound
from invite_admin.job import Job
from invite_admin.model import UNUSED, Capability, Status
from invite_admin.options import as_command, filter_options, name_options, report_options
from invite_admin.report import Report
from invite_admin.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Callable

    from invite_admin.acting import Act
    from invite_admin.chosen import Chosen
    from invite_admin.codes import Name
    from invite_admin.model import Group, Row
    from invite_admin.options import DatabaseCommand, Named
    from invite_admin.run import Run, Target
    from invite_admin.store import Store


def change_command(act: Act) -> Callable[[Callable[..., Any]], DatabaseCommand]:
    """Make a command that changes codes; the function it decorates only checks its own options."""
    needs = (Capability.READ, act.verb.need)

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
            names = named.read(run.say) if named else None
            changing = _Changing(run, act, target, names, chosen, own)
            changing.run_it(needs, dry_run=dry_run, yes=yes)

        return as_command(report_options(filter_options(name_options(callback))), needs)

    return decorate


def _check(chosen: Chosen, named: Named, *, asks: bool) -> None:
    """Refuse what cannot be meant, and a question that nobody could answer."""
    if bool(chosen) == bool(named):
        how = "not both" if chosen else "one of the two is needed"
        neither = "give codes, `-` or --from-file FILE, or a filter such as --note"
        hint = QUOTES if chosen else neither
        raise BadInput(f"name codes or give filters, {how}; nothing was changed", hint=hint)
    if asks and named.piped:
        raise BadInput(
            "codes from standard input need --yes; nothing was changed",
            hint="look first with --dry-run; to be asked, name them by --from-file FILE",
        )
    if asks and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(
            "without a terminal to ask on, --yes is needed; nothing was changed",
            hint="look first with --dry-run",
        )


@dataclass(frozen=True)
class _Changing:
    """One call of a changing command."""

    run: Run
    act: Act
    target: Target
    names: list[Name] | None
    chosen: Chosen
    own: dict[str, Any]

    def run_it(self, needs: tuple[Capability, ...], *, dry_run: bool, yes: bool) -> None:
        listed = f"{self.run.command_line('list')} shows the codes as they are"
        named = "the same command again shows each code's outcome"
        job = Job(self.run, needs, self.target, listed if self.chosen else named)
        if dry_run:
            job.read(self.preview)
            return
        if yes:
            job.change(self.at_once)
            return
        with self.run.stoppable():
            self.target.open(self.run)
            with job.opened(writing=False) as store:
                plan = self.plan(store)
                first = list(store.reads.by_id(plan.usable.first).values())
            if plan.usable.count:
                self.ask(plan, first)
        job.change(lambda store: self.do(store, plan))

    def at_once(self, store: Store) -> Report:
        """Read the set and change it, without a question."""
        with self.run.gate.approach(store.session):
            plan = self.plan(store)
        return self.do(store, plan)

    def plan(self, store: Store) -> Plan:
        """Read the set, once; everything is checked here before anything is changed."""
        extras = self.act.prepare(self.run, store, self.own)
        if self.names is not None:
            plan = self.named(store, self.names, extras)
        else:
            plan = self.filtered(store, extras)
        output.check_held(self.target.form, plan.lines)
        self.act.allow(self.run, store, plan)
        return plan

    def filtered(self, store: Store, extras: dict[str, Any]) -> Plan:
        """Read the ids of what the filters fit; they may be a million."""
        groups: Spool[Group] = Spool(NOTHING_CHANGED)
        filters, codes = self.chosen.at(store, self.run), 0
        limited = self.run.preferences.limits.points_open is not None
        usable = Usable(expired=store.reads.expired(filters) if limited else 0)
        for group in store.groups(filters):
            groups.add(group)
            codes += len(group.ids)
            usable.add(group.ids, group.points)
        if not codes:
            raise NotFound(
                "no code fits these filters; nothing was changed",
                hint="check the spelling, the --status, and whether this is the right database",
            )
        return Plan(groups, codes, usable, None, extras)

    def named(self, store: Store, names: list[Name], extras: dict[str, Any]) -> Plan:
        """Look the names up, some thousands at a time; of the codes only id and mask are kept."""
        store.require_lookup(names)
        items: list[Item] = []
        usable, masks = Usable(), dict[str, str]()
        for found in store.reads.find(names):
            item = Item(found.name, tuple(row.id for row in found.rows))
            items.append(item)
            if item.id and item.id not in masks:
                (row,) = found.rows
                masks[item.id] = row.mask
                usable.add([item.id], [row.points if row.status in UNUSED else None])
                usable.expired += row.points if row.status is Status.EXPIRED else 0
        return Plan(store.grouped(masks), len(masks), usable, tuple(items), extras)

    def ask(self, plan: Plan, first: list[Row]) -> None:
        """Show the set and ask, with no transaction open."""
        usable, verb = plan.usable, self.act.verb
        shown = Report(columns.CODE, [astuple(row) for row in first])
        style = output.Style(self.run.preferences.timezone)
        self.run.say(*output.draw(shown, "table", style).splitlines())
        if usable.count > len(first):
            self.run.say(f"  and {usable.count - len(first):,} more")
        if plan.left:
            others = text.counted(plan.left, "other")
            self.run.say(f"{others} cannot be changed, and will be reported")
        worth = text.counted(usable.points, "point")
        question = f"{verb.word} {text.counted(usable.count, 'code')} worth {worth}? [y/N] "
        answer = ""
        try:
            with suppress(OSError, termios.error):  # what was typed before is no answer to it
                termios.tcflush(sys.stdin, termios.TCIFLUSH)
            sys.stderr.write(question)
            sys.stderr.flush()
            answer = sys.stdin.buffer.readline().decode(errors="replace")
        finally:
            if not answer.endswith("\n"):
                self.run.say("")  # what follows is no part of the question's line
        if answer.strip().lower() not in ("y", "yes"):
            raise Failed("not confirmed; nothing was changed")

    def preview(self, store: Store) -> Report:
        """Say of each code what would become of it."""
        plan = self.plan(store)
        with self.run.progress(plan.codes, "codes looked at") as advance:
            return self.acting(store, plan, advance).preview()

    def do(self, store: Store, plan: Plan) -> Report:
        """Change what can be changed, and say of each code what became of it."""
        self.run.gate.admit(store.session, plan.usable.count)
        self.act.allow(self.run, store, plan)
        with self.run.progress(plan.codes, "codes done") as advance:
            acting = self.acting(store, plan, advance)
            report = acting.change(self.target.form)
        self.act.hold(self.run, store, acting.revived, plan.extras)
        return report

    def acting(self, store: Store, plan: Plan, advance: Callable[[int], None]) -> Acting:
        return Acting(self.act, store, plan, self.run.preferences.timezone, advance)
