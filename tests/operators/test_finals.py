"""Finals: one row per key with aggregates over its results, once, when no more can come."""

import datetime as dt
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import windrow as wr
from windrow.api import local_join
from windrow.model import WindrowError
from windrow.operators.results.partials import lives_of
from windrow.testing import naive_join
from windrow.testing.punctuated import BATCHES, punctuated_cases

ASKED = {
    "n": "count(*)",
    "seen": "count(right.v)",
    "total": "sum(left.v)",
    "low": "min(left.v)",
    "high": "max(right.v)",
    "mean": "avg(left.v)",
}


def expected(case):
    """By key, the results of the plain join, for keys whose end can be told."""
    plan = wr.plan(*case.streams, **case.options)
    said = []
    for stream in case.streams:
        over = stream.data.filter(stream.data.column("over"))
        said.append(set(over.column("k").to_pylist()))
    by_key = defaultdict(list)
    for row in naive_join(*case.streams, **case.options).to_pylist():
        there = [row[name] for name in ("left", "right") if row.get(name) is not None]
        if there[0]["k"] is not None:
            by_key[there[0]["k"]].append(row)
    covered = {
        key
        for key in by_key
        if any(key in said[s] and plan.early(s) for s in range(2))
        or all(key in names for names in said)
    }
    return {key: by_key[key] for key in covered}


def values(rows, stream):
    return [row[stream]["v"] for row in rows if row.get(stream) is not None]


@given(case=punctuated_cases(), batch_rows=BATCHES)
def test_finals_are_aggregates_over_a_keys_results(case, batch_rows):
    plan = wr.plan(*case.streams, **case.options)
    asked = dict(ASKED)
    if case.how in ("semi", "anti"):
        asked = {name: text for name, text in ASKED.items() if "right" not in text}
    if case.how == "full":
        return
    if not plan.can_end:
        with pytest.raises(WindrowError, match="finals reports keys that are over"):
            wr.join(*case.streams, **case.options, finals=asked)
        return
    result = wr.join(*case.streams, **case.options, finals=asked, batch_rows=batch_rows)
    rows = result.to_pylist()
    wanted = expected(case)
    assert sorted(str(row["k"]) for row in rows) == sorted(map(str, wanted))
    for row in rows:
        mine = wanted[row["k"]]
        left, right = values(mine, "left"), values(mine, "right")
        assert row["n"] == len(mine)
        assert row["ts"] == max(each["ts"] for each in mine)
        assert row["total"] == (sum(left) if left else None)
        assert row["low"] == (min(left) if left else None)
        assert row["mean"] == (pytest.approx(sum(left) / len(left)) if left else None)
        if "high" in row:
            assert row["high"] == (max(right) if right else None)
            assert row["seen"] == len(right)
    assert wr.metrics(result).finals == len(rows)


@given(case=punctuated_cases(), batch_rows=BATCHES)
def test_a_full_joins_finals_leave_no_result_out(case, batch_rows):
    """Where the two sides end a key more than a window apart, each life has one."""
    case = replace(case, how="full")
    plan = wr.plan(*case.streams, **case.options)
    if not plan.can_end:
        return
    result = wr.join(*case.streams, **case.options, finals={"n": "count(*)"}, batch_rows=batch_rows)
    counted = defaultdict(int)
    for row in result.to_pylist():
        counted[row["k"]] += row["n"]
    wanted = {key: len(rows) for key, rows in expected(case).items()}
    assert {key: counted[key] for key in wanted} == wanted


def two_streams(kind, items, **options):
    """An auction each second, bids on it, and a value of some type."""
    at = [dt.datetime(2026, 1, 1) + dt.timedelta(seconds=i) for i in range(len(items))]
    a = pa.table({"id": range(len(items)), "t": pa.array(at, pa.timestamp("us"))})
    b = pa.table(
        {
            "id": range(len(items)),
            "t": pa.array(at, pa.timestamp("us")),
            "x": pa.array(items, kind),
        }
    )
    one = wr.stream(a, name="a", key="id", time="t", window="10 seconds", unique=True)
    two = wr.stream(b, name="b", key="id", time="t", window="0 seconds")
    return wr.join(one, two, **options)


@pytest.mark.parametrize(
    ("kind", "items"),
    [
        (pa.int8(), [1, -3]),
        (pa.float64(), [0.5, None]),
        (pa.decimal128(10, 2), [Decimal("1.25"), Decimal("-2.50")]),
        (pa.string(), ["x", "y"]),
        (pa.timestamp("us", "UTC"), [dt.datetime(2026, 1, 1, tzinfo=dt.UTC), None]),
        (pa.date32(), [dt.date(2026, 1, 1), None]),
        (pa.bool_(), [True, False]),
    ],
    ids=str,
)
def test_smallest_and_largest_of_any_type(kind, items):
    result = two_streams(kind, items, finals={"low": "min(b.x)", "high": "max(b.x)"})
    rows = sorted(result.to_pylist(), key=lambda row: row["id"])
    assert [row["low"] for row in rows] == [row["high"] for row in rows] == items


def test_sums_of_decimals_stay_exact():
    cents = [Decimal("0.10"), Decimal("0.20")]
    result = two_streams(pa.decimal128(10, 2), cents, finals={"s": "sum(b.x)", "m": "avg(b.x)"})
    assert sorted(row["s"] for row in result.to_pylist()) == cents
    assert sorted(row["m"] for row in result.to_pylist()) == [0.1, 0.2]


@pytest.mark.parametrize(
    ("finals", "message"),
    [
        ({}, "expected names and aggregates"),
        ({"n": "median(b.x)"}, "expected count"),
        ({"n": "count("}, "expected count"),
        ({"n": 3}, "expected count"),
        ({"n": "sum(b.x + 1)"}, "expected count"),
        ({"n": "sum(c.x)"}, "begin the column with a stream of the result: a, b"),
        ({"n": "sum(x)"}, "begin the column with a stream"),
        ({"n": "sum(b.y)"}, "stream 'b' has no column 'y'"),
        ({"n": "sum(b.x)"}, "there is no sum of string"),
        ({"n": "avg(b.x)"}, "there is no avg of string"),
        ({"n": "sum(a.yes)"}, "stream 'a' has no column 'yes'"),
        ({"ts": "count(*)"}, "'ts' is a column of every result already"),
        ({"id": "count(*)"}, "'id' is a key column already"),
        ({"n": "count(*)", "N": "count(*)"}, "'N' is another aggregate's name already"),
        ({"": "count(*)"}, "no name for a column"),
    ],
)
def test_what_is_refused(finals, message):
    with pytest.raises(WindrowError, match=message.replace("(", r"\(")):
        two_streams(pa.string(), ["x"], finals=finals)


@pytest.mark.parametrize(
    ("more", "message"),
    [({"punctuate": True}, "leave punctuate out"), ({"late": "keep"}, "leave late at 'drop'")],
)
def test_what_finals_cannot_be_combined_with(more, message):
    with pytest.raises(WindrowError, match=message):
        two_streams(pa.int64(), [1], finals={"n": "count(*)"}, **more)


def test_lives_are_told_apart_by_time():
    keys = np.array([1, 1, 2, 1, 3, 2])
    times = np.array([5, 6, 5, 20, 9, 99])
    ended, until = np.array([1, 2, 1]), np.array([5, 5, 19])
    assert lives_of(keys, times, ended, until).tolist() == [0, 1, 0, 2, 0, 1]


@pytest.mark.parametrize(
    "kind",
    [
        pa.decimal128(20, 2), pa.decimal256(50, 2), pa.duration("us"), pa.string_view(),
        pa.float64(), pa.bool_(), pa.date32(), pa.dictionary(pa.int8(), pa.string()),
    ],
    ids=str,
)  # fmt: skip
def test_any_type_of_key(kind):
    values = pa.array([0, 1], pa.int32())
    if pa.types.is_duration(kind):
        values = values.cast(pa.int64())
    text = pa.array(["", "x"])
    if pa.types.is_string_view(kind):
        values = text
    values = (
        pa.array(["", "x"]).dictionary_encode()
        if pa.types.is_dictionary(kind)
        else values.cast(kind)
    )
    at = pa.array([0, 1], pa.timestamp("us"))
    data = pa.table({"k": values, "t": at})
    a = wr.stream(data, name="a", key="k", time="t", window="1 second", unique=True)
    b = wr.stream(data, name="b", key="k", time="t", window="1 second")
    found = wr.join(a, b, finals={"n": "count(*)"})
    assert sorted(map(str, found["k"].to_pylist())) == sorted(map(str, values.to_pylist()))


def test_null_keys_are_nobodys():
    at = pa.array([0, 1, 2], pa.timestamp("us"))
    data = pa.table({"k": pa.array([None, 0, 0]), "t": at, "over": [False, False, True]})
    a = wr.stream(data, name="a", key="k", time="t", window="1 second", ends="over")
    b = wr.stream(data, name="b", key="k", time="t", window="1 second", ends="over")
    for batch_rows in (None, 1):
        found = wr.join(a, b, how="left", finals={"n": "count(*)"}, batch_rows=batch_rows)
        assert [(row["k"], row["n"]) for row in found.to_pylist()] == [(0, 1)]


def test_a_key_that_comes_back_has_a_final_of_its_own():
    """Whatever the batches, and though one stream may be late by more than a window."""
    times = [0, 0, 105, 106, 400]
    one = pa.table(
        {
            "k": [1, 1, 1, 1, 3],
            "t": pa.array(times, pa.timestamp("us")),
            "over": [False, True, False, True, False],
        }
    )
    two = pa.table(
        {
            "k": [1, 1, 4, 4, 3, 3],
            "t": pa.array([5, 105, 105, 106, 400, 700], pa.timestamp("us")),
        }
    )
    window = dt.timedelta(microseconds=10)
    a = wr.stream(one, name="a", key="k", time="t", window=window, ends="over")
    b = wr.stream(
        two, name="b", key="k", time="t", window=window, lateness=dt.timedelta(microseconds=200)
    )
    for batch_rows in (None, 1, 2, 3, 4):
        found = wr.join(a, b, finals={"n": "count(*)"}, batch_rows=batch_rows)
        mine = [row["n"] for row in found.to_pylist() if row["k"] == 1]
        assert mine == [1, 1], batch_rows


def test_the_store_shrinks():
    n = 5_000
    at = np.arange(n) * 1_000_000
    a = pa.table({"id": np.arange(n), "t": pa.array(at, pa.timestamp("us"))})
    one = wr.stream(a, name="a", key="id", time="t", window="2 seconds", unique=True)
    two = wr.stream(a, name="b", key="id", time="t", window="0 seconds")
    plan = replace(wr.plan(one, two, finals={"n": "count(*)"}), batch_rows=100)
    run, most = local_join(plan), 0
    count = 0
    for start in range(0, n, 100):
        for batch in run.record_batches(run.batch([(start, start + 100)] * 2)):
            count += batch.num_rows
        most = max(most, sum(len(b) for b in run.results.store.batches))
    assert count == n
    assert most < 2_500
