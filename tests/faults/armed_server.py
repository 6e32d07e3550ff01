"""The fork server, whose processes are armed first: each may be told where to die.

``INVITE_TEST_ARMS`` in a process's environment holds JSON, a list of [place, when, what]:

- place is ``module:name`` of a function; when is ``before`` or ``after``, and which call counts;
- what is ``die`` for SIGKILL; ``commit and die``, with COMMIT sent and its answer not awaited;
  ``write half and die``; or ``wait for PATH``, until there is such a file;
- or what is a number, which then takes the place of ``module:name`` at once.

``INVITE_TEST_STEP`` counts instead: the process dies before its step of this number, where a step
is each call of STEPS, so that a run can be ended at each of them in turn.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

sys.path.insert(0, str(Path(__file__).parent.parent))

import fork_server

WAITS: Final = 30.0  # seconds, at most, for a file
STEPS: Final = (
    "os:open", "os:fsync", "os:link", "os:replace", "os:rename", "os:unlink", "os:close",
    "invite_admin.session:Session.execute", "invite_admin.session:Session.raw",
    "invite_admin.session:Session.commit", "invite_admin.files:NewFile.write",
    "invite_admin.pending:remove", "invite_admin.files:publish",
)  # fmt: skip


def die() -> None:
    """End as after `kill -9`."""
    os.kill(os.getpid(), signal.SIGKILL)


def commit_and_die(session: Any) -> None:  # noqa: ANN401 - the tool's Session
    """Send COMMIT on the session's own connection, and end without its answer."""
    wire = session._driver.pgconn
    wire.send_query(b"COMMIT")
    while wire.flush():
        pass
    die()


def wrap(place: str, around: Callable[..., Any]) -> None:
    """Put ``around(original, *args)`` in the place of a function."""
    holder, name = holder_of(place)
    original = getattr(holder, name)

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the original has it
        return around(original, *args, **kwargs)

    setattr(holder, name, wrapped)


def holder_of(place: str) -> tuple[Any, str]:
    """Return the module or class that holds what is named, and its name there."""
    module, _, path = place.partition(":")
    *outer, name = path.split(".")
    return functools.reduce(getattr, outer, importlib.import_module(module)), name


def arm(place: str, when: str, what: str | float) -> None:
    """Let one function end the process, or give one name another number."""
    if not isinstance(what, str):
        holder, name = holder_of(place)
        setattr(holder, name, what)
        return
    moment, _, number = when.partition(" ")
    left = int(number or 1)

    def around(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - likewise
        nonlocal left
        left -= 1
        if left == 0 and moment == "before":
            act(what, original, args)
        answer = original(*args, **kwargs)
        if left == 0 and moment == "after":
            act(what, original, args)
        return answer

    wrap(place, around)


def act(what: str, original: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Do what was told for this moment."""
    if what == "commit and die":
        commit_and_die(args[0])
    if what == "write half and die":
        file, data = args
        original(file, data[: len(data) // 2])
        file._file.flush()
    if what.startswith("wait for "):
        path, end = Path(what.removeprefix("wait for ")), time.monotonic() + WAITS
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.01)
        return
    die()


def count(number: int) -> None:
    """Let the process die before its step of this number."""
    left = number

    def around(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - likewise
        nonlocal left
        left -= 1
        if left == 0:
            die()
        return original(*args, **kwargs)

    for place in STEPS:
        wrap(place, around)


def main() -> None:
    """Serve; each process is armed, then it is the tool."""
    fork_server.load()
    with socket.socket(fileno=int(sys.argv[1])) as control:
        call = fork_server.serve(control)
    if call is None:
        return
    fork_server.begin(call)
    arms, step = os.environ.pop("INVITE_TEST_ARMS", "[]"), os.environ.pop("INVITE_TEST_STEP", "0")
    for place, when, what in json.loads(arms):
        arm(place, when, what)
    if int(step):
        count(int(step))
    tool = importlib.import_module("invite_admin.cli")
    try:
        tool.main()
    except SystemExit as ended:
        fork_server.end(ended.code)
        raise


if __name__ == "__main__":
    main()
