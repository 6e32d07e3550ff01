"""What became of each code of a change, from what was done and from what the codes are now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from invite_admin.codes import ALONE
from invite_admin.errors import BadInput, Failed
from invite_admin.model import SETTLED, UNUSED, Outcome, Result, Row, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from invite_admin.codes import Name
    from invite_admin.store.pieces import Changed


def revoked(row: Row) -> bool:
    """Tell whether a code is void."""
    return row.status is Status.REVOKED


def unused(row: Row) -> bool:
    """Tell whether a code can still be changed."""
    return row.status in UNUSED


def meant(name: Name, row: Row | None) -> tuple[Row, ...]:
    """Return the row that was found for a name, if there is one.

    Raises:
        BadInput: A file's row has the id of this code, and the code or the mask of another.
    """
    if row is None:
        return ()
    if name.mask not in (None, row.mask.upper()):
        raise BadInput(
            f"line {name.line}: the code with this id has another mask; nothing was changed",
            hint=ALONE,
        )
    return (row,)


def result(identity: str, now: Mapping[str, Row], changed: Changed, done: Outcome) -> Result:
    """Say what became of one code.

    Args:
        identity: Its id.
        now: The codes as they are now, by id.
        changed: What was done.
        done: The outcome of what was done.

    Raises:
        Failed: What was done and what is now do not go together.
    """
    row = now.get(identity)
    if identity in changed.done and row is not None and changed.kept(row):
        return Result(identity, done, row)
    if identity in changed.done:
        raise not_done()
    if row is None:
        return Result(identity, Outcome.NOT_FOUND, None)
    if row.status in SETTLED:
        return Result(identity, SETTLED[row.status], row)
    if identity in changed.locked:
        return Result(identity, Outcome.BUSY, row)
    if identity in changed.refused:
        return Result(identity, Outcome.REFUSED, row, changed.refused[identity])
    raise Failed(
        "the database left unused codes as they were and gave no reason; nothing was changed"
    )


def not_done() -> Failed:
    """Return the failure of a change that the database only says it made."""
    return Failed("the database says that it changed codes, and did not; nothing was changed")
