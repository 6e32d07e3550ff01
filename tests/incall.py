"""The tool run inside the tests' own process, where its parts can be watched or given a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from invite_admin.cli import run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tool import Invite


def call(
    invite: Invite,
    *args: str,
    login: str = "admin_runtime",
    env: Mapping[str, str | None] | None = None,
    settings: Mapping[str, object] | None = None,
) -> int:
    """Run one command in this process and return its exit status."""
    with pytest.MonkeyPatch.context() as patch:
        environment = invite.prepare(login=login, env=env, settings=settings)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.chdir(invite.folder)
        return run(args)
