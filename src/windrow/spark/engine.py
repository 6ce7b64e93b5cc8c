"""A plan on Spark: source -> pack -> union -> exchange by bucket -> join -> unpack.

stream A --mapInArrow(pack)--+
                             union --groupBy(bucket)--> stateful join --mapInArrow(unpack)-->
stream B --mapInArrow(pack)--+
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions, types
from pyspark.sql.pandas.types import to_arrow_schema

from windrow.model import CountWindow, JoinPlan, WindrowError
from windrow.spark import blobs, session
from windrow.spark.pack import PACKED_DDL, Pack
from windrow.spark.processor import OUTPUT_DDL, JoinProcessor

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
    buckets = plan.buckets or partitions
    ids = bucket_ids(spark, buckets, partitions)
    bare = replace(plan, streams=tuple(replace(stream, data=None) for stream in plan.streams))
    packed = [
        frame.mapInArrow(Pack(stream, side, ids), PACKED_DDL)
        for side, (frame, stream) in enumerate(zip(frames, bare.streams, strict=True))
    ]
    joined = (
        packed[0]
        .union(packed[1])
        .groupBy("bucket")
        .transformWithStateInPandas(
            JoinProcessor(bare, buckets, finite=not streaming[0]), OUTPUT_DDL, "Append", "None"
        )
    )
    return joined.mapInArrow(unpack, output_type(plan))


def refuse_in_process_choices(plan: JoinPlan) -> None:
    """What a plan can ask of tables only."""
    if any(isinstance(stream.window, CountWindow) for stream in plan.streams):
        raise WindrowError(
            "count windows (windrow.rows) run on tables only in this version; use a time window"
        )
    for stream in plan.streams:
        if stream.key is None:
            raise WindrowError(
                f"stream {stream.name!r} has no key; joins on a condition alone run on tables only "
                "in this version"
            )
        if stream.idle is not None:
            raise WindrowError(
                f"stream {stream.name!r}: idle is not supported on Spark in this version; mark "
                "heartbeat rows with beats= to move a silent stream"
            )
    for name, given, default in (
        ("batch_rows", plan.batch_rows, None),
        ("invalidation", plan.invalidation, "time-list"),
    ):
        if given != default:
            raise WindrowError(f"{name}={given!r} applies to tables; leave it out on Spark")
    if plan.algorithm == "nested-loops":
        raise WindrowError("algorithm='nested-loops' applies to tables; leave it out on Spark")


def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Blobs of results to rows."""
    for batch in batches:
        for blob in batch.column("blob"):
            yield blobs.decode(blob.as_py())


def output_type(plan: JoinPlan) -> types.StructType:
    """One struct per shown stream, `ts`, and `kind` where rows can be other than matches."""
    fields = [
        types.StructField(plan.streams[s].name, plan.streams[s].data.schema) for s in plan.shown
    ]
    first = plan.streams[0]
    fields.append(
        types.StructField("ts", first.data.select(functions.col(first.time)).schema[0].dataType)
    )
    if plan.marked:
        fields.append(types.StructField("kind", types.StringType()))
    return types.StructType(fields)


def bucket_ids(spark: SparkSession, buckets: int, partitions: int) -> tuple[int, ...]:
    """Ids that Spark's own hash spreads evenly over the partitions, one after the other."""
    number = functions.col("id").cast("int")
    candidates = (
        spark.range(64 * buckets + 64)
        .select(
            number.alias("id"),
            functions.pmod(functions.hash(number), functions.lit(partitions)).alias("partition"),
        )
        .collect()
    )
    by_partition: dict[int, list[int]] = {}
    for row in candidates:
        by_partition.setdefault(row["partition"], []).append(row["id"])
    return tuple(by_partition[n % partitions][n // partitions] for n in range(buckets))
