"""Concludes from the catalogue's facts what can be done, and how.

The rules are those of the existing structure's three steps: writes go through the admin functions
as soon as the database has any trace of the audited step, and never fall back to direct ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from invite_admin import admin, catalogue
from invite_admin.admin import AUDIT_TABLE, PEOPLE, REVOKED
from invite_admin.catalogue import AUDIT, AUTH, CODES, FUNCTIONS, IDENTITY, TABLES
from invite_admin.model import Capability
from invite_admin.picking import Picker
from invite_admin.shape import BARS, BY_FUNCTIONS, CORRECT, USERS_TABLE, Block, Shape, Way, to_take

if TYPE_CHECKING:
    from collections.abc import Callable

    from invite_admin.facts import Facts
    from invite_admin.settings import Settings

INSERTED = ("id", "code_hash", "code_mask", "credits", "expires_at", "note", "created_by")
UPDATED = ("expires_at", "note")
TOLD_BACK = ("id", "redeemed_at")  # what a direct write reads of the rows it writes
BASE = (
    *("id", "code_mask", "credits", "expires_at", "note", "created_at"),
    *("redeemed_by", "redeemed_email", "redeemed_at"),
)
AUDITED = (
    *("actor_user_id", "actor_email", "action", "target_type", "target_id", "after_value"),
    *("request_id", "created_at"),
)
HIDEABLE = ("code_hash", "created_by")  # a login may be kept from them and still list
_WRITTEN = {  # the privilege by its letter, and on which columns
    Capability.GENERATE: ("i", INSERTED),
    Capability.UPDATE: ("u", UPDATED),
    Capability.REVOKE: ("u", REVOKED),
}
_FUNCTION_OF = {
    Capability.GENERATE: catalogue.CREATE,
    Capability.UPDATE: catalogue.UPDATE,
    Capability.REVOKE: catalogue.REVOKE,
}
_USERS = {IDENTITY: PEOPLE, AUTH: ("id", "email")}


def read_shape(facts: Facts, settings: Settings) -> Shape:
    """Conclude from the facts what can be done, and how."""
    return _Judge(facts, settings).shape()


class _Judge(Picker):
    """Weighs one set of facts, capability by capability."""

    def __init__(self, facts: Facts, settings: Settings) -> None:
        super().__init__(facts, settings)
        self.name = f"{settings.schema}.{settings.table}"
        self.columns = facts.columns(CODES)
        self.step = self._step()

    def shape(self) -> Shape:
        users = IDENTITY if IDENTITY in self.facts.relations else AUTH
        return Shape(
            facts=self.facts,
            schema=self.settings.schema,
            table=self.settings.table,
            step=self.step,
            ways={need: self._way(need) for need in Capability},
            actor=self._actor(users),
            users=users,
            audit=self._audit(),
        )

    def _step(self) -> int:
        if self._misfit():
            return 0
        if AUDIT in self.facts.relations or self.facts.functions or self.facts.misfits:
            return 3
        return 2 if set(REVOKED) <= self.columns else 1

    def _misfit(self) -> Way | None:
        """Return why this is not the table, None where it is."""
        kind = self.facts.relations.get(CODES)
        if kind is None:
            return Way(
                block=Block.NO_TABLE,
                reason=f"there is no table {self.name} in this database",
                ask="check that this is the right database, and `table` in the settings",
            )
        if kind not in TABLES:
            return Way(block=Block.OTHER_TABLE, reason=f"{self.name} is not a table")
        missing = sorted({*BASE, *HIDEABLE} - self.columns)
        if missing:
            lacks = f"{self.name} lacks the columns {', '.join(missing)}"
            return Way(block=Block.OTHER_TABLE, reason=lacks)
        return None

    def _way(self, need: Capability) -> Way:
        if misfit := self._misfit():
            return misfit
        seeing = self._read(BASE + tuple(c for c in REVOKED if c in self.columns))
        if need is Capability.READ or (need.writes and seeing.refused):
            return seeing
        way = self._beside(need)
        # What is found or changed is read, and told as it is then; new codes are not.
        if way.available and not (seeing.available or need is Capability.GENERATE):
            way = seeing
        barred = need.writes and way.available and self.facts.barred
        return BARS[barred[0]] if barred else way

    def _beside(self, need: Capability) -> Way:
        """Return the way to do what takes more than reading, but for the reading."""
        if need is Capability.LOOKUP:
            return self._read(
                ("id", "code_hash"),
                "this login cannot read the hash, so a code's text cannot be looked up",
            )
        return self._by_function(need) if self.step == BY_FUNCTIONS else self._direct(need)

    def _read(self, columns: tuple[str, ...], reason: str | None = None) -> Way:
        fits = self._sees(CODES, columns)
        if role := self._pick(fits):
            return self._chosen(role, "direct")
        if hidden := self._hidden(CODES, columns):
            return hidden
        lacking = self._sight(self.facts.login).lacks("s", columns)
        grant = self.facts.grant(f"SELECT ({', '.join(lacking)})", CODES, self.name)
        barred = reason or f"this login may not read {', '.join(lacking)}"
        return self._lacking(fits, barred, grant, "s")

    def _by_function(self, need: Capability) -> Way:
        name = _FUNCTION_OF[need]
        if unfit := admin.unfit(name, self.facts, self.settings, _WRITTEN[need]):
            return unfit
        callers = self.facts.functions[name].callers
        if role := self._pick(callers.__contains__):
            return self._chosen(role, "admin function")
        grantee = self.settings.write_role or "YOUR_LOGIN"
        grant = f"GRANT EXECUTE ON FUNCTION public.{name}({FUNCTIONS[name]}) TO {grantee}"
        return self._lacking(callers.__contains__, self._barred(f"call public.{name}"), grant)

    def _direct(self, need: Capability) -> Way:
        if need is Capability.REVOKE and self.step == 1:
            return Way(
                block=Block.NO_REVOKE_COLUMNS,
                reason=f"{self.name} has no columns revoked_at and revoked_by",
                ask="ask the application's team for the migration that adds them",
            )
        unknown = [name for name in self.facts.demanded if name not in INSERTED]
        if need is Capability.GENERATE and unknown:
            return Way(
                block=Block.OTHER_TABLE,
                reason=f"{self.name} wants a value in {', '.join(unknown)}, which this tool does "
                "not know",
                ask="ask the application's team for a default there",
            )
        letter, columns = _WRITTEN[need]

        def granted(role: str) -> bool:
            sight = self._sight(role)
            return not sight.lacks("s", TOLD_BACK) and not sight.lacks(letter, columns)

        def fits(role: str) -> bool:
            return granted(role) and not set(letter + "s") & set(self._sight(role).closed)

        if role := self._pick(fits):
            return self._chosen(role, "direct")
        if self._pick(granted):
            return self._kept_from(fits)
        deed, given = self._short(letter, columns)
        grant = self.facts.grant(given, CODES, self.name, self.settings.write_role)
        reason = f"{self.settings.write_role or 'this login'} may not {deed}"
        return self._lacking(fits, reason, grant, letter + "s")

    def _short(self, letter: str, columns: tuple[str, ...]) -> tuple[str, str]:
        """Say which deed of a direct write is not allowed, and the privilege that allows it."""
        role = self.settings.write_role
        sight = self._sight(role if role in self.facts.roles else self.facts.login)
        lacking, unread = sight.lacks(letter, columns), sight.lacks("s", TOLD_BACK)
        if unread and not lacking:
            return f"read {', '.join(unread)}", f"SELECT ({', '.join(unread)})"
        verb = "INSERT" if letter == "i" else "UPDATE"
        wanted = INSERTED if letter == "i" else UPDATED + (REVOKED if self.step > 1 else ())
        return f"{verb.lower()} {', '.join(lacking)}", f"{verb} ({', '.join(wanted)})"

    def _lacking(
        self, fits: Callable[[str], bool], reason: str, grant: str, letters: str = ""
    ) -> Way:
        """Return the block: no such role, no right to take it, or no grant."""
        role = self.settings.write_role
        if role and role not in self.facts.roles:
            return Way(
                block=Block.NO_ROLE,
                reason=f"write_role {role} does not exist on this server",
                ask=CORRECT,
            )
        if role and role not in self.facts.reachable:
            return Way(
                block=Block.ROLE_DENIED,
                reason=f"this login may not take the write_role {role}",
                ask=to_take(role, self.facts),
            )
        return self._ungranted(fits, reason, grant, letters)

    def _actor(self, users: str) -> Way:
        columns, name = _USERS[users], USERS_TABLE[users]
        if users not in self.facts.relations:
            return Way(
                block=Block.NO_USERS,
                reason=f"there is neither {USERS_TABLE[IDENTITY]} nor {name}, so no actor "
                "can be looked up",
            )

        fits = self._sees(users, columns)
        if role := self._pick(fits):
            return self._chosen(role, name)
        if hidden := self._hidden(users, columns, f"rows of {name}"):
            return hidden
        reason = f"this login may not read {name}, so the actor cannot be looked up"
        grant = self.facts.grant(f"SELECT ({', '.join(columns)})", users, name)
        return self._ungranted(fits, reason, grant)

    def _audit(self) -> Way:
        if AUDIT not in self.facts.relations:
            return Way(block=Block.NO_AUDIT, reason="this database has no audit log")

        fits = self._sees(AUDIT, AUDITED)
        if role := self._pick(fits):
            return self._chosen(role, AUDIT_TABLE)
        if hidden := self._hidden(AUDIT, AUDITED, "rows of the audit log"):
            return hidden
        grant = self.facts.grant(f"SELECT ({', '.join(AUDITED)})", AUDIT, AUDIT_TABLE)
        return self._ungranted(fits, "this login may not read the audit log", grant)
