"""libpq's service file: what is wrong with it is told as its matter, and nothing of it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from connecting import BAD, BRIEF, ODD, PIECES
from hostile import failure

if TYPE_CHECKING:
    from tool import Invite

UNKNOWN: Final = "the service is not in the service file"
UNUSABLE: Final = "the service file is not there, or holds a line that libpq does not know"
FILES: Final = {
    "no file": (None, UNUSABLE),
    "no such service": ("[other]\nhost=127.0.0.1\n", UNKNOWN),
    "unknown key": (f"[beta]\nhost=127.0.0.1\npasswrod={ODD}\n", UNUSABLE),
    "no key": (f"[beta]\n{ODD}\n", UNUSABLE),
    "nested": (f"[beta]\nservice={ODD}\n", UNUSABLE),
    "a line that is too long": (f"[beta]\npassword={ODD * 400}\n", UNUSABLE),
}


@pytest.mark.parametrize("by_url", [True, False], ids=["url", "variable"])
@pytest.mark.parametrize("name", FILES)
def test_service_file(invite_alone: Invite, name: str, *, by_url: bool) -> None:
    """A mistake there is bad input, and no server is blamed that was never asked."""
    text, told = FILES[name]
    path = invite_alone.home / "certificate read-only.conf"  # words of other failures
    if text is not None:
        path.write_text(text)
    named = {"INVITE_DATABASE_URL": "postgresql://?service=beta"} if by_url else {}
    env = {"PGSERVICEFILE": str(path), "PGSERVICE": None if by_url else "beta", **named}
    done = invite_alone("stats", env=env, settings=BRIEF)
    said, hint = failure(done)
    assert (BAD, f"bad input: cannot connect: {told}; nothing was changed") == (
        done.exit_code,
        said,
    )
    assert ("~/.pg_service.conf" in (hint or ""), 2) == (True, len(done.stderr.splitlines()))
    assert [] == [piece for piece in PIECES if piece in done.stderr.lower()]
