"""What was made under a request id, as the audit log has it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from invite_admin import text
from invite_admin.admin import AUDIT_TABLE
from invite_admin.errors import NOTHING_CHANGED, BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from invite_admin.model import Actor
    from invite_admin.session import Session
    from invite_admin.shape import Shape

# A row of something else is left out by its type and by the form of its text, never by a cast,
# which the server may try before it looks at the type. One regular expression for the form takes
# ten times as long: a second for 100,000 rows.
_CREATED = f"""
{AUDIT_TABLE}
where request_id = :request_id and action = 'redemption_code.create'
  and target_type = 'redemption_code'
  and target_id::text like '________-____-____-____-____________'
  and target_id::text not like '%-%-%-%-%-%' and target_id::text !~ '[^0-9a-f-]'
"""

_MADE = f"""
select target_id::text as id, actor_email, after_value, created_at
from {_CREATED}
  and (cast(:actor as uuid) is null or actor_user_id = cast(:actor as uuid))
order by created_at, target_id
limit :limit
"""


_COUNT = f"""
select count(*) from {_CREATED}
  and actor_user_id = cast(:actor as uuid)
  and (cast(:ids as text[]) is null or target_id::text = any(cast(:ids as text[])))
"""

_OTHERS = f"""
select exists (select from {_CREATED} and actor_user_id <> cast(:actor as uuid))
"""
_OTHERWISE = "name the codes by --created-since and --created-until, or by --note"


@dataclass(frozen=True)
class Made:
    """One code that was made under a request id.

    Attributes:
        id: The code's id.
        actor: E-mail address of who made it.
        values: What the audit log kept of it; its keys are the application's.
        at: When; all of a batch have the same time.
    """

    id: str
    actor: str
    values: dict[str, Any]
    at: datetime


def made_under(
    session: Session,
    shape: Shape,
    request_id: str,
    actor: Actor | None = None,
    limit: int | None = None,
) -> list[Made]:
    """Return what was made under a request id.

    Args:
        session: An open transaction.
        shape: Whether and as whom the audit log can be read.
        request_id: The id.
        actor: Only what this actor made; None for everybody's.
        limit: How many rows at most; None for all.

    Raises:
        Unsupported: There is no audit log here, or nobody may read it.
        Denied: Row-level security may hide rows of it.
        BadInput: Several actors used the id.
    """
    if not shape.audit.available:
        instead = _OTHERWISE if actor is None else "leave --request-id out"
        way = replace(shape.audit, ask=shape.audit.ask or instead)
        raise way.failure("`--request-id` is blocked here", f"; {NOTHING_CHANGED}")
    session.become(shape.audit.role)
    values = {"request_id": request_id, "actor": actor.id if actor else None, "limit": limit}
    made = [
        Made(row.id, row.actor_email or "unknown", row.after_value or {}, row.created_at)
        for row in session.execute(sa.text(_MADE), values)
    ]
    actors = sorted({m.actor for m in made})
    if len(actors) > 1:
        raise BadInput(
            f"that request id was used by several actors: {', '.join(actors)}; nothing was changed",
            hint="; ".join(f"{' '.join(_times(made, actor))} for {actor}'s" for actor in actors),
        )
    return made


def _times(made: Sequence[Made], actor: str) -> tuple[str, ...]:
    """Return the filter that chooses what an actor made."""
    times = [m.at for m in made if m.actor == actor]
    return text.made_between(min(times), max(times))


def count_made(
    session: Session, shape: Shape, request_id: str, actor: Actor, ids: Sequence[str] | None = None
) -> int:
    """Count what an actor made under a request id; ``ids`` counts only these, None all.

    The audit log must be readable.
    """
    session.become(shape.audit.role)
    values = {
        "request_id": request_id,
        "actor": actor.id,
        "ids": None if ids is None else list(ids),
    }
    return int(session.execute(sa.text(_COUNT), values).scalar_one())


def made_by_others(session: Session, shape: Shape, request_id: str, actor: Actor) -> bool:
    """Tell whether anybody but an actor made codes under a request id.

    The audit log must be readable.
    """
    session.become(shape.audit.role)
    values = {"request_id": request_id, "actor": actor.id}
    return bool(session.execute(sa.text(_OTHERS), values).scalar_one())
