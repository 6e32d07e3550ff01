"""Times as people write them, in every form, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Final
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import PATIENT

from invite_admin.errors import BadInput
from invite_admin.whens import Meaning, read_when

EXPIRY, BEFORE, SINCE, UNTIL = Meaning.EXPIRY, Meaning.BEFORE, Meaning.SINCE, Meaning.UNTIL
SHANGHAI: Final = ZoneInfo("Asia/Shanghai")
NEW_YORK: Final = ZoneInfo("America/New_York")
NOW: Final = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


def at(text: str, meaning: Meaning = EXPIRY, zone: ZoneInfo = SHANGHAI) -> str:
    """Return the instant a text means, with its offset."""
    return read_when(text, meaning, zone).at(NOW, "it").isoformat()


@pytest.mark.parametrize(
    ("meaning", "instant"),
    [
        (EXPIRY, "2027-01-01T00:00:00+08:00"),
        (UNTIL, "2027-01-01T00:00:00+08:00"),
        (SINCE, "2026-12-31T00:00:00+08:00"),
        (BEFORE, "2026-12-31T00:00:00+08:00"),
    ],
)
def test_a_day(meaning: Meaning, instant: str) -> None:
    """A day counts whole as an expiry or an until; as a since or a before it is its start."""
    assert instant == at("2026-12-31", meaning)
    assert "2026-12-31" == read_when("2026-12-31", meaning, SHANGHAI).day


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-12-31T18:00", "2026-12-31T18:00:00+08:00"),
        ("2026-12-31T18:00:59", "2026-12-31T18:00:59+08:00"),
        ("2026-12-31T18:00:00.1", "2026-12-31T18:00:00.100000+08:00"),
        ("2026-12-31T18:00:00.123456", "2026-12-31T18:00:00.123456+08:00"),
        ("2026-12-31T18:00Z", "2026-12-31T18:00:00+00:00"),
        ("2026-12-31T18:00:00.000001Z", "2026-12-31T18:00:00.000001+00:00"),
        ("2026-12-31T18:00+00:00", "2026-12-31T18:00:00+00:00"),
        ("2026-12-31T18:00-00:00", "2026-12-31T18:00:00+00:00"),
        ("2026-12-31T18:00+14:00", "2026-12-31T18:00:00+14:00"),
        ("2026-12-31T18:00-12:00", "2026-12-31T18:00:00-12:00"),
        ("2026-12-31T18:00+05:45", "2026-12-31T18:00:00+05:45"),
        ("2026-12-31T18:00:30+15:59", "2026-12-31T18:00:30+15:59"),
        ("2024-02-29T00:00", "2024-02-29T00:00:00+08:00"),
        ("0001-01-01T00:00Z", "0001-01-01T00:00:00+00:00"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999+00:00"),
    ],
)
def test_an_instant(text: str, instant: str) -> None:
    """A time is taken as it is written; without an offset it is the configured zone's."""
    assert instant == at(text)
    assert None is read_when(text, EXPIRY, SHANGHAI).day


@pytest.mark.parametrize("meaning", [EXPIRY, BEFORE])
def test_spans_ahead(meaning: Meaning) -> None:
    """A span of an expiry lies ahead of the server's now."""
    assert (NOW + timedelta(days=30)).isoformat() == at("30d", meaning)
    assert (NOW + timedelta(hours=12)).isoformat() == at("12h", meaning)
    assert (NOW + timedelta(hours=1)).isoformat() == at("00000000001h", meaning)


@pytest.mark.parametrize("meaning", [SINCE, UNTIL])
def test_spans_back(meaning: Meaning) -> None:
    """A span of a since or an until lies behind the server's now."""
    assert (NOW - timedelta(days=7)).isoformat() == at("7d", meaning)
    assert (NOW - timedelta(hours=1)).isoformat() == at("1h", meaning)


@pytest.mark.parametrize(("text", "meaning"), [("999999d", SINCE), ("999999d", EXPIRY)])
def test_spans_out_of_the_calendar(text: str, meaning: Meaning) -> None:
    """A span that leads out of the years 1 to 9999 from the server's now is bad input."""
    distant = NOW.replace(year=9000)
    now = distant if meaning is EXPIRY else NOW
    with pytest.raises(BadInput, match=r"^it lies outside the years 1 to 9999"):
        read_when(text, meaning, SHANGHAI).at(now, "it")


def test_the_hours_beside_a_change_of_clocks() -> None:
    """The last minute before and the first one after a change are plain times."""
    assert "2026-03-08T01:59:00-05:00" == at("2026-03-08T01:59", zone=NEW_YORK)
    assert "2026-03-08T03:00:00-04:00" == at("2026-03-08T03:00", zone=NEW_YORK)
    assert "2026-11-01T02:00:00-05:00" == at("2026-11-01T02:00", zone=NEW_YORK)


def test_a_day_that_has_25_hours() -> None:
    """A day ends at its own midnight, however long it is."""
    assert "2026-11-02T00:00:00-05:00" == at("2026-11-01", EXPIRY, NEW_YORK)
    assert "2026-11-01T00:00:00-04:00" == at("2026-11-01", SINCE, NEW_YORK)


offsets = st.integers(-15 * 60 - 59, 15 * 60 + 59).map(lambda m: timezone(timedelta(minutes=m)))
instants = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=offsets)  # noqa: DTZ001 - bounds


@PATIENT
@given(instants, st.sampled_from(Meaning))
def test_instants_come_back(instant: datetime, meaning: Meaning) -> None:
    """Any instant written with its offset, as the tool itself writes it, is read as it was."""
    text = instant.isoformat()
    if "T" in text and instant.second == 0 and instant.microsecond == 0:
        assert instant == read_when(text[:16] + text[19:], meaning, SHANGHAI).at(NOW, "it")
    assert text == read_when(text, meaning, SHANGHAI).at(NOW, "it").isoformat()


@PATIENT
@given(st.datetimes(datetime(1980, 1, 1), datetime(2037, 1, 1)))  # noqa: DTZ001 - a wall-clock time
def test_local_times_come_back(naive: datetime) -> None:
    """A time without an offset is that time on the zone's wall clock, or it is refused."""
    try:
        found = read_when(naive.isoformat(), EXPIRY, NEW_YORK).at(NOW, "it")
    except ValueError as error:
        assert "give an offset" in str(error)  # noqa: PT017 - either is right
    else:
        assert naive == found.astimezone(NEW_YORK).replace(tzinfo=None)
