"""Where a command acts, and as whom: the lines that every command begins with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from invite_admin.model import Capability
    from invite_admin.server import Server
    from invite_admin.settings import Settings
    from invite_admin.shape import Shape


@dataclass(frozen=True)
class Place:
    """Where a command acts, and as whom; ``actor`` is None where nobody is configured."""

    server: str
    database: str
    login: str
    actor: str | None

    @classmethod
    def of(cls, server: Server, settings: Settings) -> Place:
        """Return the place of a session."""
        address = f"sandbox, {server.address}" if settings.sandbox else server.address
        return cls(address, server.database, server.login, settings.actor)


def whereabouts(place: Place, shape: Shape | None, needs: Sequence[Capability]) -> Iterator[str]:
    """Say in lines where a command acts, and as whom; ``shape`` None where it is not known."""
    from invite_admin.shape import STEPS  # noqa: PLC0415 - comes with the store

    if shape is None:
        yield f"on {place.server}, database {place.database}"
        yield f"login {place.login}"
        return
    step = f"step {shape.step}: {STEPS[shape.step]}" if shape.step else "no known table"
    yield f"on {place.server}, database {place.database} ({step})"
    writing = [shape.ways[need] for need in needs if need.writes]
    ways = writing or [shape.ways[need] for need in needs]
    via = next((way.via for way in ways if way.via), "blocked")
    if writing:
        yield f"login {place.login}, actor {place.actor}, writes: {via}"
    else:
        yield f"login {place.login}, reads: {via}" if ways else f"login {place.login}"
