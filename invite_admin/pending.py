"""A batch as a file while it is not yet known to be true: ``FILE.pending``.

JSON lines: the terms, one line a code, and last the count with a digest of all before it. A file
without its last line was never finished, and then no COMMIT was sent.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from invite_admin import __version__
from invite_admin.codes import Secret, mask, read_name, shown_path
from invite_admin.errors import BadInput, Failed
from invite_admin.files import Hold, sync_folder, write_new
from invite_admin.model import Batch, Minted, Terms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SUFFIX = ".pending"


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


def beside(path: Path) -> Path:
    """Return the pending file of a result file."""
    return path.with_name(path.name + SUFFIX)


def write(path: Path, pending: Pending, hold: Hold) -> None:
    """Write and sync a pending file that does not exist yet, and its folder; then hold it.

    Raises:
        BadInput: There is such a file.
        Failed: It cannot be written.
    """
    write_new(path, "".join(_lines(pending)).encode())
    hold.take(path)


def rewrite(path: Path, pending: Pending, hold: Hold) -> None:
    """Replace a pending file as a whole, by one that is held as well.

    Raises:
        Failed: It cannot be written.
    """
    new = path.with_name(path.name + ".new")
    try:
        new.unlink(missing_ok=True)
        write_new(new, "".join(_lines(pending)).encode())
        hold.take(new)
        new.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise Failed(f"{shown_path(path)}: cannot be written: {error.strerror}") from None


def remove(path: Path) -> None:
    """Remove a pending file, if it is there."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        sync_folder(path.parent)


def require(path: Path) -> None:
    """Refuse a pending file that is not there, with a word on the result that may be.

    Raises:
        BadInput: It is not there.
    """
    if not path.exists():
        made = path.with_name(path.name.removesuffix(SUFFIX))
        raise BadInput(
            f"{shown_path(path)} is not there; nothing was done",
            hint=f"{shown_path(made)} is there; a finished batch needs no --resume"
            if made.exists()
            else None,
        )


def read(path: Path) -> Pending:
    """Read a pending file and check that it is whole and unchanged.

    Raises:
        BadInput: It cannot be read, is not whole, or was changed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadInput(f"{shown_path(path)}: cannot be read: {reason}; nothing was done") from None
    *lines, last = text.splitlines(keepends=True) or [""]
    try:
        end = json.loads(last)
        if end != _end("".join(lines), len(lines) - 1):
            raise BadInput(f"{shown_path(path)} was changed since it was written; nothing was done")
        return _pending([json.loads(line) for line in lines])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadInput(
            f"{shown_path(path)} is no whole pending file; nothing was done",
            hint="keep it where `generate` said that its codes are stored; a run that ended while "
            "it wrote this file stored nothing, and `invite list` shows no such batch",
        ) from None


def _lines(pending: Pending) -> Iterator[str]:
    batch = pending.batch
    head = {
        **{key: value for key, value in asdict(pending).items() if key != "batch"},
        "request_id": batch.request_id,
        "actor": batch.actor,
        "created_at": batch.created_at.isoformat(),
        "count": len(batch.codes),
        "points": batch.terms.points,
        "expires_at": batch.terms.expires_at.isoformat() if batch.terms.expires_at else None,
        "note": batch.terms.note,
    }
    lines = [_line(head), *(_line({"id": c.id, "code": str(c.code)}) for c in batch.codes)]
    yield from lines
    yield _line(_end("".join(lines), len(batch.codes)))


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _end(text: str, count: int) -> dict[str, Any]:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"count": count, "sha256": digest}


def _pending(lines: list[dict[str, Any]]) -> Pending:
    head, *codes = lines
    expires_at = datetime.fromisoformat(head["expires_at"]) if head["expires_at"] else None
    minted = tuple(_minted(line) for line in codes)
    if head["count"] != len(minted):
        raise ValueError(head["count"])
    return Pending(
        batch=Batch(
            request_id=head["request_id"],
            actor=head["actor"],
            created_at=datetime.fromisoformat(head["created_at"]),
            terms=Terms(head["points"], expires_at, head["note"]),
            codes=minted,
        ),
        **{k: head[k] for k in ("server", "database", "cluster", "form", "raw", "bom", "tool")},
    )


def _minted(line: dict[str, Any]) -> Minted:
    code = line["code"]
    if read_name(code) is None:
        raise ValueError
    return Minted(line["id"], Secret(code), mask(code))
