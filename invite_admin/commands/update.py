"""Give unused codes another expiry or note."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from invite_admin import columns, limits, params
from invite_admin.acting import Act
from invite_admin.changes import Verb
from invite_admin.changing import change_command
from invite_admin.chosen import expiry
from invite_admin.errors import NOTHING_CHANGED, BadInput
from invite_admin.model import Capability, Change, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from invite_admin.changes import Plan
    from invite_admin.model import Result, Row
    from invite_admin.run import Run
    from invite_admin.store import Store
    from invite_admin.whens import When

_VERB = Verb(Capability.UPDATE, "Update", Outcome.UPDATED, Outcome.WOULD_UPDATE, columns.UPDATED)


def _prepare(run: Run, store: Store, own: dict[str, Any]) -> dict[str, Any]:
    expires: When | None = own["set_expires"]
    note: str | None = own["set_note"]
    change = Change(set_note=note is not None, note=note or None)
    if expires is not None:
        now = store.session.server.now
        change = replace(change, set_expires=True, expires_at=expiry(run, now, expires))
    return {"change": change}


def _revived(points: int, extras: dict[str, Any]) -> limits.Demand:
    """Return what expired codes worth so many points add once they have another expiry."""
    change: Change = extras["change"]
    return limits.Demand(points_open=points if change.set_expires else 0)


def _allow(run: Run, store: Store, plan: Plan) -> None:
    limits.check(store, run, _revived(plan.usable.expired, plan.extras), "change fewer codes")


def _hold(run: Run, store: Store, points: int, extras: dict[str, Any]) -> None:
    """Hold the codes that came back to life against the limits, as new ones."""
    limits.hold(store, run, _revived(points, extras))


def _apply(store: Store, rows: Sequence[Row], extras: dict[str, Any]) -> dict[str, Result]:
    return store.update(rows, extras["change"])


def _same(row: Row, extras: dict[str, Any]) -> bool:
    change: Change = extras["change"]
    return change.leaves(row)


def _become(row: Row, extras: dict[str, Any]) -> Row:
    change: Change = extras["change"]
    expires_at = change.expires_at if change.set_expires else row.expires_at
    return replace(row, expires_at=expires_at, note=change.note if change.set_note else row.note)


_ACT = Act(
    _VERB,
    apply=_apply,
    prepare=_prepare,
    allow=_allow,
    hold=_hold,
    same=_same,
    become=_become,
)


@change_command(_ACT)
@click.option(
    "--set-expires",
    type=params.Expiry(),
    metavar="WHEN|never",
    help=f"The new expiry: {params.WHEN_FORMS}; or never.",
)
@click.option("--set-note", type=params.Note(), help="The new note; an empty one removes it.")
def command(*, set_expires: When | None, set_note: str | None) -> None:
    """Give unused codes another expiry or note.

    Codes neither redeemed nor revoked can be changed. An expired code that gets a later expiry
    can be redeemed again.

    \b
    Example: invite update --note "friday testers" --set-expires 14d
    """
    if set_expires is None and set_note is None:
        raise BadInput(
            f"no new value was given; {NOTHING_CHANGED}",
            hint="give --set-expires or --set-note, or both",
        )
