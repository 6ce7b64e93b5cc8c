"""Lateness, batch by batch, worked out by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.model import CountWindow, Stream, TimeWindow, Window, WindrowError
from windrow.testing import naive_batches, table


def stream(name: str, text: str, lateness: int = 0, window: Window | None = None) -> Stream:
    data = table(text, t=pa.timestamp("us"))
    beats = "beat" if "beat" in data.column_names else None
    window = window or TimeWindow(100)
    return Stream(data, data.schema, name, ("k",), "t", window, lateness, beats=beats)


def numbers(result: pa.Table) -> list[tuple]:
    """(a.v, b.v, ts, kind) of each row, as far as the result has them."""
    columns = [
        [row and row["v"] for row in result.column(n).to_pylist()]
        if n in "ab"
        else result.column(n).cast(pa.int64() if n == "ts" else pa.string()).to_pylist()
        for n in result.column_names
    ]
    return list(zip(*columns, strict=True))


#: Batches of two rows: the progress each begins with, without lateness and with one of 5.
#:  rows   times    lateness 0   late   lateness 5   late
#:  0, 1   20, 10   -inf         -      -inf         -      (in one batch, order is no matter)
#:  2, 3   14, 19   20           both   15           14
#:  4, 5   30, 15   20           15     15           -      (19 - 5 is below 15: never down)
#:  6, 7   25, 24   30           both   25           24
LATE = """
    v  k  t
    0  x  20
    1  x  10
    2  x  14
    3  x  19
    4  x  30
    5  x  15
    6  x  25
    7  x  24
"""
ONE = "v k t\n 0 x 26"


@pytest.mark.parametrize(
    ("lateness", "batch_rows", "expected"),
    [
        (0, 2, [2, 3, 5, 6, 7]),
        (5, 2, [2, 7]),
        (0, 1, [1, 2, 3, 5, 6, 7]),
        (5, 1, [1, 2, 5, 7]),
        (9, 1, [1, 5]),
        (15, 1, []),
        (0, 4, [5]),
        (0, 8, []),
        (0, None, []),
    ],
)
def test_late_is_before_the_progress_the_batch_began_with(lateness, batch_rows, expected):
    a, b = stream("a", LATE, lateness), stream("b", ONE)
    _, late = naive_batches(a, b, batch_rows=batch_rows)
    assert late == {"a": expected, "b": []}


def test_each_stream_has_its_own_progress():
    """b runs a whole hour ahead of a, and makes nothing of a late."""
    a = stream("a", "v k t\n 0 x 1\n 1 x 2")
    b = stream("b", "v k t\n 0 x 3600000000\n 1 x 3")
    result, late = naive_batches(a, b, how="inner", batch_rows=1)
    assert late == {"a": [], "b": [1]}
    assert result.num_rows == 0


BEATS = """
    v  k  t   beat
    0  x  10  false
    1  -  30  true
    2  x  29  false
    3  x  30  false
    4  -  5   true
    5  x  28  false
    6  -  -   true
    7  x  -   false
    8  x  35  false
    9  x  31  false
"""


@pytest.mark.parametrize(
    ("lateness", "batch_rows", "expected"),
    [
        # A heartbeat of 30 is 30, whatever the lateness; one of 5 lowers nothing.
        (0, 1, [2, 5, 9]),
        (5, 1, [2, 5]),
        # 29 comes in the heartbeat's own batch: what counts is the progress before it.
        (0, 3, [5, 9]),
        (5, 3, [5]),
        (0, None, []),
    ],
)
def test_heartbeats_raise_progress_by_themselves(lateness, batch_rows, expected):
    a, b = stream("a", BEATS, lateness), stream("b", ONE)
    _, late = naive_batches(a, b, batch_rows=batch_rows)
    assert late == {"a": expected, "b": []}


A = """
    v  k  t
    0  x  10
    1  x  20
    2  x  11
    3  y  12
"""
B = """
    v  k  t
    0  x  12
    1  x  22
    2  x  13
    3  y  30
"""
# In batches of two rows: a's 11 and 12 are before 20, b's 13 is before 22.
MATCHES = [(0, 0, 12), (0, 1, 22), (1, 0, 20), (1, 1, 22)]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", MATCHES),
        ("left", MATCHES),
        ("full", [*MATCHES, (None, 3, 30)]),
        ("semi", [(0, 10), (1, 20)]),
        ("anti", []),
    ],
)
def test_dropped(how, expected):
    result, late = naive_batches(stream("a", A), stream("b", B), how=how, batch_rows=2)
    assert late == {"a": [2, 3], "b": [2]}
    assert "kind" not in result.column_names
    assert sorted(map(str, numbers(result))) == sorted(map(str, expected))


KEPT = [(*match, "match") for match in MATCHES]
LATE_A = [(2, None, 11, "late"), (3, None, 12, "late")]
LATE_B = [(None, 2, 13, "late")]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", [*KEPT, *LATE_A, *LATE_B]),
        ("left", [*KEPT, *LATE_A, *LATE_B]),
        ("right", [*KEPT, *LATE_A, *LATE_B, (None, 3, 30, "unmatched")]),
        ("full", [*KEPT, *LATE_A, *LATE_B, (None, 3, 30, "unmatched")]),
        ("semi", [(0, 10, "match"), (1, 20, "match"), (2, 11, "late"), (3, 12, "late")]),
        ("anti", [(2, 11, "late"), (3, 12, "late")]),
    ],
)
def test_kept(how, expected):
    result, late = naive_batches(stream("a", A), stream("b", B), how=how, late="keep", batch_rows=2)
    assert late == {"a": [2, 3], "b": [2]}
    assert result.column_names[-2:] == ["ts", "kind"]
    assert sorted(map(str, numbers(result))) == sorted(map(str, expected))


def test_late_rows_do_not_count_in_count_windows():
    text = "v k t\n 0 x 10\n 1 x 20\n 2 x 15"
    a = stream("a", text, window=CountWindow(2))
    b = stream("b", "v k t\n 0 x 25", window=TimeWindow(0))
    in_one, _ = naive_batches(a, b)
    assert numbers(in_one) == [(1, 0, 25), (2, 0, 25)]
    in_two, late = naive_batches(a, b, batch_rows=2)
    assert late["a"] == [2]
    assert numbers(in_two) == [(0, 0, 25), (1, 0, 25)]


def test_refused():
    a, b = stream("a", A), stream("b", B)
    with pytest.raises(WindrowError, match="batch_rows=0"):
        naive_batches(a, b, batch_rows=0)
    with pytest.raises(WindrowError, match="late='fail'"):
        naive_batches(a, b, late="fail")
