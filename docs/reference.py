"""Writes `reference.md` from the tool itself; with --check, fails where the page is stale."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import click

from invite_admin import columns, errors
from invite_admin.cli import cli
from invite_admin.commands import check
from invite_admin.keys import known_in, known_settings
from invite_admin.model import Outcome
from invite_admin.settings import Limits, Smoke, Timeouts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from invite_admin.report import Column

_DEFAULTS = {False: "false", (): "none", None: "none: no such limit"}
WIDTH = 78  # columns that Click fills of a terminal of 80
OF_REVOKE = (Outcome.REVOKED, Outcome.WOULD_REVOKE)
OF_UPDATE = (Outcome.UPDATED, Outcome.WOULD_UPDATE, Outcome.UNCHANGED)
PAGE = Path(__file__).with_name("reference.md")
KEYS: dict[str, Sequence[Column]] = {
    "generate": columns.GENERATED,
    "list": columns.CODE,
    "show": columns.SHOWN,
    "redemptions": columns.REDEEMED,
    "revoke": columns.CHANGED,
    "update": columns.UPDATED,
    "stats": columns.STATS,
    "check": check.COLUMNS,
    "smoke, one object a crowd": columns.SMOKE,
    "sandbox status": columns.SANDBOX,
    "sandbox redeem": columns.SANDBOX_REDEEMED,
}


def page() -> str:
    """Return the whole page."""
    parts = [
        "# Reference",
        "Made by `python docs/reference.py` from the tool itself.",
        "## Commands",
        *_commands(cli, "invite"),
        "## Keys of csv, json and jsonl",
        (
            "Always all keys, null where unknown. Times are RFC 3339 with their offset; codes, "
            "masks, ids and notes are text; points, counts, positions and shares are numbers."
        ),
        "\n".join(f"- {name}: `{' '.join(c.key for c in found)}`" for name, found in KEYS.items()),
        (
            f"The `outcome` of `revoke` is one of `{_outcomes(OF_UPDATE)}`, that of `update` one "
            f"of `{_outcomes(OF_REVOKE)}`. With `refused` the database does not let the code be "
            "changed, by a rule or a trigger of the table; `detail` has the SQLSTATE."
        ),
        (
            "Times of `smoke` are in seconds: `first` to the first answer, `whole` with the "
            "tries after busy, each for half of the people, for 95 of 100, and for the last."
        ),
        (
            "Of the capabilities, `read` is to list and count codes, `lookup` to find one by its "
            "text, which takes the right to read the hash; the others are the commands of that "
            "name."
        ),
        (
            "A capability of `check` has `name available via reason`, a finding `level code "
            "message hint`, `gate` has `running running_at_most waiting waiting_at_most full`, "
            "and each of `limits` has `limit used left`, null where none is set or not counted."
        ),
        "## Exit codes",
        _exit_codes(),
        "## Settings",
        _settings(),
        (
            "Timeouts are in seconds. Of the environment count `INVITE_DATABASE_URL` (the "
            "database; else libpq's own variables), `INVITE_CONFIG` (the settings file), "
            "`INVITE_ACTOR` and `INVITE_WRITE_ROLE` (before the settings), and "
            "`INVITE_SMOKE_DATABASE_URL` (where the people of `smoke` connect)."
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _commands(command: click.Command, name: str) -> Iterator[str]:
    context = click.Context(command, info_name=name, terminal_width=WIDTH, **cli.context_settings)
    yield f"### `{name}`\n\n```text\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for word in command.list_commands(context):
            found = command.get_command(context, word)
            if found is not None:
                yield from _commands(found, f"{name} {word}")


def _outcomes(without: Sequence[Outcome]) -> str:
    return " ".join(outcome for outcome in Outcome if outcome not in without)


def _exit_codes() -> str:
    rows = ["| exit | word | when |", "| --- | --- | --- |"]
    rows.append(
        "| 0 | ok | Done; also a list with no rows, or whose reader left, and a watch that Ctrl-C "
        "ended. |"
    )
    for kind in errors.failures():
        meaning = (kind.__doc__ or "").splitlines()[0]
        rows.append(f"| {kind.exit_code} | {kind.word} | {meaning} |")
    return "\n".join(rows)


def _settings() -> str:
    rows = ["| key of `invite.toml` | value | default |", "| --- | --- | --- |"]
    rows += [f"| `{key}` | {form} | {default} |" for key, form, default in known_settings()]
    for section, kind in (("limits", Limits), ("timeouts", Timeouts), ("smoke", Smoke)):
        forms = known_in(section)
        rows += [
            f"| `[{section}] {f.name}` | {forms[f.name]} | {_DEFAULTS.get(f.default, f.default)} |"
            for f in fields(kind)
        ]
    return "\n".join(rows)


def main() -> int:
    """Write the page, or with --check compare it; return the exit status."""
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
    if not current:
        sys.stderr.write(f"{PAGE} is stale; run `python docs/reference.py`\n")
    return 0 if current else 1


if __name__ == "__main__":
    sys.exit(main())
