"""Where the process begins: Ctrl-C is told in one line, also before the rest is loaded."""

from __future__ import annotations

import atexit
import gc
import sys
from typing import NoReturn

_BETWEEN_LOOKS = 50_000  # objects


def main() -> NoReturn:
    """Load the tool and run it."""
    _look_rarely_for_garbage()
    try:
        from invite_admin.cli import main as run  # noqa: PLC0415 - loading takes long enough to stop
    except KeyboardInterrupt:
        sys.stderr.write("invite: stopped: stopped by Ctrl-C; nothing was changed\n")
        sys.exit(130)
    run()


def _look_rarely_for_garbage() -> None:
    """Spare a third of the time of a short command.

    What is loaded stays to the end, yet Python looks through it for garbage after every 700 new
    objects, and through all of it once more when the process ends.
    """
    gc.set_threshold(_BETWEEN_LOOKS)
    atexit.register(gc.freeze)
