"""An embedded PostgreSQL to try every command on, with the existing structure and test users.

The public face; what the other modules hold is for this package and the tests' own servers.
"""

from __future__ import annotations

import os
import shlex
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from invite_admin.errors import BadInput, Failed, InviteError, Unavailable
from invite_admin.sandbox import application, binaries, world
from invite_admin.sandbox.answers import Access, RedeemResult, Status
from invite_admin.sandbox.configuration import PORT
from invite_admin.sandbox.connection import connected, without_libpq_variables
from invite_admin.sandbox.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable

    from invite_admin.sandbox.world import World

__all__ = [
    "Access",
    "RedeemResult",
    "Status",
    "open_sandbox",
    "redeem",
    "reset",
    "status",
    "stop",
    "without_libpq_variables",
]

_AGAIN = "`invite sandbox reset` makes it anew"


def open_sandbox(say: Callable[[str], None]) -> Access:
    """Make and start what is missing, and return how to work on it.

    Args:
        say: Told what takes time, and when the sandbox is older than the tool.

    Raises:
        Unsupported: The extra is not installed, or the system is neither Linux nor macOS.
        Busy: Another command prepares the sandbox, for more than two minutes.
        Failed, Unavailable: The server cannot be made or started.
    """
    server = Server(_folder())
    found = world.recall(server)
    if found is None or not server.ready:
        found = _prepare(server, say)
    if found.structure != world.structure_digest():
        say(f"this sandbox was made by another version of invite; {_AGAIN}")
    return _access(server, found)


def reset(step: int, say: Callable[[str], None]) -> Access:
    """Throw away all codes and make the database anew, and where that fails the server as well.

    Args:
        step: 1, 2 or 3: how far the structure goes.
        say: Told what takes time.

    Raises:
        BadInput: There is no such step.
        Unsupported, Busy, Failed, Unavailable: As in `open_sandbox`.
    """
    if step not in range(1, world.LAST_STEP + 1):
        raise BadInput(f"the sandbox has the steps 1 to {world.LAST_STEP}")
    server = Server(_folder())
    binaries.installed()
    with server.lock(say):
        found = world.recall(server)
        if found is not None:
            try:
                return _access(server, world.rebuild(server, step, found.passwords))
            except (Failed, Unavailable):
                say("the sandbox cannot be repaired")
        return _access(server, _build(server, say, step))


def stop(say: Callable[[str], None]) -> bool:
    """Stop the server; what is in it stays. False where none ran.

    Args:
        say: Told when another command has to be waited for.

    Raises:
        Busy: Another command prepares the sandbox, for more than two minutes.
        Failed: The server does not end.
    """
    server = Server(_folder())
    if not server.running:
        return False
    with server.lock(say):
        return server.stop()


def status() -> Status:
    """Tell what there is, starting nothing.

    Raises:
        Unavailable: The server stopped answering while it was asked.
    """
    server = Server(_folder())
    found = world.recall(server)
    step = None if found is None else found.step
    if found is None or not server.ready:
        return Status(server.folder, running=False, pid=server.pid, step=step)
    with connected(server.superuser_url(world.DATABASE)) as connection:
        version = connection.info.parameter_status("server_version")
        counted = connection.execute(f"select count(*) from {world.TABLE}").fetchone()
    return Status(
        folder=server.folder,
        running=True,
        pid=server.pid,
        step=step,
        server_version=version,
        codes=None if counted is None else int(counted[0]),
        psql=_psql(server),
    )


def redeem(code_hash: str, email: str) -> RedeemResult:
    """Redeem a code as the application does: its login, its role, the user's claims.

    Args:
        code_hash: The hash of the normalised code, 64 lower-case hex digits.
        email: One of `Access.users`, in any case.

    Raises:
        NotFound: The sandbox has no such user.
        Unavailable: The sandbox does not run; `open_sandbox` starts it.
        Busy: Another transaction held the code or the profile for more than five seconds.
    """
    return application.redeem(Server(_folder()), code_hash, email)


def _folder() -> Path:
    """Return where the user's data belong by the XDG rules; they ignore a relative path."""
    named = os.environ.get("XDG_DATA_HOME", "")
    if os.path.isabs(named):  # noqa: PTH117 - of the text, as the rules say it
        return Path(named) / "invite-sandbox"
    try:
        return Path.home() / ".local" / "share" / "invite-sandbox"
    except RuntimeError:
        raise Failed("there is no home folder for the sandbox", hint="set HOME") from None


def _prepare(server: Server, say: Callable[[str], None]) -> World:
    binaries.installed()  # without it nothing is made and nothing is said
    with server.lock(say):
        found = world.recall(server)
        if found is not None and server.made:
            if server.ready:  # another command was faster
                return found
            say("starting the sandbox's server")
            try:
                server.start()
            except Failed as error:
                raise Failed(error.message, hint=_AGAIN) from None
            # None where a new major version of PostgreSQL could not use the old data.
            found = world.recall(server)
            if found is not None:
                return found
        return _build(server, say)


def _build(server: Server, say: Callable[[str], None], step: int = world.LAST_STEP) -> World:
    say("making the sandbox; this takes a few seconds, once")
    return world.build(server, step)


def _access(server: Server, found: World) -> Access:
    return Access(
        url=server.url(world.OPERATOR, found.passwords[world.OPERATOR], world.DATABASE),
        users_url=server.url(world.APPLICATION, found.passwords[world.APPLICATION], world.DATABASE),
        actor=world.ACTOR,
        write_role=world.WRITE_ROLE,
        table=world.TABLE,
        step=found.step,
        users=world.TESTERS,
    )


def _psql(server: Server) -> str:
    program = "psql"
    if shutil.which(program) is None:
        with suppress(InviteError):
            program = str(binaries.installed().folder / program)
    place = f"host={server.socket_folder} port={PORT}"
    login = f"user={world.OPERATOR} dbname={world.DATABASE}"
    words = shlex.join([program, f"{place} {login}"])
    return f"PGPASSWORD= PGPASSFILE={shlex.quote(str(server.password_file))} {words}"
