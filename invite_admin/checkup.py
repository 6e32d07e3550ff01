"""What ``check`` tells of a table and a login: as one object, and as tables for people. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from invite_admin.model import PLACES, QUEUE
from invite_admin.report import Section
from invite_admin.shape import STEPS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from invite_admin.findings import Finding
    from invite_admin.limits import Standing
    from invite_admin.model import Crowd
    from invite_admin.shape import Shape


@dataclass(frozen=True)
class Where:
    """Where and as whom a command acts.

    Attributes:
        tool: The tool's version.
        server: The server's address and version.
        database: The database's name.
        login: The role that logged in.
        role: The configured write role; None where none is.
        settings: The settings file that counts; None where there is none.
    """

    tool: str
    server: str
    database: str
    login: str
    role: str | None
    settings: str | None


@dataclass(frozen=True)
class Load:
    """What is under way and how much room there is, at this moment.

    Attributes:
        crowd: The heavy jobs.
        limits: How each issuing limit stands, by its name in the settings.
    """

    crowd: Crowd
    limits: Mapping[str, Standing]


def facts(where: Where, shape: Shape, found: Sequence[Finding], load: Load) -> dict[str, Any]:
    """Return everything as one object, with the keys that are promised to scripts."""
    return {
        **asdict(where),
        "step": shape.step or None,
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
        "gate": {
            "running": load.crowd.running,
            "running_at_most": PLACES,
            "waiting": load.crowd.waiting,
            "waiting_at_most": QUEUE,
            "full": load.crowd.full,
        },
        "limits": {
            name: {"limit": s.limit, "used": s.used, "left": s.left}
            for name, s in load.limits.items()
        },
    }


def sections(
    where: Where, shape: Shape, found: Sequence[Finding], load: Load
) -> tuple[Section, ...]:
    """Return the same as tables for people."""
    step = f"{shape.step} ({STEPS[shape.step]})" if shape.step else "unknown"
    about = [*asdict(where).items(), ("table", shape.name), ("step", step)]
    if shape.step:
        about.append(("writes", "functions" if shape.by_functions else "direct"))
    able = [
        (str(need), "yes" if way.available else "BLOCKED", way.via or way.reason or "")
        for need, way in shape.ways.items()
    ]
    told = [
        row
        for f in found
        for row in ((f.level, f.message), *([("", f"hint: {f.hint}")] if f.hint else []))
    ]
    return (
        Section("Where", (), [(name, value) for name, value in about if value is not None]),
        Section("What this login can do", ("capability", "can", "how, or why not"), able),
        Section("Heavy jobs", (), _jobs(load.crowd)),
        Section("Limits", ("limit", "at most", "used", "left"), _limits(load.limits)),
        Section("Findings", ("level", "finding"), told),
    )


def _jobs(crowd: Crowd) -> list[tuple[str, str]]:
    return [
        ("running", f"{crowd.running} of {PLACES}"),
        ("waiting", f"{crowd.waiting} of {QUEUE}"),
        ("full", "yes: another one is refused" if crowd.full else "no"),
    ]


def _limits(limits: Mapping[str, Standing]) -> list[tuple[str, ...]]:
    def told(number: int | None) -> str:
        return "unknown" if number is None else f"{number:,}"

    return [
        (name, *map(told, (s.limit, s.used, s.left))) if s.limit else (name, "not set", "", "")
        for name, s in limits.items()
    ]
