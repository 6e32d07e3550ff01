"""Reads a page's blocks, and runs them in order as an operator would, in the sandbox.

A page marks a command as `sh`, what is pasted into it as `stdin`, and the output to expect as
`text exit=N`. A comment `test: redeem NN EMAIL` or `test: generate N NOTE` is the part of the
story that happens elsewhere. `JYOTISH-XXXX-XXNN` is the NNth code of the first batch.
"""

from __future__ import annotations

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

URL_LINE: Final = (
    "export INVITE_DATABASE_URL='postgresql://YOUR_LOGIN@HOST/DATABASE?sslmode=verify-full'"
)
PYTHON: Final = shlex.quote(sys.executable)
PLACEHOLDER: Final = re.compile(r"JYOTISH-XXXX-XX(\d\d)")
SYMBOL: Final = "[A-HJ-NP-Z2-9]"
PATTERNS: Final = (
    (r"JYOTISH-\*\*\*\*-XX\d\d", rf"JYOTISH-\*{{4}}-{SYMBOL}{{4}}"),
    (r"0{8}-0{4}-0{4}-0{4}-0{12}", r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    (
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00",
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00",
    ),
    (r"\d{4}-\d\d-\d\d \d\d:\d\dZ", r"\d{4}-\d\d-\d\d \d\d:\d\dZ"),
    (r"\bSERVER\b", r"[^\n]+?"),
    (r"\bVERSION\b", r"[0-9][0-9.]*"),
    (r"\b(?:DATABASE|YOUR_LOGIN|YOUR_EMAIL|YOUR_WRITE_ROLE)\b", r"\S+"),
    (r"\binvite\.toml\b", r"\S*invite\.toml"),
    (r"-{5,}", "-{5,}"),
)
TOKEN: Final = re.compile("|".join(f"({found})" for found, _ in PATTERNS))


@dataclass(frozen=True)
class Step:
    """One command of a page.

    Args:
        command: The block as it is written.
        stdin: What is pasted; empty for nothing.
        expected: The output to expect; None where the page promises none.
        exit_code: The exit status to expect.
        before: What happens elsewhere first.
    """

    command: str
    stdin: str = ""
    expected: str | None = None
    exit_code: int = 0
    before: tuple[str, ...] = ()


def steps_of(page: str) -> list[Step]:
    """Return the commands of a page, in order, each with what belongs to it."""
    steps: list[Step] = []
    before: list[str] = []
    for test, info, body in re.findall(
        r"^<!-- test: (.*?) -->$|^```(\S+(?: exit=\d+)?)\n(.*?)^```$",
        page,
        re.MULTILINE | re.DOTALL,
    ):
        if test:
            before.append(test)
        elif info == "sh":
            steps.append(Step(body.rstrip("\n"), before=tuple(before)))
            before = []
        elif info == "stdin":
            last = steps.pop()
            steps.append(Step(last.command, body, before=last.before))
        elif info.startswith("text exit="):
            last, status = steps.pop(), int(info.partition("=")[2])
            steps.append(Step(last.command, last.stdin, body, status, last.before))
    return steps


def pattern(expected: str) -> str:
    """Return what an output must match: word for word but for codes, ids, instants and names."""
    parts, end = [], 0
    for match in TOKEN.finditer(expected):
        parts.append(re.escape(expected[end : match.start()]))
        parts.append(PATTERNS[(match.lastindex or 1) - 1][1])
        end = match.end()
    return "".join([*parts, re.escape(expected[end:])])


@dataclass
class Operator:
    """Somebody who follows a page in the sandbox.

    Args:
        folder: Where they work.
        environment: Their variables.
        url: The sandbox's URL, which stands in for the page's.
    """

    folder: Path
    environment: dict[str, str]
    url: str
    exports: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)

    def follow(self, step: Step) -> tuple[int, str]:
        """Do what a step says; return the exit status and all that the terminal shows."""
        for line in step.before:
            self._elsewhere(line)
        command = step.command.replace(URL_LINE, f"export INVITE_DATABASE_URL='{self.url}'")
        if command.startswith("export "):
            self.exports.append(command)
        done = self._bash("\n".join([*self.exports, command]), self._filled(step.stdin))
        self._remember()
        return done.returncode, done.stdout

    def _elsewhere(self, line: str) -> None:
        verb, first, rest = line.split(" ", 2)
        if verb == "redeem":
            command = f"invite sandbox redeem - --as {rest}"
            done = self._bash(command, self.codes[int(first) - 1])
        else:
            options = f'--count {first} --points 100 --note "{rest}"'
            done = self._bash(f"invite --sandbox generate {options}", "")
        assert (0, line) == (done.returncode, line), done.stdout

    def _filled(self, text: str) -> str:
        return PLACEHOLDER.sub(lambda match: self.codes[int(match[1]) - 1], text)

    def _remember(self) -> None:
        for path in self.folder.glob("*.csv"):
            with path.open(encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            if not self.codes and rows and "code" in rows[0]:
                self.codes = [row["code"] for row in rows]

    def _bash(self, script: str, stdin: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/bash", "-c", script],
            cwd=self.folder,
            env=self.environment,
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )


def operator() -> Iterator[Operator]:
    """Yield an operator in front of a fresh sandbox of step 3; take all away afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="page-"))  # short: a settings path must fit a line
    environment = {
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder / "data"),
        "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
        "LANG": "C.UTF-8",
    }
    made = Operator(folder, environment, "")
    try:
        made._bash("invite sandbox reset", "")
        asked = "from invite_admin import sandbox; print(sandbox.open_sandbox(print).url)"
        made.url = made._bash(f"{PYTHON} -c '{asked}'", "").stdout.splitlines()[-1]
        settings = 'actor = "ops@example.com"\nwrite_role = "service_role"\n'
        (folder / "invite.toml").write_text(settings, encoding="utf-8")
        yield made
    finally:
        remove = "from invite_admin.sandbox import _folder; from invite_admin.sandbox.server"
        made._bash(f"{PYTHON} -c '{remove} import Server; Server(_folder()).remove()'", "")
        shutil.rmtree(folder, ignore_errors=True)
