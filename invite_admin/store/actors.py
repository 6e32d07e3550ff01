"""Who acts: the actor's row, found by e-mail, and the rule of who may."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from invite_admin.catalogue import IDENTITY
from invite_admin.errors import BadInput, Denied
from invite_admin.model import Actor
from invite_admin.shape import USERS_TABLE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from invite_admin.session import Session
    from invite_admin.shape import Shape

# The rule of the admin functions: `admin` stands in the role list, and no ban is in force.
_IDENTITY = """
select id::text, lower(btrim(email)) as email, coalesce(role, '') as role,
       coalesce(banned, false) and (ban_expires is null or ban_expires > now()) as banned
from identity.users where lower(btrim(email)) = :email
"""
# No admin flag is known before the audited step: whoever has an account may act.
_AUTH = """
select id::text, lower(btrim(email)) as email, 'admin' as role, false as banned
from auth.users where lower(btrim(email)) = :email
"""

_NAMED = """
select id::text, lower(btrim(email)) as email from {users}
where lower(btrim(email)) = any(:named) or id::text = any(:named)
order by least(array_position(cast(:named as text[]), lower(btrim(email))),
               array_position(cast(:named as text[]), id::text)), id
"""

_ADDRESSES = """
select id::text, lower(btrim(email)) as email from {users}
where id::text = any(:ids) and btrim(email) <> ''
"""


def find_actor(session: Session, shape: Shape, email: str) -> Actor:
    """Look the actor up, as the role that may read the users.

    Args:
        session: An open transaction.
        shape: Which users table there is, and who may read it.
        email: The configured actor, trimmed and in lower case.

    Raises:
        Unsupported: Nobody here may read the users table.
        Denied: Row-level security may hide rows of it, or the actor is unknown, not unique,
            banned, or no administrator.
    """
    if not shape.actor.available:
        raise shape.actor.failure("no actor", "; nothing was changed")
    session.become(shape.actor.role)
    query = _IDENTITY if shape.users == IDENTITY else _AUTH
    rows = session.execute(sa.text(query), {"email": email}).all()
    where = USERS_TABLE[shape.users]
    if len(rows) != 1:
        found = "is not in" if not rows else "stands more than once in"
        raise _refused(email, f"{found} {where}")
    if "admin" not in rows[0].role.split(","):
        raise _refused(email, f"is no administrator in {where}")
    if rows[0].banned:
        raise _refused(email, f"is banned in {where}")
    return Actor(rows[0].id, rows[0].email)


def find_accounts(session: Session, shape: Shape, named: Sequence[str]) -> list[Actor]:
    """Look test accounts up, in the order in which they are named; nobody else's rows are read.

    Args:
        session: An open transaction.
        shape: Which users table there is, and who may read it.
        named: E-mail addresses and ids, in lower case.

    Raises:
        Unsupported: Nobody here may read the users table.
        BadInput: One of them is not there.
    """
    if not shape.actor.available:
        raise shape.actor.failure("no accounts")
    session.become(shape.actor.role)
    where = USERS_TABLE[shape.users]
    query = sa.text(_NAMED.format(users=where))
    found = [
        Actor(r.id, r.email or "", "user") for r in session.execute(query, {"named": [*named]})
    ]
    known = {text for account in found for text in (account.id, account.email)}
    missing = [text for text in named if text not in known]
    if missing:
        raise BadInput(f"not in {where}: {', '.join(missing)}; nothing was changed")
    return found


def addresses(session: Session, shape: Shape, ids: Collection[str]) -> dict[str, str]:
    """Return the e-mail addresses of people by id; who is not found, or may not be, is left out.

    Args:
        session: An open transaction.
        shape: Which users table there is, and who may read it.
        ids: The people's ids.
    """
    if not ids or not shape.actor.available:
        return {}
    session.become(shape.actor.role)
    query = sa.text(_ADDRESSES.format(users=USERS_TABLE[shape.users]))
    return {row.id: row.email for row in session.execute(query, {"ids": [*ids]})}


def _refused(email: str, why: str) -> Denied:
    return Denied(
        f"the actor {email} {why}; nothing was changed",
        hint="correct `actor` in the settings (or INVITE_ACTOR), or ask the application's team",
    )
