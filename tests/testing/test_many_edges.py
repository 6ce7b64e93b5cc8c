"""Both oracles on three streams and more, on both sides of each edge, worked out by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.model import CountWindow, Stream, TimeWindow, Window
from windrow.testing import duckdb_join, naive_batches, naive_join, table

TIME = pa.timestamp("us")


@pytest.fixture(params=[duckdb_join, naive_join], ids=["duckdb", "naive"])
def join(request):
    return request.param


def stream(name: str, window: Window | int | None, text: str, key: str | None = "k") -> Stream:
    data = table(text, t=TIME)
    window = TimeWindow(window) if isinstance(window, int) else window
    return Stream(data, data.schema, name, None if key is None else (key,), "t", window)


def at(name: str, window: int, *times: int) -> Stream:
    """Tuples of one key at these times."""
    data = pa.table({"k": pa.array(["x"] * len(times), pa.string()), "t": pa.array(times, TIME)})
    return Stream(data, data.schema, name, ("k",), "t", TimeWindow(window))


def times(result: pa.Table) -> list[tuple]:
    """The time of each struct, and `ts`, in µs."""
    columns = []
    for name in result.column_names:
        column = result.column(name).combine_chunks()
        column = column if name == "ts" else column.field("t").filter(column.is_valid())
        columns.append(column.cast(pa.int64()).to_pylist())
    return sorted(zip(*columns, strict=True))


def numbers(result: pa.Table) -> list[tuple]:
    """The `v` of each struct, and `ts`."""
    columns = [
        result.column(name).cast(pa.int64()).to_pylist()
        if name == "ts"
        else [row and row["v"] for row in result.column(name).to_pylist()]
        for name in result.column_names
    ]
    return sorted(zip(*columns, strict=True), key=str)


#: Which stream is earliest, which latest and which between them; the earliest has a window of 10.
PAIRS = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]


@pytest.mark.parametrize(
    ("gap", "closed", "joins"),
    [
        (9, True, 1), (10, True, 1), (11, True, 0),
        (9, False, 1), (10, False, 0), (11, False, 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("early", "last", "middle"), PAIRS)
def test_each_edge_of_each_pair(join, early, last, middle, gap, closed, joins):
    """The third stream fits both, whatever they do."""
    streams = [None] * 3
    streams[early] = at("abc"[early], 10, 100)
    streams[last] = at("abc"[last], 0, 100 + gap)
    streams[middle] = at("abc"[middle], 50, 105)
    assert join(*streams, closed=closed).num_rows == joins
    assert join(*streams, closed=closed, how="left").num_rows == 1
    assert join(*streams, closed=closed, how="semi").num_rows == joins
    assert join(*streams, closed=closed, how="anti").num_rows == 1 - joins


@pytest.mark.parametrize(
    ("gap", "closed", "joins"),
    [(3, True, 1), (4, True, 1), (5, True, 0), (3, False, 1), (4, False, 0), (5, False, 0)],
)
@pytest.mark.parametrize(("first", "second", "newest"), PAIRS)
def test_two_older_rows_that_each_fit_the_new_one_must_fit_each_other(
    join, first, second, newest, gap, closed, joins
):
    """The newest row has both in reach, but the second may have come after the first had gone."""
    streams = [None] * 3
    streams[first] = at("abc"[first], 4, 100)
    streams[second] = at("abc"[second], 10, 100 + gap)
    streams[newest] = at("abc"[newest], 0, 100 + gap)
    assert join(*streams, closed=closed).num_rows == joins
    # A newest row before the first one's end brings nothing back: it is the older two that count.
    streams[newest] = at("abc"[newest], 10, 101)
    assert join(*streams, closed=closed).num_rows == joins


def test_a_row_that_fits_the_newest_and_not_the_one_between(join):
    """c is between a and b and in reach of both; b at 6 is out of a's, b at 5 is not."""
    a, b, c = at("a", 5, 0), at("b", 5, 6), at("c", 5, 3)
    assert join(a, c).num_rows == join(c, b).num_rows == 1
    assert join(a, b).num_rows == join(a, b, c).num_rows == 0
    b = at("b", 5, 5, 6)
    assert times(join(a, b, c)) == [(0, 5, 3, 5)]


def test_windows_are_of_the_earlier_row_of_each_pair(join):
    """A wide window of a late row does not help an early one, nor a narrow one hurt it."""
    a, b, c = at("a", 2, 10), at("b", 100, 12), at("c", 0, 12)
    assert times(join(a, b, c)) == [(10, 12, 12, 12)]
    assert join(at("a", 2, 9), b, c).num_rows == 0
    assert times(join(at("a", 2, 13), b, at("c", 1, 12))) == [(13, 12, 12, 13)]
    assert join(at("a", 2, 13), b, c).num_rows == 0


def test_ties_of_four_streams_join_even_in_open_windows_of_nothing(join):
    streams = [at(name, 0, *[5] * count) for name, count in zip("abcd", (2, 1, 3, 2), strict=True)]
    assert join(*streams, closed=False).num_rows == 12
    assert join(*streams, closed=False, how="semi").num_rows == 2


A = """
    v  k  t
    1  x  0
    2  x  20
    3  y  0
    4  -  0
    5  z  0
    6  x  -
"""
B = """
    v  k  t
    1  x  3
    2  x  3
    3  y  3
    4  -  0
"""
C = """
    v  k  t
    1  x  5
    2  z  0
    3  -  0
"""


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", [(1, 1, 1, 5), (1, 2, 1, 5)]),
        (
            "left",
            [
                (1, 1, 1, 5), (1, 2, 1, 5), (2, None, None, 20), (3, None, None, 0),
                (4, None, None, 0), (5, None, None, 0),
            ],
        ),
        ("semi", [(1, 0)]),
        ("anti", [(2, 20), (3, 0), (4, 0), (5, 0)]),
    ],
)  # fmt: skip
def test_kinds(join, how, expected):
    """y has a partner of b only, z one of c only: both are unmatched, with all others null."""
    result = join(stream("a", 10, A), stream("b", 10, B), stream("c", 10, C), how=how)
    assert numbers(result) == sorted(expected, key=str)


def test_partners_that_do_not_fit_each_other_leave_a_row_unmatched(join):
    a = stream("a", 10, "v k t\n 1 x 0")
    b, c = stream("b", 3, "v k t\n 1 x 0"), stream("c", 3, "v k t\n 1 x 4")
    assert join(a, b).num_rows == join(a, c).num_rows == 1
    assert numbers(join(a, b, c, how="left")) == [(1, None, None, 0)]
    assert numbers(join(a, b, c, how="anti")) == [(1, 0)]
    assert join(a, b, c, how="semi").num_rows == 0


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize("empty", [0, 1, 2])
def test_an_empty_stream(join, how, empty):
    streams = [at(name, 5, *([] if at_ == empty else [0, 1])) for at_, name in enumerate("abc")]
    alone = 2 if how in ("left", "anti") and empty != 0 else 0
    assert join(*streams, how=how).num_rows == alone


def test_a_condition_says_which_row_of_the_first_stream_is_alone():
    """It is part of the match, not a filter of the result; null is no."""
    a = stream("a", 9, "v k t\n 1 x 0\n 2 x 0\n - x 0")
    b, c = stream("b", 9, "v k t\n 1 x 1\n 3 x 1"), stream("c", 9, "v k t\n 4 x 2")
    expected = [(1, 3, 4, 2), (2, None, None, 0), (None, None, None, 0)]
    found = [
        duckdb_join(a, b, c, how="left", condition="a.v + b.v = c.v"),
        naive_join(
            a, b, c, how="left", condition=lambda a, b, c: a["v"] and a["v"] + b["v"] == c["v"]
        ),
    ]
    for result in found:
        assert numbers(result) == expected


def test_count_windows_among_time_windows(join):
    """At 30, b's newest row of x is at 25; a's window of time holds 20, c's row is the newest."""
    a = stream("a", 10, "v k t\n 1 x 10\n 2 x 20")
    b = stream("b", CountWindow(1), "v k t\n 1 x 5\n 2 x 25\n 3 y 26")
    c = stream("c", CountWindow(1, "stream"), "v k t\n 1 x 30\n 2 x 9")
    # b's 5 is there until 25: it meets c's 9 and a's 10; of a's 20, c's 9 is there until 30.
    assert numbers(join(a, b, c)) == [(1, 1, 2, 10), (2, 1, 2, 20), (2, 2, 1, 30), (2, 2, 2, 25)]


def test_a_tie_closes_no_count_window_for_either_of_two_others(join):
    a = stream("a", CountWindow(1), "v k t\n 1 x 0\n 2 x 10")
    b, c = stream("b", 9, "v k t\n 1 x 9"), stream("c", 0, "v k t\n 1 x 10")
    # a's 0 is there at 9, and no more at 10: so it fits b and not c.
    assert join(a, b).num_rows == 2
    assert numbers(join(a, b, c)) == [(2, 1, 1, 10)]


def test_without_a_key_all_three_meet(join):
    a, b, c = (
        stream(name, 3, f"v t\n 1 {t}", None) for name, t in zip("abc", (0, 3, 2), strict=True)
    )
    assert numbers(join(a, b, c)) == [(1, 1, 1, 3)]
    assert join(a, b, c, closed=False).num_rows == 0


def test_one_table_as_three_streams(join):
    """A self-join: rows of different keys never meet, and each row meets itself."""
    text = "v k t\n 1 x 0\n 2 x 4\n 3 y 0"
    a, b, c = (stream(name, 4, text) for name in "abc")
    assert join(a, b, c).num_rows == 8 + 1
    assert join(a, b, c, closed=False).num_rows == 3


LATE = "v k t\n 1 x 10\n 2 x 5\n 3 x -"


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (
            "inner",
            [
                (1, 1, 1, 10, "match"), (2, None, None, 5, "late"), (None, 2, None, 5, "late"),
                (None, None, 2, 5, "late"), (3, None, None, None, "bad"),
                (None, 3, None, None, "bad"), (None, None, 3, None, "bad"),
            ],
        ),
        ("semi", [(1, 10, "match"), (2, 5, "late"), (3, None, "bad")]),
        ("anti", [(2, 5, "late"), (3, None, "bad")]),
    ],
)  # fmt: skip
def test_late_and_bad_rows_are_rows_of_their_own(how, expected):
    streams = [stream(name, 9, LATE) for name in "abc"]
    result, late = naive_batches(*streams, how=how, late="keep", bad="keep", batch_rows=1)
    assert late == {"a": [1], "b": [1], "c": [1]}
    kinds = result.column("kind").to_pylist()
    plain = result.drop_columns("kind")
    columns = [
        plain.column(name).cast(pa.int64()).to_pylist()
        if name == "ts"
        else [row and row["v"] for row in plain.column(name).to_pylist()]
        for name in plain.column_names
    ]
    found = zip(*columns, kinds, strict=True)
    assert sorted(found, key=str) == sorted(expected, key=str)
