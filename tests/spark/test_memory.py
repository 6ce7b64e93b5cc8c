"""Joins whose memory follows the data on real Spark: batch, streaming, restarts, what is shown."""

import io
import warnings

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions
from rich.console import Console

import windrow as wr
from tests.memory.streams import expected, results, streams_of, tables
from tests.memory.test_oblivious import outer
from tests.spark.test_memory_bucket import cut
from windrow import inspect_command
from windrow.model import LARGEST_MICROS
from windrow.spark.tools import live
from windrow.spark.tools.inspection import inspect

LEAD, COUNT = 40, 1500
#: Micro-batches, by the number of the arrival that each ends before.
STOPS = list(range(300, 3 * COUNT, 300))
#: What is true of the streams below, and a little more.
GIVEN = {
    "k": {"a": 10, "b": 10},
    "rate": {"a": 1.0, "b": 1.0},
    "lag": {("a", "b"): LEAD + 10, ("b", "a"): 10},
}


def arrivals(seed=5):
    """Both are scrambled, the first is ahead, the second has two of every seventh key."""
    rng = np.random.default_rng(seed)
    keys = [np.argsort(np.arange(COUNT) + rng.uniform(0, 6, COUNT)) for _ in range(2)]
    found = [(0, int(key)) for key in keys[0][:LEAD]]
    for one, two in zip([*keys[0][LEAD:], *[None] * LEAD], keys[1], strict=True):
        found += [] if one is None else [(0, int(one))]
        found += [(1, int(two) - (two % 7 == 3))]
    return found


ARRIVALS = arrivals()
TABLES = tables(ARRIVALS, 2)
BATCHES = cut(TABLES, STOPS)


def write(files, batches=BATCHES):
    for batch in batches:
        for name, table in zip("ab", batch, strict=True):
            files.write(name, table, COUNT)


def joined(files, read="stream", how="inner", memory="data"):
    return wr.join(*streams_of([getattr(files, read)(n) for n in "ab"]), how=how, memory=memory)


def test_what_is_given_is_true():
    found = wr.join(*streams_of(TABLES), how="left", memory=wr.data(**GIVEN))
    assert results(found, 2) == outer(ARRIVALS, 2, "left")
    assert wr.metrics(found).broken == {"a": 0, "b": 0}
    assert wr.metrics(found).peak_rows["a"] == 1 + 10 + 10 + LEAD + 10 + 1


@pytest.mark.versions
def test_batch_dataframes_give_complete_results(files):
    write(files)
    found = joined(files, "batch").toArrow()
    assert results(found, 2) == expected(ARRIVALS, 2)


@pytest.mark.versions
def test_streams_give_complete_results_through_a_restart(files):
    """Nothing is given; the second run has rows of keys that the first one has stored."""
    write(files, BATCHES[:4])
    first = results(files.run(joined(files)), 2)
    write(files, BATCHES[4:])
    frame = joined(files)
    found = results(files.run(frame), 2)
    assert found == expected(ARRIVALS, 2)
    assert first
    assert len(found) > len(first)


def test_a_left_join_with_all_bounds_given(files):
    """What is evicted unmatched leaves once; what is stored at the end has not left yet."""
    write(files, BATCHES[:4])
    files.run(joined(files, how="left", memory=wr.data(**GIVEN)))
    write(files, BATCHES[4:])
    found = results(files.run(joined(files, how="left", memory=wr.data(**GIVEN))), 2)
    whole = outer(ARRIVALS, 2, "left")
    assert not found - whole
    missing = whole - found
    assert all(rows[1] is None for rows in missing)
    assert len(missing) < len([rows for rows in whole if rows[1] is None])
    at_once = joined(files, "batch", "left", wr.data(**GIVEN)).toArrow()
    assert results(at_once, 2) == whole


def test_decimal_keys(files):
    wide, kind = pa.decimal128(38, 2), pa.decimal128(18, 2)
    keyed = [
        [t.set_column(0, "k", t["k"].cast(wide).cast(kind)) for t in batch] for batch in BATCHES
    ]
    write(files, keyed)
    assert results(files.run(joined(files)), 2) == expected(ARRIVALS, 2)


def test_what_is_shown(files, tmp_path):
    """Metrics, the live view, `windrow inspect` and `explain`."""
    write(files)
    frame = joined(files)
    query = (
        frame.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    assert query.awaitTermination(180)
    found = wr.metrics(query)
    assert found[-1].memory["a"] > 0
    assert found[-1].broken == found[-1].forced == {"a": 0, "b": 0}
    assert found[-1].progress == {"a": None, "b": None}
    assert found[-1].accuracy == 1.0
    assert sum(found[-1].live_rows.values()) < COUNT
    console = Console(file=io.StringIO(), width=120)
    console.print(live.view(found, live.seconds(query)))
    assert "a/b" in console.file.getvalue()
    kept = inspect(files.spark, str(tmp_path / "checkpoint"))
    (join,) = kept.joins
    assert join.memory == "data"
    for bucket in join.buckets:
        assert set(bucket.remembered) == {"a", "b"}
        assert 1 <= bucket.remembered["a"].scrambling <= 10
        assert bucket.remembered["a"].memory < 200
    console.print(inspect_command.tables(kept))
    assert "scrambling" in console.file.getvalue()


def test_a_key_that_is_not_ordered_is_warned_of_once(files):
    rng = np.random.default_rng(1)
    for name in "ab":
        table = pa.table(
            {
                "k": pa.array(rng.permutation(30_000)),
                "t": pa.array(np.arange(30_000), pa.timestamp("us")),
                "n": pa.array(np.arange(30_000)),
            }
        )
        files.write(name, table, 15_000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        files.run(joined(files))
    texts = [str(each.message) for each in caught if "long run" in str(each.message)]
    assert sorted("stream 'a'" in text for text in texts) == [False, True]


def test_a_watermark_is_a_lateness_that_is_given(files):
    write(files, BATCHES[:1])
    # Spark has watermarks on instants only.
    one, two = (
        files.stream(name).withColumn("t", functions.col("t").cast("timestamp")) for name in "ab"
    )
    sides = streams_of([one.withWatermark("t", "2 seconds"), two])
    plan = wr.plan(*sides, memory="data")
    assert [stream.lateness for stream in plan.streams] == [2_000_000, LARGEST_MICROS]


@pytest.mark.parametrize("memory", ["msf", "dbf", "hybrid", wr.data(limit="1 MB")])
def test_what_works_in_process_only_is_refused(files, memory):
    write(files, BATCHES[:1])
    with pytest.raises(wr.WindrowError, match=r"in process, not DataFrames; on Spark use"):
        joined(files, memory=memory)
