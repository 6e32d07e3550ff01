"""What the tests of `check` share: its object, and the findings in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tool import Invite


def told(invite: Invite, exit_code: int = 0, **how: Any) -> dict[str, Any]:  # noqa: ANN401 - as the tool is called
    """Return the object of `check`, which must end with this exit status."""
    done = invite("check", "--format", "json", **how)
    assert exit_code == done.exit_code, done.stderr
    found: dict[str, Any] = done.json
    return found


def codes(found: dict[str, Any]) -> list[str]:
    """Return the codes of the findings, in their order."""
    return [finding["code"] for finding in found["findings"]]


def finding(found: dict[str, Any], code: str) -> dict[str, str]:
    """Return the one finding of this code."""
    [one] = [finding for finding in found["findings"] if finding["code"] == code]
    return dict(one)
