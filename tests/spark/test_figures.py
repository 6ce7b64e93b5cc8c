"""The figures of a running query: what real workers report, and what the driver makes of it."""

import datetime as dt
import pickle
import time
from dataclasses import replace

import pyarrow as pa
import pytest

import windrow as wr
from windrow.model import BEGINNING, END
from windrow.operators.figures import REPORTED
from windrow.spark.metrics.book import BOOK, MOST_BATCHES, MOST_RUNS, Book, Entered, lags, moment
from windrow.spark.metrics.figures import Added, BucketFigures, JoinName, Key, Record
from windrow.testing import duckdb_join

MINUTE = 60_000_000
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def table(*rows, zone="UTC"):
    """Rows of (key, minute, beat)."""
    begin = int(START.timestamp()) * 1_000_000
    times = [None if minute is None else begin + minute * MINUTE for _, minute, _ in rows]
    return pa.table(
        {
            "k": pa.array([key for key, _, _ in rows], pa.int64()),
            "t": pa.array(times, pa.timestamp("us", zone)),
            "beat": pa.array([beat for _, _, beat in rows]),
        }
    )


def tuples(*rows, **given):
    return table(*((key, minute, False) for key, minute in rows), **given)


def stream(data, name, window="5 minutes", **given):
    return wr.stream(data, name=name, key="k", time="t", window=window, beats="beat", **given)


def run(files, frame):
    query = (
        frame.writeStream.format("noop")
        .option("checkpointLocation", str(files.folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(180), "the query did not end in time"
    return query


@pytest.mark.versions
def test_a_querys_micro_batches_through_a_restart(files):
    def joined():
        a, b = stream(files.stream("a"), "a"), stream(files.stream("b"), "b")
        return wr.join(a, b, how="left", buckets=3)

    files.write("a", tuples((1, 0), (2, 1), (3, 2)), 3)
    files.write("b", tuples((1, 3), (1, 4)), 2)
    query = run(files, joined())
    (first,) = wr.metrics(query)

    assert (first.batch, first.streams) == (0, ("a", "b"))
    assert first.rows == first.tuples == {"a": 3, "b": 2}
    assert (first.matches, first.unmatched) == (2, 0)
    assert first.progress == {
        "a": START + dt.timedelta(minutes=2),
        "b": START + dt.timedelta(minutes=4),
    }
    assert first.lag == {"a": dt.timedelta(minutes=2), "b": dt.timedelta()}
    assert first.live_rows == {"a": 3, "b": 2}
    assert first.live_bytes["a"] > 0
    assert (first.arena_hits, first.arena_rebuilds) == (0, 0)
    assert min(first.pack_seconds, first.join_seconds) > 0

    # One late row, one without a time, and one that beats.
    files.write("a", table((1, 1, False), (4, None, False), (None, 10, True)), 3)
    files.write("b", tuples((2, 12)), 1)
    (second,) = wr.metrics(run(files, joined()))
    assert wr.metrics(query) == [first], "each run keeps its own"
    assert second.batch == 1
    assert second.rows == {"a": 3, "b": 1}
    kinds = (second.tuples, second.late, second.bad, second.beats)
    assert [kind["a"] for kind in kinds] == [0, 1, 1, 1]
    assert [kind["b"] for kind in kinds] == [1, 0, 0, 0]
    # By minute 12 of b, the rows of a that never met anything are known to be alone.
    assert (second.matches, second.unmatched) == (0, 2)
    assert second.live_rows["a"] == 0
    assert second.lag == {"a": dt.timedelta(minutes=2), "b": dt.timedelta()}
    assert second.arena_hits + second.arena_rebuilds == 3


def test_a_micro_batch_is_shown_once_it_has_finished(files, spark):
    """Not while it runs, not if it fails; and each run of a query has its own."""
    for name in "ab":
        files.write(name, tuples((1, 0), (1, 1), (1, 2)), 1)
    seen, shown, queries = [], [], []

    def write(batch, number):
        spark.sparkContext.setJobGroup("a job group of the sink's own", "")
        batch.write.format("noop").mode("append").save()
        if queries:
            query = queries[-1]
            seen.append([m.batch for m in BOOK.of(str(query.id), str(query.runId))])
            shown.append([m.batch for m in wr.metrics(query)])
        if number == 2 and len(queries) == 1:
            raise ValueError("the sink is full")

    def start():
        frame = wr.join(*(stream(files.stream(name), name) for name in "ab"), buckets=2)
        writer = frame.writeStream.foreachBatch(write)
        writer = writer.option("checkpointLocation", str(files.folder / "checkpoint"))
        queries.append(writer.trigger(processingTime="100 milliseconds").start())
        return queries[-1]

    spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", "100")
    try:
        first = start()
        with pytest.raises(Exception, match="the sink is full"):
            first.awaitTermination(180)
        assert seen[-1] == [0, 1, 2], "all buckets of the last have reported, and it is not done"
        assert shown[-1] == [0, 1]
        assert [m.batch for m in wr.metrics(first)] == [0, 1]
        second = start()
        second.processAllAvailable()
        files.write("a", tuples((1, 3)), 1)
        files.write("b", tuples((1, 3)), 1)
        second.processAllAvailable()
        deadline = time.monotonic() + 60
        while "addBatch" in second.lastProgress.durationMs and time.monotonic() < deadline:
            time.sleep(0.05)
        assert second.lastProgress.batchId == 4, "a query that waits names what is to come"
        assert [(m.batch, m.matches) for m in wr.metrics(second)] == [(2, 5), (3, 7)]
        second.stop()
        assert [m.batch for m in wr.metrics(second)] == [2, 3]
        assert [(m.batch, m.matches) for m in wr.metrics(first)] == [(0, 1), (1, 3)]
    finally:
        spark.conf.unset("spark.sql.streaming.noDataProgressEventInterval")
        for query in queries:
            query.stop()


def test_many_tasks_and_buckets_add_up_to_the_oracles_counts(files):
    one = tuples(*((n % 17, n) for n in range(400)))
    two = tuples(*((n % 13, n) for n in range(400)))
    files.write("a", one, 200)
    files.write("b", two, 200)
    frames = (files.stream(name).repartition(3) for name in "ab")
    a, b = (stream(f, name, lateness="400 minutes") for f, name in zip(frames, "ab", strict=True))
    found = wr.metrics(run(files, wr.join(a, b, buckets=4)))
    matches = duckdb_join(stream(one, "a"), stream(two, "b")).num_rows
    assert matches > 0
    assert sum(metrics.matches for metrics in found) == matches
    assert [metrics.rows for metrics in found] == [{"a": 200, "b": 200}] * 2


def test_chained_joins_have_their_own_entries(files):
    for name in "abc":
        files.write(name, tuples((1, 0), (2, 0)), 2)
    a, b, c = (stream(files.stream(name), name) for name in "abc")
    window = {"window": "5 minutes", "lateness": "5 minutes"}
    ab = wr.stream(wr.join(a, b), name="ab", key="a.k", time="ts", **window)
    (upper, lower) = wr.metrics(run(files, wr.join(ab, c)))
    assert (upper.streams, lower.streams) == (("a", "b"), ("ab", "c"))
    assert (upper.matches, lower.matches) == (2, 2)
    assert lower.rows == {"ab": 2, "c": 2}
    # Flat rows need no unpacking; structs in structs do.
    assert (upper.unpack_seconds, lower.unpack_seconds > 0) == (0, True)


def test_times_without_a_zone_and_streams_that_have_not_begun(files):
    files.write("a", tuples((1, 7), zone=None), 1)
    files.write("b", tuples((1, 7), zone=None), 1)
    a, b = stream(files.stream("a"), "a"), stream(files.stream("b").where("k > 1"), "b")
    (metrics,) = wr.metrics(run(files, wr.join(a, b)))
    assert metrics.progress == {"a": dt.datetime(2026, 1, 1, 0, 7), "b": None}
    assert metrics.lag == {"a": dt.timedelta(), "b": None}


def test_a_query_without_a_join_has_no_figures(files):
    files.write("a", tuples((1, 0)), 1)
    assert wr.metrics(run(files, files.stream("a"))) == []


def test_a_batch_join_reports_nothing(files):
    files.write("a", tuples((1, 0)), 1)
    frames = [stream(files.batch("a"), name) for name in "ab"]
    before = list(BOOK._runs)
    assert wr.join(*frames).count() == 1
    assert list(BOOK._runs) == before


def test_a_dataframe_is_refused(files):
    files.write("a", tuples((1, 0)), 1)
    with pytest.raises(wr.WindrowError, match="this DataFrame carries no metrics"):
        wr.metrics(files.batch("a"))


# -- the driver's side, by hand ----------------------------------------------------------------

JOIN = JoinName(0, ("a", "b"), (True, True))


def key(batch=0, step="pack", part=(0, 0), run="r1", query="q", join=JOIN):
    return Key(query, run, batch, join, step, part)


def bucket(**given):
    """Of each figure 1 and 0 for the two streams, or 1 for the whole."""
    numbers = {each.name: (1, 0) if each.per_stream else (1,) for each in REPORTED}
    return replace(BucketFigures(numbers, (MINUTE, 3 * MINUTE)), **given)


def test_a_task_adds_up_and_the_driver_replaces():
    once = Added().addInPlace({}, {key(): Record(1.0, 10)})
    twice = Added().addInPlace(once, {key(): Record(0.5, 5), key(part=(1, 0)): Record(1.0, 1)})
    assert twice == {key(): Record(1.5, 15), key(part=(1, 0)): Record(1.0, 1)}
    book = Book()
    book.enter(twice)
    book.enter(twice)
    (metrics,) = book.of("q", "r1")
    assert (metrics.rows, metrics.pack_seconds) == ({"a": 15, "b": 1}, 2.5)


def test_buckets_add_up_but_for_their_progress():
    book = Book()
    book.enter({key(step="join", part=(n, 0)): Record(1.0, 0, bucket(), n > 0) for n in range(3)})
    (metrics,) = book.of("q", "r1")
    assert (metrics.matches, metrics.unmatched) == (3, 3)
    assert metrics.late == metrics.live_rows == {"a": 3, "b": 0}
    assert (metrics.arena_hits, metrics.arena_rebuilds) == (2, 1)
    assert metrics.lag == {"a": dt.timedelta(minutes=2), "b": dt.timedelta()}


def test_runs_are_kept_apart():
    """Each does its own micro-batches, one of them again."""
    book = Book()
    for batch in (0, 1):
        book.enter({key(batch): Record(1.0, 10)})
    again = replace(JOIN, number=1)
    book.enter({key(1, run="r2", join=again): Record(1.0, 7)})
    # A task of the first run that was not stopped in time.
    book.enter({key(1, part=(0, 1)): Record(1.0, 5)})
    assert [(m.batch, m.rows["a"]) for m in book.of("q", "r1")] == [(0, 10), (1, 15)]
    assert [(m.batch, m.rows["a"]) for m in book.of("q", "r2")] == [(1, 7)]
    assert book.of("q", "r3") == book.of("p", "r1") == []


def test_a_task_that_cannot_tell_its_run_is_of_the_one_that_was_started_last():
    book = Book()
    book.enter({key(run=""): Record(1.0, 1)})
    for run, rows in (("r1", 2), ("r2", 3)):
        book.started("q", run)
        book.enter({key(run=""): Record(1.0, rows)})
    # Spark tells of an end after the next run has been started.
    book.ended("q", "r1")
    book.enter({key(1, run=""): Record(1.0, 4)})
    assert [m.rows["a"] for m in book.of("q", "r1")] == [2]
    assert [m.rows["a"] for m in book.of("q", "r2")] == [3, 4]
    book.ended("q", "r2")
    book.enter({key(2, run=""): Record(1.0, 5)})
    assert len(book.of("q", "r2")) == 2


def test_memory_is_bounded():
    book = Book()
    for batch in range(MOST_BATCHES + 50):
        book.enter({key(batch): Record(1.0, batch)})
    found = book.of("q", "r1")
    assert [m.batch for m in found] == list(range(50, MOST_BATCHES + 50))
    assert [m.rows["a"] for m in found] == [m.batch for m in found]
    # What comes after a micro-batch was closed is of a task that was not waited for.
    book.enter({key(60): Record(1.0, 10_000)})
    assert book.of("q", "r1") == found
    assert sum(len(records) for records in book._runs["q", "r1"]._open.values()) == 2
    for n in range(MOST_RUNS):
        book.enter({key(run=f"run {n}"): Record(1.0, 1)})
    assert book.of("q", "r1") == []
    assert len(book.of("q", "run 0")) == 1


def test_workers_get_the_parameter_that_adds():
    assert type(pickle.loads(pickle.dumps(Entered()))) is Added


def test_progress_that_no_datetime_can_hold():
    assert moment(BEGINNING, True) is None
    assert moment(END, False) is None
    assert moment(2**60, True) is None
    assert lags([BEGINNING, 5]) == [None, dt.timedelta()]
    assert lags([5, END, 3]) == [dt.timedelta(), None, dt.timedelta(microseconds=2)]
