"""A batch as a file while it is not yet known to be true: ``FILE.pending``.

JSON lines: the terms, one line a code, and last the count with a digest of all before it. A file
without its last line was never finished, and then no COMMIT was sent.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO

from invite_admin import __version__
from invite_admin.batch import Batch, Terms
from invite_admin.codes import shown_path
from invite_admin.errors import BadInput
from invite_admin.files import PENDING, sync_folder
from invite_admin.kept import Kept

if TYPE_CHECKING:
    from pathlib import Path

A_READ = 1_048_576  # bytes
LONGEST_END = 200  # bytes of the last line, at most
LONGEST_HEAD = 65_536  # bytes of the first


@dataclass(frozen=True)
class Pending:
    """What such a file holds.

    Attributes:
        batch: The codes and their terms.
        server: Address of the server, for people.
        database: Name of the database.
        cluster: PostgreSQL's identifier of the server's data, the same after a failover; None
            where the login may not ask for it.
        form: The format of the final file.
        raw: Whether that is csv without the guard against formulas.
        bom: Whether that is csv with the mark that Excel wants.
        tool: The version of the tool that wrote it.
    """

    batch: Batch
    server: str
    database: str
    cluster: str | None
    form: str
    raw: bool
    bom: bool
    tool: str = __version__

    @property
    def origin(self) -> Origin:
        """Who made the batch, where and when."""
        return Origin(self.batch.actor, self.server, self.database, self.batch.created_at)


@dataclass(frozen=True)
class Origin:
    """What the first line says of a batch, where the rest of the file cannot be believed.

    Attributes:
        actor: Who made it.
        server: Address of the server, for people.
        database: Name of the database.
        created_at: When it was made, by the server's clock.
    """

    actor: str
    server: str
    database: str
    created_at: datetime

    def __str__(self) -> str:
        return f"a batch of {self.actor}, on {self.server}, database {self.database}"


class Damaged(BadInput):
    """A file that is not whole, or was changed; whether its codes are stored it does not say.

    Attributes:
        origin: What it says of its batch; None where even that is gone.
        empty: Whether nothing at all is in it.
    """

    def __init__(self, message: str, origin: Origin | None, *, empty: bool) -> None:
        super().__init__(message)
        self.origin, self.empty = origin, empty


def beside(path: Path) -> Path:
    """Return the pending file of a result file."""
    return path.with_name(path.name + PENDING)


def renewed(path: Path) -> Path:
    """Return the name under which a new form of a pending file is written."""
    return path.with_name(path.name + ".new")


def remove(path: Path) -> None:
    """Remove a pending file, if it is there."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        sync_folder(path.parent)


def head_line(pending: Pending) -> bytes:
    """Write the first line: the terms."""
    batch = pending.batch
    head = {
        **{f.name: getattr(pending, f.name) for f in fields(pending) if f.name != "batch"},
        "request_id": batch.request_id,
        "actor": batch.actor,
        "created_at": batch.created_at.isoformat(),
        "count": batch.count,
        "points": batch.terms.points,
        "expires_at": batch.terms.expires_at.isoformat() if batch.terms.expires_at else None,
        "note": batch.terms.note,
    }
    return _line(head)


def end_line(digest: str, count: int) -> bytes:
    """Write the last line: the number of codes, and SHA-256 of all before it in hex."""
    return _line({"count": count, "sha256": digest})


def require(path: Path) -> None:
    """Refuse a pending file that is not there, with a word on the result that may be.

    Raises:
        BadInput: It is not there.
    """
    if path.exists():
        return
    made = path.with_name(path.name.removesuffix(PENDING))
    if beside(made).exists():
        hint = f"{shown_path(beside(made))} is there; that is the one to name"
    elif made.exists():
        hint = f"{shown_path(made)} is there; a finished batch needs no --resume"
    else:
        hint = (
            f"check name and folder; a run that has ended and left neither "
            f"{shown_path(beside(made))} nor {shown_path(made)} stored nothing"
        )
    raise BadInput(f"{shown_path(path)} is not there; nothing was done", hint=hint)


def read(path: Path, descriptor: int | None = None) -> Pending:
    """Read a pending file and check that it is whole and unchanged.

    Args:
        path: The file.
        descriptor: The same, open for as long as its codes are read; None where nobody holds it.

    Raises:
        Damaged: It is not whole, or was changed.
        BadInput: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            head, codes = _whole(file)
            if codes is None:
                raise _damaged(path, "was changed since it was written")
        codes.source = path if descriptor is None else descriptor
        return _pending(head, codes)
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
        raise BadInput(f"{shown_path(path)}: {why}; nothing was done") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _damaged(path, "is no whole pending file") from None


def _damaged(path: Path, what: str) -> Damaged:
    empty = path.exists() and not path.stat().st_size
    return Damaged(f"{shown_path(path)} {what}; nothing was done", _origin(path), empty=empty)


def _origin(path: Path) -> Origin | None:
    try:
        with path.open("rb") as file:
            head = json.loads(file.readline(LONGEST_HEAD))
        made_at = datetime.fromisoformat(head["created_at"])
        found = Origin(head["actor"], head["server"], head["database"], made_at)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if made_at.tzinfo else None


def _whole(file: BinaryIO) -> tuple[dict[str, Any], Kept | None]:
    """Return the terms and the codes of a file that is whole; no codes where it was changed.

    Raises:
        ValueError: It is not whole.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - LONGEST_END))
    tail = file.read()
    last = tail.rstrip().rpartition(b"\n")[2] + b"\n"  # whatever was put behind it
    if set(json.loads(last.decode())) != {"count", "sha256"}:
        raise ValueError(size)
    file.seek(0)
    digest, lines = _digest(file, size - len(last))
    if not tail.endswith(b"\n" + end_line(digest, lines - 1)):
        return {}, None
    file.seek(0)
    line = file.readline()
    head: dict[str, Any] = json.loads(line.decode())
    codes = Kept(file.fileno(), len(line), head["count"])
    if size != len(line) + codes.size + len(last):
        raise ValueError(size)
    for _ in codes.read(file):
        pass
    return head, codes


def _digest(file: BinaryIO, size: int) -> tuple[str, int]:
    """Return the digest of the next bytes, and how many lines they are."""
    digest, lines = hashlib.sha256(), 0
    while size and (data := file.read(min(size, A_READ))):
        digest.update(data)
        lines += data.count(b"\n")
        size -= len(data)
    if size:
        raise ValueError(size)
    return digest.hexdigest(), lines


def _line(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False) + "\n").encode()


def _pending(head: dict[str, Any], codes: Kept) -> Pending:
    expires_at = datetime.fromisoformat(head["expires_at"]) if head["expires_at"] else None
    batch = Batch(
        request_id=head["request_id"],
        actor=head["actor"],
        created_at=datetime.fromisoformat(head["created_at"]),
        terms=Terms(head["points"], expires_at, head["note"]),
        count=head["count"],
        codes=codes,
    )
    return Pending(batch, **{f.name: head[f.name] for f in fields(Pending) if f.name != "batch"})
