"""Whether an admin function can be used at all, whoever calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from invite_admin.catalogue import AUDIT, WRITTEN, Facts
from invite_admin.shape import Block, Way

if TYPE_CHECKING:
    from invite_admin.settings import Settings

AUDIT_TABLE = "audit.admin_audit_logs"
REVOKED = ("revoked_at", "revoked_by")


def unfit(name: str, facts: Facts, settings: Settings, columns: frozenset[str]) -> Way | None:
    """Return why a function cannot be used; None where it can.

    Args:
        name: The function.
        facts: What the catalogue says.
        settings: Which table is set.
        columns: The columns that the table has.
    """
    table = f"{settings.schema}.{settings.table}"
    if table != WRITTEN:
        return Way(
            block=Block.OTHER_TABLE,
            reason=f"the admin functions write {WRITTEN}, not {table}",
            ask="correct `table` in the settings",
        )
    return _not_there(name, facts) or _not_able(name, facts, columns)


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


def _not_able(name: str, facts: Facts, columns: frozenset[str]) -> Way | None:
    if AUDIT not in facts.relations or not set(REVOKED) <= columns:
        return Way(
            block=Block.HALF_APPLIED,
            reason=f"public.{name} needs {AUDIT_TABLE} and the columns {' and '.join(REVOKED)}, "
            "and not all of them are there",
            ask="ask the application's team for the rest of the migration",
        )
    if name in facts.forced:
        return Way(
            block=Block.FORCED,
            reason=f"row-level security is forced on {WRITTEN}, also for the owner of "
            f"public.{name}",
            ask="ask the application's team; the function cannot write as it is",
        )
    return None
