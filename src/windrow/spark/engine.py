"""A plan on Spark: source -> pack -> union -> exchange by bucket -> join -> shape.

stream A --mapInArrow(pack)--+
stream B --mapInArrow(pack)--union --groupBy(bucket)--> stateful join --select(struct)-->
      ...                    |
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import functions, types

from windrow import expressions
from windrow.model import CountWindow, JoinPlan, WindrowError
from windrow.spark import arenas, metadata, session, tidy, versions
from windrow.spark.buckets import bucket_ids
from windrow.spark.log import repair
from windrow.spark.log.chunks import RESERVED
from windrow.spark.log.stored import layout as bucket_layout
from windrow.spark.metrics import book
from windrow.spark.output import Output
from windrow.spark.pack import NOW, PACKED_DDL, Pack
from windrow.spark.processor import Job, JoinProcessor
from windrow.state.join_state import Layout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from windrow.spark.metrics.figures import Reporter


def arrow_schema(frame: DataFrame, name: str) -> pa.Schema:
    """A DataFrame's schema in Arrow's types: what `pack` turns its rows into."""
    fields: list[pa.Field] = []
    for field in frame.schema:
        if field.name in frame.columns[: len(fields)]:
            raise WindrowError(
                f"stream {name!r}: there are two columns {field.name!r}; rename or drop one of them"
            )
        if field.name.startswith(RESERVED):
            raise WindrowError(
                f"stream {name!r}: column {field.name!r} has a name that is kept for windrow's own "
                "use; rename it"
            )
        try:
            [arrow] = versions.arrow_schema(types.StructType([field]))
        except (PySparkException, ValueError) as error:
            raise WindrowError(
                f"stream {name!r}: column {field.name!r} is {field.dataType.simpleString()}, which "
                "Spark cannot hand to Python; cast it, for example to string, or leave it out"
            ) from error
        fields.append(arrow.with_type(loose(arrow.type)))
    return pa.schema(fields)


def loose(kind: pa.DataType) -> pa.DataType:
    """The type with nullable fields: Arrow casts no null struct to one whose fields are not."""
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(loose(f.type)).with_nullable(True) for f in kind])
    if pa.types.is_list(kind):
        item = kind.value_field
        return pa.list_(item.with_type(loose(item.type)).with_nullable(True))
    if pa.types.is_map(kind):
        item = kind.item_field
        key = kind.key_field.with_type(loose(kind.key_type))
        return pa.map_(key, item.with_type(loose(item.type)).with_nullable(True))
    return kind


def join(plan: JoinPlan) -> DataFrame:
    """The joined DataFrame; streaming if its inputs are."""
    inputs = packed(plan)
    output = Output(inputs.plan, inputs.schemas, time_type(plan))
    joined = (
        reduce(type(inputs.frames[0]).union, inputs.frames)
        .groupBy("bucket")
        .transformWithStateInPandas(
            JoinProcessor(job(inputs, output)), output.travelling(), "Append", "None"
        )
    )
    return output.shape(joined, inputs.reporter)


@dataclass(frozen=True)
class Inputs:
    """A plan's streams on their way to the buckets: packed, by stream.

    `plan` is the one to ship, without the data; `schemas` are the Spark types of the shown streams.
    `buckets`, `partitions` and `ids` are as in `Job` and `Pack`.
    """

    frames: list[DataFrame]
    plan: JoinPlan
    schemas: tuple[types.StructType, ...]
    streaming: bool
    buckets: int | None
    partitions: int
    ids: tuple[int, ...] | None
    reporter: Reporter
    spark: SparkSession


def packed(plan: JoinPlan) -> Inputs:
    """The first half of a plan: what comes before the buckets."""
    frames: list[DataFrame] = [stream.data for stream in plan.streams]
    spark = frames[0].sparkSession
    refuse_in_process_choices(plan)
    streaming = is_streaming(plan)
    if streaming:
        session.prepare(spark)
        tidy.watch(spark, spark.conf.get(session.ARENA, None))
    else:
        versions.coordinate(spark)
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 200)
    count = bucket_count(plan, partitions)
    # A query goes on with the partitions that its checkpoint has, which only its tasks can see.
    fixed = None if streaming and count != 1 and plan.buckets is None else count
    ids = None if fixed is None else bucket_ids(fixed)
    reporter = book.reporter(spark, plan)
    bare = replace(plan, streams=tuple(replace(stream, data=None) for stream in plan.streams))
    timed = any(
        stream.max_ahead is not None or (streaming and stream.idle is not None)
        for stream in plan.streams
    )
    shipped = [
        _numbered(frame, timed).mapInArrow(
            Pack(stream, side, ids, reporter, partitions, plan.bad_of(side)), PACKED_DDL
        )
        for side, (frame, stream) in enumerate(zip(frames, bare.streams, strict=True))
    ]
    return Inputs(shipped, bare, schemas(plan), streaming, fixed, partitions, ids, reporter, spark)


def schemas(plan: JoinPlan) -> tuple[types.StructType, ...]:
    """The Spark types of the shown streams' columns."""
    frames = [plan.streams[side].data for side in plan.shown]
    return tuple(metadata.without_watermarks(frame.schema) for frame in frames)


def is_streaming(plan: JoinPlan) -> bool:
    """Are the inputs streams? A mix is refused."""
    streaming = {stream.name: stream.data.isStreaming for stream in plan.streams}
    if len(set(streaming.values())) > 1:
        names = {name: "streaming" if on else "batch" for name, on in streaming.items()}
        raise WindrowError(
            f"a mix of batch and streaming inputs ({names}) cannot be joined; read both with "
            "spark.readStream, or both with spark.read"
        )
    return any(streaming.values())


def job(inputs: Inputs, output: Output) -> Job:
    """What the workers must know of the join of these inputs."""
    return Job(
        plan=inputs.plan,
        output=output,
        buckets=inputs.buckets,
        partitions=inputs.partitions,
        finite=not inputs.streaming,
        built=time.time_ns() // 1000,
        arena=inputs.spark.conf.get(session.ARENA, None),
        owner=_driver(inputs.spark),
        reporter=inputs.reporter,
        back_to=repair.asked(inputs.spark, inputs.plan),
    )


def _driver(spark: SparkSession) -> str:
    """The driver, as its arenas name it; unknown on Spark Connect, whose client may come and go."""
    return "" if session.context_of(spark) is None else arenas.this_process()


def layout(plan: JoinPlan) -> tuple[Layout, int]:
    """How the state of a bucket is laid out, and how many buckets there are."""
    refuse_in_process_choices(plan)
    spark: SparkSession = plan.streams[0].data.sparkSession
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 200)
    return bucket_layout(plan), bucket_count(plan, partitions)


def _numbered(frame: DataFrame, timed: bool) -> DataFrame:
    """Columns called by their number: `mapInArrow` takes a dot in a name for a field of a struct.

    Where silence is measured, or how far ahead rows are, they bring the micro-batch's own time,
    which Spark logs.
    """
    frame = frame.toDF(*(f"c_{number}" for number in range(len(frame.columns))))
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
    memory = plan.memory
    if memory is not None and (memory.strategy != "data" or memory.limit is not None):
        asked = f"limit={memory.limit}" if memory.limit is not None else f"{memory.strategy!r}"
        raise WindrowError(
            f"memory with {asked} joins tables in process, not DataFrames; on Spark use "
            "memory='data', or windrow.data() without strategy and limit"
        )


def time_type(plan: JoinPlan) -> types.DataType:
    """The type of `ts`: that of the first stream's times."""
    kind = expressions.resolve(plan.streams[0].schema, plan.streams[0].time)
    return types.TimestampType() if kind is not None and kind.tz else types.TimestampNTZType()
