"""Where the process begins: Ctrl-C is told in one line, also before the rest is loaded."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Load the tool and run it."""
    try:
        from invite_admin.cli import main as run  # noqa: PLC0415 - loading takes long enough to stop
    except KeyboardInterrupt:
        sys.stderr.write("invite: stopped: stopped by Ctrl-C; nothing was changed\n")
        sys.exit(130)
    run()
