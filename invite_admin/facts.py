"""What the catalogue says of the tables, the roles and the admin functions; nothing concluded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Sight:
    """What one role may do with one relation.

    Attributes:
        closed: The letters, as in ``columns``, of what row-level security may keep it from: then
            rows may be hidden, left out or refused.
        usage: Whether it may use the schema.
        columns: Column name to the letters s (select), i (insert), u (update) it has there.
    """

    closed: str
    usage: bool
    columns: Mapping[str, str]

    @property
    def hidden(self) -> bool:
        """Whether row-level security may hide rows from it."""
        return "s" in self.closed

    def lacks(self, letter: str, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of ``columns`` on which it does not have the privilege."""
        if not self.usage:
            return columns
        return tuple(name for name in columns if letter not in self.columns.get(name, ""))


@dataclass(frozen=True)
class Function:
    """What is known of one admin function.

    Attributes:
        callers: The roles that may call it.
        definer: Whether it runs with its owner's rights, and not with its caller's.
        owner: What its owner may do, by kind of relation.
    """

    callers: frozenset[str]
    definer: bool
    owner: Mapping[str, Sight]


@dataclass(frozen=True)
class Facts:
    """What the catalogue says.

    Attributes:
        login: The role that the session began as, asked for first.
        reachable: Roles the login may take, itself included.
        roles: Every role asked for that exists, the login first.
        relations: Kind of relation (``CODES`` …) to its relkind; absent where there is none.
        sights: By kind and role.
        functions: By name, those that take the arguments that this tool knows.
        misfits: Admin functions that take other arguments than this tool knows.
        outer: The role that logged in; None where the session began as that one.
        demanded: Columns of the table that an INSERT must give a value.
        superusers: Roles of ``roles`` that nothing is denied.
        barred: What keeps the login from writing at all, as ``Server.barred`` names it.
    """

    login: str
    reachable: frozenset[str]
    roles: tuple[str, ...]
    relations: Mapping[str, str]
    sights: Mapping[tuple[str, str], Sight]
    functions: Mapping[str, Function]
    misfits: frozenset[str]
    outer: str | None = None
    demanded: tuple[str, ...] = ()
    superusers: frozenset[str] = frozenset()
    barred: tuple[str, ...] = ()

    def columns(self, kind: str) -> frozenset[str]:
        """Return the columns a relation has; none where it does not exist."""
        sight = self.sights.get((kind, self.login))
        return frozenset(sight.columns) if sight else frozenset()

    def grant(self, what: str, kind: str, name: str, role: str | None = None) -> str:
        """Return the GRANT of a privilege on a relation, and of its schema's use where it lacks.

        Args:
            what: The privilege.
            kind: The kind of relation.
            name: Its qualified name.
            role: To whom; None means the login.
        """
        to = f"TO {role or 'YOUR_LOGIN'}"
        sight = self.sights.get((kind, role or self.login))
        use = f"GRANT USAGE ON SCHEMA {name.partition('.')[0]} {to}; "
        return f"{use if sight and not sight.usage else ''}GRANT {what} ON {name} {to}"
