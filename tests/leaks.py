"""Searches every channel of the tool for secrets: codes, hashes, passwords, in all their forms."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from databases import hash_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from databases import Database
    from tap import Heard
    from tool import Invite, Result

OUTPUT: Final = "standard output"
ERROR: Final = "standard error"
FILES: Final = "files"
STATEMENTS: Final = "text of statements"
PARAMETERS: Final = "parameters of statements"
STARTUP: Final = "start of the connection"
LOG: Final = "server's log, lines"
DETAILS: Final = "server's log, parameters"
AUDIT: Final = "audit log"
TABLE: Final = "table without the hash"
ACTIVITY: Final = "pg_stat_activity"
PROCESS: Final = "command line of the process"

ALLOWED: Final = {(PARAMETERS, "hash"), (DETAILS, "hash")}
"""The server can store and find a hash only where it is told it, and nothing but it."""

_ACTIVITY: Final = """
    select coalesce(string_agg(concat_ws(' ', application_name, usename, client_hostname, query),
                               E'\\n'), '')
    from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
"""


@dataclass(frozen=True)
class Secrets:
    """What must not be seen.

    Attributes:
        codes: Codes as `generate` showed them; their hashes follow from them.
        passwords: Passwords, and pieces of passwords.
    """

    codes: tuple[str, ...] = ()
    passwords: tuple[str, ...] = ()

    def forms(self) -> Iterable[tuple[str, bytes]]:
        """Yield each secret's kind and each form in which it might be seen, in lower case."""
        for code in self.codes:
            digest = sha256(code.encode()).digest()
            plain = code.partition("-")[2]
            for form in (plain, plain.replace("-", ""), quote(code), code.encode().hex()):
                yield "code", form.lower().encode()
            for form in (hash_of(code), base64.b64encode(digest).decode().rstrip("=")):
                yield "hash", form.lower().encode()
            yield "hash", digest
        for password in self.passwords:
            for form in (password, quote(password, safe=""), repr(password)[1:-1]):
                yield "password", form.lower().encode()

    def seen(self, channels: Mapping[str, bytes]) -> set[tuple[str, str]]:
        """Return channel and kind of each secret that stands where it must not."""
        found = {
            (channel, kind)
            for kind, form in self.forms()
            for channel, content in channels.items()
            if form in content or form in content.lower()
        }
        return found - ALLOWED


@dataclass
class Watch:
    """Keeps what each channel received during the commands of one test.

    Attributes:
        database: Where the commands act.
        invite: What runs them.
        url: Leads there through a tap.
        heard: What the tap heard.
        results: What each command left behind, and whether it may show codes.
        activity: What `look` saw of the commands while they ran.
        processes: Their command lines, likewise.
        shown: Files that were made to hold codes.
    """

    database: Database
    invite: Invite
    url: str
    heard: Heard
    results: list[tuple[Result, bool]] = field(default_factory=list)
    activity: list[str] = field(default_factory=list)
    processes: list[bytes] = field(default_factory=list)
    shown: set[Path] = field(default_factory=set)

    def keep(self, result: Result, *, shows_codes: bool = False) -> Result:
        """Keep what a command left behind."""
        self.results.append((result, shows_codes))
        return result

    def look(self, pid: int) -> None:
        """Look at a command while it runs, as anybody on the server or the machine may."""
        self.activity.append(self.database.value(_ACTIVITY))
        self.processes.append(Path(f"/proc/{pid}/cmdline").read_bytes())

    def channels(self) -> dict[str, bytes]:
        """Return all that each channel received."""
        log = self.heard.log_lines()
        places = (self.invite.folder, self.invite.home)
        files = [p for place in places for p in place.rglob("*") if p.is_file()]
        table = "select to_jsonb(c) - 'code_hash' from public.redemption_codes c"
        audit = "select a from audit.admin_audit_logs a"
        return {
            OUTPUT: _joined(r.stdout_bytes for r, shows_codes in self.results if not shows_codes),
            ERROR: _joined(r.stderr_bytes for r, _ in self.results),
            FILES: _joined(_named(p) for p in files if p not in self.shown),
            STATEMENTS: _joined(s.encode() for s in self.heard.statements()),
            PARAMETERS: _joined(self.heard.parameters()),
            STARTUP: _joined([*self.heard.startup, *self.heard.of("p")]),
            LOG: _joined(line.get("M", "").encode() for line in log),
            DETAILS: _joined("".join(line.values()).encode() for line in log),
            AUDIT: _joined(str(row).encode() for row in self.database.rows(audit)),
            TABLE: _joined(str(row).encode() for row in self.database.rows(table)),
            ACTIVITY: _joined(line.encode() for line in self.activity),
            PROCESS: _joined(self.processes),
        }


def _joined(parts: Iterable[bytes]) -> bytes:
    return b"\n".join(parts)


def _named(path: Path) -> bytes:
    return path.name.encode() + b"\n" + path.read_bytes()
