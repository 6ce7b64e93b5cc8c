"""Punctuations on real Spark: rows, ends and finals as in process, through restarts and chains."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions

import windrow as wr
from windrow.testing import assert_same_rows, naive_join
from windrow.workload import punctuated

#: Both streams end every key they have; at the end everything is past.
SECONDS = 12
FLUSH = 10_000_000_000


def table(order, seed):
    """A punctuated stream with text keys and a closing heartbeat row column."""
    drawn = punctuated(f"cluster-{order}-4", seconds=SECONDS, gap=0.02, seed=seed)
    keys = pc.binary_join_element_wise("key", drawn["key"].cast(pa.string()), " ")
    beat = pa.array(np.zeros(drawn.num_rows, np.bool_))
    return drawn.set_column(0, "k", keys).append_column("beat", beat)


def flush(like):
    """One heartbeat at the very end."""
    origin = like["time"].cast(pa.int64())[0].as_py()
    at = pa.array([origin + FLUSH], pa.int64()).cast(like.schema.field("time").type)
    columns = {name: pa.nulls(1, like.schema.field(name).type) for name in ("k", "v")}
    columns |= {"time": at, "over": pa.array([False]), "beat": pa.array([True])}
    return pa.table({name: columns[name] for name in like.column_names})


def streams(one, two, **more):
    common = {"key": "k", "time": "time", "ends": "over", "beats": "beat", **more}
    return (
        wr.stream(one, name="a", window="2 seconds", **common),
        wr.stream(two, name="b", window="1 second", **common),
    )


@pytest.fixture
def tables(files):
    made = table("asc", 1), table("random", 2)
    for name, each in zip("ab", made, strict=True):
        files.write(name, each, -(-each.num_rows // 4))
        files.write(name, flush(each), 1)
    return made


def matches(table):
    return table.filter(pc.field("kind") != "end").drop_columns("kind")


def ends(table):
    rows = table.filter(pc.field("kind") == "end").to_pylist()
    return Counter((row["a"] or row["b"])["k"] for row in rows)


@pytest.mark.parametrize("how", ["inner", "full"])
def test_a_stream_gives_the_rows_and_ends_of_a_table(files, tables, how):
    frames = files.stream("a"), files.stream("b")
    result = files.run(wr.join(*streams(*frames), how=how, punctuate=True))
    assert_same_rows(matches(result), naive_join(*streams(*tables), how=how))
    local = wr.join(*streams(*tables), how=how, punctuate=True)
    assert ends(result) == ends(local)
    assert sum(ends(result).values()) > 20


@pytest.mark.versions
def test_flags_and_finals_go_through_a_restart(files):
    made = table("asc", 1), table("random", 2)
    asked = {"n": "count(*)", "most": "max(b.v)", "all": "sum(a.v)"}
    halves = [each.num_rows // 2 for each in made]
    for name, each, half in zip("ab", made, halves, strict=True):
        files.write(name, each.slice(0, half), half // 2 + 1)
    frames = files.stream("a"), files.stream("b")
    files.run(wr.join(*streams(*frames), how="left", finals=asked))
    for name, each, half in zip("ab", made, halves, strict=True):
        files.write(name, each.slice(half), 40)
        files.write(name, flush(each), 1)
    frames = files.stream("a"), files.stream("b")
    result = files.run(wr.join(*streams(*frames), how="left", finals=asked))
    expected = wr.join(*streams(*made), how="left", finals=asked)
    assert rounded(result) == rounded(expected)
    assert result.num_rows > 20


def rounded(table):
    """Rows in order; sums of doubles depend on the order of adding."""
    found = [
        (row["k"], row["n"], row["most"], None if row["all"] is None else round(row["all"], 9))
        for row in table.to_pylist()
    ]
    return sorted(found, key=str)


def test_batch_dataframes_too(files, tables):
    asked = {"n": "count(*)", "most": "max(b.v)", "all": "sum(a.v)"}
    frames = files.batch("a"), files.batch("b")
    result = wr.join(*streams(*frames), finals=asked).toArrow()
    assert rounded(result) == rounded(wr.join(*streams(*tables), finals=asked))


def test_ends_flow_into_a_further_join(files, tables):
    """What the first join propagates frees the second one's state."""
    frames = files.stream("a"), files.stream("b")
    first = wr.join(*streams(*frames), punctuate=True)
    keyed = first.withColumn("k", functions.col("a.k"))
    left = wr.stream(
        keyed, name="pair", key="k", time="ts", window="5 seconds", lateness="4 seconds",
        ends="kind = 'end'",
    )  # fmt: skip
    right = streams(*frames)[1]
    chained = wr.join(left, right)
    result = files.run(chained.select(functions.col("pair.a.v").alias("x"), "b.v"))
    assert result.num_rows > 0
    pairs = wr.join(*streams(*tables))
    keyed = pairs.append_column("k", pc.struct_field(pairs["a"], "k"))
    again = wr.stream(keyed, name="pair", key="k", time="ts", window="5 seconds")
    expected = naive_join(again, streams(*tables)[1])
    assert result.num_rows == expected.num_rows


def test_a_predicate_may_be_a_column(files, tables):
    over = functions.col("over") & (functions.col("v").isNull())
    frames = files.batch("a"), files.batch("b")
    result = wr.join(*streams(*frames, ends=over), punctuate=True).toArrow()
    assert ends(result) == ends(wr.join(*streams(*tables), punctuate=True))


@pytest.mark.versions
def test_lists_and_ranges_of_keys(spark, files):
    at = pa.array([0, 1, 2, 3], pa.timestamp("us", "UTC"))
    lists = pa.table(
        {"k": [[1], [2], [1, 2, 9], []], "t": at, "over": [False, False, True, True]},
        schema=pa.schema(
            {"k": pa.list_(pa.int64()), "t": pa.timestamp("us", "UTC"), "over": pa.bool_()}
        ),
    )
    ranges = pa.table(
        {"k": [1, 2, 1, 7], "t": at, "over": [False, False, True, True], "to": [None, None, 4, 7]}
    )
    other = pa.table({"k": [1, 2, 3], "t": at.slice(0, 3)})
    for name, each in (("lists", lists), ("ranges", ranges), ("other", other)):
        files.write(name, each, 10)

    def joined(one, two, **more):
        common = {"key": "k", "time": "t", "window": "1 second"}
        a = wr.stream(one, name="a", ends="over", **common, **more)
        return wr.join(a, wr.stream(two, name="b", **common), punctuate=True)

    for name, local, more in (("lists", lists, {}), ("ranges", ranges, {"ends_to": "to"})):
        result = joined(files.batch(name), files.batch("other"), **more).toArrow()
        expected = joined(local, other, **more)
        assert ends(result) == ends(expected)
        assert_same_rows(matches(result), matches(expected))


@pytest.mark.parametrize("more", [{"punctuate": True}, {"finals": {"n": "count(*)"}}])
def test_a_querys_metrics_tell_of_punctuations(files, tables, more):
    frames = files.stream("a"), files.stream("b")
    joined = wr.join(*streams(*frames), **more)
    query = (
        joined.writeStream.format("noop")
        .option("checkpointLocation", str(files.folder / "figures"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(180)
    found = wr.metrics(query)
    local = wr.metrics(wr.join(*streams(*tables), **more))
    for name in "ab":
        assert sum(batch.punctuations[name] for batch in found) == local.punctuations[name]
        assert found[-1].flags[name] == 0
    assert sum(batch.ended for batch in found) == local.ended
    assert max(sum(batch.live_rows.values()) for batch in found) > 0
    assert (max(batch.partials for batch in found) > 0) == ("finals" in more)
    assert found[-1].partials == local.partials
