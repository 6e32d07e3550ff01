"""Where a result goes: what every place has in common, and standard output."""

from __future__ import annotations

import os
import select
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Protocol, TextIO

from invite_admin.bounds import TimeUp, bounded
from invite_admin.errors import Failed, InviteError

if TYPE_CHECKING:
    from collections.abc import Callable


A_WRITE = 4_096  # bytes, which a pipe takes as a whole
HELD_BACK = 65_536  # bytes gathered before they are written
INCOMPLETE = "the result is incomplete"
UNWRITTEN = "the result could not be written"
IDLE = "[timeouts] idle in the settings is the bound"
LIMITED = "others wait while a batch is counted against a limit; write it to a file by --output"
LIMITED_PATIENCE = 5  # seconds in which a reader must take something meanwhile


class ReaderLeft(Exception):
    """The reader of standard output closed its end."""


class Sink(Protocol):
    """Takes the bytes of a result; delivered means taken by the operating system."""

    terminal: bool

    def write(self, data: bytes) -> None:
        """Take some bytes."""

    def flush(self) -> None:
        """Give on what was taken so far; more may come."""

    def finish(self) -> None:
        """Return once every byte was taken."""

    def discard(self) -> None:
        """Take back what can be taken back."""


class StandardOutput:
    """Standard output, whatever it is connected to.

    Args:
        stream: The binary stream.
        patience: Seconds in which a reader must take something.
        say: Told when the reader lets the tool wait.
        bound: What sets the patience, in words.

    Attributes:
        terminal: Whether a person looks at it.
        begun: Whether its reader was given anything.
    """

    begun = False

    def __init__(
        self,
        stream: BinaryIO,
        patience: float,
        say: Callable[[str], None] = lambda _line: None,
        bound: str = IDLE,
    ) -> None:
        self._stream = stream
        self._patience, self._say, self._bound = patience, say, bound
        self._waiting = bytearray()
        self.terminal = stream.isatty()

    def write(self, data: bytes) -> None:
        """Take some bytes.

        Raises:
            ReaderLeft: The reader is gone.
            Failed: They could not be written.
        """
        self._waiting += data
        if len(self._waiting) >= HELD_BACK:
            self.finish()

    def flush(self) -> None:
        """Give on what was taken so far; a reader who is gone is found also where that is nothing.

        Raises:
            ReaderLeft: The reader is gone.
            Failed: Not every byte could be written.
        """
        poll = select.poll()
        poll.register(self._stream, 0)
        if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0)):
            give_up(sys.stdout)
            raise ReaderLeft
        self.finish()

    def finish(self) -> None:
        """Return once every byte was taken.

        Raises:
            ReaderLeft: The reader is gone.
            Failed: Not every byte could be written, or the reader took nothing for too long.
        """
        data = bytes(self._waiting)
        self._waiting.clear()
        try:
            self._give(data)
        except BrokenPipeError:
            give_up(sys.stdout)
            raise ReaderLeft from None
        except (OSError, TimeUp) as error:
            give_up(sys.stdout)
            raise self._failure(error) from None
        except BaseException:
            give_up(sys.stdout)
            raise

    def discard(self) -> None:
        """Drop what no reader has taken yet: at exit, writing it might wait for one for ever."""
        give_up(sys.stdout)

    def _give(self, data: bytes) -> None:
        """Write piece by piece, each for as long as the reader may let it wait."""
        waiting = "waiting for the reader of standard output"
        with bounded(self._patience, self._say, waiting) as anew:
            for start in range(0, len(data) or 1, A_WRITE):
                anew()
                self.begun = self.begun or bool(data)
                self._stream.write(data[start : start + A_WRITE])
                self._stream.flush()

    def _failure(self, error: OSError | TimeUp) -> Failed:
        if isinstance(error, OSError):
            return Failed(f"{UNWRITTEN}: {error.strerror}")
        return Failed(
            f"the reader of standard output took nothing for {self._patience:g} s; {INCOMPLETE}",
            hint=self._bound,
        )


def cut_short(error: InviteError, sink: Sink) -> InviteError:
    """Say of a result that ended too early that its reader was given a part of it."""
    if not isinstance(sink, StandardOutput) or not sink.begun or INCOMPLETE in error.message:
        return error
    return type(error)(f"{error.reason}; {INCOMPLETE}", hint=error.hint)


def give_up(stream: TextIO) -> None:
    """Let the last flush of a broken stream go nowhere, so that it changes no exit status."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
