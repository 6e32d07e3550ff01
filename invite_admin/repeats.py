"""A request id that was used before: nothing is made, and what it made is told."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from invite_admin import text
from invite_admin.errors import BadInput, Conflict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from invite_admin.model import Row, Terms
    from invite_admin.run import Run
    from invite_admin.store import Batches
    from invite_admin.whens import When


def refuse_repeat(  # noqa: PLR0913, PLR0917 - what was asked for, compared with what was made
    run: Run,
    batches: Batches,
    request_id: str,
    count: int,
    terms: Terms,
    expires: When | None,
) -> None:
    """Refuse an id that this actor used before; return where it is new.

    Raises:
        Conflict: It made just such a batch.
        BadInput: It made another batch; what differs is named.
        Unsupported: There is no audit log that could tell.
    """
    made = batches.made(request_id)
    if not made:
        return
    rows = batches.rows(made)
    first = next(iter(rows.values()), None)
    kept = made[0].values
    expiry = _instant(_kept(kept, "expires_at", first))
    differing = [
        name
        for name, differs in (
            ("count", len(made) != count),
            ("points", first is not None and first.points != terms.points),
            ("note", _kept(kept, "note", first) != terms.note),
            ("expiry", _fixed(expires) and expiry != terms.expires_at),
        )
        if differs
    ]
    if differing:
        raise BadInput(
            f"that request id made another batch: {', '.join(differing)} differ; nothing was made"
        )
    raise Conflict(
        f"that request id made {text.counted(len(made), 'code')} already; their text cannot be "
        "shown again, and nothing was made",
        hint=f"{run.command_line('list', '--request-id', request_id)} shows them; "
        f"{run.command_line('revoke', '--request-id', request_id)} voids them",
    )


def _kept(values: Mapping[str, Any], key: str, row: Row | None) -> Any:  # noqa: ANN401 - a value of any column
    """Return what the audit log kept from the beginning; where it did not, what is there now."""
    return values[key] if key in values else getattr(row, key, None)


def _fixed(expires: When | None) -> bool:
    """Tell whether the expiry was given as an instant, or as none."""
    return expires is None or expires.span is None


def _instant(value: Any) -> datetime | None:  # noqa: ANN401 - text of the audit log, or a row's value
    return datetime.fromisoformat(value) if isinstance(value, str) else value
