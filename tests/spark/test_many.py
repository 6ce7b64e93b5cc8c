"""Joins of many streams on real Spark: batch, streaming, restarts, chains, and what is shown."""

import io
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

import windrow as wr
from windrow.spark.tools import live
from windrow.spark.tools.inspection import inspect
from windrow.testing import assert_same_rows, duckdb_join, naive_join

from .streams import flush, rows

SECOND = 1_000_000
SPAN = 30 * SECOND
#: Later than any window: heartbeats that free every row.
FLUSH = SPAN * 10
WINDOWS = {"a": "2 seconds", "b": "1 second", "c": "3 seconds", "d": "2 seconds"}


def table(seed, begin=0, keys=9, count=150):
    rng = np.random.default_rng(seed)
    drawn = [None if k == 0 else f"key {k}" for k in rng.integers(0, keys, count)]
    return rows(drawn, np.sort(rng.integers(begin, begin + SPAN, count)))


def streams(data, **more):
    """Streams of these names and tables, or DataFrames."""
    common = {"key": "k", "time": "t", "beats": "beat", **more}
    return [wr.stream(each, name=n, window=WINDOWS[n], **common) for n, each in data.items()]


def write(files, tables, count=50):
    for name, each in tables.items():
        files.write(name, each, count)


def frames(files, names="abc"):
    return {name: files.stream(name) for name in names}


FIRST = {name: table(seed) for seed, name in enumerate("abcd")}
SECOND_HALF = {name: table(10 + seed, SPAN) for seed, name in enumerate("abcd")}
ABC = {name: FIRST[name] for name in "abc"}


@pytest.mark.parametrize(
    ("how", "names"),
    [
        pytest.param("left", "abc", marks=pytest.mark.versions),
        ("inner", "abcd"),
        ("semi", "abc"),
        ("anti", "abcd"),
    ],
)
def test_batch_dataframes_give_the_oracles_rows(files, how, names):
    tables = {name: FIRST[name] for name in names}
    write(files, tables)
    condition = "a.v <> b.v AND b.v < c.v + 40"
    read = {name: files.batch(name) for name in names}
    joined = wr.join(*streams(read), how=how, condition=condition)
    assert_same_rows(joined.toArrow(), duckdb_join(*streams(tables), how=how, condition=condition))


@pytest.mark.versions
def test_streams_give_the_oracles_rows_through_a_restart(files):
    write(files, ABC)
    files.run(wr.join(*streams(frames(files)), how="left"))
    half = {name: SECOND_HALF[name] for name in "abc"}
    write(files, half)
    write(files, dict.fromkeys("abc", flush(FLUSH)))
    got = files.run(wr.join(*streams(frames(files)), how="left"))
    whole = {name: pa.concat_tables([ABC[name], half[name]]) for name in "abc"}
    assert_same_rows(got, duckdb_join(*streams(whole), how="left"))


@pytest.mark.parametrize(("how", "seed"), [("left", 1), ("semi", 2)])
def test_any_micro_batches_with_a_restart_give_the_oracles_rows(files, how, seed):
    """Streams bring any number of rows, and some of them run ahead."""
    chance = np.random.default_rng(seed)
    cuts = {name: [0, *sorted(chance.integers(1, 150, 4)), 150] for name in "abc"}
    condition = "a.v <> b.v AND b.v < c.v + 40"
    restart = chance.integers(1, 5)
    for first, last in ((0, restart), (restart, 5)):
        for name, at in cuts.items():
            for start, stop in list(pairwise(at))[first:last]:
                files.write(name, ABC[name].slice(start, stop - start), 150)
        if last == 5:
            write(files, dict.fromkeys("abc", flush(FLUSH)))
        got = files.run(wr.join(*streams(frames(files)), how=how, condition=condition))
    assert_same_rows(got, duckdb_join(*streams(ABC), how=how, condition=condition))


@pytest.mark.parametrize("order", ["sync-filter", "filter-order", "adaptive"])
def test_rows_leave_in_order(files, order):
    write(files, ABC)
    write(files, dict.fromkeys("abc", flush(FLUSH)))
    joined = wr.join(*streams(frames(files)), how="left", order=order)
    assert_same_rows(files.run(joined), duckdb_join(*streams(ABC), how="left"))


def test_count_windows(files):
    def counted(data):
        return [replace(stream, window=wr.rows(2)) for stream in streams(data)]

    write(files, ABC)
    read = {name: files.batch(name) for name in "abc"}
    joined = wr.join(*counted(read), how="left")
    assert_same_rows(joined.toArrow(), naive_join(*counted(ABC), how="left"))


def test_without_a_key(files):
    condition = "a.k = b.k AND b.k = c.k AND a.v <= c.v"
    write(files, ABC)
    read = streams(frames(files), key=None)
    expected = duckdb_join(*streams(ABC, key=None), condition=condition)
    assert_same_rows(files.run(wr.join(*read, condition=condition)), expected)


def test_keys_that_are_over(files):
    """Each third row of b and c ends its key."""
    tables = {}
    for name, drawn in ABC.items():
        numbers = np.arange(len(drawn))
        keys, over = pa.array(numbers // 3), pa.array((numbers % 3 == 2) & (name != "a"))
        tables[name] = drawn.set_column(0, "k", keys).append_column("over", over)

    def punctuated(data):
        common = {"key": "k", "time": "t", "window": "10 seconds"}
        return [
            wr.stream(each, name=n, **common, **({} if n == "a" else {"ends": "over"}))
            for n, each in data.items()
        ]

    write(files, tables)
    asked = {"finals": {"n": "count(*)", "most": "max(a.v)"}}
    local = wr.join(*punctuated(tables), **asked)
    read = {name: files.batch(name) for name in "abc"}
    assert_same_rows(wr.join(*punctuated(read), **asked).toArrow(), local)
    assert local.num_rows > 10


@pytest.mark.parametrize("names", ["ab", "abcd", "acb"])
def test_a_restart_with_other_streams_is_refused_by_name(files, names):
    """Where their number is another one, Spark counts its sources before a bucket can say it."""
    files.write("a", FIRST["a"], 50)
    files.run(wr.join(*streams(dict.fromkeys("abc", files.stream("a")))))
    files.write("a", SECOND_HALF["a"], 50)
    joined = wr.join(*streams(dict.fromkeys(names, files.stream("a"))))
    message = r"written with streams \['a', 'b', 'c'\], but the join has \['a'"
    with pytest.raises(wr.WindrowError, match=message):
        wr.check(joined, files.folder / "checkpoint")
    counted = rf"\[3\] sources in the checkpoint offsets and now there are \[{len(names)}\]"
    with pytest.raises(Exception, match=message if len(names) == 3 else counted):
        files.run(joined)


# -- joins of joins, and of one DataFrame ------------------------------------------------------


def both(one, two):
    """J3 of two joins: their results meet where their first keys do, 5 seconds apart."""
    common = {"time": "ts", "window": "5 seconds", "lateness": "1 hour"}
    return (
        wr.stream(one, name="one", key="a.k", **common),
        wr.stream(two, name="two", key="d.k", **common),
    )


def test_a_join_of_two_joins(files):
    """Query 2 of paper 5: J3 over J1 and J2, of three streams each."""
    names = "abcdef"
    windows = dict.fromkeys(names, "1 second")
    tables = {name: table(20 + seed, keys=30, count=90) for seed, name in enumerate(names)}

    def parts(data):
        common = {"key": "k", "time": "t", "beats": "beat"}
        sides = [wr.stream(data[n], name=n, window=windows[n], **common) for n in names]
        return sides[:3], sides[3:]

    write(files, tables)
    write(files, dict.fromkeys(names, flush(FLUSH)))
    first, second = parts(frames(files, names))
    got = files.run(wr.join(*both(wr.join(*first), wr.join(*second, how="left"))))
    first, second = parts(tables)
    j1, j2 = duckdb_join(*first), duckdb_join(*second, how="left")
    expected = duckdb_join(*both(j1, j2))
    assert expected.num_rows > 0
    assert_same_rows(got, expected)


def test_one_dataframe_as_three_streams(files):
    write(files, {"a": FIRST["a"]})
    files.write("a", flush(FLUSH), 1)
    read = files.stream("a")
    whole = {name: pa.concat_tables([FIRST["a"], flush(FLUSH)]) for name in "abc"}
    joined = wr.join(*streams(dict.fromkeys("abc", read)), condition="a.v < b.v AND b.v < c.v")
    expected = duckdb_join(*streams(whole), condition="a.v < b.v AND b.v < c.v")
    assert expected.num_rows > 0
    assert_same_rows(files.run(joined), expected)


# -- what is shown ---------------------------------------------------------------------------


def test_figures_and_views_have_all_streams(files, spark):
    write(files, ABC)
    checkpoint = files.folder / "checkpoint"
    query = (
        wr.join(*streams(frames(files)), how="left")
        .writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .start()
    )
    try:
        query.processAllAvailable()
        figures = wr.metrics(query)
        [kept] = inspect(spark, checkpoint).joins
    finally:
        query.stop()
    local = wr.metrics(wr.join(*streams(ABC), how="left"))
    assert sum(sum(batch.rows.values()) for batch in figures) == 450
    assert sum(batch.matches for batch in figures) == local.matches
    for batch in figures:
        assert batch.streams == ("a", "b", "c")
        assert set(batch.probes) == set(batch.found) == set(batch.live_rows) == {*"abc"}
        assert set(batch.probe_order) <= {*"abc"}
    assert [stream.name for stream in kept.streams] == ["a", "b", "c"]
    assert [
        s.total.rows >= n for s, n in zip(kept.streams, figures[-1].live_rows.values(), strict=True)
    ] == [True] * 3
    console = Console(file=io.StringIO(), width=120)
    console.print(live.view(figures, {}))
    shown = console.file.getvalue().splitlines()
    assert shown[1].split()[:3] == ["batch", "a/b/c", "a/b/c"]
    assert len(shown) == 2 + min(len(figures), live.SHOWN)


@pytest.mark.long
def test_the_example():
    """In a process of its own, with a Spark of its own."""
    example = Path(__file__).parents[2] / "examples" / "three_streams.py"
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert " results, and " in done.stdout
    assert "rows of the three streams were held at one time." in done.stdout
