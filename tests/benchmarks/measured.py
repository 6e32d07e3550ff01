"""Runs one command, and writes what it spent as JSON to a descriptor.

A small process of its own: the peak memory that the system reports for a command begins with that
of the process which started it, and a test run is larger than the tool.
"""

from __future__ import annotations

import json
import os
import sys
import time


def main(descriptor: int, *command: str) -> None:
    """Run the command to its end; write wall and processor seconds, peak bytes, exit status."""
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - takes no name
    begin = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ)
    _, status, used = os.wait4(pid, 0)
    spent = {
        "seconds": time.perf_counter() - begin,
        "computed": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }
    told = {"exit": os.waitstatus_to_exitcode(status), "spent": spent}
    os.write(descriptor, json.dumps(told).encode())


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
