"""The format of a batch that is taken up again: the one it was asked for in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from batches import BOTH_WAYS, line, stored
from faults.aftermath import BEFORE, CODES, EITHER, Arm, armed, killed, pending_of, recover
from hostile import failure
from waiting import await_gone

if TYPE_CHECKING:
    from databases import Database
    from tool import Invite


@EITHER
@BOTH_WAYS
@pytest.mark.parametrize(
    "words",
    [["--format", "csv"], ["--output", "o.csv"], ["--format", "table"], ["--bom"], ["--raw"]],
)
def test_another_format(
    invite: Invite, database: Database, login: str, arm: Arm, words: list[str]
) -> None:
    """A batch is written as it was asked for; whoever asks for something else is told so."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, login, arm)
    done = invite("generate", "--resume", str(pending_of(path)), *words, login=login)
    assert (2, False, True) == (done.exit_code, path.exists(), pending_of(path).exists())
    told = "bad input: this batch is written as jsonl, as it was asked for; nothing was changed"
    assert told == failure(done)[0]
    recover(invite, database, path, login)
    assert path.exists()


@pytest.mark.parametrize("words", [["--bom"], ["--raw"], ["--bom", "--raw"]])
def test_another_csv(invite: Invite, database: Database, words: list[str]) -> None:
    """Nor does csv get a mark or lose its guard that it was not asked for with."""
    path = invite.folder / "codes.csv"
    killed(invite, path, "admin_runtime", BEFORE)
    await_gone(database)
    resume = ("generate", "--resume", str(pending_of(path)))
    told = "bad input: this batch is written as csv, as it was asked for; nothing was changed"
    for form in ((), ("--format", "csv")):
        done = invite(*resume, *form, *words)
        assert (2, told, False) == (done.exit_code, failure(done)[0], path.exists())
    assert (0, True) == (invite(*resume, "--format", "csv").exit_code, path.exists())


@pytest.mark.parametrize("words", [[], ["--raw"], ["--bom"], ["--raw", "--bom"]])
def test_the_same_csv(invite: Invite, database: Database, words: list[str]) -> None:
    """What the batch was asked for with may be said again, in whole or in part."""
    path = invite.folder / "codes.csv"
    asked = ("--note", "=1", "--output", str(path), "--raw", "--bom")
    assert -9 == invite(*line(CODES, 7, *asked), env=armed(BEFORE)).exit_code
    await_gone(database)
    done = invite("generate", "--resume", str(pending_of(path)), *words)
    assert (0, CODES) == (done.exit_code, stored(database)), done.stderr
    written = path.read_bytes()
    assert (True, CODES) == (written.startswith(b"\xef\xbb\xbf"), written.count(b",=1\n"))


def test_standard_output_is_no_file(invite: Invite, database: Database) -> None:
    """A batch goes into its file; whoever asks for standard output is told so."""
    path = invite.folder / "codes.jsonl"
    killed(invite, path, "admin_runtime", BEFORE)
    await_gone(database)
    done = invite("generate", "--resume", str(pending_of(path)), "--output", "-")
    told = "bad input: --resume makes a file, and standard output is none; nothing was changed"
    hint = "hint: leave --output out, or name another file by it"
    assert (2, "", told, hint) == (done.exit_code, done.stdout, *failure(done))
    assert (0, False) == (stored(database), path.exists())
