"""Whether the structure that was looked at is still there when all is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from invite_admin import catalogue
from invite_admin.errors import NOTHING_CHANGED, Busy
from invite_admin.judge import read_shape

if TYPE_CHECKING:
    from invite_admin.session import Session
    from invite_admin.settings import Settings
    from invite_admin.shape import Shape


def require_same(session: Session, settings: Settings, shape: Shape) -> None:
    """Refuse what was written straight into a table that a deploy altered meanwhile.

    A command may wait for a place or a lock after it looked, and a direct write would then go
    around the audit log. The rows that are written keep the table as it is from here on.

    Raises:
        Busy: The structure is at another step by now; nothing was changed.
    """
    if shape.by_functions:
        return
    session.become(None)
    if read_shape(catalogue.ask(session, settings), settings).step != shape.step:
        raise Busy(
            f"the table was altered meanwhile, as by a deploy; {NOTHING_CHANGED}",
            hint="run `invite check`, then the command again",
        )
