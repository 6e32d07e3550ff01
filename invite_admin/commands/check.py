"""``invite check``: what this login can do with this table, and what is blocked and why."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from invite_admin import __version__, findings
from invite_admin.errors import Denied, InviteError, Unsupported
from invite_admin.model import Column, Layout, Report, Section
from invite_admin.options import database_command
from invite_admin.shape import STEPS

if TYPE_CHECKING:
    from invite_admin.findings import Finding
    from invite_admin.run import Run
    from invite_admin.store import Store

_COLUMNS = tuple(
    Column(key)
    for key in (
        *("tool", "server", "database", "login", "role", "step", "settings", "table", "writes"),
        *("capabilities", "findings", "gate", "limits"),
    )
)


@database_command()
def command(store: Store, *, run: Run, **_: object) -> Report:
    """Say what this login can do with this table, and what is blocked and why.

    Nothing is changed. The exit status is 6 where rows may be hidden or the actor is refused,
    else 5 where something is blocked, else 0.

    \b
    Example: invite check
    """
    found = findings.find(store, run.settings)
    facts = _facts(store, run, found)
    return Report(
        _COLUMNS,
        [tuple(facts[column.key] for column in _COLUMNS)],
        Layout.OBJECT,
        sections=_sections(facts, found),
        verdict=_verdict(found),
    )


def _facts(store: Store, run: Run, found: list[Finding]) -> dict[str, Any]:
    server, shape, settings = store.session.server, store.shape, run.settings
    return {
        "tool": __version__,
        "server": f"{server.address}, PostgreSQL {server.version}",
        "database": server.database,
        "login": server.login,
        "role": settings.write_role,
        "step": shape.step or None,
        "settings": str(settings.path) if settings.path else None,
        "table": shape.name,
        "writes": ("functions" if shape.by_functions else "direct") if shape.step else None,
        "capabilities": [
            {
                "name": str(need),
                "available": way.available,
                "via": way.via,
                "reason": way.reason,
            }
            for need, way in shape.ways.items()
        ],
        "findings": [asdict(finding) for finding in found],
        "gate": None,
        "limits": None,
    }


def _sections(facts: dict[str, Any], found: list[Finding]) -> tuple[Section, ...]:
    step = f"{facts['step']} ({STEPS[facts['step']]})" if facts["step"] else "unknown"
    where = [
        (key, str(facts[key] if key != "step" else step))
        for key in (
            "tool",
            "server",
            "database",
            "login",
            "role",
            "settings",
            "table",
            "step",
            "writes",
        )
        if facts[key] is not None
    ]
    able = [
        (c["name"], "yes" if c["available"] else "BLOCKED", c["via"] or c["reason"])
        for c in facts["capabilities"]
    ]
    told = [
        row
        for f in found
        for row in ((f.level, f.message), *([("", f"hint: {f.hint}")] if f.hint else []))
    ]
    return (
        Section("Where", (), where),
        Section("What this login can do", ("capability", "can", "how, or why not"), able),
        Section("Findings", ("level", "finding"), told),
    )


def _verdict(found: list[Finding]) -> InviteError | None:
    for level, kind in (("refused", Denied), ("blocked", Unsupported)):
        named = [finding for finding in found if finding.level == level]
        if named:
            return kind(named[0].message, hint=named[0].hint)
    return None
