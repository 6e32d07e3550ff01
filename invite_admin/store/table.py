"""The codes table as SQL: its columns, the status, the WHERE clause and the order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from invite_admin.model import Filters, Redemptions, Sort, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy.sql.elements import ColumnElement

    from invite_admin.shape import Shape

# What a row is made of, in the order of ``model.Row``; the name in the table where it differs.
_KEYS = {
    "id": "id",
    "mask": "code_mask",
    "status": "",
    "points": "credits",
    "expires_at": "expires_at",
    "note": "note",
    "created_at": "created_at",
    "created_by": "created_by",
    "redeemed_by": "redeemed_by",
    "redeemed_email": "redeemed_email",
    "redeemed_at": "redeemed_at",
    "revoked_at": "revoked_at",
    "revoked_by": "revoked_by",
}
UUIDS = frozenset({"id", "created_by", "redeemed_by", "revoked_by"})
TIMES = frozenset({"expires_at", "created_at", "redeemed_at", "revoked_at"})
NUMBERS = frozenset({"points"})
# Never empty text, nor one that a spreadsheet runs, nor one that JSON escapes.
HARMLESS = UUIDS | NUMBERS | {"status"}
_BLANK = " \t\n\r\f\v"


def quoted(table: sa.TableClause) -> str:
    """Name the table in SQL that is written by hand; settings allow plain identifiers only."""
    return f'"{table.schema}"."{table.name}"'


class CodesTable:
    """One shape of the table, as one role sees it.

    Args:
        shape: What there is.
        role: Whose eyes: what this role may not read is null; None means the login's.
    """

    def __init__(self, shape: Shape, role: str | None) -> None:
        self._readable = shape.readable(role)
        names = (*filter(None, _KEYS.values()), "code_hash")
        self.table = sa.table(
            shape.table, *(sa.column(name) for name in names), schema=shape.schema
        )
        self.c = self.table.c

    def column(self, name: str) -> ColumnElement[Any]:
        """Return a column, or null where the table has none or the role may not read it."""
        return self.c[name] if name in self._readable else sa.null()

    def text(self, key: str) -> ColumnElement[Any]:
        """Return the expression of one key of a row."""
        if key == "status":
            return self.status()
        return self.column(_KEYS[key])

    def row(self, *keys: str) -> list[ColumnElement[Any]]:
        """Return the expressions of a row's keys, all of them where none is named."""
        return [self.text(key).label(key) for key in keys or _KEYS]

    def status(self) -> ColumnElement[str]:
        """Return the status, by the server's clock: redeemed > revoked > expired > available."""
        return sa.case(
            (self.c.redeemed_at.is_not(None), sa.literal_column(f"'{Status.REDEEMED}'")),
            (self.column("revoked_at").is_not(None), sa.literal_column(f"'{Status.REVOKED}'")),
            (self.c.expires_at <= sa.func.now(), sa.literal_column(f"'{Status.EXPIRED}'")),
            else_=sa.literal_column(f"'{Status.AVAILABLE}'"),
        )

    def where(self, filters: Filters) -> list[ColumnElement[bool]]:
        """Return the conditions of a set of codes: for list, stats, revoke and update alike."""
        c = self.c
        found: list[ColumnElement[bool] | None] = [
            self.status().in_([str(s) for s in filters.status]) if filters.status else None,
            self._noted(filters.note),
            self._searched(filters.search),
            _unless_none(filters.points, lambda v: c.credits == v),
            _unless_none(filters.created_since, lambda v: c.created_at >= v),
            _unless_none(filters.created_until, lambda v: c.created_at < v),
            _unless_none(filters.expires_before, lambda v: c.expires_at < v),
            _unless_none(filters.ids, self.among),
        ]
        return _given(found)

    def among(self, ids: Sequence[str]) -> ColumnElement[bool]:
        """Return the condition that a code is one of these."""
        # Without a type of its own it is read once; a text would be read again for every row.
        untyped = sa.bindparam(None, array_of(ids), type_=sa.types.NullType())
        wanted = sa.cast(untyped, sa.ARRAY(sa.Uuid))
        return self.c.id == sa.any_(wanted)

    def redeemed(self, wanted: Redemptions) -> list[ColumnElement[bool]]:
        """Return the conditions of a set of redemptions."""
        c = self.c
        found = [
            c.redeemed_at.is_not(None),
            self._redeemer(wanted.user),
            self._noted(wanted.note),
            self._searched(wanted.search),
            _unless_none(wanted.since, lambda v: c.redeemed_at >= v),
            _unless_none(wanted.until, lambda v: c.redeemed_at < v),
        ]
        return _given(found)

    def order(self, sort: Sort, *, reverse: bool) -> list[ColumnElement[Any]]:
        """Return a total order: newest, soonest to expire or most points first; ties by id."""
        keys: dict[Sort, tuple[ColumnElement[Any], bool]] = {
            Sort.CREATED: (self.c.created_at, True),
            Sort.EXPIRES: (self.c.expires_at, False),
            Sort.POINTS: (self.c.credits, True),
            Sort.STATUS: (_position(self.status()), False),
        }
        key, falling = keys[sort]
        by = key.desc() if falling != reverse else key.asc()
        if sort is Sort.EXPIRES:  # the only one that may be null; elsewhere an index can serve
            by = by.nulls_last()
        identity = self.c.id.desc() if reverse else self.c.id.asc()
        newest = [] if sort is Sort.CREATED else [self._created(reverse=reverse)]
        return [by, *newest, identity]

    def _created(self, *, reverse: bool) -> ColumnElement[Any]:
        return self.c.created_at.asc() if reverse else self.c.created_at.desc()

    def _noted(self, note: str | None) -> ColumnElement[bool] | None:
        return _unless_none(note, lambda v: sa.func.btrim(self.c.note, _BLANK) == v)

    def _searched(self, part: str | None) -> ColumnElement[bool] | None:
        return _unless_none(
            part,
            lambda v: (
                self.c.code_mask.icontains(v, autoescape=True)
                | self.c.note.icontains(v, autoescape=True)
            ),
        )

    def _redeemer(self, user: str | None) -> ColumnElement[bool] | None:
        if user is None:
            return None
        if "@" in user:
            return sa.func.lower(sa.func.btrim(self.c.redeemed_email, _BLANK)) == user.lower()
        return sa.cast(self.c.redeemed_by, sa.Text) == user.lower()


def array_of(ids: Sequence[str]) -> str:
    """Write ids as the server reads an array; the driver takes a look at each element."""
    return f"{{{','.join(ids)}}}"


def _position(status: ColumnElement[str]) -> ColumnElement[int]:
    order = [Status.AVAILABLE, Status.REDEEMED, Status.REVOKED, Status.EXPIRED]
    return sa.func.array_position(sa.cast([str(s) for s in order], sa.ARRAY(sa.Text)), status)


def _unless_none(value: Any, condition: Any) -> ColumnElement[bool] | None:  # noqa: ANN401 - a value of any column
    found: ColumnElement[bool] | None = None if value is None else condition(value)
    return found


def _given(conditions: Iterable[ColumnElement[bool] | None]) -> list[ColumnElement[bool]]:
    return [condition for condition in conditions if condition is not None]
