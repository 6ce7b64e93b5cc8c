"""A plan on Spark: source -> pack -> union -> exchange by bucket -> join -> shape.

stream A --mapInArrow(pack)--+
                             union --groupBy(bucket)--> stateful join --select(struct)-->
stream B --mapInArrow(pack)--+
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions, types
from pyspark.sql.pandas.types import to_arrow_schema

from windrow.model import CountWindow, JoinPlan, WindrowError
from windrow.spark import session
from windrow.spark.figures import Reporter
from windrow.spark.output import Output
from windrow.spark.pack import NOW, PACKED_DDL, Pack
from windrow.spark.processor import Job, JoinProcessor

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """A DataFrame's schema in Arrow's types, as `mapInArrow` will bring its rows."""
    schema: pa.Schema = to_arrow_schema(frame.schema, timezone="UTC")
    return schema


def join(plan: JoinPlan) -> DataFrame:
    """The joined DataFrame; streaming if its inputs are."""
    frames: list[DataFrame] = [stream.data for stream in plan.streams]
    spark = frames[0].sparkSession
    refuse_in_process_choices(plan)
    streaming = [frame.isStreaming for frame in frames]
    if len(set(streaming)) > 1:
        names = {
            s.name: "streaming" if f else "batch"
            for s, f in zip(plan.streams, streaming, strict=True)
        }
        raise WindrowError(
            f"a mix of batch and streaming inputs ({names}) cannot be joined; read both with "
            "spark.readStream, or both with spark.read"
        )
    if streaming[0]:
        session.check(spark)
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 200)
    buckets = bucket_count(plan, partitions)
    ids = bucket_ids(spark, buckets)
    reporter = Reporter.of(spark, plan)
    bare = replace(plan, streams=tuple(replace(stream, data=None) for stream in plan.streams))
    timed = streaming[0] and any(stream.idle is not None for stream in plan.streams)
    packed = [
        _with_now(frame, timed).mapInArrow(Pack(stream, side, ids, reporter), PACKED_DDL)
        for side, (frame, stream) in enumerate(zip(frames, bare.streams, strict=True))
    ]
    output = Output(bare, tuple(frames[side].schema for side in plan.shown), time_type(plan))
    job = Job(
        plan=bare,
        output=output,
        buckets=buckets,
        finite=not streaming[0],
        built=time.time_ns() // 1000,
        arena=spark.conf.get(session.ARENA, None),
        reporter=reporter,
    )
    joined = (
        packed[0]
        .union(packed[1])
        .groupBy("bucket")
        .transformWithStateInPandas(JoinProcessor(job), output.travelling(), "Append", "None")
    )
    return output.shape(joined, reporter)


def _with_now(frame: DataFrame, timed: bool) -> DataFrame:
    """Where silence is measured, rows bring the micro-batch's own time, which Spark logs."""
    return frame.withColumn(NOW, functions.current_timestamp()) if timed else frame


def bucket_count(plan: JoinPlan, partitions: int) -> int:
    """As many buckets as asked for, or as partitions; one where every tuple must meet every."""
    whole = [
        stream.name
        for stream in plan.streams
        if stream.key is None
        or (isinstance(stream.window, CountWindow) and stream.window.per == "stream")
    ]
    if not whole:
        return plan.buckets or partitions
    if plan.buckets not in (None, 1):
        raise WindrowError(
            f"buckets={plan.buckets}, but stream {whole[0]!r} has no key or counts its whole "
            "stream, so all tuples must meet in one bucket; leave buckets out"
        )
    return 1


def refuse_in_process_choices(plan: JoinPlan) -> None:
    """What a plan can ask of tables only."""
    for name, given, default in (
        ("batch_rows", plan.batch_rows, None),
        ("invalidation", plan.invalidation, "time-list"),
    ):
        if given != default:
            raise WindrowError(f"{name}={given!r} applies to tables; leave it out on Spark")


def time_type(plan: JoinPlan) -> types.DataType:
    """The type of `ts`: that of the first stream's times."""
    first = plan.streams[0]
    kind: types.DataType = first.data.select(functions.col(first.time)).schema[0].dataType
    return kind


def bucket_ids(spark: SparkSession, buckets: int) -> tuple[int, ...]:
    """Ids that Spark's own hash spreads evenly over as many partitions as there are buckets.

    They follow from the number of buckets alone, because the state is kept under them: a restart
    finds them again, whatever its partitions. Id 0 is always one of them, so a restart with
    another number of buckets finds a directory that says so.
    """
    number = functions.col("id").cast("int")
    place = functions.pmod(functions.hash(number), functions.lit(buckets))
    found: dict[int, int] = {}
    drawn = 64 * buckets
    while len(found) < buckets:
        rows = spark.range(drawn).select(number.alias("id"), place.alias("place"))
        for row in sorted(rows.groupBy("place").agg(functions.min("id").alias("id")).collect()):
            found.setdefault(row["place"], row["id"])
        drawn *= 4
    return tuple(found[n] for n in range(buckets))
