"""Count windows against the oracle, and their edges by hand."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.operators import keys as keys_module
from windrow.testing import assert_same_rows, cases, duckdb_join

HOWS = ("inner", "left", "right", "full", "semi", "anti")


def stream(name, ts, keys=None, window=None, **more):
    keys = ["k"] * len(ts) if keys is None else keys
    data = pa.table(
        {
            "k": pa.array(keys, pa.string()),
            "t": pa.array(ts, pa.timestamp("us")),
            "v": pa.array(range(len(ts)), pa.int64()),
        }
    )
    return wr.stream(data, name=name, key="k", time="t", window=window, **more)


def pairs(result):
    return sorted((row["a"]["v"], row["b"]["v"]) for row in result.to_pylist())


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("batch_rows", [None, 1, 3])
@settings(max_examples=25)
@given(data=st.data())
def test_count_windows_agree_with_the_oracle(how, batch_rows, data):
    case = data.draw(cases(hows=[how], count_windows=True))
    got = wr.join(*case.streams, **case.options, batch_rows=batch_rows)
    assert_same_rows(got, duckdb_join(*case.streams, **case.options))


@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=25)
@given(data=st.data())
def test_colliding_hashes_are_not_counted_together(how, data):
    case = data.draw(
        cases(hows=[how], count_windows=True, key_kinds=["string", "composite", "decimal"])
    )
    original = keys_module.hash_keys

    def weak(columns, length):
        good = original(columns, length)
        return keys_module.Keys(good.hashes & 1, good.null, good.columns)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("windrow.operators.columns.hash_keys", weak)
        got = wr.join(*case.streams, **case.options, batch_rows=2)
    assert_same_rows(got, duckdb_join(*case.streams, **case.options))


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        # b at 30 sees a's last n rows: those at 10, 20, 30; the tie at 30 counts as newer.
        (1, [(2, 0)]),
        (2, [(1, 0), (2, 0)]),
        (3, [(0, 0), (1, 0), (2, 0)]),
    ],
)
@pytest.mark.parametrize("per", ["key", "stream"])
def test_the_last_n_rows_and_no_more(n, expected, per):
    a = stream("a", [10, 20, 30], window=wr.rows(n, per=per))
    b = stream("b", [30], window="0 seconds")
    assert pairs(wr.join(a, b)) == expected


@pytest.mark.parametrize("per", ["key", "stream"])
def test_ties_count_for_nobody_and_always_join(per):
    # Three rows at 10: none is later than another, so all are the last one.
    a = stream("a", [10, 10, 10, 20], window=wr.rows(1, per=per))
    b = stream("b", [10, 19, 20], window=wr.rows(1, per=per))
    ties = [(0, 0), (1, 0), (2, 0)]
    # Nothing of a came between 10 and 19; but at 20 b has its own newer row, so 19 is out.
    between = [(0, 1), (1, 1), (2, 1)]
    assert pairs(wr.join(a, b)) == sorted([*ties, *between, (3, 2)])


def test_other_keys_count_only_per_stream():
    ts, keys = [10, 11, 12], ["k", "x", "x"]
    b = stream("b", [20], window="0 seconds")
    per_key = stream("a", ts, keys, window=wr.rows(1, per="key"))
    per_stream = stream("a", ts, keys, window=wr.rows(2, per="stream"))
    assert pairs(wr.join(per_key, b)) == [(0, 0)]
    assert pairs(wr.join(per_stream, b)) == []


def test_rows_with_a_null_key_count_per_stream_and_leave_once():
    a = stream("a", [10, 11, 12], ["k", None, None], window=wr.rows(2, per="stream"))
    b = stream("b", [11, 20], window="0 seconds")
    rows = wr.join(a, b, how="left", batch_rows=1).to_pylist()
    found = sorted((r["a"]["v"], r["b"] and r["b"]["v"]) for r in rows)
    assert found == [(0, 0), (1, None), (2, None)]


def test_late_and_bad_rows_do_not_count():
    # Batches of one row: the row at 5 is late after 20 has been seen; the null time is bad.
    a = stream("a", [10, 20, 5, None, 21], window=wr.rows(2))
    b = stream("b", [21, 21, 21, 21, 21], window="0 seconds")
    result = wr.join(a, b, batch_rows=1, how="semi")
    assert sorted(r["a"]["v"] for r in result.to_pylist()) == [1, 4]
    figures = wr.metrics(result)
    assert (figures.late["a"], figures.bad["a"]) == (1, 1)


@pytest.mark.parametrize("ahead", [1, 7])
def test_one_stream_far_ahead_changes_nothing(ahead):
    rng = np.random.default_rng(ahead)
    slow = np.sort(rng.integers(0, 50, 40))
    fast = np.sort(rng.integers(0, 50 * ahead, 40))
    a = stream("a", slow, [str(k) for k in rng.integers(0, 4, 40)], window=wr.rows(3))
    b = stream("b", fast, [str(k) for k in rng.integers(0, 4, 40)], window=wr.rows(2))
    whole = wr.join(a, b, how="full")
    for batch_rows in (1, 5, 13):
        assert_same_rows(wr.join(a, b, how="full", batch_rows=batch_rows), whole)
    assert_same_rows(whole, duckdb_join(a, b, how="full"))


def test_state_per_key_holds_no_more_than_the_window():
    n, keys, rows = 4, 10, 5_000
    ts = np.arange(rows)
    names = [str(k) for k in itertools.islice(itertools.cycle(range(keys)), rows)]
    a = stream("a", ts, names, window=wr.rows(n))
    b = stream("b", ts, names, window=wr.rows(n))
    figures = wr.metrics(wr.join(a, b, batch_rows=100))
    assert figures.peak_rows["a"] <= keys * (n + 1)
    assert figures.invalidated["a"] == figures.inserted["a"] == rows
