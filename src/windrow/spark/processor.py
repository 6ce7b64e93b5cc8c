"""The stateful operator: feeds one bucket's micro-batch to its join."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark import TaskContext
from pyspark.sql import types
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from windrow.model import JoinPlan, WindrowError
from windrow.spark.arena import Arena
from windrow.spark.bucket import BucketJoin, Packed, question
from windrow.spark.figures import Tally
from windrow.spark.output import BLOB
from windrow.spark.pack import NOTHING
from windrow.spark.worker import begin_task

if TYPE_CHECKING:
    from windrow.spark.figures import Reporter
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

    `built`: when the join was put together (µs). `arena`: where arenas go; None leaves it open.
    """

    plan: JoinPlan
    output: Output
    buckets: int
    finite: bool
    built: int
    arena: str | None
    reporter: Reporter


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
        bucket = int(key[0])
        arena = (
            None if self.job.finite else Arena.enter(self.job.arena, arena_name(self.job, bucket))
        )
        try:
            yield from self._join(bucket, packed, arena)
        finally:
            if arena is not None:
                arena.leave()

    def _join(
        self, bucket: int, packed: Sequence[Packed], arena: Arena | None
    ) -> Iterator[pd.DataFrame]:
        job = self.job
        begun = time.perf_counter()
        if job.finite:
            join = BucketJoin(job.plan, job.buckets, self.store, finite=True)
        else:
            join = BucketJoin.open(job.plan, job.buckets, self.store, arena, job.built)
        tally = Tally(join.pipeline)
        waited = 0.0
        for piece in join.process(packed):
            frame = job.output.frame(join.pipeline, piece)
            handed = time.perf_counter()
            yield frame
            waited += time.perf_counter() - handed
        seconds = time.perf_counter() - begun - waited
        job.reporter.joined(bucket, tally.figures(), seconds, join.hit)

    def close(self) -> None:
        pass


def arena_name(job: Job, bucket: int) -> str:
    """A name that is this bucket's of this join of this query; none of it the user's words.

    It is the same after a restart. Two joins of one query that ask the very same of the very same
    columns share it, so one of them works privately and both are rebuilt at every micro-batch.
    """
    task = TaskContext.get()
    query = (task.getLocalProperty("sql.streaming.queryId") if task else None) or ""
    text = json.dumps([query, question(job.plan)])
    return f"{hashlib.sha256(text.encode()).hexdigest()[:32]}-{bucket}"


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
        )


def _number(value: int) -> int | None:
    return None if value == NOTHING else int(value)
