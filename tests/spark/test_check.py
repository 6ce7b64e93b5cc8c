"""What a checkpoint refuses, said before the query starts; and how a query says it itself."""

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions

import windrow as wr
from windrow.spark.log import directory as log
from windrow.spark.tools import check as on_spark

from .conftest import Files
from .test_restart import FIRST, frames, streams, write

CHECKPOINT = "checkpoint"


@pytest.fixture(scope="module")
def kept(spark, tmp_path_factory):
    """Files whose left join has been run, with its checkpoint."""
    files = Files(spark, tmp_path_factory.mktemp("kept"))
    write(files, FIRST)
    files.run(wr.join(*streams(frames(files)), how="left"))
    return files


def chain(files, inner="left", outer="inner"):
    """Two joins on the two sides of a third."""
    sides = [
        wr.stream(
            wr.join(*streams(frames(files)), how=how, order=order),
            name=name,
            key="a.k",
            time="ts",
            window="2 seconds",
            lateness="4 seconds",
        )
        for name, how, order in (("one", inner, "none"), ("two", "semi", "sync-filter"))
    ]
    return wr.join(*sides, how=outer)


@pytest.fixture(scope="module")
def chained(spark, tmp_path_factory):
    """Files whose chain of three joins has been run, with its checkpoint."""
    files = Files(spark, tmp_path_factory.mktemp("chained"))
    write(files, FIRST)
    files.run(chain(files))
    return files


def refusal(files, joined, checkpoint=CHECKPOINT):
    with pytest.raises(wr.WindrowError) as refused:
        wr.check(joined, str(files.folder / checkpoint))
    return str(refused.value)


def test_what_a_restart_may_change_is_fine(kept):
    wider = [wr.stream(frame, name=name, key="k", time="t", window="9 seconds", beats="beat")
             for frame, name in zip(frames(kept), "ab", strict=True)]  # fmt: skip
    for joined in (wr.join(*streams(frames(kept)), how="left"), wr.join(*wider, how="left")):
        assert wr.check(joined, kept.folder / CHECKPOINT) is None


@pytest.mark.versions
def test_every_reason_is_said_before_the_query_starts(kept):
    one, two = frames(kept)
    changed = streams((one.withColumn("v", functions.col("v").cast("string")), two))
    lines = refusal(kept, wr.join(*changed, how="full", buckets=5)).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("this checkpoint was written with 2 buckets, but the join has 5:")
    assert lines[1].startswith("this checkpoint was written with kind 'left', but the join has 'f")
    assert lines[2].startswith("this checkpoint was written with column 'v' of stream 'a' as ")


def test_it_does_not_matter_what_is_done_to_the_join(kept):
    joined = wr.join(*streams(frames(kept)), how="anti")
    expected = refusal(kept, joined)
    cut = joined.select(functions.col("a.v").alias("v")).filter("v > 3")
    cut.createOrReplaceTempView("cut")
    for made in (cut, cut.sparkSession.table("cut")):
        assert refusal(kept, made) == expected


def test_a_session_with_other_partitions_keeps_the_buckets_there_are(kept, spark):
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    spark.conf.set(name, "3")
    try:
        wr.check(wr.join(*streams(frames(kept)), how="left"), kept.folder / CHECKPOINT)
        assert "2 buckets, but the join has 3" in refusal(
            kept, wr.join(*streams(frames(kept)), how="left", buckets=3)
        )
    finally:
        spark.conf.set(name, before)


def test_each_join_of_a_query_meets_what_is_kept_of_it(chained):
    wr.check(chain(chained), chained.folder / CHECKPOINT)
    [line] = refusal(chained, chain(chained, outer="full")).splitlines()
    assert line.startswith("join of one and two: this checkpoint was written with kind 'inner'")
    [line] = refusal(chained, chain(chained, inner="anti")).splitlines()
    assert line.startswith("join of a and b: this checkpoint was written with kind 'left', but")


def test_progress_that_cannot_be_set_back(chained, spark):
    """It can in the join without an order, which has the same names."""
    setting = "spark.windrow.progress.repair.b"
    spark.conf.set(setting, "1970-01-01 00:00:01")
    try:
        [line] = refusal(chained, chain(chained)).splitlines()
    finally:
        spark.conf.unset(setting)
    assert line.startswith(f"join of a and b: {setting} asks to set its progress back from")
    assert "ordered results have left up to" in line


def test_the_checkpoint_of_another_query(chained, kept):
    alone = wr.join(*streams(frames(kept)), how="left")
    assert "a query with 3 joins, but this one has 1 join;" in refusal(chained, alone)
    assert "a query with 1 join, but this one has 3 joins;" in refusal(kept, chain(kept))
    kept.run(
        kept.stream("a").withWatermark("t", "1 second").dropDuplicates(["k"]), checkpoint="other"
    )
    assert "a query with no joins, but this one has 1 join;" in refusal(kept, alone, "other")


def test_a_checkpoint_without_state_refuses_nothing(kept):
    joined = wr.join(*streams(frames(kept)), how="full")
    wr.check(joined, str(kept.folder / "absent"))
    (kept.folder / "empty").mkdir()
    wr.check(joined, kept.folder / "empty")
    kept.run(kept.stream("a"), checkpoint="stateless", out="stateless-out")
    wr.check(joined, kept.folder / "stateless")


def test_another_format(kept, monkeypatch):
    monkeypatch.setattr(log, "FORMAT", log.FORMAT + 1)
    said = refusal(kept, wr.join(*streams(frames(kept)), how="left"))
    assert f"has format {log.FORMAT - 1}, but this version" in said


def test_what_is_no_streaming_join(kept):
    batch = [kept.batch(name) for name in "ab"]
    for given, said in (
        (FIRST[0], "check got a Table"),
        (kept.stream("a"), "no join of windrow's in this DataFrame"),
        (wr.join(*streams(batch)), "this DataFrame is not streaming"),
    ):
        assert said in refusal(kept, given)


def test_the_join_is_found_once_whatever_reads_it(kept):
    joined = wr.join(*streams(frames(kept)), how="semi")
    [job] = on_spark.jobs_of(joined.select("a.v").where("v = 1"))
    assert [stream.name for stream in job.plan.streams] == ["a", "b"]
    assert job.plan.how == "semi"


def test_a_query_that_is_refused_says_why_before_all_else(kept, files):
    write(files, FIRST)
    files.run(wr.join(*streams(frames(files)), how="left"))
    write(files, FIRST)
    with pytest.raises(StreamingQueryException) as refused:
        files.run(wr.join(*streams(frames(files)), how="full"))
    said = str(refused.value)
    message = "windrow.model.WindrowError: this checkpoint was written with kind 'left', but"
    # What is before it is Spark's: the query's ids, and that Python said it; in 4.1 the task too.
    before, found, _ = said.partition(message)
    assert found, said
    assert "Traceback" not in before
    assert len(before) < 500
