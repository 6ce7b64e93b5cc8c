"""Both oracles on small tables whose answers were worked out by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.model import CountWindow, Stream, TimeWindow, Window, WindrowError
from windrow.testing import duckdb_join, naive_join, table

TIME = pa.timestamp("us")


@pytest.fixture(params=[duckdb_join, naive_join], ids=["duckdb", "naive"])
def join(request):
    return request.param


def stream(name: str, window: Window | None, text: str, key: str | None = "k") -> Stream:
    data = table(text, t=TIME)
    return Stream(data, data.schema, name, None if key is None else (key,), "t", window)


def at(name: str, window: Window | None, *times: int) -> Stream:
    """Tuples of one key at these times."""
    data = pa.table({"k": ["x"] * len(times), "t": pa.array(times, TIME)})
    return Stream(data, data.schema, name, ("k",), "t", window)


def numbers(result: pa.Table, *names: str) -> list[tuple]:
    """The `v` of each struct, and `ts`."""
    columns = [[row and row["v"] for row in result.column(n).to_pylist()] for n in names]
    columns.append(result.column("ts").cast(pa.int64()).to_pylist())
    return list(zip(*columns, strict=True))


def gaps(result: pa.Table) -> list[int]:
    """ts_b - ts_a of each row, in µs."""
    a, b = (result.column(n).combine_chunks().field("t").cast(pa.int64()) for n in "ab")
    return sorted(y - x for x, y in zip(a.to_pylist(), b.to_pylist(), strict=True))


# ---- time windows ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("T_a", "T_b", "closed", "expected"),
    [
        (10, 3, True, [-3, -2, -1, 0, 1, 9, 10]),
        (10, 3, False, [-2, -1, 0, 1, 9]),
        (10, 0, True, [0, 1, 9, 10]),
        (10, 0, False, [0, 1, 9]),
        (0, 3, True, [-3, -2, -1, 0]),
        (0, 3, False, [-2, -1, 0]),
        (1, 1, True, [-1, 0, 1]),
        (1, 1, False, [0]),
        (0, 0, True, [0]),
        (0, 0, False, [0]),
    ],
)
def test_each_edge_of_a_window(join, T_a, T_b, closed, expected):
    a = at("a", TimeWindow(T_a), 1000)
    b = at("b", TimeWindow(T_b), *(1000 + gap for gap in (-4, -3, -2, -1, 0, 1, 9, 10, 11)))
    assert gaps(join(a, b, closed=closed)) == expected


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ((-2, 3), [-2, -1, 0, 1, 2, 3]),
        ((0, 0), [0]),
        ((2, 4), [2, 3, 4]),
        ((-4, -2), [-4, -3, -2]),
        ((-3, -3), [-3]),
        ((1, 1), [1]),
        ((-9, -1), [-5, -4, -3, -2, -1]),
        ((6, 9), []),
    ],
)
@pytest.mark.parametrize("closed", [True, False])
def test_between_has_both_its_ends_whatever_closed_says(join, between, closed, expected):
    a, b = at("a", None, 1000), at("b", None, *range(995, 1006))
    assert gaps(join(a, b, between=between, closed=closed)) == expected


def test_between_runs_from_the_first_to_the_second(join):
    a, b = at("a", None, 10), at("b", None, 12)
    assert join(a, b, between=(2, 2)).num_rows == 1
    assert join(b, a, between=(2, 2)).num_rows == 0
    assert join(b, a, between=(-2, -2)).num_rows == 1


def test_ties_and_repeated_rows_join_each_with_each(join):
    a, b = at("a", TimeWindow(0), 5, 5, 5), at("b", TimeWindow(0), 5, 5)
    assert join(a, b, closed=False).num_rows == 6


def test_no_window_is_no_bound(join):
    a, b = at("a", None, 0), at("b", TimeWindow(1), 10**15, -1, -2)
    assert gaps(join(a, b)) == [-1, 10**15]


# ---- count windows --------------------------------------------------------------------------

#: Two tuples at 10, a repeated pair at 20, one at 30.
COUNTED = """
    v  k  t
    1  x  10
    2  x  10
    3  x  20
    3  x  20
    5  x  30
"""


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1, {10: [1, 2], 19: [1, 2], 20: [3, 3], 29: [3, 3], 30: [5], 31: [5]}),
        (2, {10: [1, 2], 19: [1, 2], 20: [3, 3], 29: [3, 3], 30: [3, 3, 5], 31: [3, 3, 5]}),
        (3, {19: [1, 2], 20: [1, 2, 3, 3], 29: [1, 2, 3, 3], 30: [3, 3, 5]}),
        (4, {20: [1, 2, 3, 3], 30: [1, 2, 3, 3, 5]}),
    ],
)
@pytest.mark.parametrize("per", ["key", "stream"])
@pytest.mark.parametrize("closed", [True, False])
def test_count_windows_with_ties_and_repeated_rows(join, n, per, closed, expected):
    a = stream("a", CountWindow(n, per), COUNTED)
    for time, joined in expected.items():
        b = stream("b", TimeWindow(0), f"v k t\n 0 x {time}")
        found = numbers(join(a, b, closed=closed), "a", "b")
        assert sorted(v for v, _, _ in found) == joined, time
        assert {ts for *_, ts in found} == {time}


@pytest.mark.parametrize(
    ("n", "per", "expected"),
    [
        # At 40, x of 10 has x of 35 after it in its key, and 20, 30, 35 in its stream.
        (1, "key", [35]),
        (2, "key", [10, 35]),
        (1, "stream", [35]),
        (2, "stream", [35]),
        (3, "stream", [35]),
        (4, "stream", [10, 35]),
    ],
)
def test_what_a_count_window_counts(join, n, per, expected):
    """Another key and a null key count per stream only; heartbeats and bad rows never do."""
    text = """
        v    k  t   beat
        10   x  10  false
        20   y  20  false
        30   -  30  false
        -1   x  31  true
        -2   x  -   false
        35   x  35  false
    """
    a = stream("a", CountWindow(n, per), text)
    a = Stream(a.data, a.schema, "a", ("k",), "t", a.window, beats="beat")
    b = stream("b", TimeWindow(0), "v k t\n 0 x 40")
    assert sorted(v for v, _, _ in numbers(join(a, b), "a", "b")) == expected


def test_two_count_windows(join):
    a = stream("a", CountWindow(1), "v k t\n 1 x 10\n 2 x 20")
    b = stream("b", CountWindow(1), "v k t\n 1 x 15\n 2 x 16\n 3 x 25")
    assert numbers(join(a, b), "a", "b") == [(1, 1, 15), (1, 2, 16), (2, 2, 20), (2, 3, 25)]


# ---- kinds, nulls, output -------------------------------------------------------------------

IMP = """
    v  k  t
    1  x  10
    2  x  20
    3  y  20
    4  -  20
    5  x  -
"""
CLK = """
    v  k  t
    1  x  15
    2  x  14
    3  z  21
    4  -  20
    5  y  -
"""
MATCHES = [(1, 2, 14), (1, 1, 15)]
IMP_ALONE = [(2, None, 20), (3, None, 20), (4, None, 20)]
CLK_ALONE = [(None, 4, 20), (None, 3, 21)]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", MATCHES),
        ("left", MATCHES + IMP_ALONE),
        ("right", MATCHES + CLK_ALONE),
        ("full", MATCHES + IMP_ALONE + CLK_ALONE),
    ],
)
def test_kinds(join, how, expected):
    result = join(stream("imp", TimeWindow(5), IMP), stream("clk", TimeWindow(2), CLK), how=how)
    assert result.column_names == ["imp", "clk", "ts"]
    assert sorted(map(str, numbers(result, "imp", "clk"))) == sorted(map(str, expected))


@pytest.mark.parametrize(
    ("how", "expected"), [("semi", [(1, 10)]), ("anti", [(2, 20), (3, 20), (4, 20)])]
)
def test_semi_and_anti_show_the_first_stream_and_its_time(join, how, expected):
    result = join(stream("imp", TimeWindow(5), IMP), stream("clk", TimeWindow(2), CLK), how=how)
    assert result.column_names == ["imp", "ts"]
    assert sorted(numbers(result, "imp")) == expected


def test_three_streams_each_in_its_own_window_at_the_last_tuple(join):
    a = stream("a", TimeWindow(10), "v k t\n 1 x 0")
    b = stream("b", TimeWindow(5), "v k t\n 1 x 4\n 2 x 6")
    c = stream("c", TimeWindow(0), "v k t\n 1 x 9\n 2 x 10\n 3 x 11\n 4 y 9")
    expected = [(1, 1, 1, 9), (1, 2, 1, 9), (1, 2, 2, 10)]
    assert numbers(join(a, b, c), "a", "b", "c") == expected


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_empty_streams(join, how):
    full = stream("a", TimeWindow(5), "v k t\n 1 x 0")
    none = Stream(full.data.slice(0, 0), full.schema, "b", ("k",), "t", TimeWindow(5))
    assert join(full, none, how=how).num_rows == (how in ("left", "full", "anti"))
    other = Stream(full.data, full.schema, "c", ("k",), "t", TimeWindow(5))
    assert join(none, other, how=how).num_rows == (how in ("right", "full"))


# ---- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"how": "outer"}, "how='outer'"),
        ({"between": (2, 1)}, "above the second"),
        ({"between": (1, 2)}, "together with windows"),
    ],
)
def test_refused(join, options, message):
    a, b = at("a", TimeWindow(1), 0), at("b", TimeWindow(1), 0)
    with pytest.raises(WindrowError, match=message):
        join(a, b, **options)


def test_refused_streams(join):
    a, b, c = (at(name, TimeWindow(1), 0) for name in "abc")
    with pytest.raises(WindrowError, match="at least two"):
        join(a)
    for how in ("right", "full"):
        with pytest.raises(WindrowError, match=f"how='{how}' of 3 streams: more than two"):
            join(a, b, c, how=how)
    plain = [at(name, None, 0) for name in "abc"]
    with pytest.raises(WindrowError, match=r"between=\(0, 1\) of 3 streams"):
        join(*plain, between=(0, 1))
    with pytest.raises(WindrowError, match="a name of its own"):
        join(a, a)
    with pytest.raises(WindrowError, match="same number"):
        join(a, Stream(b.data, b.schema, "b", None, "t", b.window))
    with pytest.raises(WindrowError, match="no column 'nope'"):
        join(a, Stream(b.data, b.schema, "b", ("nope",), "t", b.window))
    with pytest.raises(WindrowError, match="expected a timestamp"):
        join(a, Stream(b.data, b.schema, "b", ("k",), "k", b.window))
