"""Redeeming as the application does it, which the tool itself never may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from invite_admin.errors import Failed, NotFound, Unavailable
from invite_admin.sandbox import world
from invite_admin.sandbox.answers import RedeemResult
from invite_admin.sandbox.connection import connected

if TYPE_CHECKING:
    from invite_admin.sandbox.server import Server

_REDEEM = "select success, credits, error_code from public.redeem_code(%s)"
_CLAIMS = (
    "select set_config('request.jwt.claim.sub', %s, true),"
    " set_config('request.jwt.claim.email', %s, true)"
)


def redeem(server: Server, code_hash: str, email: str) -> RedeemResult:
    """Redeem a code for one of the testers.

    Raises:
        NotFound: The sandbox has no such user.
        Unavailable: The server does not run, or nothing was loaded.
        Busy: Another transaction held the code or the profile for more than five seconds.
    """
    redeemer = email.strip().lower()
    if redeemer not in world.TESTERS:
        users = f"{world.TESTERS[0]} … {world.TESTERS[-1]}"
        raise NotFound(f"the sandbox has no such user; it has {users}")
    found = world.recall(server)
    if found is None or not server.ready:
        raise Unavailable("the sandbox does not run", hint="`invite --sandbox check` starts it")
    url = server.url(world.APPLICATION, found.passwords[world.APPLICATION], world.DATABASE)
    with connected(url) as connection, connection.transaction():
        connection.execute("set local role authenticated")
        connection.execute(_CLAIMS, (str(world.user_id(redeemer)), redeemer))
        row = connection.execute(_REDEEM, (code_hash,)).fetchone()
    if row is None:
        raise Failed("the sandbox's redeem_code gave no answer")
    return RedeemResult(*row)
