"""The Spark queries of one signature: the shared join, and the aggregates over its results.

    streams, control/ --> shared join --> results/ --> aggregates --> aggregates/results/

Each writes files exactly once. The second reads what the first has written, so a kill of either
leaves both where they can go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from windrow.cql.query import Kind
from windrow.model import CountWindow, JoinPlan, Schedule, Stream, WindrowError
from windrow.spark import engine
from windrow.spark.pack import PACKED_DDL
from windrow.spark.queries import control
from windrow.spark.queries.answers import ANSWERS
from windrow.spark.queries.bucket import Sharing
from windrow.spark.queries.control import ControlPack
from windrow.spark.queries.files import Folder
from windrow.spark.queries.gathering import BESIDE, GATHERED_DDL, Gather
from windrow.spark.queries.processor import AggregateProcessor, SharedJob, SharedProcessor
from windrow.spark.queries.results import Results

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from windrow.spark.queries.since import Times

CONTROL, RESULTS, CHECKPOINT = "control", "results", "checkpoint"
#: Where a file sink says which of a folder's files count.
SINK_LOG = "_spark_metadata"


def refuse_batches(streams: Sequence[Stream]) -> None:
    """Continuous queries on Spark are over streams that go on."""
    if not engine.is_streaming(JoinPlan(streams=tuple(streams))):
        names = ", ".join(repr(stream.name) for stream in streams)
        raise WindrowError(
            f"streams {names} are not streaming; read them with spark.readStream, or give tables "
            "to run continuous queries in process"
        )


def plan_of(
    streams: Sequence[Stream], positions: Sequence[int], schedule: Schedule, kind: Kind
) -> JoinPlan:
    """The plan of a join that queries over some of the streams share; how far, they say."""
    chosen = tuple(streams[at] for at in positions)
    if kind != "time":
        window = CountWindow(1, "stream" if kind == "rows" else "key")
        chosen = tuple(replace(stream, window=window) for stream in chosen)
    return JoinPlan(streams=chosen, schedule=schedule)


def results_of(plan: JoinPlan) -> Results:
    """What the join of a plan writes. Shipped to the workers, so without the data."""
    bare = replace(plan, streams=tuple(replace(stream, data=None) for stream in plan.streams))
    return Results(bare, engine.schemas(plan), engine.time_type(plan))


def joined(
    plan: JoinPlan, sharing: Sharing, since: Accumulator[Times], folder: Folder
) -> DataFrame:
    """The routed results of a shared join, which takes its queries from the folder's control."""
    inputs = engine.packed(plan)
    asked = control.frame(inputs.spark, folder.inside(CONTROL)).mapInArrow(
        ControlPack(inputs.ids, inputs.partitions), PACKED_DDL
    )
    results = results_of(plan)
    job = SharedJob(**vars(engine.job(inputs, results)), sharing=sharing, since=since)
    rows = (
        reduce(type(asked).union, [*inputs.frames, asked])
        .groupBy("bucket")
        .transformWithStateInPandas(SharedProcessor(job), results.travelling(), "Append", "None")
    )
    return results.shape(rows, inputs.reporter)


def aggregated(plan: JoinPlan, sharing: Sharing, folder: Folder) -> DataFrame:
    """The answers of all aggregates, from what the shared join has written."""
    spark: SparkSession = plan.streams[0].data.sparkSession
    results = results_of(plan)
    names = [stream.name for stream in plan.streams]
    found = spark.readStream.schema(results.final()).parquet(folder.inside(RESULTS).place)
    wanted = found.where("aggregates IS NOT NULL OR note IS NOT NULL").select(*names, *BESIDE)
    numbered = wanted.toDF(*(f"c_{number}" for number in range(len(names))), *BESIDE)
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 200)
    return (
        numbered.mapInArrow(Gather(partitions), GATHERED_DDL)
        .groupBy("bucket")
        .transformWithStateInPandas(
            AggregateProcessor(sharing, partitions), ANSWERS, "Append", "None"
        )
    )


def written(frame: DataFrame, folder: Folder) -> StreamingQuery:
    """Write a stream's rows into a folder, exactly once."""
    # To a reader that comes before the first micro-batch is done: files there count only once the
    # sink's log names them.
    folder.inside(RESULTS, SINK_LOG).make()
    return (
        frame.writeStream.format("parquet")
        .option("checkpointLocation", folder.inside(CHECKPOINT).place)
        .start(folder.inside(RESULTS).place)
    )
