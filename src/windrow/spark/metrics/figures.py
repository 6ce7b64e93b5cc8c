"""The figures of a running query, in the workers.

    worker: Reporter --> accumulator, one for each join --> driver: BOOK --> BatchMetrics

Each record has a key: query, run, micro-batch, join, step, part. Within a task records of one key
add up; `book.py` has what becomes of them at the driver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal
from uuid import UUID

from pyspark import TaskContext
from pyspark.accumulators import Accumulator, AccumulatorParam

from windrow import expressions
from windrow.model import JoinPlan
from windrow.operators.figures import Numbers, Share
from windrow.operators.pipeline import Pipeline
from windrow.spark.metrics.advice import Advice, no_arena

Step = Literal["pack", "join", "unpack"]

_numbers = count()


@dataclass(frozen=True)
class JoinName:
    """A join of a query: a number of its own, its streams, and whose times have a zone."""

    number: int
    streams: tuple[str, ...]
    zoned: tuple[bool, ...]

    @classmethod
    def of(cls, plan: JoinPlan) -> JoinName:
        """A new one."""
        kinds = [expressions.resolve(stream.schema, stream.time) for stream in plan.streams]
        names = tuple(stream.name for stream in plan.streams)
        return cls(next(_numbers), names, tuple(bool(kind and kind.tz) for kind in kinds))


@dataclass(frozen=True)
class Key:
    """What a record is about. The part begins with the side of pack or the bucket of join.

    A run is one start of a query; it is empty where a task cannot tell.
    """

    query: str
    run: str
    batch: int
    join: JoinName
    step: Step
    part: tuple[int, ...]


@dataclass(frozen=True)
class BucketFigures:
    """What one bucket did in one micro-batch: its numbers by the names of `operators/figures.py`.

    Progress and the trigger of an order are the same in every bucket.
    """

    numbers: Mapping[str, Numbers]
    progress: Sequence[int]
    trigger: int | None = None

    @classmethod
    def of(cls, pipeline: Pipeline, share: Share) -> BucketFigures:
        """A bucket's, when its micro-batch is done."""
        return cls(
            share.numbers(),
            tuple(progress.now for progress in pipeline.progress),
            pipeline.results.left_before,
        )


@dataclass(frozen=True)
class Record:
    """What a part of a step did: rows of pack, a bucket of join, and the time it took."""

    seconds: float
    rows: int = 0
    bucket: BucketFigures | None = None
    hit: bool | None = None
    advice: tuple[Advice, ...] = ()

    def __add__(self, other: Record) -> Record:
        """More of the same part of the same task. A bucket reports once, when it is done."""
        return Record(
            self.seconds + other.seconds,
            self.rows + other.rows,
            other.bucket or self.bucket,
            self.hit if other.hit is None else other.hit,
            self.advice + tuple(each for each in other.advice if each not in self.advice),
        )


Records = dict[Key, Record]


class Reporter:
    """Takes the figures of one join in a worker. Without a streaming query it does nothing."""

    def __init__(self, accumulator: Accumulator[Records] | None, join: JoinName) -> None:
        self.accumulator = accumulator
        self.join = join

    def packed(self, side: int, rows: int, seconds: float) -> None:
        """So many rows of a stream were packed."""
        self._add("pack", Record(seconds, rows), side)

    def joined(self, bucket: int, figures: BucketFigures, seconds: float, hit: bool | None) -> None:
        """A bucket is done. `hit`: was its state at hand, or rebuilt; None: it was its first."""
        self._add("join", Record(seconds, 0, figures, hit), bucket)

    def advise(self, *found: Advice) -> None:
        """The user should know this."""
        if found:
            self._add("join", Record(0.0, advice=found))

    def no_arena(self, why: str) -> None:
        """There is no place for a bucket's state between micro-batches."""
        self.advise(no_arena(why))

    def unpacked(self, seconds: float) -> None:
        """Results were decoded."""
        self._add("unpack", Record(seconds))

    def _add(self, step: Step, record: Record, *part: int) -> None:
        task = TaskContext.get()
        if self.accumulator is None or task is None:
            return
        query = task.getLocalProperty("sql.streaming.queryId")
        batch = task.getLocalProperty("streaming.sql.batchId")
        if query is None or batch is None:
            return
        run = run_of(task.getLocalProperty("spark.jobGroup.id"))
        key = Key(query, run, int(batch), self.join, step, (*part, task.partitionId()))
        self.accumulator.add({key: record})


def run_of(group: str | None) -> str:
    """The run of a streaming query: Spark makes it the job group. Empty if a sink set another.

    >>> run_of("9f2b7c1e-0000-4000-8000-000000000000"), run_of("nightly"), run_of(None)
    ('9f2b7c1e-0000-4000-8000-000000000000', '', '')
    """
    try:
        return str(UUID(group or ""))
    except ValueError:
        return ""


class Added(AccumulatorParam[Records]):
    """In a worker: the records of one task, which add up."""

    def zero(self, value: Records) -> Records:
        return {}

    def addInPlace(self, value1: Records, value2: Records) -> Records:  # noqa: N802
        for key, record in value2.items():
            known = value1.get(key)
            value1[key] = record if known is None else known + record
        return value1
