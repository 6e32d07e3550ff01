"""Where the page is for: a shape of the table as one login sees it, with every name taken out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from invite_admin.admin import LOGGED, PEOPLE, REVOKED
from invite_admin.catalogue import (
    AUDIT,
    AUTH,
    CODES,
    CREATE,
    IDENTITY,
    REVOKE,
    UPDATE,
)
from invite_admin.facts import Facts, Function, Sight
from invite_admin.judge import AUDITED, BASE, HIDEABLE, read_shape
from invite_admin.settings import Settings
from invite_admin.shape import BY_FUNCTIONS

if TYPE_CHECKING:
    from invite_admin.shape import Shape

LOGIN, ROLE, ACTOR = "YOUR_LOGIN", "YOUR_WRITE_ROLE", "YOUR_EMAIL"


@dataclass(frozen=True)
class Stand:
    """What the page is about.

    Attributes:
        shape: What there is and what can be done, with placeholders for every name.
        settings: The same for the settings.
    """

    shape: Shape
    settings: Settings


def live(facts: Facts, settings: Settings) -> Stand:
    """Take the names out of what a live database says."""
    names = {facts.outer or facts.login: LOGIN}
    if settings.write_role:
        names.setdefault(settings.write_role, ROLE)

    def named(role: str) -> str:
        return names.get(role, "ANOTHER_ROLE")

    plain = replace(
        facts,
        login=named(facts.login),
        outer=named(facts.outer) if facts.outer else None,
        reachable=frozenset(map(named, facts.reachable)),
        roles=tuple(map(named, facts.roles)),
        sights={(kind, named(role)): sight for (kind, role), sight in facts.sights.items()},
        functions={
            name: replace(function, callers=frozenset(map(named, function.callers)))
            for name, function in facts.functions.items()
        },
    )
    role = named(settings.write_role) if settings.write_role else None
    return _stand(plain, settings, role)


def offline(step: int) -> Stand:
    """Describe a step of the existing structure.

    Args:
        step: 1 as the table's owner sees it; 3 as an operator's login with a write role does.
    """
    if step == BY_FUNCTIONS:
        return _stand(_audited(), Settings(), ROLE)
    return _stand(_base(), Settings(), None)


def _stand(facts: Facts, settings: Settings, role: str | None) -> Stand:
    plain = Settings(
        schema=settings.schema,
        table=settings.table,
        actor=ACTOR,
        write_role=role,
    )
    return Stand(read_shape(facts, plain), plain)


def _base() -> Facts:
    columns = dict.fromkeys((*BASE, *HIDEABLE), "siu")
    people = dict.fromkeys(("id", "email"), "siu")
    return Facts(
        login=LOGIN,
        reachable=frozenset({LOGIN}),
        roles=(LOGIN,),
        relations={CODES: "r", AUTH: "r"},
        sights={(CODES, LOGIN): _open(columns), (AUTH, LOGIN): _open(people)},
        functions={},
        misfits=frozenset(),
    )


def _audited() -> Facts:
    seen = dict.fromkeys((*BASE, *REVOKED), "s") | dict.fromkeys(HIDEABLE, "")
    written = dict.fromkeys((*BASE, *REVOKED, *HIDEABLE), "si")
    owned = {CODES: tuple(written), AUDIT: LOGGED, IDENTITY: PEOPLE}
    function = Function(
        callers=frozenset({ROLE}),
        definer=True,
        owner={kind: _open(dict.fromkeys(names, "siu")) for kind, names in owned.items()},
    )
    return Facts(
        login=LOGIN,
        reachable=frozenset({LOGIN, ROLE}),
        roles=(LOGIN, ROLE),
        relations=dict.fromkeys((CODES, AUDIT, IDENTITY, AUTH), "r"),
        sights={
            (CODES, LOGIN): _open(seen),
            (CODES, ROLE): _open(written),
            (AUDIT, LOGIN): _open(dict.fromkeys(AUDITED, "s")),
            (AUDIT, ROLE): _open(dict.fromkeys(AUDITED, "s")),
            (IDENTITY, LOGIN): _open(dict.fromkeys(PEOPLE, "s")),
            (IDENTITY, ROLE): _open(dict.fromkeys(PEOPLE, "")),
        },
        functions=dict.fromkeys((CREATE, UPDATE, REVOKE), function),
        misfits=frozenset(),
    )


def _open(columns: dict[str, str]) -> Sight:
    return Sight(closed="", usage=True, columns=columns)
