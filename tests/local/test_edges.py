"""Events at every window's edge, with what each is joined with beside it.

Each line is an event: its key, its stream, its time, the times of the earlier events it joins
(a tie with an event of a line above counts as earlier), and `alone` if nothing ever joins it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

import pyarrow as pa
import pytest

import windrow as wr

#: What is added to every time, and how to join.
WAYS = [
    (0, {}),
    (0, {"batch_rows": 1}),
    (-105, {"batch_rows": 3, "buckets": 4}),
    (1_700_000_000_000_000, {"batch_rows": 2, "algorithm": "nested-loops"}),
    (-100, {"batch_rows": 1, "invalidation": "probe", "buckets": 1}),
    (-(10**15), {"batch_rows": 5, "invalidation": "all", "buckets": 3}),
]

#: T_a = 10, T_b = 3, and the same as bounds: -3 <= ts_b - ts_a <= 10
CLOSED = """
    u  a  100  -
    u  b  109  100
    u  b  110  100
    u  b  111  -        alone
    v  b  100  -
    v  a  102  100
    v  a  103  100
    v  a  104  -        alone
    w  a  100  -
    w  b  100  100
    w  a  100  100
    x  a  100  -        alone
    y  a  100  -
    y  b  102  100
    y  a  105  102
    y  b  110  100,105
    y  a  114  -        alone
"""
OPEN = """
    u  a  100  -
    u  b  109  100
    u  b  110  -        alone
    u  b  111  -        alone
    v  b  100  -
    v  a  102  100
    v  a  103  -        alone
    v  a  104  -        alone
    w  a  100  -
    w  b  100  100
    w  a  100  100
    y  a  100  -
    y  b  102  100
    y  a  105  -
    y  b  110  105
    y  a  113  -        alone
"""
#: T_a = T_b = 0: ties, and nothing else, with either end
TIES = """
    u  a  100  -
    u  b  100  100
    u  b  100  100
    u  a  100  100,100
    v  a  100  -        alone
    v  b  101  -        alone
    w  b  100  -        alone
    w  a  101  -        alone
"""
#: T_a = T_b = 1
ONE_CLOSED = """
    u  a  100  -
    u  b  101  100
    u  a  102  101
    v  a  100  -        alone
    v  b  102  -        alone
"""
ONE_OPEN = """
    u  a  100  -        alone
    u  b  101  -        alone
    u  a  102  -        alone
    v  a  100  -
    v  b  100  100
"""
#: T_a = 0, T_b = 4: a must not be the earlier one
ONE_SIDED = """
    u  a  100  -        alone
    u  b  101  -        alone
    v  b  100  -
    v  a  104  100
    v  a  105  -        alone
    w  b  100  -
    w  a  100  100
"""
#: 2 <= ts_b - ts_a <= 4: no ties
AHEAD = """
    u  a  100  -
    u  b  101  -        alone
    u  b  102  100
    u  b  104  100
    u  b  105  -        alone
    v  a  100  -        alone
    v  b  100  -        alone
    w  b  100  -        alone
    w  a  102  -        alone
    y  a  100  -
    y  a  101  -
    y  b  103  100,101
    y  b  104  100,101
    y  a  104  -        alone
"""
#: -4 <= ts_b - ts_a <= -2: the other way round
BEHIND = """
    u  b  100  -
    u  a  101  -        alone
    u  a  102  100
    u  a  104  100
    u  a  105  -        alone
    v  b  100  -        alone
    v  a  100  -        alone
    w  a  100  -        alone
    w  b  102  -        alone
"""
#: ts_b - ts_a = 5
EXACTLY = """
    u  a  100  -
    u  b  104  -        alone
    u  b  105  100
    u  a  105  -
    u  b  106  -        alone
    u  b  110  105
"""
#: ts_b - ts_a = -5
EXACTLY_BEFORE = """
    u  b  100  -
    u  a  104  -        alone
    u  a  105  100
    u  a  106  -        alone
    v  a  100  -        alone
    v  b  105  -        alone
"""

TABLES = {
    "closed": (CLOSED, {"windows": (10, 3)}),
    "open": (OPEN, {"windows": (10, 3), "closed": False}),
    "between": (CLOSED, {"between": (-3, 10)}),
    "between, called open": (CLOSED, {"between": (-3, 10), "closed": False}),
    "ties, closed": (TIES, {"windows": (0, 0)}),
    "ties, open": (TIES, {"windows": (0, 0), "closed": False}),
    "ties of one microsecond, open": (TIES, {"windows": (1, 1), "closed": False}),
    "ties, between": (TIES, {"between": (0, 0)}),
    "one microsecond, closed": (ONE_CLOSED, {"windows": (1, 1)}),
    "one microsecond, open": (ONE_OPEN, {"windows": (1, 1), "closed": False}),
    "one-sided, closed": (ONE_SIDED, {"windows": (0, 4)}),
    "one-sided, open": (ONE_SIDED, {"windows": (0, 5), "closed": False}),
    "ahead": (AHEAD, {"between": (2, 4)}),
    "behind": (BEHIND, {"between": (-4, -2)}),
    "exactly": (EXACTLY, {"between": (5, 5)}),
    "exactly before": (EXACTLY_BEFORE, {"between": (-5, -5)}),
}


class Event(NamedTuple):
    """A line of a table."""

    key: str
    side: str
    time: int
    joins: list[int]
    alone: bool


def events(text: str) -> list[Event]:
    """The lines, in time order; ties as they stand."""
    found = []
    for line in filter(None, map(str.split, text.splitlines())):
        key, side, time, joins = line[:4]
        earlier = [] if joins == "-" else [int(t) for t in joins.split(",")]
        found.append(Event(key, side, int(time), earlier, line[4:] == ["alone"]))
    return sorted(found, key=lambda event: event.time)


def streams(lines: list[Event], base: int, windows=(None, None)) -> list[wr.Stream]:
    made = []
    for side, window in zip("ab", windows, strict=True):
        numbered = [(n, event) for n, event in enumerate(lines) if event.side == side]
        data = pa.table(
            {
                "k": pa.array([event.key for _, event in numbered], pa.string()),
                "t": pa.array([base + event.time for _, event in numbered], pa.timestamp("us")),
                "line": pa.array([n for n, _ in numbered], pa.int64()),
            }
        )
        length = None if window is None else timedelta(microseconds=window)
        made.append(wr.stream(data, name=side, key="k", time="t", window=length))
    return made


def lines_of(result: pa.Table, *names: str) -> list[tuple]:
    columns = [[row and row["line"] for row in result.column(n).to_pylist()] for n in names]
    return list(zip(*columns, result.column("ts").cast(pa.int64()).to_pylist(), strict=True))


@pytest.mark.parametrize(("base", "way"), WAYS, ids=str)
@pytest.mark.parametrize("name", TABLES)
def test_edges(name, base, way):
    text, asked = TABLES[name]
    lines = events(text)
    a, b = streams(lines, base, asked.get("windows", (None, None)))
    bounds = asked.get("between")
    asked = {
        "closed": asked.get("closed", True),
        "between": bounds and tuple(timedelta(microseconds=bound) for bound in bounds),
        **way,
    }

    joined = lines_of(wr.join(a, b, **asked), "a", "b")
    for number, event in enumerate(lines):
        pairs = [pair[:2] for pair in joined if max(pair[:2]) == number]
        assert sorted(lines[min(pair)].time for pair in pairs) == event.joins, event
    assert sorted(ts - base for *_, ts in joined) == sorted(e.time for e in lines for _ in e.joins)

    alone = {side: [n for n, e in enumerate(lines) if e.alone and e.side == side] for side in "ab"}
    matched = sorted(n for n, e in enumerate(lines) if e.side == "a" and not e.alone)
    times = [base + event.time for event in lines]
    full = lines_of(wr.join(a, b, how="full", **asked), "a", "b")
    assert sorted(n for n, other, _ in full if other is None) == alone["a"]
    assert sorted(n for other, n, _ in full if other is None) == alone["b"]
    assert sorted(row for row in full if None not in row) == sorted(joined)
    assert all(ts == times[n] for n, other, ts in full if other is None)
    for how, expected in (("anti", alone["a"]), ("semi", matched)):
        found = sorted(lines_of(wr.join(a, b, how=how, **asked), "a"))
        assert found == [(n, times[n]) for n in expected], how
    left = lines_of(wr.join(a, b, how="left", **asked), "a", "b")
    assert sorted(n for n, other, _ in left if other is None) == alone["a"]
    right = lines_of(wr.join(a, b, how="right", **asked), "a", "b")
    assert sorted(n for other, n, _ in right if other is None) == alone["b"]
