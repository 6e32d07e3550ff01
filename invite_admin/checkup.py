"""What ``check`` tells of a table and a login: as one object, and as tables for people. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from invite_admin.report import Section
from invite_admin.shape import STEPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from invite_admin.findings import Finding
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


def facts(where: Where, shape: Shape, found: Sequence[Finding]) -> dict[str, Any]:
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
        "gate": None,
        "limits": None,
    }


def sections(where: Where, shape: Shape, found: Sequence[Finding]) -> tuple[Section, ...]:
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
        Section("Findings", ("level", "finding"), told),
    )
