"""A query that starts again on real Spark: what goes on, and what is refused, and how."""

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.spark.inspection import inspect
from windrow.testing import assert_same_rows, duckdb_join

from .streams import flush, rows

SECOND = 1_000_000
FLUSH = 600 * SECOND
PARTITIONS = "spark.sql.shuffle.partitions"


def table(seed, begin=0):
    rng = np.random.default_rng(seed)
    keys = [f"key {k}" for k in rng.integers(0, 9, 80)]
    return rows(keys, np.sort(rng.integers(begin, begin + 10 * SECOND, 80)))


FIRST = [table(seed) for seed in (1, 2)]
SECOND_HALF = [table(seed, 10 * SECOND) for seed in (3, 4)]
WHOLE = [pa.concat_tables(parts) for parts in zip(FIRST, SECOND_HALF, strict=True)]


def write(files, tables):
    for name, part in zip("ab", tables, strict=True):
        files.write(name, part, 40)


def streams(data, **more):
    common = {"key": "k", "time": "t", "window": "2 seconds", "beats": "beat", **more}
    return [wr.stream(d, name=name, **common) for d, name in zip(data, "ab", strict=True)]


def frames(files):
    return files.stream("a"), files.stream("b")


@pytest.fixture
def partitions(spark):
    """Sets the session's number of partitions, for a test."""
    before = spark.conf.get(PARTITIONS)
    yield lambda number: spark.conf.set(PARTITIONS, number)
    spark.conf.set(PARTITIONS, before)


@pytest.mark.parametrize(
    ("before", "after"), [pytest.param(4, 2, marks=pytest.mark.versions), (2, 3)]
)
def test_another_number_of_partitions_goes_on_with_the_buckets_there_are(
    files, partitions, before, after
):
    partitions(before)
    write(files, FIRST)
    files.run(wr.join(*streams(frames(files)), how="full"))
    partitions(after)
    write(files, SECOND_HALF)
    write(files, [flush(FLUSH)] * 2)
    got = files.run(wr.join(*streams(frames(files)), how="full"))
    assert_same_rows(got, duckdb_join(*streams(WHOLE), how="full"))


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("spark.windrow.progress.repair", "does not say of which stream; set spark.windrow.pr"),
        ("spark.windrow.progress.repair.b", "repair.b is 'noon', which is not a time; write it"),
    ],
)
def test_a_setting_that_cannot_be_meant(files, spark, setting, said):
    write(files, FIRST)
    spark.conf.set(setting, "noon")
    try:
        with pytest.raises(wr.WindrowError, match=said):
            wr.join(*streams(frames(files)))
    finally:
        spark.conf.unset(setting)


@pytest.mark.parametrize("keep", ["false", "true"])
def test_progress_that_ran_away_is_set_back(files, spark, keep):
    """With and without arenas from before the restart."""
    spark.conf.set("spark.windrow.arena.keep", keep)
    setting = "spark.windrow.progress.repair.b"
    away = rows([f"key {k}" for k in range(9)], [10**15] * 9)
    try:
        write(files, FIRST)
        files.write("b", away, 9)
        files.run(wr.join(*streams(frames(files)), how="full"))
        [kept] = inspect(spark, files.folder / "checkpoint").joins
        [warning] = kept.warnings
        assert "'b', 2001-09-09 01:46:40.000, is 11,574 days ahead of stream 'a'" in warning
        assert f"{setting}=1970-01-01 00:00:09." in warning
        spark.conf.set(setting, "1970-01-01 00:00:10")
        write(files, SECOND_HALF)
        files.run(wr.join(*streams(frames(files)), how="full"))
        # The setting is still there, and progress is beyond it by now.
        write(files, [flush(FLUSH)] * 2)
        got = files.run(wr.join(*streams(frames(files)), how="full"))
    finally:
        spark.conf.unset(setting)
        spark.conf.set("spark.windrow.arena.keep", "false")
    [kept] = inspect(spark, files.folder / "checkpoint").joins
    assert [stream.repaired for stream in kept.streams] == [None, 10 * SECOND]
    # Rows of `a` had left when `b` ran away; those of `b` were still there afterwards.
    half = "TIMESTAMP '1970-01-01 00:00:10+00:00'"
    parted = f"NOT (a.t < {half} AND b.t >= {half})"
    expected = duckdb_join(*streams(WHOLE), how="full", condition=parted)
    assert_same_rows(got, expected)
    assert expected.num_rows < duckdb_join(*streams(WHOLE), how="full").num_rows
