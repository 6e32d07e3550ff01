"""The store inside the tests' own process, for what a command line cannot show."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from databases import ACTOR

from invite_admin.codes import Secret
from invite_admin.database import Database as Server
from invite_admin.settings import Settings, Timeouts
from invite_admin.store import Store, look

if TYPE_CHECKING:
    from collections.abc import Iterator

    from databases import Database

PATIENT: Final = Timeouts(lock=60)


def settings_of(
    database: Database, login: str = "admin_runtime", timeouts: Timeouts = PATIENT
) -> Settings:
    """Return the settings an operator with this login has."""
    role = "service_role" if login == "admin_runtime" else None
    url = Secret(database.url(login))
    return Settings(database=url, actor=ACTOR, write_role=role, timeouts=timeouts)


@contextmanager
def opened(settings: Settings, said: list[str] | None = None) -> Iterator[Store]:
    """Open a writing transaction; what the tool says meanwhile is added to ``said``."""
    say = (said if said is not None else []).append
    with Server(settings, say).transaction(writing=True) as session:
        yield Store(session, look(session, settings), settings, say)


@contextmanager
def committed(settings: Settings, said: list[str] | None = None) -> Iterator[Store]:
    """Open a writing transaction and commit it at the end, as a command does."""
    with opened(settings, said) as store:
        yield store
        store.session.settle()
        store.session.commit()
