"""Void unused codes, for good; expired ones too."""

from __future__ import annotations

from invite_admin import columns
from invite_admin.acting import Act
from invite_admin.changes import Verb
from invite_admin.changing import change_command
from invite_admin.model import Capability, Outcome

_VERB = Verb(Capability.REVOKE, "Revoke", Outcome.REVOKED, Outcome.WOULD_REVOKE, columns.CHANGED)
_ACT = Act(
    _VERB,
    apply=lambda store, rows, _extras: store.revoke(rows),
    sweep=lambda store, group: store.sweep(group),
)


@change_command(_ACT)
def command() -> None:
    """Void unused codes, for good; expired ones too.

    Redeemed codes are never touched. Each code's outcome is its own: what can be voided is
    voided. Codes given as arguments stay in the shell's history; `-` reads standard input.

    \b
    Example: invite revoke - --yes < leaked.txt
             invite revoke --note "friday testers" --dry-run
    """
