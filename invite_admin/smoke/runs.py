"""A whole run: its conditions, its crowds, as it is kept and as it is compared. Pure."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from invite_admin.errors import BadInput
from invite_admin.smoke.judging import Tier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from invite_admin.smoke.guard import Sample

KIND = "invite smoke"  # what a kept run calls itself
FORMAT = 1


@dataclass(frozen=True)
class Conditions:
    """What a run's numbers depend on.

    Attributes:
        tool: The tool's version.
        host: The server's address.
        server_version: The server's version.
        max_connections: How many connections the server lets in.
        pool: How many connections the people shared at most.
        sandbox: Whether it was the sandbox.
    """

    tool: str
    host: str
    server_version: str
    max_connections: int
    pool: int
    sandbox: bool


COMPARED = {
    "host": "host",
    "server_version": "server version",
    "max_connections": "max_connections",
    "pool": "pool",
}
"""The conditions without which two runs are no before-and-after, and what people call them."""


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        began: When, by the server's clock, in RFC 3339.
        conditions: Under which conditions.
        p95_seconds: Within how many seconds 95 of 100 people were to have their points.
        tiers: What became of each crowd, in the order in which they redeemed.
        samples: What the server was doing meanwhile.
        not_sampled: Why that is not known; None where it is.
        connections: The most that the people had open at once; 0 in a run that was read.
    """

    began: str
    conditions: Conditions
    p95_seconds: float
    tiers: tuple[Tier, ...]
    samples: tuple[Sample, ...] = ()
    not_sampled: str | None = None
    connections: int = 0

    @property
    def missed(self) -> list[str]:
        """What fails the run; empty where it met the line."""
        return [
            f"{tier.tier} people: {', '.join(tier.misses(self.p95_seconds))}"
            for tier in self.tiers
            if tier.bound and not tier.met
        ]

    @property
    def largest(self) -> int | None:
        """The most people at once that met the line; None where no crowd did."""
        return max((tier.tier for tier in self.tiers if tier.met), default=None)

    def kept(self) -> bytes:
        """Return the run as JSON, to keep and to compare with."""
        document = {"kind": KIND, "format": FORMAT, **asdict(self)}
        return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def read_run(data: bytes, name: str) -> Run:
    """Read what ``kept`` returned, but for what no comparison needs.

    Args:
        data: The file's content.
        name: What the file is called in messages.

    Raises:
        BadInput: It is no kept run.
    """
    try:
        found = _read(json.loads(data))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        found = None
    if found is None or not found.tiers:
        raise BadInput(f"{name} is no run that `invite smoke --output` kept")
    return found


def _read(document: Any) -> Run | None:  # noqa: ANN401 - whatever JSON holds
    if (document["kind"], document["format"]) != (KIND, FORMAT):
        return None
    return Run(
        began=datetime.fromisoformat(document["began"]).isoformat(),
        conditions=Conditions(**_only(Conditions, document["conditions"])),
        p95_seconds=_typed(document["p95_seconds"], float),
        tiers=tuple(Tier(**_only(Tier, tier)) for tier in document["tiers"]),
    )


def differences(now: Run, before: Run) -> list[str]:
    """Name each condition that differs; with one of them it is no before-and-after."""
    found = [
        f"{called} ({getattr(before.conditions, name)}, now {getattr(now.conditions, name)})"
        for name, called in COMPARED.items()
        if getattr(before.conditions, name) != getattr(now.conditions, name)
    ]
    sizes = [", ".join(str(tier.tier) for tier in run.tiers) for run in (before, now)]
    if sizes[0] != sizes[1]:
        found.append(f"people at once ({sizes[0]}, now {sizes[1]})")
    return found


def _only(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a data class that a JSON object has; all of them must be there."""
    return {name: _typed(values[name], wanted) for name, wanted in get_type_hints(kind).items()}


def _typed(value: Any, wanted: Any) -> Any:  # noqa: ANN401 - whatever JSON holds, and any type
    """Return a value of this type; JSON may have a whole number where a fraction is meant.

    Raises:
        TypeError: It has another type.
        OverflowError: It is too large for a fraction.
        ValueError: It is no finite number, which JSON has not and Python reads all the same.
    """
    kinds = get_args(wanted) or (wanted,)  # of a union its members
    if type(value) is int and float in kinds:
        return float(value)
    if type(value) not in kinds:  # not isinstance, for which true is a whole number
        raise TypeError
    if type(value) is float and not math.isfinite(value):
        raise ValueError
    return value
