"""A request id that was used before: nothing is made, and what it made is told."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from invite_admin import output, text
from invite_admin.errors import BadInput, Conflict
from invite_admin.model import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from invite_admin.batch import Terms
    from invite_admin.model import Row
    from invite_admin.run import Run
    from invite_admin.store import Batches
    from invite_admin.store.requests import Made


@dataclass(frozen=True)
class Wanted:
    """A batch that was asked for under a request id of the operator's own.

    Attributes:
        request_id: The id.
        count: How many codes.
        terms: What each is worth.
        fixed: Whether an expiry was given, and as an instant; only then is it compared.
    """

    request_id: str
    count: int
    terms: Terms
    fixed: bool

    def refuse_repeat(self, run: Run, batches: Batches) -> None:
        """Refuse an id that this actor used before; return where it is new.

        Raises:
            Conflict: It made just such a batch.
            BadInput: It made another batch; what differs is named.
            Unsupported: There is no audit log that could tell.
        """
        made = batches.made(self.request_id)
        if not made:
            return
        count = batches.made_count(self.request_id)
        rows = batches.rows(made)
        row = next(iter(rows.values()), None)
        chosen = (*batches.choice(self.request_id, made[0].at), *output.telling(count))
        shows = run.command_line("list", *chosen)
        differing = self._differing(made[0], row, count)
        if differing:
            raise BadInput(
                "that request id made a batch with another "
                f"{' and another '.join(differing)}; nothing was made",
                hint=f"take another --request-id; {shows} shows that batch",
            )
        gone = _gone(rows.values()) if len(rows) == count else ""
        already = f"{text.counted(count, 'code')} already{gone}, {self._end(run, made[0])}"
        raise Conflict(
            f"that request id made {already}; "
            "their text cannot be shown again, unless a FILE.pending of it is left; "
            "nothing was made",
            hint=f"{shows} shows them; {run.command_line('revoke', *chosen)} voids them",
        )

    def _end(self, run: Run, made: Made) -> str:
        """Say when what was made expires: a span or no expiry is not compared."""
        found = _instant(made.values.get("expires_at"))
        if found is None:
            return "which never expire"
        return f"which expire at {text.rfc3339(found, run.preferences.timezone)}"

    def _differing(self, made: Made, row: Row | None, count: int) -> list[str]:
        """Name what the id made otherwise than it is wanted now."""
        kept = made.values
        note = kept.get("note", row.note if row else None)
        expiry = kept.get("expires_at", row.expires_at if row else None)
        found = (
            ("count", count != self.count),
            ("number of points", row is not None and row.points != self.terms.points),
            ("note", note != self.terms.note),
            ("expiry", self.fixed and _instant(expiry) != self.terms.expires_at),
        )
        return [name for name, differs in found if differs]


def _gone(rows: Iterable[Row]) -> str:
    """Say what of a batch is not available any more; nothing where all of it is."""
    found = Counter(row.status for row in rows if row.status is not Status.AVAILABLE)
    told = ", ".join(f"{count:,} {status}" for status, count in sorted(found.items()))
    return f" ({told} since)" if told else ""


def _instant(value: Any) -> Any:  # noqa: ANN401 - text of the audit log, or a row's value
    if not isinstance(value, str):
        return value
    with suppress(ValueError):  # infinity, or a year that Python does not know
        return datetime.fromisoformat(value)
    return value
