"""Times that are refused: other forms, days that do not exist, hours that the clocks skip."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import PATIENT

from invite_admin.whens import Meaning, read_when

EXPIRY, SINCE, UNTIL = Meaning.EXPIRY, Meaning.SINCE, Meaning.UNTIL
SHANGHAI: Final = ZoneInfo("Asia/Shanghai")
NEW_YORK: Final = ZoneInfo("America/New_York")
NOW: Final = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


TOO_LONG: Final = ("9999999999", "9" * 20, "1" + "0" * 5_000, "00" + "9" * 10)


def at(text: str, meaning: Meaning = EXPIRY, zone: ZoneInfo = SHANGHAI) -> str:
    """Return the instant a text means, with its offset."""
    return read_when(text, meaning, zone).at(NOW, "it").isoformat()


def refusal(text: str, meaning: Meaning = EXPIRY, zone: ZoneInfo = SHANGHAI) -> str:
    """Return why a text is refused."""
    with pytest.raises(ValueError, match=r"\w") as caught:
        read_when(text, meaning, zone)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("0001-01-01", SINCE),
        ("0001-01-01T07:59", EXPIRY),
        ("0001-01-01T00:00+01:00", EXPIRY),
        ("9999-12-31T23:00-01:00", EXPIRY),
        ("10000-01-01", SINCE),
        ("12026-12-31T18:00+08:00", EXPIRY),
        *((f"{digits}{unit}", m) for digits in TOO_LONG for unit in "dh" for m in Meaning),
    ],
)
def test_outside_the_years(text: str, meaning: Meaning) -> None:
    """An instant whose UTC lies outside the years 1 to 9999 is refused before connecting."""
    assert "lies outside the years 1 to 9999" == refusal(text, meaning)


@pytest.mark.parametrize("meaning", [EXPIRY, UNTIL])
def test_the_end_of_the_last_day(meaning: Meaning) -> None:
    """The last day that there is ends where no year is left; any time of it can be named."""
    assert refusal("9999-12-31", meaning).endswith("the end of that day is past the year 9999")
    assert at("9999-12-31T23:59", meaning).startswith("9999-12-31T23:59")


@pytest.mark.parametrize(
    "text",
    [
        "2023-02-29",
        "2100-02-29",
        "2026-13-01",
        "2026-00-01",
        "2026-04-31",
        "0000-01-01",
        "2026-12-31T24:00",
        "2026-12-31T18:60",
        "2026-12-31T23:59:60",
        "2026-12-31T18:00+08:60",
        "2026-12-31T18:00+16:00",
        "2026-12-31T18:00-16:00",
    ],
)
def test_times_that_do_not_exist(text: str) -> None:
    """A day, an hour or an offset that does not exist is refused; so is one PostgreSQL refuses."""
    assert "is no date or time that exists" == refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "never",
        "now",
        "tomorrow",
        "2026",
        "2026-12",
        "20261231",
        "2026-W01-1",
        "2026-1-1",
        "31.12.2026",
        "12/31/2026",
        "2026-12-31Z",
        "2026-12-31 18:00",
        "2026-12-31t18:00",
        "2026-12-31T18:00z",
        "2026-12-31T18",
        "2026-12-31T18:00:00.",
        "2026-12-31T18:00:00,5",
        "2026-12-31T18:00:00.1234567",
        "2026-12-31T18:00+08",
        "2026-12-31T18:00+0800",
        "2026-12-31T18:00 +08:00",
        "2026-12-31T18:00UTC",
        "2026-12-31\n",
        "-2026-12-31",
        "+2026-12-31",
        "30",
        "d",
        "30D",
        "30m",
        "30w",
        "30 d",
        " 30d",
        "30d\n",
        "-30d",
        "+30d",
        "1.5d",
        "1e3d",
        "1_000d",
        "1,000d",
        "99999999999999999999m",
        "02026-12-31",
        "12026-1-1",
        "\u0663\u0660d",
        "\uff13\uff10d",
        "\uff12\uff10\uff12\uff16-12-31",
        "\u0662\u0660\u0662\u0666-12-31",
        "2026\u201312\u201331",
    ],
)
def test_other_forms(text: str) -> None:
    """Another form, another script's digits or a stray character is refused, with the forms."""
    expected = (
        "is no time this tool reads; give one like "
        "2026-12-31, 2026-12-31T18:00 (with Z or +08:00), 30d or 12h"
    )
    assert expected == refusal(text)


@pytest.mark.parametrize(
    ("text", "meaning", "zone"),
    [
        ("2026-03-08T02:30", EXPIRY, "America/New_York"),
        ("2026-03-29T01:00", EXPIRY, "Europe/London"),
        ("2011-12-30", SINCE, "Pacific/Apia"),
        ("2011-12-29", UNTIL, "Pacific/Apia"),
        ("2018-11-04", SINCE, "America/Sao_Paulo"),
    ],
)
def test_skipped_times(text: str, meaning: Meaning, zone: str) -> None:
    """A local time that the clocks skip is refused, a whole day and a midnight too."""
    expected = f"does not exist in {zone} (the clocks skip it); give an offset"
    if "T" not in text:
        day = f"means a midnight that does not exist in {zone} (the clocks skip it)"
        expected = f"{day}; add a time of day, such as T12:00"
    assert expected == refusal(text, meaning, ZoneInfo(zone))


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("2026-11-01T01:30", "America/New_York"),
        ("2026-04-05T01:45", "Australia/Lord_Howe"),
        ("2018-02-17T23:30", "America/Sao_Paulo"),
    ],
)
def test_times_that_come_twice(text: str, zone: str) -> None:
    """A local time that comes twice is refused; with its offset it is taken."""
    expected = f"comes twice in {zone} (the clocks go back); give an offset"
    assert expected == refusal(text, EXPIRY, ZoneInfo(zone))
    assert f"{text}:00-03:00" == at(f"{text}-03:00", EXPIRY, ZoneInfo(zone))


def test_a_day_that_ends_twice() -> None:
    """Where the midnight that ends a day comes twice, a time of that day is asked for."""
    told = "means a midnight that comes twice in America/Havana (the clocks go back)"
    refused = refusal("2027-11-06", EXPIRY, ZoneInfo("America/Havana"))
    assert f"{told}; add a time of day, such as T12:00" == refused


def test_a_refusal_never_repeats_the_text() -> None:
    """What was typed may be a code that landed in the wrong option."""
    assert "JYOTISH" not in refusal("JYOTISH-ABCD-EFGH")


@PATIENT
@given(st.text("0123456789-:T.Zdh+ ", max_size=30), st.sampled_from(Meaning))
def test_any_text(text: str, meaning: Meaning) -> None:
    """Any text is read or refused by ValueError, never by another failure."""
    try:
        when = read_when(text, meaning, NEW_YORK)
    except ValueError:
        return
    assert (when.span is None) != (when.instant is None)
