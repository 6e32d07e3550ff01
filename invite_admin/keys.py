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
MAX_ISSUED = 10**15  # so that no sum leaves a bigint

_NO_ZONE = re.compile(r"(localtime|posixrules|Factory)$|(posix|right)/")
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


_TEXTS: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "table": (_table, "a table name such as public.redemption_codes", "public.redemption_codes"),
    "actor": (_email, "an e-mail address", "none: every write needs one"),
    "write_role": (_role, "the name of a database role", "none: the login writes itself"),
    "timezone": (_zone, "a time zone such as Asia/Shanghai", "UTC"),
}
_NUMBERS = {
    "limits": {
        "points_per_code": MAX_POINTS,
        "codes_per_batch": 1_000_000,
        "codes_per_hour": MAX_ISSUED,
        "points_per_day": MAX_ISSUED,
        "points_open": MAX_ISSUED,
    },
    "timeouts": {"connect": 600, "lock": 600, "statement": 86_400, "idle": 3_600},
}


def known_settings() -> list[tuple[str, str, str]]:
    """Return the keys outside of sections, each with the form of its value and its default."""
    return [(key, form, default) for key, (_, form, default) in _TEXTS.items()]


def checked(key: str, value: object, where: str, section: str = "") -> Any:  # noqa: ANN401 - each key has its own type
    """Return a setting's value in the form the tool uses; refuse it with its place."""
    if section:
        top = _NUMBERS[section].get(key)
        if top is None:
            known = ", ".join(_NUMBERS[section])
            raise BadInput(f"{where}: unknown key in [{section}]", hint=f"known keys: {known}")
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= top:
            raise BadInput(f"{where}: {key} must be a whole number from 1 to {top}")
        return value
    if key not in _TEXTS:
        raise BadInput(
            f"{where}: unknown key", hint=f"known keys: {', '.join(_TEXTS)}, [limits], [timeouts]"
        )
    read, form, _ = _TEXTS[key]
    result = read(value) if isinstance(value, str) else None
    if result is None:
        raise BadInput(f"{where}: {key} must be {form}")
    return result
