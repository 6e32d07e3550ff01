"""Forks the tool: each call is a process of its own, without the second that imports take.

Run with the number of a socket. Each message there is one byte with four descriptors: the call's
own socket and its standard streams. The new process reads from the call's socket how to begin;
whoever sent it reads there the process's id, then its wait status.
"""

from __future__ import annotations

import atexit
import codecs
import gc
import importlib
import io
import json
import os
import pkgutil
import select
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from typing import Any, Final

HEAVY: Final = ("psycopg", "sqlalchemy.dialects.postgresql.psycopg", "tabulate", "wcwidth")
ENCODINGS: Final = ("utf-8-sig", "unicode_escape", "ascii", "latin-1", "idna")
NUMBER: Final = struct.Struct("i")


def load() -> None:
    """Import all that a command may need, and keep it out of the garbage collector's way.

    A module that cannot be imported fails in the processes that need it.
    """
    package = importlib.import_module("invite_admin")
    found = pkgutil.walk_packages(package.__path__, "invite_admin.", onerror=lambda _: None)
    ours = [module.name for module in found if not module.name.endswith("__main__")]
    for name in (*HEAVY, *ours):
        with suppress(Exception):
            importlib.import_module(name)
    # Another user's process may not reach the interpreter's files, or ours, any more.
    importlib.import_module("invite_admin.commands")._modules()
    for name in ENCODINGS:
        codecs.lookup(name)
    gc.collect()
    gc.freeze()


def serve(control: socket.socket) -> socket.socket | None:
    """Fork once a message.

    Returns:
        In each new process its call's socket, with the standard streams in place; in the first
        process None, when the other side of ``control`` is closed.
    """
    woken, waker = socket.socketpair()
    for end in (woken, waker):
        end.setblocking(False)  # noqa: FBT003 - takes no name
    signal.set_wakeup_fd(waker.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests; they end this process
    running: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([control, woken], [], [])
        if woken in ready:
            woken.recv(4096)
            _report(running)
        if control in ready:
            message, descriptors, _, _ = socket.recv_fds(control, 1, 4)
            if not message:
                return None
            call = socket.socket(fileno=descriptors[0])
            pid = os.fork()
            if not pid:
                _leave(control, woken, waker, *running.values())
                _take(descriptors[1:])
                return call
            running[pid] = call
            call.sendall(NUMBER.pack(pid))
            for number in descriptors[1:]:
                os.close(number)


def begin(call: socket.socket) -> None:
    """Make this process what a new interpreter in its place would be."""
    with call, call.makefile("rb") as told:
        wanted: dict[str, Any] = json.load(told)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(wanted["folder"])
    if wanted["umask"] is not None:
        os.umask(wanted["umask"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    time.tzset()
    sys.argv = ["invite", *wanted["arguments"]]
    for number in wanted["closed"]:
        os.close(number)
    _open_streams(wanted["closed"])
    if wanted["user"] is not None:
        os.setgroups([])
        os.setgid(wanted["user"])
        os.setuid(wanted["user"])


def end(code: object) -> None:
    """End without taking the interpreter apart, which takes longer than most commands.

    Returns where that could tell something: the output cannot be flushed, or it is no number.
    """
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        if isinstance(code, int):
            os._exit(code)


def _report(running: dict[int, socket.socket]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with running.pop(pid) as call, suppress(OSError):  # nobody may wait any more
            call.sendall(NUMBER.pack(status))


def _leave(*sockets: socket.socket) -> None:
    signal.set_wakeup_fd(-1)
    for one in sockets:
        one.close()


def _take(descriptors: list[int]) -> None:
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    for descriptor in descriptors:
        os.close(descriptor)


def _open_streams(closed: list[int]) -> None:
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        made = None if number in closed else _stream(number, mode, getattr(sys, name))
        setattr(sys, name, made)
        setattr(sys, f"__{name}__", made)


def _stream(number: int, mode: str, before: io.TextIOWrapper) -> io.TextIOWrapper:
    """Open a standard stream as the interpreter opened this process's own."""
    return io.TextIOWrapper(
        open(number, f"{mode}b", closefd=False),
        encoding=before.encoding,
        errors=before.errors,
        newline="\n",
        line_buffering=number == 2 or os.isatty(number),
    )


if __name__ == "__main__":
    load()
    with socket.socket(fileno=int(sys.argv[1])) as control:
        call = serve(control)
    if call is not None:
        begin(call)
        from invite_admin.cli import main

        try:
            main()
        except SystemExit as ended:
            end(ended.code)
            raise
