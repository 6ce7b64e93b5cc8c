"""Ordered joins on real Spark: total order through restarts and lags, and what follows from it."""

import datetime as dt
import random
import warnings
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions

import windrow as wr
from windrow.testing import assert_same_rows, duckdb_join

from .streams import flush, streams
from .streams import rows as made

MINUTE = 60_000_000
SPAN = MINUTE
FLUSH = SPAN * 10


def table(seed, rows, start=0, stop=SPAN, keys=25):
    """A stream in order, with ties; some rows have no key."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(start // 1000, stop // 1000, rows)) * 1000
    return made([None if k == 0 else f"key {k}" for k in rng.integers(0, keys, rows)], times)


def scatter(files, name, rows, count, rng):
    """Write rows as so many files, cut anywhere."""
    cuts = [0, *sorted(rng.sample(range(1, rows.num_rows), count - 1)), rows.num_rows]
    for start, stop in pairwise(cuts):
        files.write(name, rows.slice(start, stop - start), stop - start)


class Written:
    """What a query has written, micro-batch by micro-batch; each counts once."""

    def __init__(self):
        self.batches = {}

    def __call__(self, frame, number):
        self.batches[number] = frame.toArrow()

    def table(self):
        return pa.concat_tables([self.batches[number] for number in sorted(self.batches)])


def run(files, joined, written, checkpoint="checkpoint"):
    query = (
        joined.writeStream.foreachBatch(wr.ordered(written))
        .option("checkpointLocation", str(files.folder / checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(180), "the query did not end in time"
    return wr.metrics(query)


@pytest.mark.parametrize(
    ("order", "how"),
    [
        ("sync-filter", "full"),
        ("filter-order", "full"),
        pytest.param("adaptive", "full", marks=pytest.mark.versions),
        pytest.param("filter-order", "inner", marks=pytest.mark.long),
        pytest.param("adaptive", "semi", marks=pytest.mark.long),
    ],
)
def test_rows_come_in_order_through_a_restart_in_the_middle_of_a_lag(files, order, how):
    """Stream b is five minutes behind when the query stops, and comes back with all of it."""
    one, two = table(1, 6000, stop=10 * MINUTE), table(2, 3000, stop=10 * MINUTE)
    rng = random.Random(f"{order} {how}")
    scatter(files, "a", one, 3, rng)
    scatter(files, "b", two.slice(0, 1500), 3, rng)
    asked = {"how": how, "order": order, "alpha": 0.0 if order == "adaptive" else 0.3}
    frames = files.stream("a"), files.stream("b")
    written = Written()
    before = run(files, wr.join(*streams(*frames), **asked), written)
    # Something waits or is held while the query is down.
    last = before[-1]
    assert sum(last.waiting.values()) + last.held > 0
    scatter(files, "b", two.slice(1500), 3, rng)
    for name in "ab":
        files.write(name, flush(20 * MINUTE), 1)
    after = run(files, wr.join(*streams(*frames), **asked), written)
    found = written.table()
    times = found["ts"].to_pylist()
    assert times == sorted(times)
    assert_same_rows(found, duckdb_join(*streams(one, two), how=how))
    assert sum(after[-1].waiting.values()) + after[-1].held == 0
    assert_batches_keep_to_their_triggers(written, [*before, *after])
    # Sorting must not run the join twice: its state is at hand in all but a run's first batch.
    assert [batch.arena_rebuilds for batch in (*before[1:], *after[1:])] == [0] * (
        len(before) + len(after) - 2
    )


def assert_batches_keep_to_their_triggers(written, figures):
    triggers = {metrics.batch: metrics.trigger for metrics in figures}
    for number, rows in written.batches.items():
        for ts in rows["ts"].to_pylist():
            assert ts < triggers[number]
            assert triggers.get(number - 1) is None or ts >= triggers[number - 1]


def test_one_row_an_hour_against_thousands_and_a_stream_that_ends(files):
    hour = 60 * MINUTE
    rare = made(["key 1", None, "other", "key 1"], [n * hour for n in (1, 2, 3, 4)])
    often = table(4, 20_000, stop=5 * hour, keys=2)
    files.write("a", rare, 1)
    files.write("b", often, 5_000)
    for name in "ab":
        files.write(name, flush(24 * hour), 1)

    def asked(one, two):
        common = {"key": "k", "time": "t", "beats": "beat", "window": "2 minutes"}
        return wr.stream(one, name="a", **common), wr.stream(two, name="b", **common)

    written = Written()
    joined = wr.join(*asked(files.stream("a"), files.stream("b")), how="left", order="filter-order")
    run(files, joined, written)
    found = written.table()
    times = found["ts"].to_pylist()
    assert times == sorted(times)
    assert len(times) > 200
    assert_same_rows(found, duckdb_join(*asked(rare, often), how="left"))


@pytest.mark.parametrize("order", [pytest.param("none", marks=pytest.mark.long), "filter-order"])
def test_sparks_own_aggregation_needs_no_lateness_behind_an_ordered_join(files, order):
    """Counts of the rows of each second: exact behind an order, too few behind none."""
    one, two = (table(seed, 80, stop=SPAN // 6, keys=60) for seed in (5, 6))
    # A second of each a micro-batch: a row that stays alone leaves two or three later.
    files.write("a", one, 8)
    files.write("b", two, 8)
    for name in "ab":
        files.write(name, flush(FLUSH), 1)
    # A last match beyond everything closes the windows before it.
    last = made(["last"], [FLUSH + SPAN])
    beyond = made(["last"], [FLUSH + 2 * SPAN])
    for name in "ab":
        files.write(name, last, 1)
        files.write(name, beyond, 1)
        files.write(name, flush(FLUSH + 2 * SPAN), 1)
    joined = wr.join(*streams(files.stream("a"), files.stream("b")), how="left", order=order)
    counts = (
        joined.withWatermark("ts", "0 seconds")
        .groupBy(functions.window("ts", "1 second"))
        .agg(functions.count("*").alias("n"))
        .select(functions.col("window.start").alias("start"), "n")
    )
    found = {row["start"]: row["n"] for row in files.run(counts).to_pylist()}
    expected = {}
    for row in duckdb_join(*streams(one, two), how="left").to_pylist():
        start = row["ts"].replace(microsecond=0)
        expected[start] = expected.get(start, 0) + 1
    found.pop(dt.datetime.fromtimestamp((FLUSH + SPAN) / 1e6, dt.UTC), None)
    got = {start.astimezone(dt.UTC): n for start, n in found.items()}
    if order == "none":
        assert sum(got.values()) < sum(expected.values())
    else:
        assert got == expected


@pytest.mark.long
def test_an_ordered_join_goes_into_another_without_lateness_and_without_a_warning(files):
    one, two, three = table(7, 200), table(8, 200), table(9, 200)
    for name, each in zip("abc", (one, two, three), strict=True):
        files.write(name, each, 70)
        files.write(name, flush(FLUSH), 1)
    a, b = streams(files.stream("a"), files.stream("b"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ab = wr.stream(
            wr.join(a, b, order="filter-order"), name="ab", key="a.k", time="ts", window="1 second"
        )
    c = wr.stream(files.stream("c"), name="c", key="k", time="t", window="1 second", beats="beat")
    found = files.run(wr.join(ab, c))
    inner = wr.join(*streams(one, two))
    whole = wr.stream(inner, name="ab", key="a.k", time="ts", window="1 second")
    expected = duckdb_join(
        whole, wr.stream(three, name="c", key="k", time="t", window="1 second", beats="beat")
    )
    # Its own stream holds the second join up where it stops; what is there is right.
    rows = {repr(row) for row in expected.to_pylist()}
    got = [repr(row) for row in found.to_pylist()]
    assert len(got) == len(set(got))
    assert set(got) <= rows
    assert len(got) > 0.9 * len(rows)


def test_a_batch_join_is_sorted_in_each_bucket(files):
    one, two = table(1, 600), table(2, 300)
    files.write("a", one, 200)
    files.write("b", two, 200)
    joined = wr.join(*streams(files.batch("a"), files.batch("b")), how="full", order="sync-filter")
    parts = joined.withColumn("part", functions.spark_partition_id()).toArrow()
    for part in set(parts["part"].to_pylist()):
        times = parts.filter(pa.compute.field("part") == part)["ts"].to_pylist()
        assert times == sorted(times)
    assert_same_rows(parts.drop_columns("part"), duckdb_join(*streams(one, two), how="full"))


def test_a_sink_refuses_what_cannot_be_in_order(files):
    files.write("a", table(1, 5), 5)
    files.write("b", table(2, 5), 5)
    sink = wr.ordered(Written())
    joined = wr.join(*streams(files.batch("a"), files.batch("b")))
    with pytest.raises(wr.WindrowError, match="give the join an order"):
        sink(joined, 0)
    # Another column's past is none of its business.
    renamed = joined.withColumnRenamed("ts", "first").withColumn("ts", functions.col("b.t"))
    sink(renamed, 0)
    with pytest.raises(wr.WindrowError, match="no column ts"):
        sink(joined.select("a"), 0)


def test_a_restart_with_another_order_is_refused(files):
    files.write("a", table(1, 20), 20)
    files.write("b", table(2, 20), 20)
    frames = files.stream("a"), files.stream("b")
    run(files, wr.join(*streams(*frames), order="sync-filter"), Written())
    files.write("a", table(1, 5, start=SPAN, stop=2 * SPAN), 5)
    with pytest.raises(Exception, match="written with order 'sync-filter'"):
        run(files, wr.join(*streams(*frames), order="filter-order"), Written())
