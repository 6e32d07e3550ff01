"""What the tests of signals share: the two signals, and a command that one of them ends."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

import pytest
from tool import TIMEOUT

if TYPE_CHECKING:
    from subprocess import Popen

PATIENT: Final = {"timeouts": {"lock": 600, "statement": 600, "idle": 600}}
SIGNALS: Final = pytest.mark.parametrize(
    ("number", "exit_code", "named"),
    [(signal.SIGINT, 130, "Ctrl-C"), (signal.SIGTERM, 143, "SIGTERM")],
    ids=["ctrl-c", "sigterm"],
)


def stop(process: Popen[bytes], number: int) -> str:
    """Send a signal and wait for the end, reading nothing meanwhile; return the last line."""
    process.send_signal(number)
    process.wait(TIMEOUT)
    assert process.stderr is not None
    return process.stderr.read().decode().splitlines()[-1]
