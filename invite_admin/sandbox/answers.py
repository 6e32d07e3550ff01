"""What the sandbox answers with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Access:
    """How an operator works on the sandbox.

    Args:
        url: The operator's login, with its password.
        users_url: The application's login, by which people redeem, likewise.
        actor: The e-mail of the administrator who acts.
        write_role: The role to take for writes.
        table: The schema-qualified table of codes.
        step: 1, 2 or 3: how far the structure goes.
        users: The e-mails of those who can redeem.
    """

    url: str = field(repr=False)
    users_url: str = field(repr=False)
    actor: str
    write_role: str
    table: str
    step: int
    users: tuple[str, ...]


@dataclass(frozen=True)
class Status:
    """What there is of the sandbox now.

    Args:
        folder: Where everything lies; it may not exist yet.
        running: Whether the server takes connections.
        pid: The server's process id, or None where none runs.
        step: 1, 2 or 3, or None where nothing was loaded.
        server_version: PostgreSQL's version, or None where the server does not run.
        codes: How many codes the table has, or None where the server does not run.
        psql: A shell command that connects as the operator and names a password file, or None
            where the server does not run.
    """

    folder: Path
    running: bool
    pid: int | None
    step: int | None
    server_version: str | None = None
    codes: int | None = None
    psql: str | None = None


@dataclass(frozen=True)
class RedeemResult:
    """What the application's own function answered.

    Args:
        success: Whether the code was redeemed.
        balance: The redeemer's points after it, or None where it was not.
        error_code: The function's word, such as `already_redeemed`, or None on success.
    """

    success: bool
    balance: int | None
    error_code: str | None
