"""Durations: text such as "1 hour 30 minutes" or "90m", or `timedelta`, as whole microseconds.

And both durations and times as people read them.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal

from windrow.model import LARGEST_MICROS, UNITS, WindrowError

YEAR = 365 * UNITS["day"]
#: Shorter words for the units, as people and shells write them. A month has none.
SHORT = {
    "us": "microsecond", "µs": "microsecond", "usec": "microsecond", "micro": "microsecond",
    "ms": "millisecond", "msec": "millisecond", "milli": "millisecond",
    "s": "second", "sec": "second",
    "m": "minute", "min": "minute",
    "h": "hour", "hr": "hour",
    "d": "day",
    "w": "week", "wk": "week",
}  # fmt: skip
_TERM = re.compile(r"([+-]?)\s*(\d+(?:\.\d+)?)\s*([a-zµ]+)\s*", re.IGNORECASE)
_HINT = 'write for example "10 minutes", "1 hour 30 minutes" or timedelta(minutes=10)'


def parse(value: object, what: str, *, signed: bool = False, years: bool = False) -> int:
    """A duration in microseconds; `what` names it in errors, `signed` lets it be negative.

    `years`: it is a rough measure, so it may have years, of 365 days.

    >>> parse("1 minute 30 seconds", "window")
    90000000
    >>> parse("5m", "window") == parse("5 min", "window") == parse("5 minutes", "window")
    True
    >>> parse(timedelta(milliseconds=5), "window")
    5000
    """
    if isinstance(value, timedelta):
        micros = value // timedelta(microseconds=1)
    elif isinstance(value, str):
        micros = _parse_text(value, what, years)
    else:
        raise WindrowError(
            f"{what} is {value!r} ({type(value).__name__}), which has no unit; {_HINT}"
        )
    if micros < 0 and not signed:
        raise WindrowError(f"{what} is {value!r}, but must not be negative")
    if abs(micros) > LARGEST_MICROS:
        raise WindrowError(f"{what} is {value!r}, but must be below 73,000 years")
    return micros


def _parse_text(text: str, what: str, years: bool) -> int:
    rest = re.sub(r"^\s*interval\s+", "", text, flags=re.IGNORECASE).strip()
    total = Decimal(0)
    if not rest:
        raise WindrowError(f"{what} is {text!r}, which is not a duration; {_HINT}")
    while rest:
        term = _TERM.match(rest)
        if term is None:
            raise WindrowError(f"{what} is {text!r}, which is not a duration; {_HINT}")
        sign, number, unit = term.groups()
        size = YEAR if years and unit.lower() in ("year", "years") else _size(unit)
        if size is None:
            raise WindrowError(
                f"{what} is {text!r}, but {unit!r} is not a unit of fixed length; use "
                f"{'years, ' if years else ''}weeks, days, hours, minutes, seconds, milliseconds "
                "or microseconds"
            )
        total += (-1 if sign == "-" else 1) * Decimal(number) * size
        rest = rest[term.end() :]
    if total != int(total):
        raise WindrowError(f"{what} is {text!r}, which is not a whole number of microseconds")
    return int(total)


def _size(unit: str) -> int | None:
    """Microseconds in a unit, by its long or short word, in any case; words have a plural too."""
    word = unit.lower()
    one = word.removesuffix("s")
    # "ms" is no plural of "m", and a symbol such as "s" has none.
    plural = one in UNITS or (one in SHORT and len(one) > 1 and not one.endswith("s"))
    name = SHORT.get(word) or (SHORT.get(one, one) if plural else word)
    return UNITS.get(name)


def show(micros: int, *, years: bool = False) -> str:
    """A duration as people write it; a rough one in years of 365 days.

    >>> show(5_400_000_000)
    '1 hour 30 minutes'
    >>> show(parse("1 year", "max_ahead", years=True), years=True)
    '1 year'
    """
    if micros == 0:
        return "0 seconds"
    left, parts = abs(micros), []
    units = {**UNITS, "year": YEAR} if years else UNITS
    for unit, size in sorted(units.items(), key=lambda item: -item[1]):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}{'s' if count > 1 else ''}")
    return ("-" if micros < 0 else "") + " ".join(parts)


def moment(micros: int | None) -> str:
    """A time, to the millisecond; the bare number where no calendar has it.

    >>> moment(1_767_268_815_123_456)
    '2026-01-01 12:00:15.123'
    """
    if micros is None:
        return "-"
    try:
        at = datetime(1970, 1, 1) + timedelta(microseconds=micros)
    except OverflowError:
        return f"{micros:,} µs"
    return at.isoformat(" ", "milliseconds")
