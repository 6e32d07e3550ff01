"""The keys of ``invite.toml``: what the value of each must be."""

from __future__ import annotations

import re
from datetime import UTC
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from invite_admin.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

MAX_POINTS = 2**31 - 1  # the column is an integer
LONGEST = 60  # seconds that a person may wait for a redemption
MAX_ISSUED = 10**15  # so that no sum leaves a bigint

_NO_ZONE = re.compile(r"(localtime|posixrules|Factory)$|(posix|right)/")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_$]{0,62}"


def _table(value: str) -> tuple[str, str] | None:
    match = re.fullmatch(rf"(?:({_IDENTIFIER})\.)?({_IDENTIFIER})", value)
    return (match[1] or "public", match[2]) if match else None


def _zone(value: str) -> tzinfo | None:
    """Return a zone of this name; UTC needs no zone database, and this machine's zone is none."""
    if value == "UTC":
        return UTC
    try:
        return None if _NO_ZONE.match(value) else ZoneInfo(value)
    except (ValueError, OSError, LookupError):
        return None


def _email(value: str) -> str | None:
    email = value.strip().lower()
    return email if re.fullmatch(r"[^\s@]+@[^\s@]+", email) and email.isprintable() else None


def _role(value: str) -> str | None:
    return value if re.fullmatch(_IDENTIFIER, value) else None


def _whole(top: int) -> Callable[[object], int | None]:
    """Return what reads a whole number from 1 to ``top``."""

    def read(value: object) -> int | None:
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= top:
            return value
        return None

    return read


def _seconds(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= LONGEST:
        return float(value)
    return None


def _switch(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _account(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    return value.lower() if _UUID.fullmatch(value) else _email(value)


def _accounts(value: object) -> tuple[str, ...] | None:
    """Return e-mail addresses and user ids in lower case, each once."""
    if not isinstance(value, list):
        return None
    found = [_account(account) for account in value]
    return None if None in found else tuple(dict.fromkeys(filter(None, found)))


_TEXTS: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "table": (_table, "a table name such as public.redemption_codes", "public.redemption_codes"),
    "actor": (_email, "an e-mail address", "none: every write needs one"),
    "write_role": (_role, "the name of a database role", "none: the login writes itself"),
    "timezone": (_zone, "a time zone such as Asia/Shanghai", "UTC"),
}
_TOPS = {
    "limits": {
        "points_per_code": MAX_POINTS,
        "codes_per_batch": 1_000_000,
        "codes_per_hour": MAX_ISSUED,
        "points_per_day": MAX_ISSUED,
        "points_open": MAX_ISSUED,
    },
    "timeouts": {"connect": 600, "lock": 600, "statement": 86_400, "idle": 3_600},
}
_SECTIONS: dict[str, dict[str, tuple[Callable[[object], Any], str]]] = {
    **{
        section: {
            key: (_whole(top), f"a whole number from 1 to {top}") for key, top in tops.items()
        }
        for section, tops in _TOPS.items()
    },
    "smoke": {
        "enabled": (_switch, "true or false"),
        "accounts": (_accounts, "a list of e-mail addresses or user ids"),
        "p95_seconds": (_seconds, f"a number of seconds above 0, at most {LONGEST}"),
    },
}
SECTIONS = tuple(_SECTIONS)


def known_settings() -> list[tuple[str, str, str]]:
    """Return the keys outside of sections, each with the form of its value and its default."""
    return [(key, form, default) for key, (_, form, default) in _TEXTS.items()]


def known_in(section: str) -> dict[str, str]:
    """Return the keys of a section, each with the form of its value."""
    return {key: form for key, (_, form) in _SECTIONS[section].items()}


def checked(key: str, value: object, where: str, section: str = "") -> Any:  # noqa: ANN401 - each key has its own type
    """Return a setting's value in the form the tool uses; refuse it with its place."""
    if section:
        if key not in _SECTIONS[section]:
            known = ", ".join(_SECTIONS[section])
            raise BadInput(f"{where}: unknown key in [{section}]", hint=f"known keys: {known}")
        read, form = _SECTIONS[section][key]
        result = read(value)
    elif key in _TEXTS:
        read_text, form, _ = _TEXTS[key]
        result = read_text(value) if isinstance(value, str) else None
    else:
        known = ", ".join([*_TEXTS, *(f"[{name}]" for name in SECTIONS)])
        raise BadInput(f"{where}: unknown key", hint=f"known keys: {known}")
    if result is None:
        raise BadInput(f"{where}: {key} must be {form}")
    return result
