"""Streams to ask with, and what a refusal looks like."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

HINT = 'write for example "10 minutes", "1 hour 30 minutes" or timedelta(minutes=10)'
UNITS = "use weeks, days, hours, minutes, seconds, milliseconds or microseconds"
MICROS = pa.timestamp("us")
NOON = datetime(2026, 1, 1, 12)

TABLE = pa.table(
    {
        "ad": pa.array([1], pa.int64()),
        "at": pa.array([NOON], MICROS),
        "day": pa.array([NOON.date()], pa.date32()),
        "text": ["x"],
        "geo": [{"city": "Ulm", "seen": NOON}],
        "tags": [["x"]],
        "pairs": pa.array([[("x", 1)]], pa.map_(pa.string(), pa.int64())),
        "nothing": pa.nulls(1),
        "live": [True],
    }
)


def stream(name="imp", table=TABLE, **given) -> wr.Stream:
    return wr.stream(
        table, **{"name": name, "key": "ad", "time": "at", "window": "1 hour", **given}
    )


def join(*streams, **given) -> pa.Table:
    return wr.join(*(streams or (stream("imp"), stream("clk"))), **given)


def refused(build, *parts: str) -> None:
    """Fails unless it is refused in words that hold every part, in this order."""
    with pytest.raises(wr.WindrowError) as error:
        build()
    assert re.search(".*".join(map(re.escape, parts)), str(error.value), re.DOTALL), error.value


def typed(name, column, **given) -> wr.Stream:
    """A stream whose key is of another type."""
    return stream(name, pa.table({"ad": column, "at": TABLE["at"]}), **given)


def clocked(name, kind, micros=0) -> wr.Stream:
    """A stream whose time is of another type, or at another time."""
    return stream(name, pa.table({"ad": [1], "at": pa.array([micros], kind)}))


def bare(name) -> wr.Stream:
    return stream(name, window=None)


@dataclass(frozen=True)
class Refusal:
    """Arguments that are refused, and parts of the message, in their order."""

    given: dict[str, Any]
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.given.items())


def no(*parts: str, **given) -> Refusal:
    return Refusal(given, parts)
