"""What of the whole table counts against the issuing limits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from invite_admin.model import Capability, Status
from invite_admin.store.table import CodesTable

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.sql.elements import ColumnElement

    from invite_admin.session import Session
    from invite_admin.shape import Shape


@dataclass(frozen=True)
class _Measure:
    """How much is counted: points or codes, and of which rows.

    Attributes:
        points: Whether points are summed; else codes are counted.
        window: Rows made since so long count, whatever became of them; None means that the rows
            count which are available now.
    """

    points: bool
    window: timedelta | None


MEASURES: Final = {
    "codes_per_hour": _Measure(points=False, window=timedelta(hours=1)),
    "points_per_day": _Measure(points=True, window=timedelta(days=1)),
    "points_open": _Measure(points=True, window=None),
}


class Issued:
    """Counts in one open transaction, as the role that sees every row.

    A window ends at the transaction's time, which the rows made in it have as well: so no window
    of that length, wherever it ends, holds more than was counted.

    Args:
        session: The open transaction.
        shape: What there is.

    Raises:
        Denied: Row-level security may hide rows, and a count would be too small.
        Unsupported: This login may not read what is counted.
    """

    def __init__(self, session: Session, shape: Shape) -> None:
        way = shape.ways[Capability.READ]
        if not way.available:
            failure = way.failure("the limits cannot be held where not every row can be counted")
            raise type(failure)(f"{failure.message}; nothing was changed", hint=failure.hint)
        self._session, self._role = session, way.role
        self._t = CodesTable(shape, way.role)

    def used(self, limit: str) -> int:
        """Return how much counts against a limit now; a key of ``MEASURES``."""
        measure = MEASURES[limit]
        total = sa.func.coalesce(sa.func.sum(self._amount(measure)), 0)
        query = sa.select(sa.cast(total, sa.BigInteger)).where(self._counts(measure))
        return int(self._ask(query))

    def room(self, limit: str, beyond: int) -> datetime | str | None:
        """Return when this much will have left a limit's window.

        None where it never will; text where it is a time that Python cannot hold.
        """
        measure = MEASURES[limit]
        if measure.window is None:
            return None
        made = self._t.c.created_at
        gone = sa.func.sum(self._amount(measure)).over(order_by=made)
        counted = (
            sa.select(made, gone.label("gone"))
            .where(self._counts(measure), sa.func.isfinite(made))
            .subquery()
        )
        last = sa.func.min(counted.c.created_at) + sa.literal(measure.window)
        found: datetime | str | None = self._ask(sa.select(last).where(counted.c.gone >= beyond))
        return found

    def _amount(self, measure: _Measure) -> ColumnElement[Any]:
        return self._t.c.credits if measure.points else sa.literal(1)

    def _counts(self, measure: _Measure) -> ColumnElement[bool]:
        if measure.window is None:
            return self._t.status() == sa.literal_column(f"'{Status.AVAILABLE}'")
        since: ColumnElement[bool] = self._t.c.created_at > sa.func.now() - sa.literal(
            measure.window
        )
        return since

    def _ask(self, query: sa.Select[Any]) -> Any:  # noqa: ANN401 - a number, or a time
        self._session.become(self._role)
        return self._session.execute(query).scalar()
