"""What the tests of connections share: an odd password, and a command that cannot connect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from databases import make_url
from hostile import failure
from psycopg.conninfo import conninfo_to_dict

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite, Result

ODD: Final = "zebra@quark/vortex:lynx?nymph#onyx%ibex[gnu] yak"
PIECES: Final = ("zebra", "quark", "vortex", "lynx", "nymph", "onyx", "ibex", "gnu", "yak")
BAD, DENIED, UNAVAILABLE = 2, 6, 7
BRIEF: Final = {"timeouts": {"connect": 1}}
"""Settings for a server that cannot be reached: it is waited for no longer than needs be."""


def fail_to_connect(invite: Invite, url: str, **settings: object) -> tuple[Result, str]:
    """Run a command on this URL, which must fail; return its result and its one line.

    The line comes without its last part, which says that nothing was changed.
    """
    done = invite("stats", env={"INVITE_DATABASE_URL": url}, settings={**BRIEF, **settings})
    line, _ = failure(done)
    assert "" == done.stdout
    assert [] == [piece for piece in PIECES if piece in done.stderr.lower()]
    return done, line.removesuffix("; nothing was changed")


def changed(database: Database, **parameters: str) -> str:
    """Return the operator's URL with other parameters."""
    given = conninfo_to_dict(database.url("admin_runtime"))
    return make_url({k: str(v) for k, v in {**given, **parameters}.items() if v is not None})
