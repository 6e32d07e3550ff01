"""Every failure a user can meet: class, exit code and the word that opens its line."""

from __future__ import annotations

NOTHING_CHANGED = "nothing was changed"
QUOTES = "a text of several words, such as a note, stands in quotes"


class InviteError(Exception):
    """Base of all failures that are told to a person; never raised itself.

    Args:
        message: What is true now, what happened to the codes. One line, no secret in it.
        hint: What to do next, or None where the message says it all.

    Attributes:
        transient: Whether the same may succeed a moment later, nothing having been done.
    """

    exit_code = 1
    word = "failed"
    transient = False

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def reason(self) -> str:
        """The message without its word on the codes, for where something else is true of them."""
        return self.message.replace(f"; {NOTHING_CHANGED}", "")


class Failed(InviteError):
    """What has no rule of its own, an unwritable result, a check that did not pass."""


class BadInput(InviteError):
    """A wrong command, setting or file, or a used request id with other terms; nothing was done."""

    exit_code = 2
    word = "bad input"


class NotFound(InviteError):
    """Nothing that was asked for exists; where `revoke` or `update` names codes, that is 4."""

    exit_code = 3
    word = "not found"


class Conflict(InviteError):
    """A named code is busy, gone, refused or in another state; a request id was used."""

    exit_code = 4
    word = "conflict"


class Unsupported(InviteError):
    """This table or this login lacks what the command needs; nothing was changed."""

    exit_code = 5
    word = "unsupported"


class Denied(InviteError):
    """The server or the actor rule refused."""

    exit_code = 6
    word = "denied"


class Unavailable(InviteError):
    """The database cannot be reached, or ended the connection."""

    exit_code = 7
    word = "unavailable"


class Busy(InviteError):
    """Others hold what the command needs, or two heavy jobs are running already."""

    exit_code = 8
    word = "busy"


class OverLimit(InviteError):
    """One of the tool's own limits would be exceeded; nothing was changed."""

    exit_code = 9
    word = "over a limit"


class OutcomeUnknown(InviteError):
    """COMMIT was sent and its answer is not known; run the command that the hint names."""

    exit_code = 10
    word = "unknown"


class Stopped(InviteError):
    """Ctrl-C."""

    exit_code = 130
    word = "stopped"


class HungUp(Stopped):
    """SIGHUP: the terminal was closed."""

    exit_code = 129


class Terminated(Stopped):
    """SIGTERM."""

    exit_code = 143


def failures() -> list[type[InviteError]]:
    """Return every class of failure, by exit code."""
    kinds = [*InviteError.__subclasses__(), *Stopped.__subclasses__()]
    return sorted(kinds, key=lambda kind: kind.exit_code)


class TerminationSignal(BaseException):
    """Raised where SIGTERM or SIGHUP arrives, as KeyboardInterrupt is for Ctrl-C."""


class HangUpSignal(TerminationSignal):
    """Raised where SIGHUP arrives."""


def stopped(stop: BaseException, truth: str, *, hint: str | None = None) -> Stopped:
    """Return the failure of a command that a signal ended."""
    if isinstance(stop, HangUpSignal):
        return HungUp(f"stopped by SIGHUP; {truth}", hint=hint)
    if isinstance(stop, TerminationSignal):
        return Terminated(f"stopped by SIGTERM; {truth}", hint=hint)
    return Stopped(f"stopped by Ctrl-C; {truth}", hint=hint)
