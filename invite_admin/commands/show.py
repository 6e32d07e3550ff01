"""Show everything about codes, and why they work or do not."""

from __future__ import annotations

from dataclasses import astuple
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from invite_admin import columns, text
from invite_admin.codes import ABSENT, Kind
from invite_admin.errors import BadInput, NotFound
from invite_admin.job import Job
from invite_admin.model import Capability, Row, Status
from invite_admin.options import as_command, name_options, report_options
from invite_admin.report import Layout, Report

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import tzinfo

    from invite_admin.codes import Name
    from invite_admin.options import Named
    from invite_admin.run import Run, Target
    from invite_admin.store import Found, Store

_NEEDS = (Capability.READ,)
_ODD_DASHES = (
    "; as it was typed the application refuses it: it must be typed with plain hyphens and letters"
)
_NONE = "no such code in this table"
_MISREAD = f"; it was misread, for no code has {', '.join(ABSENT)}"


@click.pass_obj
def _show(run: Run, /, *, target: Target, named: Named) -> None:
    """Show everything about codes, and why they work or do not.

    A code is found by its text (as people paste it), its id or its mask. Codes given as
    arguments stay in the shell's history; `-` reads standard input.

    \b
    Example: invite show -
    """
    if not named:
        raise BadInput("name at least one code, id or mask, or `-` for standard input")
    names = named.read(run.say)
    Job(run, _NEEDS, target).read(lambda store: _report(store, names, run))


def _report(store: Store, names: Sequence[Name], run: Run) -> Report:
    from invite_admin.store.actors import addresses  # noqa: PLC0415 - heavy

    store.require_lookup(names)
    found = list(store.reads.find(names))
    revokers = {row.revoked_by for fit in found for row in fit.rows if row.revoked_by}
    people = addresses(store.session, store.shape, revokers)
    rows = list(_rows(found, people, store.session.server.now, run.preferences.timezone))
    missing = sum(1 for f in found if not f.rows)
    verdict = None
    if missing == len(found):
        none = f"none of the {missing:,} codes is" if missing > 1 else "that code is not"
        verdict = NotFound(f"{none} in this table")
    return Report(columns.SHOWN, rows, Layout.RECORDS, verdict=verdict)


def _rows(
    found: Sequence[Found], people: Mapping[str, str], now: datetime, zone: tzinfo
) -> Iterator[tuple[Any, ...]]:
    for position, fit in enumerate(found, start=1):
        several = f"the mask fits {len(fit.rows)} codes; " if len(fit.rows) > 1 else ""
        for row in fit.rows:
            reason = several + explain(row, people, now, zone)
            if fit.name.folded and row.status is Status.AVAILABLE:
                reason += _ODD_DASHES
            yield (*astuple(row), position, reason)
        if not fit.rows:
            label = fit.name.label if fit.name.kind is not Kind.ID else None
            blank = [None] * (len(columns.CODE) - 2)
            yield (None, label, *blank, position, _NONE + _MISREAD * fit.name.foreign)


def explain(row: Row, people: Mapping[str, str], now: datetime, zone: tzinfo) -> str:
    """Say in words why a code can or cannot be redeemed.

    Args:
        row: The code.
        people: E-mail addresses of those who revoked codes, by id, as far as they are known.
        now: The server's now.
        zone: In which times are written.
    """

    def at(instant: datetime | str | None) -> str:
        return text.short_time(instant, zone) if instant is not None else "an unknown time"

    if row.status is Status.REDEEMED:
        return f"redeemed by {_who(row.redeemed_email, row.redeemed_by)} at {at(row.redeemed_at)}"
    if row.status is Status.REVOKED:
        who = _who(people.get(row.revoked_by or ""), row.revoked_by)
        return f"revoked by {who} at {at(row.revoked_at)}"
    if row.status is Status.EXPIRED:
        return f"expired {_apart(row.expires_at, now)} ago, at {at(row.expires_at)}"
    until = "never expires"
    if row.expires_at is not None:
        until = f"expires in {_apart(row.expires_at, now)}, at {at(row.expires_at)}"
    return f"can be redeemed; available since {at(row.created_at)}; {until}"


def _who(email: str | None, identity: str | None) -> str:
    if email and identity:
        return f"{email} (user {identity})"
    return email or (f"user {identity}" if identity else "somebody unknown")


def _apart(instant: datetime | str | None, now: datetime) -> str:
    """Say how far an instant is from now, in the largest whole unit."""
    if not isinstance(instant, datetime):
        return "a very long time"
    apart = abs(instant - now)
    for unit, length in (
        ("day", timedelta(days=1)),
        ("hour", timedelta(hours=1)),
        ("minute", timedelta(minutes=1)),
    ):
        if apart >= length:
            return text.counted(apart // length, unit)
    return text.counted(int(apart.total_seconds()), "second")


command = as_command(report_options(name_options(_show)), _NEEDS)
