"""``invite.toml`` and the environment, checked, with the place of a mistake in the message."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from invite_admin.codes import Secret, without_code
from invite_admin.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo

FILE_NAME = "invite.toml"
URL_VARIABLE = "INVITE_DATABASE_URL"
LIBPQ_VARIABLES = ("PGHOST", "PGSERVICE", "PGDATABASE")
LARGEST = 2**20  # bytes of a settings file
MAX_POINTS = 2**31 - 1  # the column is an integer

_NO_ZONE = re.compile(r"(localtime|posixrules|Factory)$|(posix|right)/")
_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_$]{0,62}"


@dataclass(frozen=True)
class Limits:
    """The tool's own limits; the database has none of them."""

    points_per_code: int = 1_000_000
    codes_per_batch: int = 10_000


@dataclass(frozen=True)
class Timeouts:
    """How long each wait may last, in seconds."""

    connect: int = 10
    lock: int = 5
    statement: int = 60
    idle: int = 60


@dataclass(frozen=True)
class Settings:
    """All that decides where and as whom the tool acts.

    Attributes:
        path: The settings file that counts; None where there is none.
        database: The URL or connection string; None means libpq's own variables.
        actor: E-mail address of who acts; None where none is configured.
        write_role: Role for SET LOCAL ROLE; None means the login writes itself.
        timezone: Zone of times written without an offset, and of times shown.
        sandbox: Whether this is the embedded server.
    """

    path: Path | None = None
    database: Secret | None = field(default=None, repr=False)
    schema: str = "public"
    table: str = "redemption_codes"
    actor: str | None = None
    write_role: str | None = None
    timezone: tzinfo = UTC
    limits: Limits = field(default_factory=Limits)
    timeouts: Timeouts = field(default_factory=Timeouts)
    sandbox: bool = False

    def require_actor(self) -> str:
        """Return the configured actor.

        Raises:
            BadInput: Nobody is configured.
        """
        if self.actor is None:
            raise BadInput(
                "no actor is configured, and every write needs one; nothing was changed",
                hint='add actor = "you@example.com" to the settings, or set INVITE_ACTOR',
            )
        return self.actor


def load(
    config: Path | None, user_folder: Path, environment: Mapping[str, str] | None = None
) -> Settings:
    """Read the one settings file that counts, then what the environment overrides.

    Args:
        config: The file named on the command line; None where none was.
        user_folder: The user's own configuration folder.
        environment: The variables; None means this process's.

    Raises:
        BadInput: The file cannot be read, is no TOML, or has an unknown key or a wrong value.
    """
    variables = os.environ if environment is None else environment
    path = _find(config, user_folder, variables)
    values = _read(path) if path else {}
    values["database"] = Secret(variables[URL_VARIABLE]) if variables.get(URL_VARIABLE) else None
    for key, variable in (("actor", "INVITE_ACTOR"), ("write_role", "INVITE_WRITE_ROLE")):
        if variables.get(variable):
            values[key] = _checked(key, variables[variable], f"variable {variable}")
    return Settings(path=path, **values)


def _find(config: Path | None, user_folder: Path, variables: Mapping[str, str]) -> Path | None:
    named = config or (Path(variables["INVITE_CONFIG"]) if variables.get("INVITE_CONFIG") else None)
    candidates = (named,) if named else (Path(FILE_NAME), user_folder / FILE_NAME)
    found = next((path for path in candidates if named or os.path.lexists(path)), None)
    try:
        return found and found.absolute()
    except FileNotFoundError:  # the working directory was removed
        return found


def _content(path: Path) -> str:
    """Return the file's text, if it is a file of a sensible size; a pipe could be waited for."""
    path.stat()
    if not (path.is_file() or path.is_dir() or path == Path(os.devnull)):
        raise OSError(0, "it is no ordinary file")
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(0, f"it is larger than {LARGEST // 2**20} MiB")
    return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def _read(path: Path) -> dict[str, Any]:
    shown = without_code(str(path))
    try:
        text = _content(path)
        document = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadInput(f"settings file {shown}: cannot be read: {reason}") from None
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"line \d+, column \d+|end of document", str(error))
        raise BadInput(
            f"settings file {shown}: not TOML, at {place[0] if place else 'an unknown place'}"
        ) from None
    except (RecursionError, ValueError):
        raise BadInput(f"settings file {shown}: not TOML that this tool reads") from None
    return _settings(document, lambda section, key: f"{shown}, line {_line(text, section, key)}")


def _settings(document: dict[str, Any], place: Callable[[str, str], str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in document.items():
        if key in ("limits", "timeouts"):
            where = place("", key)
            if not isinstance(value, dict):
                raise BadInput(f"{where}: {key} must be a section, written as [{key}]")
            section = {k: _checked(k, v, place(key, k), section=key) for k, v in value.items()}
            values[key] = Limits(**section) if key == "limits" else Timeouts(**section)
        elif key == "table":
            values["schema"], values["table"] = _checked(key, value, place("", key))
        else:
            values[key] = _checked(key, value, place("", key))
    return values


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
    "limits": {"points_per_code": MAX_POINTS, "codes_per_batch": 1_000_000},
    "timeouts": {"connect": 600, "lock": 600, "statement": 86_400, "idle": 3_600},
}


def known_settings() -> list[tuple[str, str, str]]:
    """Return the keys outside of sections, each with the form of its value and its default."""
    return [(key, form, default) for key, (_, form, default) in _TEXTS.items()]


def _checked(key: str, value: object, where: str, section: str = "") -> Any:  # noqa: ANN401 - each key has its own type
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


def _line(text: str, section: str, key: str) -> int:
    """Return the line where a key is set; TOML's own parser keeps no line numbers.

    The statement that brings the key is the first after which it is there.
    """
    lines = text.split("\n")
    first = 1
    for last in range(1, len(lines)):
        try:
            document = tomllib.loads("\n".join(lines[:last]))
        except tomllib.TOMLDecodeError:  # inside a statement of several lines
            continue
        if key in (document.get(section, {}) if section else document):
            return first
        first = last + 1
    return first
