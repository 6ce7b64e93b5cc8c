"""The join on real Spark against the oracle: batch, streaming, restarts, types, refusals."""

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions

import windrow as wr
from windrow.testing import assert_same_rows, duckdb_join, naive_join

from .streams import flush, streams
from .streams import rows as made

SPAN = 60_000_000
#: Later than any window: heartbeats that free every row.
FLUSH = SPAN * 10


def table(seed, rows=600, keys=25):
    rng = np.random.default_rng(seed)
    drawn = [None if k == 0 else f"key {k}" for k in rng.integers(0, keys, rows)]
    return made(drawn, np.sort(rng.integers(0, SPAN, rows)))


@pytest.fixture
def tables(files):
    one, two = table(1), table(2)
    files.write("a", one, 200)
    files.write("b", two, 200)
    return one, two


@pytest.mark.parametrize(
    "how",
    ["inner", pytest.param("left", marks=pytest.mark.versions), "right", "full", "semi", "anti"],
)
def test_batch_dataframes_give_the_oracles_rows(files, tables, how):
    joined = wr.join(*streams(files.batch("a"), files.batch("b")), how=how)
    assert_same_rows(joined.toArrow(), duckdb_join(*streams(*tables), how=how))


@pytest.mark.versions
def test_streams_give_the_oracles_rows_through_a_restart(files, tables):
    frames = files.stream("a"), files.stream("b")
    files.run(wr.join(*streams(*frames), how="full"))
    # A second run on the same checkpoint finds no cached state under its token: new workers.
    more = [table(seed, rows=50) for seed in (3, 4)]
    shifted = [
        t.set_column(
            1, "t", pa.array(t["t"].cast(pa.int64()).to_numpy() + SPAN, t.schema.field("t").type)
        )
        for t in more
    ]
    for name, part in zip("ab", shifted, strict=True):
        files.write(name, part, 50)
        files.write(name, flush(FLUSH), 1)
    got = files.run(wr.join(*streams(*frames), how="full"))
    whole = [pa.concat_tables([t, s]) for t, s in zip(tables, shifted, strict=True)]
    assert_same_rows(got, duckdb_join(*streams(*whole), how="full"))


@pytest.mark.parametrize(
    "trigger", [{"once": True}, {"processingTime": "50 milliseconds"}], ids=str
)
def test_other_triggers_give_them_too(files, tables, trigger):
    for name in "ab":
        files.write(name, flush(FLUSH), 1)
    joined = wr.join(*streams(files.stream("a"), files.stream("b")), how="full")
    got = files.run(joined, **trigger)
    assert_same_rows(got, duckdb_join(*streams(*tables), how="full"))


@pytest.mark.versions
def test_a_condition_and_late_rows_on_spark(files):
    one = pa.table(
        {
            "k": [1, 1, 1],
            "t": pa.array([10, 20, 5], pa.timestamp("us", "UTC")),
            "p": [1.0, 9.0, 1.0],
        }
    )
    two = pa.table({"k": [1], "t": pa.array([20], pa.timestamp("us", "UTC")), "p": [5.0]})
    files.write("a", one, 1)
    files.write("b", two, 1)
    a, b = (
        wr.stream(files.stream(name), name=name, key="k", time="t", window="1 second")
        for name in "ab"
    )
    got = files.run(wr.join(a, b, condition="a.p < b.p", late="keep")).to_pylist()
    found = sorted((row["kind"], row["a"]["t"].microsecond) for row in got)
    assert found == [("late", 5), ("match", 10)]


@pytest.mark.versions
def test_every_type_comes_out_as_it_went_in(spark, files):
    row = {
        "k": 1,
        "t": dt.datetime(2026, 1, 1, 12, 30, 15, 123456, dt.UTC),
        "local": dt.datetime(2026, 1, 1, 12, 30, 15, 123456),
        "small": None,
        "text": "naïve ☃",
        "raw": b"\x00\xff",
        "price": decimal.Decimal("12345678901234567890.12"),
        "day": dt.date(1969, 12, 31),
        "wait": dt.timedelta(days=-1, microseconds=5),
        "list": [1, None, 3],
        "map": {"x": 1.5, "y": None},
        "nested": {"deep": {"values": ["a", None]}, "flag": None},
    }
    schema = (
        "k BIGINT, t TIMESTAMP, local TIMESTAMP_NTZ, small SMALLINT, text STRING, raw BINARY, "
        "price DECIMAL(38, 2), day DATE, wait INTERVAL DAY TO SECOND, list ARRAY<INT>, "
        "map MAP<STRING, DOUBLE>, nested STRUCT<deep: STRUCT<values: ARRAY<STRING>>, flag: BOOLEAN>"
    )
    frame = spark.createDataFrame([row], schema)
    other = frame.selectExpr("k + 1 AS k", "t")
    a = wr.stream(frame, name="a", key="k", time="t", window="1 second")
    b = wr.stream(frame, name="b", key="k", time="t", window="1 second")
    c = wr.stream(other, name="c", key="k", time="t", window="1 second")
    matched = wr.join(a, b)
    assert matched.select("a.*").schema == frame.schema
    assert matched.select("b.*").collect() == frame.collect()
    unmatched = wr.join(a, c, how="left").collect()
    assert unmatched[0]["a"] == frame.collect()[0]
    assert unmatched[0]["c"] is None


def test_what_cannot_run_on_spark_is_refused(spark, files, tables):
    a, b = streams(files.batch("a"), files.batch("b"))
    with pytest.raises(wr.WindrowError, match="mix of batch and streaming"):
        wr.join(a, streams(files.stream("b"), files.stream("b"))[1])
    with pytest.raises(wr.WindrowError, match="must be of one kind"):
        wr.join(a, streams(tables[0], tables[1])[1])
    counted = wr.stream(
        files.batch("a"), name="a", key="k", time="t", window=wr.rows(3, per="stream")
    )
    with pytest.raises(wr.WindrowError, match="must meet in one bucket"):
        wr.join(counted, b, buckets=2)
    with pytest.raises(wr.WindrowError, match="batch_rows"):
        wr.join(a, b, batch_rows=10)
    with pytest.raises(wr.WindrowError, match="time column 'k' is"):
        wr.stream(files.batch("a"), name="a", key="k", time="k", window="1 second")


def test_another_number_of_buckets_is_refused_on_restart(files, tables):
    frames = files.stream("a"), files.stream("b")
    files.run(wr.join(*streams(*frames)))
    for name in "ab":
        files.write(name, flush(FLUSH), 1)
    with pytest.raises(Exception, match="written with 2 buckets"):
        files.run(wr.join(*streams(*frames), buckets=4))


def test_results_chain_into_another_join(files, tables):
    a, b = streams(files.batch("a"), files.batch("b"))
    first = wr.join(a, b)
    ab = wr.stream(first, name="ab", key="a.k", time="ts", window="1 second")
    again = wr.stream(files.batch("b"), name="c", key="k", time="t", window="1 second")
    got = wr.join(ab, again).toArrow()
    inner = duckdb_join(*streams(*tables))
    local = wr.stream(inner, name="ab", key="a.k", time="ts", window="1 second")
    other = wr.stream(tables[1], name="c", key="k", time="t", window="1 second")
    assert_same_rows(got, duckdb_join(local, other))


def test_streams_that_flow_through_two_joins_and_an_aggregation(files, tables):
    for name in "ab":
        files.write(name, flush(FLUSH), 1)
    a, b = streams(files.stream("a"), files.stream("b"))
    joined = wr.join(a, b, buckets=5)
    with pytest.warns(UserWarning, match="order='none'"):
        wr.stream(joined, name="ab", key="a.k", time="ts", window="1 second")
    ab = wr.stream(joined, name="ab", key="a.k", time="ts", window="1 second", lateness="1 minute")
    c = wr.stream(files.stream("b"), name="c", key="k", time="t", window="1 second", beats="beat")
    twice = wr.join(ab, c)
    got = files.run(twice.select("ab", "c", "ts"))
    inner = duckdb_join(*streams(*tables))
    local = wr.stream(inner, name="ab", key="a.k", time="ts", window="1 second")
    other = wr.stream(tables[1], name="c", key="k", time="t", window="1 second")
    assert_same_rows(got, duckdb_join(local, other))


@pytest.mark.versions
def test_results_flow_into_sparks_own_windows(spark, files, tables):
    late = pa.table({name: column.slice(0, 1) for name, column in zip(
        tables[0].column_names, flush(FLUSH).columns, strict=True)})  # fmt: skip
    late = late.set_column(0, "k", pa.array(["key 1"])).set_column(3, "beat", pa.array([False]))
    for name in "ab":
        files.write(name, late, 1)
    joined = wr.join(*streams(files.stream("a"), files.stream("b")))
    counts = (
        joined.withWatermark("ts", "2 seconds")
        .groupBy(functions.window("ts", "10 seconds"))
        .count()
        .select("window.start", "count")
    )
    got = {row["start"]: row["count"] for row in files.run(counts).to_pylist()}
    times = duckdb_join(*streams(*tables))["ts"].cast(pa.int64()).to_numpy()
    starts, expected = np.unique(times // 10_000_000, return_counts=True)
    found = {int(start.timestamp()) // 10: count for start, count in got.items()}
    # The last window is still open: nothing has passed its end and the delay.
    assert {k: v for k, v in found.items() if k in starts} == dict(
        zip(starts.tolist(), expected.tolist(), strict=True)
    )


@pytest.mark.parametrize("per", ["key", "stream"])
def test_count_windows_on_spark(files, tables, per):
    def counted(one, two):
        return [
            wr.stream(data, name=name, key="k", time="t", window=wr.rows(2, per=per))
            for name, data in (("a", one), ("b", two))
        ]

    joined = wr.join(*counted(files.batch("a"), files.batch("b")), how="full")
    streamed = files.run(wr.join(*counted(files.stream("a"), files.stream("b"))))
    expected = naive_join(*counted(*tables), how="full")
    assert_same_rows(joined.toArrow(), expected)
    # Tuples wait for the slower stream to pass them, so the stream's very end is still out.
    matches = naive_join(*counted(*tables))
    end = pc.min([pc.max(t["t"]) for t in tables])
    assert_same_rows(streamed, matches.filter(pc.less(matches["ts"], end)))


def test_a_join_without_a_key_on_spark(files, tables):
    def keyless(one, two):
        return [
            wr.stream(data, name=name, key=None, time="t", window="100 milliseconds")
            for name, data in (("a", one), ("b", two))
        ]

    condition = "a.v < b.v"
    expected = duckdb_join(*keyless(*tables), condition=condition)
    streams = keyless(files.stream("a"), files.stream("b"))
    assert wr.explain(*streams, condition=condition).choice.algorithm == "nested-loops"
    joined = wr.join(*streams, condition=condition)
    assert_same_rows(files.run(joined), expected)


def test_a_silent_stream_does_not_hold_the_other_back(files):
    at = pa.timestamp("us", "UTC")
    files.write("a", pa.table({"k": [1, 1], "t": pa.array([0, 10_000_000], at)}), 1)
    files.write("b", pa.table({"k": [2], "t": pa.array([0], at)}), 1)
    a = wr.stream(files.stream("a"), name="a", key="k", time="t", window="1 second")

    def left(idle):
        b = wr.stream(files.stream("b"), name="b", key="k", time="t", window="1 second", idle=idle)
        return wr.join(a, b, how="left")

    silent = wr.stream(files.stream("b"), name="b", key="k", time="t", window="1s", idle="1 hour")
    assert "idle after 1 hour of silence\n" in str(wr.explain(a, silent))
    # The second micro-batch has rows of `a` only; any time at all passes between the two.
    assert files.run(left("0 seconds"), "out", "checkpoint").num_rows == 1
    assert files.run(left("1 hour"), "out2", "checkpoint2").num_rows == 0
