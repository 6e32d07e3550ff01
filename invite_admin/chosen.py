"""Filters and times as they were typed, put on the server's clock, and said as understood."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from invite_admin import text
from invite_admin.errors import NOTHING_CHANGED, BadInput
from invite_admin.model import Filters, Status
from invite_admin.whens import NEVER

if TYPE_CHECKING:
    from datetime import datetime

    from invite_admin.run import Run
    from invite_admin.store import Store
    from invite_admin.whens import When


@dataclass(frozen=True)
class Chosen:
    """The filters as they were typed, times not yet put on the server's clock."""

    status: tuple[Status, ...] = ()
    note: str | None = None
    search: str | None = None
    points: int | None = None
    created_since: When | None = None
    created_until: When | None = None
    expires_before: When | None = None
    request_id: str | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, f.name) not in (None, ()) for f in fields(self))

    def at(self, store: Store, run: Run) -> Filters:
        """Put the times on the server's clock, and say what was understood.

        Raises:
            BadInput: They were created until before since.
            InviteError: A request id was given, and the audit log cannot tell what it made.
        """
        now = store.session.server.now
        since, until = period(run, now, "created", self.created_since, self.created_until)
        return Filters(
            ids=None if self.request_id is None else store.made_under(self.request_id),
            status=self.status,
            note=self.note,
            search=self.search,
            points=self.points,
            created_since=since,
            created_until=until,
            expires_before=instant(run, now, "expires before", self.expires_before),
        )


def instant(run: Run, now: datetime, what: str, when: When | None) -> datetime | None:
    """Put one time on the server's clock and echo it; None stays None.

    Raises:
        BadInput: It lies outside the years 1 to 9999.
    """
    if when is None:
        return None
    found = when.at(now, f"`{what}`")
    run.say(f"{what} {text.rfc3339(found, run.preferences.timezone)}")
    return found


def period(
    run: Run, now: datetime, what: str, since: When | None, until: When | None
) -> tuple[datetime | None, datetime | None]:
    """Put the two ends of a period on the server's clock and echo them; None stays None.

    Raises:
        BadInput: It ends before it begins, or an end lies outside the years 1 to 9999.
    """
    begin = instant(run, now, f"{what} since", since)
    end = instant(run, now, f"{what} until", until)
    if begin and end and end < begin:
        raise BadInput(
            f"`{what} until` lies before `{what} since`, so nothing could fit; {NOTHING_CHANGED}",
            hint="exchange the two times; a span such as 30d leads back from now",
        )
    return begin, end


def expiry(run: Run, now: datetime, when: When | None) -> datetime | None:
    """Put an expiry on the server's clock and echo it; None means never.

    Raises:
        BadInput: It lies in the past, or outside the years 1 to 9999.
    """
    if when is None or when is NEVER:
        return None
    found = when.at(now, "the expiry")
    shown = text.rfc3339(found, run.preferences.timezone)
    told = f"through {when.day}, until {shown}" if when.day else shown
    if found <= now:
        raise BadInput(
            f"the expiry ({told}) is not in the future; nothing was changed",
            hint=f"the server's clock says {text.rfc3339(now, run.preferences.timezone)}",
        )
    run.say(f"expires: {told}")
    return found
