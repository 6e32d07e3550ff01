"""What the tests of the sandbox share: a data folder of their own, and its owner's hand."""

from __future__ import annotations

from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING

import psycopg
import pytest

from invite_admin import sandbox
from invite_admin.sandbox import world
from invite_admin.sandbox.server import Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def data_folder(path: Path) -> Iterator[Path]:
    """Let the sandbox live in this folder, and remove it at the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(path))
        yield path
        server().remove()


def server() -> Server:
    """Return the server of the sandbox that the commands would use."""
    return Server(sandbox._folder())


def hash_of(name: str) -> str:
    """Return a hash that stands for a code."""
    return sha256(name.encode()).hexdigest()


def as_owner(statement: str) -> None:
    """Change the sandbox's data as its superuser."""
    with psycopg.connect(server().superuser_url(world.DATABASE)) as connection:
        connection.execute(statement.encode())


def add_code(name: str, columns: str = "", values: str = "") -> str:
    """Add a code of 10 points and return its hash; further columns begin with a comma."""
    as_owner(
        f"insert into {world.TABLE} (code_hash, code_mask, credits{columns})"
        f" values ('{hash_of(name)}', 'JYOTISH-****-{name}', 10{values})"
    )
    return hash_of(name)
