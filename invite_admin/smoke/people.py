"""The people of a test, who redeem as the application does: on few connections, with repeats."""

from __future__ import annotations

import random
import re
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import psycopg

from invite_admin import sqlstates
from invite_admin.codes import digest
from invite_admin.errors import Denied, InviteError, Unavailable, Unsupported
from invite_admin.settings import USERS_URL_VARIABLE
from invite_admin.smoke.judging import Answer, Attempt, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from invite_admin.model import Actor, Minted

POOL = 10  # connections
WAIT = 8.0  # seconds for a connection, and for one answer
REPEATS = 2
IN_ALL = 15.0  # seconds for a person's attempt with its repeats; none begins later
PAUSES = (0.5, 1.0)  # seconds before a repeat
_SHORTEST = 0.1  # seconds of a wait; none would mean no bound
_BUSY: Final = frozenset({"53300", "55P03", "57014"})
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


class NoConnectionError(Exception):
    """No connection was free in time."""


@dataclass(frozen=True)
class _Reply:
    """What one try came to; ``seconds`` is None where there was no connection."""

    answer: Answer
    seconds: float | None = None
    balance: int | None = None
    why: str | None = None


class Pool:
    """At most so many connections, each made when it is first needed and kept.

    Args:
        parameters: libpq's.
        size: How many at most.
    """

    def __init__(self, parameters: Mapping[str, str], size: int = POOL) -> None:
        self._parameters, self.size = dict(parameters), size
        self._free = threading.Semaphore(size)
        self._idle: list[psycopg.Connection[Any]] = []

    @contextmanager
    def connection(self, seconds: float = WAIT) -> Iterator[psycopg.Connection[Any]]:
        """Give a connection in autocommit mode, and take it back.

        Raises:
            NoConnectionError: None was free in time, or the server has none.
            psycopg.Error: The server cannot be reached, or refuses the login.
        """
        end = time.monotonic() + seconds
        if not self._free.acquire(timeout=max(seconds, 0)):
            raise NoConnectionError
        made = None
        try:
            with suppress(IndexError):
                made = self._idle.pop()
            made = made or self._connect(end - time.monotonic())
            yield made
        finally:
            if made is not None and not made.closed:
                self._idle.append(made)
            self._free.release()

    @contextmanager
    def told(self) -> Iterator[psycopg.Connection[Any]]:
        """Give a connection likewise, for what is asked before any code is made.

        Raises:
            InviteError: The server cannot be reached, or refuses.
        """
        try:
            with self.connection() as connection:
                yield connection
        except NoConnectionError:
            raise Unavailable(
                f"{USERS_URL_VARIABLE}: no connection within {WAIT:g} s; nothing was changed"
            ) from None
        except (psycopg.Error, ValueError, OSError) as error:
            raise _named(error) from None

    def warm(self, count: int) -> None:
        """Make so many connections beforehand, as an application has them; failures come later."""
        with suppress(NoConnectionError, psycopg.Error), ExitStack() as stack:
            for _ in range(count):
                stack.enter_context(self.connection())

    def close(self) -> None:
        """Close the connections that are not in use; the next one who needs one makes it anew."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _connect(self, seconds: float) -> psycopg.Connection[Any]:
        bound = {**self._parameters, "connect_timeout": str(max(2, int(seconds)))}
        try:
            return psycopg.connect(**bound, autocommit=True, prepare_threshold=None)  # type: ignore[arg-type]
        except psycopg.errors.ConnectionTimeout:
            raise NoConnectionError from None
        except psycopg.OperationalError as error:
            if error.sqlstate in _BUSY or re.search(sqlstates.FULL, str(error)):
                raise NoConnectionError from None
            raise


class People:
    """Plays people who redeem.

    Args:
        pool: Where they connect.

    Attributes:
        stopped: Set to let them begin nothing more.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.stopped = threading.Event()

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

    def redeem(self, person: Actor, code: Minted, step: Step) -> Attempt:
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

    def _reply(self, person: Actor, code: Minted, step: Step, end: float) -> _Reply:
        try:
            with self.pool.connection(_left(end)) as connection:
                began = time.monotonic()
                reply = _redeemed(connection, person, code, step, _left(end))
                return replace(reply, seconds=time.monotonic() - began)
        except NoConnectionError:
            return _Reply(Answer.BUSY, why="no connection")
        except (psycopg.Error, ValueError, OSError) as error:
            return _Reply(Answer.ERROR, why=_named(error).message.partition("; ")[0])


def _left(end: float) -> float:
    """Return how many seconds one wait may take."""
    return min(WAIT, max(end - time.monotonic(), _SHORTEST))


def _named(error: Exception) -> InviteError:
    """Return what a person is told of a failure on the users' connections."""
    if isinstance(error, psycopg.Error) and error.sqlstate:
        told = sqlstates.translate(error)
    else:
        told = sqlstates.translate_connecting(error)
    return type(told)(f"{USERS_URL_VARIABLE}: {told.message}", hint=told.hint)


def _redeemed(
    connection: psycopg.Connection[Any], person: Actor, code: Minted, step: Step, seconds: float
) -> _Reply:
    """Redeem once; a refusal is told by its SQLSTATE, for the server's text may hold a hash."""
    try:
        with connection.transaction():
            connection.execute(_CLAIMS, (f"{seconds * 1000:.0f}ms", person.id, person.email))
            row = connection.execute(_REDEEM, (str(digest(code.code)),)).fetchone()
    except psycopg.Error as error:
        answer = Answer.BUSY if error.sqlstate in _BUSY else Answer.ERROR
        return _Reply(answer, why=f"SQLSTATE {error.sqlstate or 'none: the connection was lost'}")
    success, balance, why = row or (False, None, "no answer")
    if success:
        return _Reply(Answer.REDEEMED, balance=balance)
    due = step is not Step.ONCE and why == "already_redeemed"
    return _Reply(Answer.REFUSED if due else Answer.ERROR, why=why)
