"""What ``check`` finds: each finding has a level, a code for scripts, a message and a hint."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from invite_admin import codes
from invite_admin.catalogue import AUDIT, AUTH, CODES
from invite_admin.errors import Denied, InviteError, Unavailable, Unsupported
from invite_admin.model import Capability
from invite_admin.shape import BARS, CORRECT, Block, to_take

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from invite_admin.settings import Settings
    from invite_admin.shape import Shape
    from invite_admin.store import Store

_OF_THE_ROLE = (Block.NO_ROLE, Block.ROLE_DENIED)
_TOLD_ONCE = (*_OF_THE_ROLE, *BARS)  # and not for each capability
FAR = timedelta(seconds=30)  # between two clocks


FAILURES: Final[Mapping[str, type[InviteError]]] = {
    "refused": Denied,
    "unavailable": Unavailable,
    "blocked": Unsupported,
}
"""The failure that a finding of a level gives a command, the worst first."""


@dataclass(frozen=True)
class Finding:
    """One thing that an operator should know.

    Attributes:
        level: One of ``FAILURES``, else ``warning`` or ``note``.
        code: Its name, stable for scripts.
        message: What is true.
        hint: What to do or to ask for; None where there is nothing to do.
    """

    level: str
    code: str
    message: str
    hint: str | None = None


def find(store: Store, settings: Settings) -> list[Finding]:
    """Return the findings of an open transaction, the worst first."""
    return _sorted([*_of_shape(store.shape, settings), *_of_session(store, settings)])


def find_in_shape(shape: Shape, settings: Settings) -> list[Finding]:
    """Return what table and login alone lead to, the worst first."""
    return _sorted(_of_shape(shape, settings))


def verdict(found: Sequence[Finding]) -> InviteError | None:
    """Return the failure that the first finding gives a command; None where it gives none."""
    kind = FAILURES.get(found[0].level) if found else None
    return kind(found[0].message, hint=found[0].hint) if kind else None


def _sorted(found: list[Finding]) -> list[Finding]:
    order = (*FAILURES, "warning", "note")
    return sorted(found, key=lambda finding: order.index(finding.level))


def _of_shape(shape: Shape, settings: Settings) -> list[Finding]:
    return [
        *_bars(shape),
        *_blocks(shape),
        *_audit(shape),
        *_role(shape, settings),
        *_claim(shape),
        *_reading(shape, settings),
        *_hash(shape),
        *_lookup(shape, settings),
    ]


def _of_session(store: Store, settings: Settings) -> list[Finding]:
    return [*_actor(store, settings), *_server(store, settings)]


def _bars(shape: Shape) -> Iterator[Finding]:
    for name in shape.facts.barred:
        yield Finding("unavailable", name, str(BARS[name].reason), BARS[name].ask)


def _blocks(shape: Shape) -> Iterator[Finding]:
    told = set()
    for need, way in shape.ways.items():
        if way.reason is None or way.reason in told or way.block in _TOLD_ONCE:
            continue
        told.add(way.reason)
        level = "refused" if way.refused else "blocked"
        code = str(way.block) if way.refused else f"{need}_blocked"
        yield Finding(level, code, f"{need} is BLOCKED: {way.reason}", way.ask)


def _audit(shape: Shape) -> Iterator[Finding]:
    way = shape.audit
    if way.block not in (None, Block.NO_AUDIT):
        level, code = ("refused", "audit_hidden") if way.refused else ("blocked", "audit_blocked")
        yield Finding(level, code, f"--request-id is BLOCKED: {way.reason}", way.ask)
        return
    sight = shape.facts.sights.get((AUDIT, shape.facts.login))
    if sight and sight.hidden and not sight.lacks("s", ("request_id",)):
        yield Finding(
            "warning",
            "audit_hidden",
            "row-level security may hide rows of the audit log from this login",
            "do not take its silence for proof that nothing happened",
        )


def _lookup(shape: Shape, settings: Settings) -> Iterator[Finding]:
    """Tell of an actor whom nobody here can look up."""
    way = shape.actor
    if settings.actor and not way.available:
        level, code = ("refused", "actor_hidden") if way.refused else ("blocked", "actor_blocked")
        yield Finding(level, code, f"no actor: {way.reason}", way.ask)


def _actor(store: Store, settings: Settings) -> Iterator[Finding]:
    if settings.actor is None:
        yield Finding(
            "blocked",
            "no_actor",
            "no actor is configured, and every write needs one",
            'add actor = "you@example.com" to the settings, or set INVITE_ACTOR',
        )
        return
    try:
        _ = store.actor if store.shape.actor.available else None
    except Denied as error:
        yield Finding("refused", "actor_refused", error.reason, error.hint)


def _claim(shape: Shape) -> Iterator[Finding]:
    if shape.users == AUTH and AUTH in shape.facts.relations:
        yield Finding(
            "note",
            "no_admin_flag",
            "auth.users has no admin flag, so any account passes for an actor here",
        )
    if any(way.available for need, way in shape.ways.items() if need.writes):
        claim = "whoever holds this login can name any administrator as actor"
        yield Finding("note", "actor_is_a_claim", claim)


def _role(shape: Shape, settings: Settings) -> Iterator[Finding]:
    """Tell of a write role that cannot be taken; it is refused only where it would be needed."""
    role, facts = settings.write_role, shape.facts
    level = "refused" if any(w.block in _OF_THE_ROLE for w in shape.ways.values()) else "warning"
    if role and role not in facts.roles:
        yield Finding(
            level,
            "unknown_write_role",
            f"write_role {role} does not exist here",
            CORRECT,
        )
    elif role and role not in facts.reachable:
        yield Finding(
            level,
            "write_role_denied",
            f"this login may not take the role {role}",
            to_take(role, facts),
        )


def _reading(shape: Shape, settings: Settings) -> Iterator[Finding]:
    way = shape.ways[Capability.READ]
    if way.available and way.role:
        yield Finding(
            "note",
            "reads_by_write_role",
            f"this login cannot see every row of the table itself; reads use {settings.write_role}",
        )


def _hash(shape: Shape) -> Iterator[Finding]:
    facts = shape.facts
    sight = facts.sights.get((CODES, facts.login))
    if sight and not sight.lacks("s", ("code_hash", "code_mask")):
        yield Finding(
            "note",
            "hash_readable",
            "this login reads hash and mask side by side, and both together are the code",
            "prefer a login that reads every column but code_hash, and a write_role that reads it",
        )
    yield Finding(
        "note",
        "short_codes",
        f"a code has {codes.BITS} random bits; that they cannot be guessed rests on a limit on "
        "redeem attempts in the application",
    )


def _server(store: Store, settings: Settings) -> Iterator[Finding]:
    server = store.session.server
    apart = abs(datetime.now(UTC) - server.clock)
    if apart > FAR:
        yield Finding(
            "warning",
            "clock",
            f"the server's clock is {int(apart.total_seconds())} s away from this machine's",
            "expiries follow the server's clock; set both by NTP",
        )
    if server.pooled:
        yield Finding("note", "pooler", "a pooler stands between; every command works through it")
    if settings.path is None and not settings.sandbox:
        yield Finding("note", "no_settings", "no settings file was found; the defaults count")
