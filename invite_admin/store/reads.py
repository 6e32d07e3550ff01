"""Questions to the codes table, each answered as the role that may read it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from invite_admin.codes import Kind
from invite_admin.model import UNUSED, Capability, Filters, Group, Redemptions, Row, Sort, Status
from invite_admin.store.exports import Rows
from invite_admin.store.outcomes import meant
from invite_admin.store.table import CodesTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.sql.elements import ColumnElement

    from invite_admin.codes import Name
    from invite_admin.session import Session
    from invite_admin.shape import Shape

A_LOOKUP = 5_000  # names
REDEMPTION_KEYS = (
    *("id", "mask", "points", "redeemed_by", "redeemed_email", "redeemed_at", "note"),
)


@dataclass(frozen=True)
class Found:
    """The rows that a name fits: none, one, or for a mask perhaps several."""

    name: Name
    rows: tuple[Row, ...]


class Reads:
    """Reads one open transaction's view of the table.

    Args:
        session: The open transaction.
        shape: What there is, and which role reads it.
    """

    def __init__(self, session: Session, shape: Shape) -> None:
        self._session = session
        self._shape = shape
        self._role = shape.ways[Capability.READ].role
        self._t = CodesTable(shape, self._role)

    def rows(self, filters: Filters, *, sort: Sort, reverse: bool, limit: int | None) -> Rows:
        """Return the codes, with the keys of ``Row``, in a stable total order."""
        query = (
            sa.select(*self._t.row())
            .where(*self._t.where(filters))
            .order_by(*self._t.order(sort, reverse=reverse))
            .limit(limit)
        )
        return Rows(self._session, self._role, query)

    def redemptions(
        self, wanted: Redemptions, *, limit: int | None, oldest_first: bool = False
    ) -> Rows:
        """Return the redemptions, newest first or oldest, with the keys of ``REDEMPTION_KEYS``."""
        at = self._t.c.redeemed_at
        query = (
            sa.select(*self._t.row(*REDEMPTION_KEYS))
            .where(*self._t.redeemed(wanted))
            .order_by(at.asc() if oldest_first else at.desc(), self._t.c.id)
            .limit(limit)
        )
        return Rows(self._session, self._role, query)

    def count(self, filters: Filters) -> int:
        """Count the codes that fit."""
        return self._count(*self._t.where(filters))

    def expired(self, filters: Filters) -> int:
        """Add up the points of the codes that fit and have expired."""
        points = sa.func.coalesce(sa.func.sum(self._t.c.credits), 0)
        expired = self._t.status() == str(Status.EXPIRED)
        query = sa.select(sa.cast(points, sa.BigInteger)).where(*self._t.where(filters), expired)
        self._session.become(self._role)
        return int(self._session.execute(query).scalar_one())

    def groups(self, filters: Filters, size: int) -> Iterator[Group]:
        """Yield the codes that fit in one moment, in id order, so many at a time."""
        unused = self._t.status().in_([str(status) for status in UNUSED])
        points = sa.case((unused, self._t.c.credits))
        query = (
            sa.select(self._t.text("id"), self._t.c.code_mask, points)
            .where(*self._t.where(filters))
            .order_by(self._t.c.id)
        )
        self._session.become(self._role)
        rows = self._session.stream(query, size)
        while found := list(islice(rows, size)):
            ids, masks, worth = ([row[place] for row in found] for place in range(3))
            yield Group(ids, masks, worth)

    def revoked_by(self, actor: str) -> int:
        """Count the codes that this transaction has revoked as this actor."""
        c = self._t.c
        return self._count(c.revoked_at == sa.func.now(), c.revoked_by == sa.cast(actor, sa.Uuid))

    def revoked_among(self, ids: Sequence[str]) -> int:
        """Count those of the codes that are revoked."""
        return self._count(self._t.among(ids), self._t.status() == str(Status.REVOKED))

    def by_id(self, ids: Sequence[str]) -> dict[str, Row]:
        """Return the codes with these ids that exist, by id."""
        found: dict[str, Row] = {}
        for piece in _pieces(ids):
            found |= {row.id: row for row in self._fetch(self._t.among(piece))}
        return found

    def find(self, names: Sequence[Name]) -> Iterator[Found]:
        """Find each name's rows; a plain code was hashed before and is not sent."""
        for start in range(0, len(names), A_LOOKUP):
            yield from self._found(names[start : start + A_LOOKUP])

    def _found(self, names: Sequence[Name]) -> Iterator[Found]:
        by_kind: dict[Kind, list[str]] = defaultdict(list)
        for name in names:
            by_kind[name.kind].append(name.value)
        ids = self.ids_of_hashes(by_kind[Kind.CODE])
        rows = self.by_id([*by_kind[Kind.ID], *ids.values()])
        masked = self._by_mask(by_kind[Kind.MASK])

        def fitting(name: Name) -> tuple[Row, ...]:
            if name.kind is Kind.MASK:
                return tuple(masked[name.value])
            identity = name.value if name.kind is Kind.ID else ids.get(name.value, "")
            return meant(name, rows.get(identity))

        return (Found(name, fitting(name)) for name in names)

    def ids_of_hashes(self, hashes: Sequence[str]) -> dict[str, str]:
        """Return the id of each of the hashes that a code has."""
        if not hashes:
            return {}
        t = CodesTable(self._shape, self._shape.ways[Capability.LOOKUP].role)
        self._session.become(self._shape.ways[Capability.LOOKUP].role)
        found: dict[str, str] = {}
        for piece in _pieces(hashes):
            wanted = sa.cast([str(h) for h in piece], sa.ARRAY(sa.Text))
            query = sa.select(t.text("id").label("id"), t.c.code_hash).where(
                t.c.code_hash == sa.any_(wanted)
            )
            found |= {row.code_hash: row.id for row in self._session.execute(query)}
        return found

    def stats(self, filters: Filters, *, by: str | None, zone: str) -> list[Any]:
        """Count codes and points; one row a note or day, or one row for all of them.

        Args:
            filters: Which codes.
            by: ``note``, ``day`` (of creation, in ``zone``), or None for one row.
            zone: The time zone's name, as the server knows it.
        """
        t = self._t
        local = sa.func.timezone(zone, t.c.created_at)

        def written(form: str) -> ColumnElement[Any]:
            return sa.func.to_char(local, sa.literal_column(form))

        groups: dict[str | None, ColumnElement[Any]] = {
            None: sa.literal_column("'all'"),
            "note": sa.func.nullif(sa.func.btrim(t.column("note"), " \t\n\r\f\v"), ""),
            "day": sa.case(
                (sa.not_(sa.func.isfinite(t.c.created_at)), sa.cast(t.c.created_at, sa.Text)),
                (sa.extract("year", local) < 0, written("'YYYY-MM-DD BC'")),
                else_=written("'YYYY-MM-DD'"),
            ),
        }
        codes = (
            sa.select(
                groups[by].label("group"), t.status().label("status"), t.c.credits.label("points")
            )
            .where(*t.where(filters))
            .subquery()
        )
        grouped = sa.select(codes.c.group, *_counts(codes))
        if by:
            grouped = grouped.group_by(codes.c.group).order_by(codes.c.group.nulls_last())
        else:
            grouped = sa.select(sa.literal_column("'all'").label("group"), *_counts(codes))
        self._session.become(self._role)
        return list(self._session.execute(grouped))

    def _count(self, *conditions: ColumnElement[bool]) -> int:
        query = sa.select(sa.func.count()).select_from(self._t.table).where(*conditions)
        self._session.become(self._role)
        return int(self._session.execute(query).scalar_one())

    def _fetch(self, *conditions: ColumnElement[bool]) -> list[Row]:
        query = sa.select(*self._t.row()).where(*conditions).order_by(self._t.c.id)
        self._session.become(self._role)
        return [_row(found) for found in self._session.execute(query)]

    def _by_mask(self, masks: Sequence[str]) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = defaultdict(list)
        for piece in _pieces(masks):
            wanted = sa.cast(list(piece), sa.ARRAY(sa.Text))
            for row in self._fetch(self._t.c.code_mask == sa.any_(wanted)):
                found[row.mask].append(row)
        return found


def _counts(codes: sa.Subquery) -> list[ColumnElement[Any]]:
    """Return the columns of ``stats`` after the group, in order."""

    def of(status: Status) -> ColumnElement[bool]:
        return codes.c.status == str(status)

    def points(*conditions: ColumnElement[bool]) -> ColumnElement[Any]:
        return sa.cast(
            sa.func.coalesce(sa.func.sum(codes.c.points).filter(*conditions), 0), sa.BigInteger
        )

    counted = [
        sa.func.count().filter(of(status))
        for status in (Status.AVAILABLE, Status.REDEEMED, Status.REVOKED, Status.EXPIRED)
    ]
    redeemed = sa.func.count().filter(of(Status.REDEEMED))
    return [
        sa.func.count(),
        *counted,
        points(sa.true()),
        points(of(Status.REDEEMED)),
        points(of(Status.AVAILABLE)),
        sa.cast(redeemed, sa.Float) / sa.func.nullif(sa.func.count(), 0),
    ]


def _row(found: Any) -> Row:  # noqa: ANN401 - a row of SQLAlchemy's
    values = found._mapping  # noqa: SLF001 - SQLAlchemy's documented name for it
    return Row(**{**values, "status": Status(values["status"])})


def _pieces(names: Sequence[str]) -> Iterator[Sequence[str]]:
    unique = list(dict.fromkeys(names))
    return (unique[start : start + A_LOOKUP] for start in range(0, len(unique), A_LOOKUP))
