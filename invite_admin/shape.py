"""What the table and the login can do: for each capability how, or why not."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from invite_admin.catalogue import AUTH, CODES, IDENTITY
from invite_admin.errors import Denied, InviteError, Unavailable, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from invite_admin.facts import Facts
    from invite_admin.model import Capability


STEPS = {1: "base", 2: "revocable", 3: "audited"}
BY_FUNCTIONS = 3  # the step from which on writes go through the functions
USERS_TABLE = {IDENTITY: "identity.users", AUTH: "auth.users"}
CORRECT = "correct write_role in the settings, or INVITE_WRITE_ROLE"


class Block(StrEnum):
    """The kinds of reasons why something cannot be done."""

    NO_TABLE = "no_table"
    OTHER_TABLE = "other_table"
    NO_REVOKE_COLUMNS = "no_revoke_columns"
    ROWS_HIDDEN = "rows_hidden"
    ROWS_CLOSED = "rows_closed"
    NO_GRANT = "no_grant"
    NO_FUNCTION = "no_function"
    OTHER_FUNCTION = "other_function"
    ROLE_UNSET = "role_unset"
    NO_ROLE = "no_role"
    ROLE_DENIED = "role_denied"
    HALF_APPLIED = "half_applied"
    POWERLESS = "powerless"
    OWNER_BOUND = "owner_bound"
    NO_USERS = "no_users"
    NO_AUDIT = "no_audit"
    STANDBY = "standby"
    READ_ONLY = "read_only"


def to_take(role: str, facts: Facts) -> str:
    """Return what to do about a role that the login may not take; a superuser is not asked for."""
    if role in facts.superusers:
        return CORRECT
    return f"correct write_role; or, where it is meant, ask for: GRANT {role} TO YOUR_LOGIN"


@dataclass(frozen=True)
class Way:
    """How something can be done, or why it cannot.

    Attributes:
        role: The role to act as; None means the login itself. Of no meaning when blocked.
        via: In words, how; None when it is blocked.
        reason: Why it is blocked; None when it is not.
        ask: What to ask for, or to set, so that it works; None when there is nothing to ask.
        block: The kind of the reason; None when it is not blocked.
        grant: The GRANT that is missing, as SQL; None where it is not a grant that is.
        bound: What row-level security keeps from whoever gets that GRANT, ``read`` or ``write``;
            None where nothing.
    """

    role: str | None = None
    via: str | None = None
    reason: str | None = None
    ask: str | None = None
    block: Block | None = None
    grant: str | None = None
    bound: str | None = None

    @property
    def available(self) -> bool:
        """Whether it can be done."""
        return self.reason is None

    @property
    def refused(self) -> bool:
        """Whether the block is a refusal (exit 6)."""
        return self.block in (Block.ROWS_HIDDEN, Block.NO_ROLE, Block.ROLE_DENIED)

    def failure(self, what: str, truth: str = "") -> InviteError:
        """Return the failure of a command that needs it; ``truth`` ends its message."""
        kind = Denied if self.refused else Unavailable if self.block in BARS else Unsupported
        return kind(f"{what}: {self.reason}{truth}", hint=self.ask)


BARS = {  # by the names that ``Server.barred`` has
    "standby": Way(
        block=Block.STANDBY,
        reason="this server is a standby, which allows reading only",
        ask="connect to the primary (target_session_attrs=read-write in the URL)",
    ),
    "read_only": Way(
        block=Block.READ_ONLY,
        reason="transactions are read-only (default_transaction_read_only is on)",
        ask="`\\drds` in psql shows for which role and database it is set; if it is not meant, ask "
        "for: ALTER ROLE YOUR_LOGIN [IN DATABASE NAME] RESET default_transaction_read_only, or "
        "where no role stands there: ALTER DATABASE NAME RESET default_transaction_read_only",
    ),
}
"""What keeps a whole server, or every session of a login, from writing."""


@dataclass(frozen=True)
class Shape:
    """What there is to act on.

    Attributes:
        facts: What the catalogue says.
        schema: The table's schema.
        table: The table's name.
        step: 1 base, 2 revocable, 3 audited; 0 where it is not a table this tool knows.
        ways: For each capability how it is done, or why it is not.
        actor: How the actor is looked up, or why it cannot be.
        users: Which relation the actor is looked up in (``IDENTITY`` or ``AUTH``).
        audit: How the audit log is read, or why it is not.
    """

    facts: Facts
    schema: str
    table: str
    step: int
    ways: Mapping[Capability, Way] = field(default_factory=dict)
    actor: Way = field(default_factory=Way)
    users: str = IDENTITY
    audit: Way = field(default_factory=Way)

    @property
    def by_functions(self) -> bool:
        """Whether writes go through the admin functions."""
        return self.step == BY_FUNCTIONS

    @property
    def traced(self) -> bool:
        """Whether this login can ask what was made under a request id."""
        return self.by_functions and self.audit.available

    @property
    def name(self) -> str:
        """The table's qualified name."""
        return f"{self.schema}.{self.table}"

    def has(self, column: str) -> bool:
        """Whether the table has a column."""
        return column in self.facts.columns(CODES)

    def readable(self, role: str | None) -> frozenset[str]:
        """Return the columns that ``role`` (None: the login) may read."""
        sight = self.facts.sights.get((CODES, role or self.facts.login))
        return (
            frozenset(c for c, letters in sight.columns.items() if "s" in letters)
            if sight
            else frozenset()
        )

    def require(self, needs: Iterable[Capability]) -> None:
        """Refuse a command that this table or this login cannot do; nothing was sent yet.

        Raises:
            Denied: Row-level security may hide rows, or the role cannot be taken.
            Unavailable: Nothing can be written here, though all that it takes is there.
            Unsupported: A table, column, function or right is missing.
        """
        wanted = tuple(needs)
        blocked = [(need, self.ways[need]) for need in wanted if not self.ways[need].available]
        unchanged = "; nothing was changed" if any(need.writes for need in wanted) else ""
        for need, way in sorted(blocked, key=lambda pair: not pair[1].refused):
            raise way.failure(f"`{need}` is blocked here", unchanged)
