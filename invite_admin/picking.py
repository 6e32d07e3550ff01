"""Chooses the role that acts: the login itself, else the write role it can take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from invite_admin.catalogue import CODES, Facts, Sight
from invite_admin.shape import Block, Way

if TYPE_CHECKING:
    from collections.abc import Callable

    from invite_admin.settings import Settings


class Picker:
    """Chooses among the roles of one set of facts.

    Args:
        facts: What the catalogue says.
        settings: Which write role is set.
    """

    def __init__(self, facts: Facts, settings: Settings) -> None:
        self.facts, self.settings = facts, settings

    def _roles(self) -> list[str]:
        """Return the roles that may act: the login, then the write role it can take."""
        role = self.settings.write_role
        taken = [role] if role and role in self.facts.reachable else []
        return [self.facts.login, *(r for r in taken if r != self.facts.login)]

    def _pick(self, fits: Callable[[str], bool]) -> str | None:
        return next((role for role in self._roles() if fits(role)), None)

    def _chosen(self, role: str, how: str) -> Way:
        return Way(role=None if role == self.facts.login else role, via=f"{how} as {role}")

    def _sight(self, role: str, kind: str = CODES) -> Sight:
        return self.facts.sights[kind, role]

    def _ungranted(self, fits: Callable[[str], bool], reason: str, grant: str) -> Way:
        ask = self._role_to_set(fits) or f"ask for: {grant}"
        return Way(block=Block.NO_GRANT, reason=reason, ask=ask, grant=grant)

    def _role_to_set(self, fits: Callable[[str], bool]) -> str | None:
        """Name the line that would help, where no write role is set and one would do."""
        if self.settings.write_role:
            return None
        others = (
            r for r in self.facts.roles if r in self.facts.reachable and r != self.facts.login
        )
        found = next((role for role in others if fits(role)), None)
        return f'add write_role = "{found}" to the settings' if found else None

    def _barred(self, deed: str) -> str:
        """Say who may not do it."""
        role = self.settings.write_role
        return f"neither this login nor {role} may {deed}" if role else f"this login may not {deed}"
