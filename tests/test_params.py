"""Values of options: what is taken, and what is refused before connecting without quoting it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import PATIENT

from invite_admin import params, paths
from invite_admin.errors import OverLimit
from invite_admin.run import Run
from invite_admin.settings import Limits, Settings
from invite_admin.whens import NEVER, Meaning

CODE: Final = "JYOTISH-ABCD-EFGH"
ID: Final = "0F8FAD5B-d9cb-469f-a165-70867728950e"


def convert(kind: click.ParamType[Any], text: str, limits: Limits | None = None) -> Any:  # noqa: ANN401 - each type's own
    """Return what an option of this type makes of a text."""
    run = Run(None, sandbox=False, user_folder=Path())
    run.__dict__["preferences"] = Settings(limits=limits or Limits())
    context = click.Context(click.Command("test"), obj=run)
    return kind.convert(text, click.Option(["--it"]), context)


def refusal(kind: click.ParamType[Any], text: str) -> str:
    """Return why an option of this type refuses a text."""
    with pytest.raises(paths.Refusal) as caught:
        convert(kind, text)
    return caught.value.message


@pytest.mark.parametrize("kind", [params.COUNT, params.POINTS, params.NUMBER])
@pytest.mark.parametrize(
    "text",
    [
        *["", "0", "00", "-1", "+1", "1.0", "1.5", "1e3", "0x1F", "1_000", "1,000"],
        *[
            " 1",
            "1 ",
            "1\n",
            "one",
            "NaN",
            "inf",
            "\u0661",
            "\uff11",
            "\u00b2",
            "\u2460",
            "\u22121",
        ],
    ],
)
def test_no_whole_numbers(kind: params.WholeNumber, text: str) -> None:
    """Fractions, signs, exponents, blanks and other scripts' digits are refused."""
    assert "must be a whole number from 1 on, in the digits 0-9" == refusal(kind, text)


def test_limits() -> None:
    """Counts and points end at the settings' limits, which the message names."""
    limits = Limits(points_per_code=7_000, codes_per_batch=8)
    assert (7_000, 8) == (
        convert(params.POINTS, "7000", limits),
        convert(params.COUNT, "008", limits),
    )
    with pytest.raises(OverLimit) as caught:
        convert(params.POINTS, "7001", limits)
    assert "at most 7,000 points a code are allowed; nothing was changed" == caught.value.message
    with pytest.raises(OverLimit) as caught:
        convert(params.COUNT, "9", limits)
    assert "at most 8 codes in a batch are allowed; nothing was changed" == caught.value.message
    assert 9 == caught.value.exit_code


@pytest.mark.parametrize("digits", [19, 20, 21, 5_000])
def test_numbers_far_over_the_limits(digits: int) -> None:
    """However many digits a number has, the limit is what it is over."""
    with pytest.raises(OverLimit) as caught:
        convert(params.COUNT, "9" * digits)
    assert (
        "at most 10,000 codes in a batch are allowed; nothing was changed" == caught.value.message
    )


def test_other_numbers_have_no_limit() -> None:
    """A limit of rows is bounded by what PostgreSQL holds only."""
    assert 999_999_999_999_999_999 == convert(params.NUMBER, "9" * 18)
    assert 2**63 - 1 == convert(params.NUMBER, f"00{2**63 - 1}")
    told = "must be a whole number from 1 to 9,223,372,036,854,775,807"
    for text in (str(2**63), "9" * 19, "9" * 20, "1" + "0" * 5_000):
        assert told == refusal(params.NUMBER, text)
    assert refusal(params.CROWD_SIZE, "9" * 5_000) == refusal(params.CROWD_SIZE, "2")


@pytest.mark.parametrize(
    "text", ["friday testers", "\u6f22\u5b57", "\U0001f642", "007", "=1+1", "JYOTISH-ABCD"]
)
def test_notes(text: str) -> None:
    """A note is kept as it is, after trimming."""
    assert text == convert(params.Note(), f" \t{text}\n ")


def test_the_length_of_a_note() -> None:
    """A note has at most 500 characters after trimming, whatever their width."""
    longest = "\U0001f642" * 500
    assert longest == convert(params.Note(), f"  {longest}  ")
    assert "must have at most 500 characters" == refusal(params.Note(), longest + "x")


@pytest.mark.parametrize(
    "control",
    [
        *map(chr, range(0x20)),
        *map(chr, range(0x7F, 0xA0)),
        *"\u200b\u2028\u2029\u202e\u2066\ufeff\udc80",
        *"\u034f\u115f\u1160\u17b4\u17b5\u2065\u2800\u3164\uffa0\ufff0\U000e0000\U000e0fff",
    ],
)
def test_control_characters_in_notes(control: str) -> None:
    """No control character, no mark of direction, no half of a pair goes into a note."""
    assert "must not hold control or invisible characters" == refusal(params.Note(), f"a{control}b")


@pytest.mark.parametrize(
    "text",
    [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\U0001f469\u200d\U0001f4bb",
        "\u2764\ufe0f",
        "\u845b\U000e0100",
        "\u1820\u180b",
        "a\u00a0b",
        "a\u3000b",
    ],
)
def test_letters_that_need_joiners(text: str) -> None:
    """Words of Persian, emoji of several parts and wide blanks are ordinary text."""
    assert text == convert(params.Note(), text)


@pytest.mark.parametrize("text", ["\u200d", "\ufe0f", " \u200c \u200d ", "\u3164", "\u2800\u2800"])
def test_texts_of_which_nothing_is_seen(text: str) -> None:
    """What joins nothing is no note and no request id; nor is a blank that is called a letter."""
    assert "must not hold control or invisible characters" == refusal(params.Note(), text)
    told = "must have 1 to 200 printable characters"
    assert [told] * 2 == [refusal(params.RequestId(), t) for t in (text, f"friday{text}\u3164")]


def test_no_note_at_all() -> None:
    """An empty note stands for none."""
    assert ["", ""] == [convert(params.Note(), text) for text in ("", " \t")]


@pytest.mark.parametrize("kind", [params.Note(), params.Search(), params.User()])
@pytest.mark.parametrize("text", [CODE, f"for bob: {CODE.lower()}", CODE.replace("-", "\u2013")])
def test_no_code_in_a_text(kind: click.ParamType[Any], text: str) -> None:
    """A whole code would be stored or sent in plain: refused in every free text."""
    expected = "must not hold an invite code; look codes up with `invite show -`"
    assert expected == refusal(kind, text)


@pytest.mark.parametrize("text", ["", " ", "\t\n", "a\x00b", "a\udc80"])
def test_no_search(text: str) -> None:
    """An empty text finds everything, and PostgreSQL holds neither NUL nor half a pair."""
    assert "must be text, and not empty" == refusal(params.Search(), text)


@pytest.mark.parametrize("text", ["%", "_", "\\", " a ", "'; drop", "JYOTISH-****-ABCD"])
def test_searches(text: str) -> None:
    """A search is taken literally, blanks and all."""
    assert text == convert(params.Search(), text)


@pytest.mark.parametrize("text", ["a@b", " Tester07@Example.com ", ID, ID.lower()])
def test_users(text: str) -> None:
    """A person is an e-mail address or a user id."""
    assert text.strip() == convert(params.User(), text)


@pytest.mark.parametrize("text", ["tester07", ID[:-1], ID + "0", ID.replace("-", ""), "hunter2"])
def test_no_users(text: str) -> None:
    """Another text is no person, and is not repeated."""
    assert "must be an e-mail address or a user id" == refusal(params.User(), text)


def test_times() -> None:
    """A time is read in the configured zone; never is an expiry only."""
    found = convert(params.Time(Meaning.SINCE), "2026-12-31")
    assert datetime(2026, 12, 31, tzinfo=UTC) == found.instant
    assert NEVER is convert(params.Expiry(), "never")
    assert refusal(params.Time(Meaning.SINCE), "never").startswith("is no time this tool reads")


def test_values_that_are_converted_already() -> None:
    """A default or a value that Click converts again stays what it is."""
    when = convert(params.Expiry(), "30d")
    assert when is params.Expiry().convert(when, None, None)
    assert NEVER is params.Expiry().convert(NEVER, None, None)
    assert 5 == params.NUMBER.convert(5, None, None)


KINDS: Final = [params.COUNT, params.Note(), params.Search(), params.User(), params.Expiry()]


@PATIENT
@given(st.sampled_from(KINDS), st.text(max_size=40), st.sampled_from([CODE, "hunter2-secret"]))
def test_nothing_typed_is_repeated(kind: click.ParamType[Any], text: str, secret: str) -> None:
    """Whatever is typed, the refusal does not hold it."""
    try:
        convert(kind, text + secret)
    except paths.Refusal as refused:
        assert secret not in refused.message  # noqa: PT017 - either is right
    except OverLimit as refused:
        assert secret not in refused.message  # noqa: PT017 - either is right
