"""The people of a test, who redeem as the application does, and try again what is busy."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import psycopg

from invite_admin.codes import digest
from invite_admin.errors import Denied, Unsupported
from invite_admin.smoke.judging import Answer, Attempt, Step
from invite_admin.smoke.pool import BUSY, GRACE, WAIT, NoConnectionError, bounded, named

if TYPE_CHECKING:
    from collections.abc import Callable

    from invite_admin.batch import Batch
    from invite_admin.codes import Secret
    from invite_admin.model import Actor
    from invite_admin.smoke.pool import Pool

REPEATS = 2
IN_ALL = 15.0  # seconds for a person's attempt with its repeats; none begins later
PAUSES = (0.5, 1.0)  # seconds before a repeat
_SHORTEST = 0.1  # seconds of a wait; none would mean no bound
ROLE: Final = "authenticated"
# As the application calls it, one transaction a redemption.
_CLAIMS: Final = f"""
select set_config('role', '{ROLE}', true), set_config('lock_timeout', '5s', true),
       set_config('statement_timeout', %s, true),
       set_config('request.jwt.claim.sub', %s, true),
       set_config('request.jwt.claim.email', %s, true)
"""
_REDEEM: Final = "select success, credits, error_code from public.redeem_code(%s)"
_ABLE: Final = """
select to_regprocedure('public.redeem_code(text)') is not null as there,
       has_function_privilege(to_regprocedure('public.redeem_code(text)'), 'execute') as granted
"""


@dataclass(frozen=True)
class Code:
    """One test code: its id and its hash."""

    id: str
    digest: Secret = field(repr=False)


def codes_of(batch: Batch) -> list[Code]:
    """Return the codes of a batch, to be redeemed."""
    return [
        Code(identity, digest(code))
        for piece in batch.codes
        for identity, code in zip(piece.ids, piece.codes, strict=True)
    ]


@dataclass(frozen=True)
class _Reply:
    """What one try came to; ``seconds`` is None where there was no connection."""

    answer: Answer
    seconds: float | None = None
    balance: int | None = None
    why: str | None = None


class People:
    """Plays people who redeem.

    Args:
        pool: Where they connect.
        say: Told when what they began is waited for.

    Attributes:
        stopped: Set where they begin nothing more.
    """

    def __init__(self, pool: Pool, say: Callable[[str], None]) -> None:
        self.pool = pool
        self.stopped = threading.Event()
        self._say = say

    def stop(self) -> None:
        """Let them begin nothing more."""
        self.stopped.set()
        self._say(f"stopping; what was begun is waited for, at most {IN_ALL + GRACE:g} s")

    def require(self) -> None:
        """Find out, before any code is made, that they may redeem at all.

        Raises:
            Denied: The login may not take the role, or the role may not call the function.
            Unsupported: There is no such function.
        """
        with self.pool.told() as connection, connection.transaction():
            try:
                connection.execute(_CLAIMS, (f"{WAIT:g}s", "", ""))
            except (
                psycopg.errors.InsufficientPrivilege,
                psycopg.errors.InvalidParameterValue,
            ):
                raise Denied(
                    f"the users' login may not take the role {ROLE}; nothing was changed",
                    hint=f"ask for: GRANT {ROLE} TO THE_USERS_LOGIN",
                ) from None
            there, granted = connection.execute(_ABLE).fetchone() or (False, False)
        if not there:
            raise Unsupported("public.redeem_code(text) is not there; nothing was changed")
        if not granted:
            raise Denied(f"{ROLE} may not call public.redeem_code; nothing was changed")

    def redeem(self, person: Actor, code: Code, step: Step) -> Attempt:
        """Try to redeem a code; what is busy is tried again, within bounds."""
        end = time.monotonic() + IN_ALL
        reply = self._reply(person, code, step, end)
        first = spent = reply.seconds
        for _ in range(REPEATS):
            pause = random.uniform(*PAUSES)  # noqa: S311 - no secret
            if reply.answer is not Answer.BUSY or time.monotonic() + pause >= end:
                break
            if self.stopped.wait(pause):
                break
            reply = self._reply(person, code, step, end)
            if reply.seconds is not None:
                spent = (spent or 0.0) + pause + reply.seconds
        return Attempt(
            step, person.id, code.id, reply.answer, first, spent, reply.balance, reply.why
        )

    def _reply(self, person: Actor, code: Code, step: Step, end: float) -> _Reply:
        try:
            with self.pool.connection(_left(end)) as connection:
                began = time.monotonic()
                reply = _redeemed(connection, person, code, step, _left(end))
                return replace(reply, seconds=time.monotonic() - began)
        except NoConnectionError:
            return _Reply(Answer.BUSY, why="no connection")
        except (psycopg.Error, ValueError, OSError) as error:
            return _Reply(Answer.ERROR, why=named(error).message.partition("; ")[0])


def _left(end: float) -> float:
    """Return how many seconds one wait may take."""
    return min(WAIT, max(end - time.monotonic(), _SHORTEST))


def _redeemed(
    connection: psycopg.Connection[Any], person: Actor, code: Code, step: Step, seconds: float
) -> _Reply:
    """Redeem once; a refusal is told by its SQLSTATE, for the server's text may hold a hash."""
    asked = False
    try:
        with bounded(connection, seconds) as hung, connection.transaction():
            connection.execute(_CLAIMS, (f"{seconds * 1000:.0f}ms", person.id, person.email))
            asked = True
            row = connection.execute(_REDEEM, (str(code.digest),)).fetchone()
    except psycopg.Error as error:
        if hung.is_set() and not asked:
            raise NoConnectionError from None  # a pooler had none to the server
        answer = Answer.BUSY if error.sqlstate in BUSY else Answer.ERROR
        return _Reply(answer, why=f"SQLSTATE {error.sqlstate or 'none: the connection was lost'}")
    success, balance, why = row or (False, None, "no answer")
    if success:
        return _Reply(Answer.REDEEMED, balance=balance)
    due = step is not Step.ONCE and why == "already_redeemed"
    return _Reply(Answer.REFUSED if due else Answer.ERROR, why=why)
