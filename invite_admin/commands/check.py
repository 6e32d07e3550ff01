"""Say what this login can do here, what is blocked and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from invite_admin import __version__, checkup, findings, limits
from invite_admin.checkup import Load, Where
from invite_admin.options import database_command
from invite_admin.report import Column, Layout, Report

if TYPE_CHECKING:
    from invite_admin.run import Run
    from invite_admin.store import Store

COLUMNS = tuple(
    Column(key)
    for key in (
        *("tool", "server", "database", "login", "role", "step", "settings", "table", "writes"),
        *("capabilities", "findings", "gate", "limits"),
    )
)


@database_command()
def command(store: Store, *, run: Run) -> Report:
    """Say what this login can do here, what is blocked and why.

    Nothing is changed. The exit status is 6 where rows may be hidden or the actor is refused,
    else 7 where a standby or a setting keeps this login from every change, else 5 where something
    is blocked, else 0.

    \b
    Example: invite check
    """
    server, settings = store.session.server, run.settings
    where = Where(
        tool=__version__,
        server=f"{server.address}, PostgreSQL {server.version}",
        database=server.database,
        login=server.login,
        role=settings.write_role,
        settings=str(settings.path) if settings.path else None,
    )
    found = findings.find(store, settings)
    load = Load(run.gate.crowd(store.session), limits.standings(store, settings.limits))
    facts = checkup.facts(where, store.shape, found, load)
    return Report(
        COLUMNS,
        [tuple(facts[column.key] for column in COLUMNS)],
        Layout.OBJECT,
        sections=checkup.sections(where, store.shape, found, load),
        verdict=findings.verdict(found),
    )
