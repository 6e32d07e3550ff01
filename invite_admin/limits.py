"""The issuing limits: how much may be made in an hour, in a day, and be open at a time.

They hold for the whole table, over all operators that have the same settings. They guard against
slips, not against who edits the settings.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from invite_admin import text
from invite_admin.errors import NOTHING_CHANGED, Busy, OverLimit
from invite_admin.model import Capability

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    from invite_admin.run import Run
    from invite_admin.settings import Limits
    from invite_admin.store import Issued, Store

PATIENCE = 30.0  # seconds that a batch waits for another one to be delivered and stored
LESS = "ask for less"  # what to do where a command wants more than the limit itself
_FREED = {"points_open": "room only by revoke, redemptions or expiry"}
_NEVER = "codes made at no finite time take the room"


@dataclass(frozen=True)
class Demand:
    """What a command adds to what the limits count, by their names in the settings."""

    codes_per_hour: int = 0
    points_per_day: int = 0
    points_open: int = 0

    @classmethod
    def of(cls, codes: int, points: int) -> Demand:
        """Return what new codes add.

        Args:
            codes: How many.
            points: Points of each.
        """
        return cls(codes, codes * points, codes * points)


@dataclass(frozen=True)
class Standing:
    """How one limit stands.

    Attributes:
        limit: The limit; None where none is configured.
        used: How much of it is used; None where that was not, or could not be, counted.
    """

    limit: int | None
    used: int | None

    @property
    def left(self) -> int | None:
        """How much is left; None where it is not known."""
        if self.limit is None or self.used is None:
            return None
        return max(self.limit - self.used, 0)


UNSET: Final = {field.name: Standing(None, None) for field in fields(Demand)}


@dataclass(frozen=True)
class _Excess:
    """A limit that would be exceeded."""

    name: str
    limit: int
    used: int
    wanted: int
    room: datetime | str | None

    @property
    def over(self) -> int:
        return self.used + self.wanted - self.limit

    @property
    def never(self) -> bool:
        return self.wanted > self.limit

    def told(self) -> str:
        used = f"{self.used:,} of {self.limit:,} used"
        return f"{self.name}: {used}, {self.wanted:,} wanted, {self.over:,} too many"

    def next(self, zone: tzinfo, instead: str) -> str:
        """Say when there is room again, or what to do instead where there never is."""
        if self.never:
            full = ", of which nothing is left now" if self.used >= self.limit else ""
            return f"{self.name}: more than the limit itself{full}, so {instead}"
        if self.room is None:
            return f"{self.name}: {_FREED.get(self.name, _NEVER)}"
        return f"{self.name}: room from {text.rfc3339(_second_after(self.room), zone)} on"


def standings(store: Store, limits: Limits) -> dict[str, Standing]:
    """Return how each limit stands; counted is what is configured, where every row is seen."""
    found = dict(UNSET)
    seen = store.shape.ways[Capability.READ].available
    for name, limit in _configured(limits):
        found[name] = Standing(limit, _issued(store).used(name) if seen else None)
    return found


def check(store: Store, run: Run, demand: Demand, instead: str = LESS) -> None:
    """Refuse what would exceed a limit, before anything is sent.

    Args:
        store: The table.
        run: The call.
        demand: What would be added.
        instead: What to do where it is more than the limit itself.

    Raises:
        OverLimit: It would.
        InviteError: A limit is configured, and not every row can be counted.
    """
    _refuse(store, run, demand, stored=False, instead=instead)


def hold(store: Store, run: Run, demand: Demand) -> None:
    """Count again what was stored in this transaction, alone, and until it has ended.

    The lock is taken here, after the last row, and kept over delivery and COMMIT: whoever counts
    next counts these rows as well. Without a limit that is concerned nothing is locked.

    Raises:
        OverLimit: Others stored in between, and a limit would be exceeded.
        Busy: Another command keeps the lock too long.
    """
    if not _concerned(run.preferences.limits, demand):
        return
    from invite_admin import locks  # noqa: PLC0415 - heavy
    from invite_admin.retries import polled  # noqa: PLC0415 - only when it runs

    def free() -> bool:
        return locks.take_any(store.session, locks.Purpose.LIMITS, 1) is not None

    if not free():
        run.say(
            "another batch is counted against the limits right now; "
            f"waiting for it, at most {PATIENCE:g} s"
        )
        if not polled(free, PATIENCE):
            raise Busy(
                f"another batch was not delivered and stored within {PATIENCE:g} s; "
                f"{NOTHING_CHANGED}",
                hint="run the command again",
            )
    _refuse(store, run, demand, stored=True)


def tell(store: Store, run: Run) -> None:
    """Say how the configured limits stand, where every row can be counted."""
    for name, standing in standings(store, run.preferences.limits).items():
        if standing.used is not None:
            used = f"{standing.used:,} of {standing.limit:,} used"
            run.say(f"limit {name}: {used}, {standing.left:,} left")


def _refuse(store: Store, run: Run, demand: Demand, *, stored: bool, instead: str = LESS) -> None:
    beyond = list(_excesses(store, _concerned(run.preferences.limits, demand), stored=stored))
    if beyond:
        zone = run.preferences.timezone
        # When another limit has room does not matter where one never has.
        decisive = [excess for excess in beyond if excess.never] or beyond
        raise OverLimit(
            f"{'; '.join(excess.told() for excess in beyond)}; {NOTHING_CHANGED}",
            hint="; ".join(excess.next(zone, instead) for excess in decisive),
        )


def _excesses(
    store: Store, concerned: Sequence[tuple[str, int, int]], *, stored: bool
) -> Iterator[_Excess]:
    for name, limit, wanted in concerned:
        issued = _issued(store)
        used = issued.used(name) - (wanted if stored else 0)
        over = used + wanted - limit
        if over > 0:
            yield _Excess(name, limit, used, wanted, issued.room(name, over))


def _concerned(limits: Limits, demand: Demand) -> list[tuple[str, int, int]]:
    """Return the limits that are configured and would be used: name, limit, what is wanted."""
    wanted = asdict(demand)
    return [(name, limit, wanted[name]) for name, limit in _configured(limits) if wanted[name]]


def _configured(limits: Limits) -> list[tuple[str, int]]:
    named = [(name, getattr(limits, name)) for name in UNSET]
    return [(name, limit) for name, limit in named if limit is not None]


def _second_after(instant: datetime | str) -> datetime | str:
    """Round up to the second; a time that Python cannot hold is text, and stays."""
    if isinstance(instant, str):
        return instant
    return instant.replace(microsecond=0) + timedelta(seconds=1)


def _issued(store: Store) -> Issued:
    from invite_admin.store import Issued  # noqa: PLC0415 - heavy

    return Issued(store.session, store.shape)
