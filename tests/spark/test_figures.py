"""The figures of a running query: what real workers report, and what the driver makes of it."""

import datetime as dt
import pickle
from dataclasses import replace

import pyarrow as pa
import pytest

import windrow as wr
from windrow.model import BEGINNING, END
from windrow.spark.book import BOOK, MOST_BATCHES, MOST_QUERIES, Book, Entered, lags, moment
from windrow.spark.figures import Added, BucketFigures, JoinName, Key, Record
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
    (first,) = wr.metrics(run(files, joined()))

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
    again, second = wr.metrics(run(files, joined()))
    assert again == first
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
    before = list(BOOK._queries)
    assert wr.join(*frames).count() == 1
    assert list(BOOK._queries) == before


def test_a_dataframe_is_refused(files):
    files.write("a", tuples((1, 0)), 1)
    with pytest.raises(wr.WindrowError, match="this DataFrame carries no metrics"):
        wr.metrics(files.batch("a"))


# -- the driver's side, by hand ----------------------------------------------------------------

JOIN = JoinName(0, ("a", "b"), (True, True))


def key(batch=0, step="pack", part=(0, 0), run="r1", query="q", join=JOIN):
    return Key(query, run, batch, join, step, part)


def bucket(**given):
    two = (1, 0)
    zero = BucketFigures(two, two, two, two, 1, 1, two, two, (MINUTE, 3 * MINUTE))
    return replace(zero, **given)


def test_a_task_adds_up_and_the_driver_replaces():
    once = Added().addInPlace({}, {key(): Record(1.0, 10)})
    twice = Added().addInPlace(once, {key(): Record(0.5, 5), key(part=(1, 0)): Record(1.0, 1)})
    assert twice == {key(): Record(1.5, 15), key(part=(1, 0)): Record(1.0, 1)}
    book = Book()
    book.enter(twice)
    book.enter(twice)
    (metrics,) = book.of("q")
    assert (metrics.rows, metrics.pack_seconds) == ({"a": 15, "b": 1}, 2.5)


def test_buckets_add_up_but_for_their_progress():
    book = Book()
    book.enter({key(step="join", part=(n, 0)): Record(1.0, 0, bucket(), n > 0) for n in range(3)})
    (metrics,) = book.of("q")
    assert (metrics.matches, metrics.unmatched) == (3, 3)
    assert metrics.late == metrics.live_rows == {"a": 3, "b": 0}
    assert (metrics.arena_hits, metrics.arena_rebuilds) == (2, 1)
    assert metrics.lag == {"a": dt.timedelta(minutes=2), "b": dt.timedelta()}


def test_a_new_run_replaces_the_micro_batch_it_repeats():
    book = Book()
    for batch in (0, 1):
        book.enter({key(batch): Record(1.0, 10)})
    again = replace(JOIN, number=1)
    book.enter({key(1, run="r2", join=again): Record(1.0, 7)})
    assert [(m.batch, m.rows["a"]) for m in book.of("q")] == [(0, 10), (1, 7)]


def test_memory_is_bounded():
    book = Book()
    for batch in range(MOST_BATCHES + 50):
        book.enter({key(batch): Record(1.0, batch)})
    found = book.of("q")
    assert [m.batch for m in found] == list(range(50, MOST_BATCHES + 50))
    assert [m.rows["a"] for m in found] == [m.batch for m in found]
    # What comes after a micro-batch was closed is of a task that nobody waited for.
    book.enter({key(60): Record(1.0, 10_000)})
    assert book.of("q") == found
    assert sum(len(records) for records in book._queries["q"]._open.values()) == 2
    for n in range(MOST_QUERIES):
        book.enter({key(query=f"q{n}"): Record(1.0, 1)})
    assert book.of("q") == []
    assert len(book.of("q0")) == 1


def test_workers_get_the_parameter_that_adds():
    assert type(pickle.loads(pickle.dumps(Entered()))) is Added


def test_progress_that_no_datetime_can_hold():
    assert moment(BEGINNING, True) is None
    assert moment(END, False) is None
    assert moment(2**60, True) is None
    assert lags([BEGINNING, 5]) == [None, dt.timedelta()]
    assert lags([5, END, 3]) == [dt.timedelta(), None, dt.timedelta(microseconds=2)]
