"""``invite.toml`` and the environment, checked, with the place of a mistake in the message."""

from __future__ import annotations

import os
import re
import tomllib
from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

from invite_admin.codes import Secret, shown_path
from invite_admin.errors import BadInput
from invite_admin.keys import checked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo

FILE_NAME = "invite.toml"
URL_VARIABLE = "INVITE_DATABASE_URL"
USERS_URL_VARIABLE = "INVITE_SMOKE_DATABASE_URL"
CONFIG_VARIABLE = "INVITE_CONFIG"
LIBPQ_VARIABLES = ("PGHOST", "PGSERVICE", "PGDATABASE")
LARGEST = 2**20  # bytes of a settings file
_TOO_LONG = "a number that is too long"  # the one thing for which tomllib has no words of its own
_TWICE = re.compile(r"Cannot (overwrite|declare|mutate|redefine) |Duplicate ")  # as tomllib says it


@dataclass(frozen=True)
class Limits:
    """The tool's own limits; the database has none of them.

    Attributes:
        codes_per_hour: Codes made in the last 60 minutes, whatever became of them.
        points_per_day: Points of the codes made in the last 24 hours, likewise.
        points_open: Points of all codes that are available.
    """

    points_per_code: int = 1_000_000
    codes_per_batch: int = 10_000
    codes_per_hour: int | None = None
    points_per_day: int | None = None
    points_open: int | None = None

    @property
    def issuing(self) -> bool:
        """Whether what is made is held against what was made before."""
        return any((self.codes_per_hour, self.points_per_day, self.points_open))


@dataclass(frozen=True)
class Timeouts:
    """How long each wait may last, in seconds."""

    connect: int = 10
    lock: int = 5
    statement: int = 60
    idle: int = 60


@dataclass(frozen=True)
class Smoke:
    """Whether and with whom ``smoke`` redeems on a database that is not the sandbox.

    Attributes:
        enabled: Whether it may at all.
        accounts: The test accounts, by e-mail address or user id; nobody else is touched.
        p95_seconds: Within how many seconds 95 of 100 people must have their points.
    """

    enabled: bool = False
    accounts: tuple[str, ...] = ()
    p95_seconds: float = 2.0


_KINDS: dict[str, type[Limits | Timeouts | Smoke]] = {
    "limits": Limits,
    "timeouts": Timeouts,
    "smoke": Smoke,
}


@dataclass(frozen=True)
class Settings:
    """All that decides where and as whom the tool acts.

    Attributes:
        path: The settings file that counts; None where there is none.
        named: Whether that file was named, by --config or INVITE_CONFIG.
        database: The URL or connection string; None means libpq's own variables.
        users: The same for the people whom ``smoke`` plays; None where it is not set.
        actor: E-mail address of who acts; None where none is configured.
        write_role: Role for SET LOCAL ROLE; None means the login writes itself.
        timezone: Zone of times written without an offset, and of times shown.
        sandbox: Whether this is the embedded server.
    """

    path: Path | None = None
    named: bool = False
    database: Secret | None = field(default=None, repr=False)
    users: Secret | None = field(default=None, repr=False)
    schema: str = "public"
    table: str = "redemption_codes"
    actor: str | None = None
    write_role: str | None = None
    timezone: tzinfo = UTC
    limits: Limits = field(default_factory=Limits)
    timeouts: Timeouts = field(default_factory=Timeouts)
    smoke: Smoke = field(default_factory=Smoke)
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
    values["named"] = bool(config or variables.get(CONFIG_VARIABLE))
    for key, variable in (("database", URL_VARIABLE), ("users", USERS_URL_VARIABLE)):
        values[key] = Secret(variables[variable]) if variables.get(variable) else None
    for key, variable in (("actor", "INVITE_ACTOR"), ("write_role", "INVITE_WRITE_ROLE")):
        if variables.get(variable):
            values[key] = checked(key, variables[variable], f"variable {variable}")
    return Settings(path=path, **values)


def _find(config: Path | None, user_folder: Path, variables: Mapping[str, str]) -> Path | None:
    named = config or (Path(variables[CONFIG_VARIABLE]) if variables.get(CONFIG_VARIABLE) else None)
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
    shown = shown_path(path)
    try:
        text = _content(path)
        document = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadInput(f"settings file {shown}: cannot be read: {reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise _no_toml(str(error), text, shown) from None
    except (RecursionError, ValueError) as error:
        what = "nesting that is too deep" if isinstance(error, RecursionError) else _TOO_LONG
        raise BadInput(f"settings file {shown}, line {_end_of_reading(text)}: {what}") from None
    return _settings(document, lambda section, key: f"{shown}, line {_line(text, section, key)}")


def _no_toml(said: str, text: str, shown: str) -> BadInput:
    """Tell what the parser said by its place; the rest of it may repeat what the file holds."""
    place = re.search(r"(?:line (\d+), column \d+|end of document)(?=\)$)", said)
    if place and _TWICE.match(said):
        line = place[1] or text.count("\n") + 1
        return BadInput(f"settings file {shown}, line {line}: a key or section that is there twice")
    return BadInput(
        f"settings file {shown}: not TOML, at {place[0] if place else 'an unknown place'}",
        hint='a text stands in quotes, as in actor = "ops@example.com"',
    )


def _end_of_reading(text: str) -> int:
    """Return the line where the parser gives up on what is TOML; it keeps no place of that."""
    lines = text.split("\n")

    def beyond(last: int) -> bool:
        try:
            tomllib.loads("\n".join(lines[:last]))
        except (RecursionError, ValueError) as error:
            return not isinstance(error, tomllib.TOMLDecodeError)  # cut inside a statement
        return False

    return bisect_left(range(len(lines)), x=True, key=beyond)


def _settings(document: dict[str, Any], place: Callable[[str, str], str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in document.items():
        if key in _KINDS:
            where = place("", key)
            if not isinstance(value, dict):
                raise BadInput(f"{where}: {key} must be a section, written as [{key}]")
            section = {k: checked(k, v, place(key, k), section=key) for k, v in value.items()}
            values[key] = _KINDS[key](**section)
        elif key == "table":
            values["schema"], values["table"] = checked(key, value, place("", key))
        else:
            values[key] = checked(key, value, place("", key))
    return values


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
