"""Chooses the role that acts: the one the session began as, the write role, else the login."""

from __future__ import annotations

from typing import TYPE_CHECKING

from invite_admin.catalogue import CODES
from invite_admin.shape import Block, Way

if TYPE_CHECKING:
    from collections.abc import Callable

    from invite_admin.facts import Facts, Sight
    from invite_admin.settings import Settings


_SHOWS = "a policy that shows this login every row"
_OPENS = "policies that let this login read and write every row"
_MORE = {"read": _SHOWS, "write": _OPENS}


class Picker:
    """Chooses among the roles of one set of facts.

    Args:
        facts: What the catalogue says.
        settings: Which write role is set.
    """

    def __init__(self, facts: Facts, settings: Settings) -> None:
        self.facts, self.settings = facts, settings

    def _roles(self) -> list[str]:
        """Return the roles that may act, each once, the first choice first.

        The login itself comes last where ALTER ROLE … SET role lets it begin as another role.
        """
        role, outer = self.settings.write_role, self.facts.outer
        taken = [role] if role and role in self.facts.reachable else []
        return list(dict.fromkeys([self.facts.login, *taken, *([outer] if outer else [])]))

    def _pick(self, fits: Callable[[str], bool]) -> str | None:
        return next((role for role in self._roles() if fits(role)), None)

    def _chosen(self, role: str, how: str) -> Way:
        return Way(role=None if role == self.facts.login else role, via=f"{how} as {role}")

    def _sight(self, role: str, kind: str = CODES) -> Sight:
        return self.facts.sights[kind, role]

    def _sees(self, kind: str, columns: tuple[str, ...]) -> Callable[[str], bool]:
        """Return the test whether a role reads these columns of every row."""

        def fits(role: str) -> bool:
            return self._reads(role, kind, columns) and not self._sight(role, kind).hidden

        return fits

    def _reads(self, role: str, kind: str, columns: tuple[str, ...]) -> bool:
        return not self._sight(role, kind).lacks("s", columns)

    def _hidden(self, kind: str, columns: tuple[str, ...], whose: str = "rows") -> Way | None:
        """Return the block of whoever may read a relation, but may be kept from rows of it."""
        if not any(self._reads(role, kind, columns) for role in self._roles()):
            return None
        return Way(
            block=Block.ROWS_HIDDEN,
            reason=f"row-level security may hide {whose} from this login, so no answer would be "
            "complete",
            ask=self._role_to_set(self._sees(kind, columns))
            or f"ask for {_SHOWS}, or for a role that sees all of them",
        )

    def _kept_from(self, fits: Callable[[str], bool]) -> Way:
        """Return the block of whoever may write by its grants, but not by the table's policies."""
        return Way(
            block=Block.ROWS_CLOSED,
            reason="row-level security may refuse rows that this login writes, or leave some out",
            ask=self._role_to_set(fits)
            or f"ask for {_OPENS}, or for a role that row-level security does not bind",
        )

    def _ungranted(
        self, fits: Callable[[str], bool], reason: str, grant: str, letters: str = ""
    ) -> Way:
        """Return the block of whoever lacks a GRANT, and policies for these letters as well."""
        if unset := self._role_to_set(fits):
            return Way(block=Block.ROLE_UNSET, reason=reason, ask=unset)
        ask, bound = f"ask for: {grant}", None
        if all(set(letters) & set(self._sight(role).closed) for role in self._roles()):
            bound = "read" if letters == "s" else "write"
            ask = f"{ask}; row-level security is on: also for {_MORE[bound]}"
        return Way(block=Block.NO_GRANT, reason=reason, ask=ask, grant=grant, bound=bound)

    def _role_to_set(self, fits: Callable[[str], bool]) -> str | None:
        """Name the line that would help, where no write role is set and one would do."""
        if self.settings.write_role:
            return None
        others = (
            r for r in self.facts.roles if r in self.facts.reachable and r not in self._roles()
        )
        found = next((role for role in others if fits(role)), None)
        return f'add write_role = "{found}" to the settings' if found else None

    def _barred(self, deed: str) -> str:
        """Say who may not do it."""
        role = self.settings.write_role
        return f"neither this login nor {role} may {deed}" if role else f"this login may not {deed}"
