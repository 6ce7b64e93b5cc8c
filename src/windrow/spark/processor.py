"""The stateful operator: feeds one bucket's micro-batch to its join."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark import TaskContext
from pyspark.sql import types
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from windrow.model import JoinPlan, WindrowError
from windrow.operators.figures import Share
from windrow.spark import arenas, buckets
from windrow.spark.arena import Arena
from windrow.spark.bucket import BucketJoin, Packed
from windrow.spark.log import repair
from windrow.spark.log.directory import Directory
from windrow.spark.metrics import advice
from windrow.spark.metrics.figures import BucketFigures
from windrow.spark.output import BLOB
from windrow.spark.pack import NOTHING
from windrow.spark.worker import begin_task, message_first

if TYPE_CHECKING:
    from windrow.spark.metrics.figures import Reporter
    from windrow.spark.output import Output


#: Types, not their text: the JVM would be asked to parse it in every task.
NUMBER = types.StructType([types.StructField("number", types.LongType())])
TEXT = types.StructType([types.StructField("text", types.StringType())])


class SparkStore:
    """A bucket's log in Spark's state store."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._blobs = handle.getMapState("blobs", NUMBER, BLOB)
        self._directory = handle.getValueState("directory", TEXT)

    def read(self, number: int) -> bytes:
        found = self._blobs.getValue((number,))
        if found is None:
            raise WindrowError(
                f"the state store lacks blob {number}, which the join's directory names; the "
                "checkpoint is damaged: go back to an older one, or start anew"
            )
        return bytes(found[0])

    def write(self, number: int, blob: bytes) -> None:
        self._blobs.updateValue((number,), (blob,))

    def remove(self, number: int) -> None:
        self._blobs.removeKey((number,))

    def directory(self) -> str | None:
        found = self._directory.get()
        return None if found is None else str(found[0])

    def set_directory(self, text: str) -> None:
        self._directory.update((text,))


@dataclass(frozen=True)
class Job:
    """What a worker must know of a join: the question, and how to go about it.

    `buckets`: how many; None: as many as the query has partitions. `partitions` is as in `Pack`.
    `built`: when the join was put together (µs). `arena`: where arenas go; None leaves it open.
    `owner`: the driver, as `arenas` knows a process. `back_to`: see `repair`.
    """

    plan: JoinPlan
    output: Output
    buckets: int | None
    partitions: int
    finite: bool
    built: int
    arena: str | None
    owner: str
    reporter: Reporter
    back_to: repair.Times

    @property
    def bucket_count(self) -> int:
        """How many buckets there are, in a task."""
        return self.buckets or buckets.of_task(self.partitions)


class JoinProcessor(StatefulProcessor):
    """One per task; `handleInputRows` runs once per bucket and micro-batch."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def init(self, handle: StatefulProcessorHandle) -> None:
        begin_task()
        self.store = SparkStore(handle)

    def handleInputRows(  # noqa: N802
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        packed = [row for frame in rows for row in _packed(frame)]
        with message_first():
            yield from self._bucket(int(key[0]), packed)

    def _bucket(self, bucket: int, packed: Sequence[Packed]) -> Iterator[pd.DataFrame]:
        begun = time.perf_counter()
        if self.job.finite:
            join = BucketJoin.once(self.job.plan, self.job.bucket_count, self.store)
            yield from self._join(bucket, packed, join, begun)
            return
        kept = Directory.of_store(self.store)
        name = secrets.token_hex(8) if kept is None else kept.arena
        arena = self._enter(name, bucket)
        try:
            join = self._open(kept, arena)
            join.log.directory.arena = name
            yield from self._join(bucket, packed, join, begun)
        finally:
            if arena is not None:
                arena.leave()

    def _enter(self, name: str, bucket: int) -> Arena | None:
        """The bucket's arena. Its name is made of ids and numbers only."""
        task, job = TaskContext.get(), self.job
        query = (task.getLocalProperty("sql.streaming.queryId") if task else None) or ""
        name = f"{arenas.of_query(query)}-{name}-{bucket}"
        return Arena.enter(job.arena, name, job.owner, job.reporter.no_arena)

    def _open(self, kept: Directory | None, arena: Arena | None) -> BucketJoin:
        job = self.job
        return BucketJoin.open(
            job.plan, job.bucket_count, self.store, arena, job.built, kept, job.back_to
        )

    def _join(
        self, bucket: int, packed: Sequence[Packed], join: BucketJoin, begun: float
    ) -> Iterator[pd.DataFrame]:
        job = self.job
        share = Share(join.pipeline)
        waited = 0.0
        for piece in join.process(packed):
            frame = job.output.frame(join.pipeline, piece)
            handed = time.perf_counter()
            yield frame
            waited += time.perf_counter() - handed
        seconds = time.perf_counter() - begun - waited
        figures = BucketFigures.of(join.pipeline, share)
        job.reporter.joined(bucket, figures, seconds, join.hit)
        job.reporter.advise(*advice.late(job.plan, figures.numbers["late"]))
        job.reporter.advise(*advice.noticed(join.pipeline.join.notices()))

    def close(self) -> None:
        pass


def _packed(frame: pd.DataFrame) -> Iterator[Packed]:
    for row in frame.itertuples(index=False):
        yield Packed(
            int(row.side),
            row.blob,
            _number(row.newest),
            _number(row.newest_beat),
            int(row.bad),
            int(row.beats),
            _number(row.now),
            int(row.place),
            row.bad_rows,
        )


def _number(value: int) -> int | None:
    return None if value == NOTHING else int(value)
