"""Who runs the server: PostgreSQL refuses root, so root hands it to a user without rights."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from invite_admin.errors import Failed, Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence

# Not the system's own `postgres`: whoever got out of a sandbox would own a real cluster's files.
UNPRIVILEGED = "nobody"
# Outside every home, because nobody may pass through a home of mode 0700.
ROOT_BASE = Path("/var/lib/invite-sandbox")
# Nothing of the caller's environment (PG*, LANG, LD_*) reaches the server.
ENVIRONMENT = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True)
class Account:
    """The user that PostgreSQL's programs run as.

    Args:
        uid: The user id to change to, or None to stay who we are.
        gid: The group id to change to, or None likewise.
    """

    uid: int | None = None
    gid: int | None = None

    @classmethod
    def current(cls) -> Account:
        """Return the caller's own account, or `nobody`'s where the caller is root.

        Raises:
            Unsupported: The system is neither Linux nor macOS.
            Failed: The caller is root and the system has no user `nobody`.
        """
        if sys.platform not in {"linux", "darwin"}:
            raise Unsupported("the sandbox runs on Linux and macOS only")
        import pwd  # noqa: PLC0415 - not on Windows

        if os.geteuid() != 0:
            return cls()
        try:
            entry = pwd.getpwnam(UNPRIVILEGED)
        except KeyError:
            raise Failed(
                f"PostgreSQL does not run as root, and this system has no user {UNPRIVILEGED}",
                hint="run the sandbox as an ordinary user",
            ) from None
        return cls(entry.pw_uid, entry.pw_gid)

    def folder(self, wanted: Path) -> Path:
        """Return where data belong: the folder wanted, or a folder of root's that stands for it."""
        wanted = Path(os.path.abspath(wanted))  # noqa: PTH100 - resolve() would follow links
        if self.uid is None:
            return wanted
        return ROOT_BASE / hashlib.sha256(os.fsencode(wanted)).hexdigest()[:12]

    def own(self, path: Path) -> None:
        """Give a file or folder that the tool just made to this account."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def run(
        self,
        command: Sequence[str | Path],
        *,
        timeout: float,
        output: int | None = None,
        keep: Sequence[int] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Run a program as this account, in its own session, with a clean environment.

        Args:
            command: The program, by its path, and its arguments.
            timeout: Seconds after which it is killed.
            output: The descriptor that takes what it prints, or None to return standard output.
            keep: Descriptors that it inherits.

        Raises:
            OSError: This account cannot execute the program.
            subprocess.TimeoutExpired: It took too long.
        """
        change: dict[str, Any] = {}
        if self.uid is not None and self.gid is not None:
            change = {"user": self.uid, "group": self.gid, "extra_groups": [self.gid]}
        return subprocess.run(  # noqa: S603 - constants of this package and PostgreSQL's programs
            [str(part) for part in command],
            check=False,
            text=True,
            cwd="/",
            env=ENVIRONMENT,
            umask=0o077,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if output is None else output,
            stderr=subprocess.DEVNULL if output is None else output,
            pass_fds=keep,
            start_new_session=True,
            timeout=timeout,
            **change,
        )
