"""Durations as people write them, in microseconds."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.duration import parse, show
from windrow.model import LARGEST_MICROS, UNITS, WindrowError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 seconds", 0),
        ("1 microsecond", 1),
        ("5 milliseconds", 5_000),
        ("1 second", 1_000_000),
        ("10 minutes", 600_000_000),
        ("1 hour", 3_600_000_000),
        ("2 days", 172_800_000_000),
        ("1 week", 604_800_000_000),
        ("1 hour 30 minutes", 5_400_000_000),
        ("1 day 1 microsecond", 86_400_000_001),
        ("1.5 seconds", 1_500_000),
        ("0.000001 seconds", 1),
        ("1 minute -30 seconds", 30_000_000),
        ("+5 seconds", 5_000_000),
        ("interval 10 minutes", 600_000_000),
        ("INTERVAL 10 Minutes", 600_000_000),
        ("  10   minutes  ", 600_000_000),
        ("10minutes", 600_000_000),
        ("-0 seconds", 0),
        (f"{LARGEST_MICROS} microseconds", LARGEST_MICROS),
    ],
)
def test_text(text, expected):
    assert parse(text, "window") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10us", 10),
        ("10 µs", 10),
        ("250ms", 250_000),
        ("250 msec", 250_000),
        ("30s", 30_000_000),
        ("30 sec", 30_000_000),
        ("30secs", 30_000_000),
        ("5m", 300_000_000),
        ("5 M", 300_000_000),
        ("5 min", 300_000_000),
        ("5mins", 300_000_000),
        ("1h", 3_600_000_000),
        ("1hr", 3_600_000_000),
        ("2 hrs", 7_200_000_000),
        ("1h30m", 5_400_000_000),
        ("1h 30 minutes", 5_400_000_000),
        ("2d", 172_800_000_000),
        ("1w", 604_800_000_000),
        ("0.5m", 30_000_000),
    ],
)
def test_short_words(text, expected):
    assert parse(text, "window") == expected


@pytest.mark.parametrize("unit", UNITS)
def test_units_in_both_numbers_and_any_case(unit):
    for spelled in (unit, f"{unit}s", unit.upper(), f"{unit.title()}s"):
        assert parse(f"3 {spelled}", "window") == 3 * UNITS[unit]


@given(st.timedeltas(timedelta(0), timedelta(days=10_000)))
def test_timedelta(duration):
    assert parse(duration, "window") == duration / timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("-5 minutes", -300_000_000),
        ("- 5 minutes", -300_000_000),
        ("1 second -1 minute", -59_000_000),
        (timedelta(seconds=-1), -1_000_000),
    ],
)
def test_negative_where_a_sign_is_allowed(value, expected):
    assert parse(value, "between's lower bound", signed=True) == expected
    with pytest.raises(WindrowError, match=r"window is .*, but must not be negative"):
        parse(value, "window")


@pytest.mark.parametrize(
    "value", [10, 0, 1.5, True, None, b"1 second", ("1 second",), ["1 second"]]
)
def test_no_unit(value):
    with pytest.raises(
        WindrowError, match=r"window is .*has no unit; write .*10 minutes"
    ) as refused:
        parse(value, "window")
    assert repr(value) in str(refused.value)
    assert type(value).__name__ in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        *("", "   ", "interval", "soon", "10", "minutes", "1 second 5", "1,5 seconds"),
        *("5 minutes!", "--5 minutes", "1 hour and a half", "PT5M", "00:05:00"),
    ],
)
def test_unparsable(text):
    with pytest.raises(WindrowError, match=r"is not a duration; write .*timedelta") as refused:
        parse(text, "stream 'imp': window")
    assert str(refused.value).startswith(f"stream 'imp': window is {text!r}")


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("1 month", "month"),
        ("2 years", "years"),
        ("1 quarter", "quarter"),
        ("5 mo", "mo"),
        ("3 mon", "mon"),
        ("2 months", "months"),
        ("1 y", "y"),
        ("5 ss", "ss"),
        ("5 mss", "mss"),
        ("3 secondss", "secondss"),
        ("1 day 1 fortnight", "fortnight"),
        ("1e3 seconds", "e"),
    ],
)
def test_units_of_no_fixed_length(text, unit):
    with pytest.raises(WindrowError, match=f"'{unit}' is not a unit of fixed length; use weeks"):
        parse(text, "window")


def test_parts_of_a_microsecond():
    with pytest.raises(WindrowError, match="is not a whole number of microseconds"):
        parse("1.5 microseconds", "window")
    assert parse("0.5 microseconds 0.5 microseconds", "window") == 1


@pytest.mark.parametrize(
    "value", [f"{LARGEST_MICROS + 1} microseconds", "30000000 days", timedelta.max]
)
def test_too_long(value):
    with pytest.raises(WindrowError, match="must be below 73,000 years"):
        parse(value, "window")


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "0 seconds"),
        (1, "1 microsecond"),
        (5_400_000_000, "1 hour 30 minutes"),
        (-300_000_000, "-5 minutes"),
        (604_800_000_000, "1 week"),
        (1_000_001, "1 second 1 microsecond"),
    ],
)
def test_show(micros, text):
    assert show(micros) == text


@given(st.integers(0, LARGEST_MICROS))
def test_what_is_shown_can_be_read(micros):
    assert parse(show(micros), "window") == micros
