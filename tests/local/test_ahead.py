"""One side minutes ahead of the other: it waits, and nothing is lost."""

from __future__ import annotations

from datetime import timedelta
from typing import get_args

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.model import How
from windrow.testing import assert_same_rows, duckdb_join

MINUTE = 60_000_000
WAYS = [
    {"invalidation": "time-list", "buckets": 4},
    {"algorithm": "nested-loops"},
    *(
        {"invalidation": name, "buckets": 3}
        for name in ("probe", "probe-insert", "probe-all", "all")
    ),
]


def stream(name, times, seed, window="2 minutes", **given) -> wr.Stream:
    rng = np.random.default_rng(seed)
    data = pa.table(
        {
            "k": rng.integers(0, 5, len(times)),
            "t": pa.array(times, pa.timestamp("us")),
            "n": np.arange(len(times)),
        }
    )
    return wr.stream(data, name=name, key="k", time="t", window=window, **given)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.get("invalidation", "nested-loops"))
@pytest.mark.parametrize("how", get_args(How))
@pytest.mark.parametrize("ahead", ["a", "b"])
def test_far_ahead(ahead, how, way):
    """One stream has four rows a minute, the other one: row by row, minutes come between."""
    fast, slow = np.arange(25) * MINUTE, np.arange(100) * MINUTE // 4
    one, two = (fast, slow) if ahead == "a" else (slow, fast)
    streams = stream("a", one, 1), stream("b", two, 2, "1 minute")
    expected = duckdb_join(*streams, how=how)
    for batch_rows in (1, 17):
        found = wr.join(*streams, how=how, batch_rows=batch_rows, **way)
        assert_same_rows(found, expected)


@pytest.mark.parametrize("how", ["inner", "full"])
@pytest.mark.parametrize("between", [("5 minutes", "7 minutes"), ("-7 minutes", "-5 minutes")])
def test_a_range_that_lies_minutes_away(how, between):
    times = np.arange(80) * MINUTE // 2
    streams = [stream(name, times, seed, None) for name, seed in (("a", 1), ("b", 2))]
    micros = tuple(int(text.split()[0]) * MINUTE for text in between)
    expected = duckdb_join(*streams, how=how, between=micros)
    assert expected.num_rows > 50
    for batch_rows in (None, 1, 9):
        found = wr.join(*streams, how=how, between=between, batch_rows=batch_rows)
        assert_same_rows(found, expected)


def test_only_the_others_progress_lets_a_tuple_go():
    """a is an hour ahead: all of it is kept until b has come by."""
    one = stream("a", 60 * MINUTE + np.arange(50) * MINUTE, 1, "1 minute")
    two = stream("b", np.arange(110) * MINUTE, 2, "1 minute")
    found = wr.join(one, two, batch_rows=1)
    assert_same_rows(found, duckdb_join(one, two))
    figures = wr.metrics(found)
    assert figures.peak_rows["a"] == 50
    assert figures.peak_rows["b"] == 1


@pytest.mark.parametrize("how", ["left", "full", "anti"])
def test_disorder_and_a_head_start_together(how):
    rng = np.random.default_rng(7)
    late = timedelta(minutes=3)
    times = np.arange(150) * MINUTE // 5
    shaken = times[np.argsort(times + rng.integers(0, 3 * MINUTE, len(times)), kind="stable")]
    one = stream("a", shaken + 10 * MINUTE, 1, lateness=late)
    two = stream("b", shaken, 2, lateness=late)
    expected = duckdb_join(one, two, how=how)
    for way in WAYS:
        assert_same_rows(wr.join(one, two, how=how, batch_rows=4, **way), expected)
