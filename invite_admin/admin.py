"""Whether an admin function can be used at all, whoever calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from invite_admin.catalogue import AUDIT, CODES, IDENTITY, TABLES, TARGET, WRITTEN
from invite_admin.shape import USERS_TABLE, Block, Way

if TYPE_CHECKING:
    from invite_admin.facts import Facts, Sight
    from invite_admin.settings import Settings

AUDIT_TABLE = "audit.admin_audit_logs"
REVOKED = ("revoked_at", "revoked_by")
PEOPLE = ("id", "email", "role", "banned", "ban_expires")
LOGGED = (
    *("actor_user_id", "actor_email", "actor_role", "action", "target_type", "target_id"),
    *("before_value", "after_value", "request_id"),
)
_RELATIONS = {CODES: WRITTEN, AUDIT: AUDIT_TABLE, IDENTITY: USERS_TABLE[IDENTITY]}
_DEEDS = {"s": "read", "i": "insert into", "u": "update"}


def unfit(
    name: str, facts: Facts, settings: Settings, written: tuple[str, tuple[str, ...]]
) -> Way | None:
    """Return why a function cannot be used; None where it can.

    Args:
        name: The function.
        facts: What the catalogue says.
        settings: Which table is set.
        written: The privilege that the function writes by, as its letter, and on which columns.
    """
    table = f"{settings.schema}.{settings.table}"
    if table != WRITTEN:
        return _elsewhere(table, facts)
    return _not_there(name, facts) or _half_applied(name, facts) or _powerless(name, facts, written)


def _elsewhere(table: str, facts: Facts) -> Way:
    if facts.relations.get(TARGET) in TABLES:
        return Way(
            block=Block.OTHER_TABLE,
            reason=f"the admin functions write {WRITTEN}, not {table}",
            ask="correct `table` in the settings",
        )
    return Way(
        block=Block.OTHER_TABLE,
        reason=f"the admin functions write {WRITTEN}, and there is no such table",
        ask=f"ask the application's team; this tool knows no functions that write {table}",
    )


def _not_there(name: str, facts: Facts) -> Way | None:
    if name in facts.misfits:
        return Way(
            block=Block.OTHER_FUNCTION,
            reason=f"public.{name} takes other arguments than this tool knows",
            ask="ask for a version of this tool that knows it",
        )
    if name not in facts.functions:
        return Way(
            block=Block.NO_FUNCTION,
            reason=f"the function public.{name} is missing, and a direct write would bypass "
            "the audit log",
            ask="ask the application's team for the missing migration",
        )
    return None


def _half_applied(name: str, facts: Facts) -> Way | None:
    relations = {AUDIT, IDENTITY} <= facts.relations.keys()
    if relations and set(REVOKED) <= facts.columns(CODES):
        return None
    return Way(
        block=Block.HALF_APPLIED,
        reason=f"public.{name} needs {AUDIT_TABLE}, {USERS_TABLE[IDENTITY]} and the columns "
        f"{' and '.join(REVOKED)}, and not all of them are there",
        ask="ask the application's team for the rest of the migration",
    )


def _powerless(name: str, facts: Facts, written: tuple[str, tuple[str, ...]]) -> Way | None:
    """Return why a function cannot do its work, with whose rights it runs; None where it can."""
    function = facts.functions[name]
    if not function.definer:
        return Way(
            block=Block.POWERLESS,
            reason=f"public.{name} is SECURITY INVOKER, and this tool knows it as SECURITY DEFINER",
            ask="ask the application's team; by their migration it has its owner's rights",
        )
    needs = (
        (CODES, "s", tuple(facts.columns(CODES))),
        (CODES, *written),
        (AUDIT, "i", LOGGED),
        (IDENTITY, "s", PEOPLE),
    )
    kept = (
        _kept_from(name, function.owner[kind], kind, letter, columns)
        for kind, letter, columns in needs
    )
    return next(filter(None, kept), None)


def _kept_from(
    name: str, owner: Sight, kind: str, letter: str, columns: tuple[str, ...]
) -> Way | None:
    """Return why its owner cannot do with a relation what a function does; None where it can."""
    if owner.lacks(letter, columns):
        return Way(
            block=Block.POWERLESS,
            reason=f"the owner of public.{name} may not {_DEEDS[letter]} {_RELATIONS[kind]}",
            ask="ask the application's team; the table's owner owns it by their migration",
        )
    if letter in owner.closed:
        return Way(
            block=Block.OWNER_BOUND,
            reason=f"row-level security on {_RELATIONS[kind]} binds the owner of public.{name}, "
            "too",
            ask="ask the application's team; the function cannot write as it is",
        )
    return None
