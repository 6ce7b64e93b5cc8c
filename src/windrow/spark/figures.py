"""The figures of a running query, in the workers.

    worker: Reporter --> accumulator, one for each join --> driver: BOOK --> BatchMetrics

Each record has a key: query, run, micro-batch, join, step, part. Within a task records of one key
add up; `book.py` has what becomes of them at the driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

from pyspark import TaskContext
from pyspark.accumulators import Accumulator, AccumulatorParam

from windrow import expressions
from windrow.kernels import cursor as c
from windrow.model import JoinPlan
from windrow.operators.in_order import InOrder
from windrow.operators.pipeline import Pipeline
from windrow.spark.advice import Advice, no_arena
from windrow.state.punctuated_state import PunctuatedState

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
    """What a record is about. The part begins with the side of pack or the bucket of join."""

    query: str
    run: str
    batch: int
    join: JoinName
    step: Step
    part: tuple[int, ...]


@dataclass(frozen=True)
class BucketFigures:
    """What one bucket did in one micro-batch; sequences have one number for each stream."""

    tuples: Sequence[int]
    late: Sequence[int]
    bad: Sequence[int]
    beats: Sequence[int]
    matches: int
    unmatched: int
    live_rows: Sequence[int]
    live_bytes: Sequence[int]
    progress: Sequence[int]
    punctuations: Sequence[int] = (0, 0)
    violations: Sequence[int] = (0, 0)
    flags: Sequence[int] = (0, 0)
    ended: int = 0
    finals: int = 0
    partials: int = 0
    order: OrderFigures | None = None


@dataclass(frozen=True)
class OrderFigures:
    """What waits and is held in one bucket, in rows and bytes, now and at most."""

    trigger: int
    waiting: Sequence[int]
    waiting_bytes: Sequence[int]
    peak_waiting: Sequence[int]
    held: int
    held_bytes: int
    peak_held: int
    switches: int


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
        # The job group of a streaming query is its run, which is new when the query starts again.
        run = task.getLocalProperty("spark.jobGroup.id") or ""
        key = Key(query, run, int(batch), self.join, step, (*part, task.partitionId()))
        self.accumulator.add({key: record})


class Tally:
    """The counts of a pipeline around one micro-batch."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._per_stream, self._whole = self._counts()
        if pipeline.order is not None:
            pipeline.order.forget_peaks(pipeline.join)

    def figures(self) -> BucketFigures:
        """What has happened since."""
        pipeline = self._pipeline
        state = pipeline.join.state
        streams = range(len(pipeline.names))
        per_stream, whole = self._counts()
        tuples, late, bad, beats, punctuations, violations = (
            tuple(a - b for a, b in zip(after, before, strict=True))
            for after, before in zip(per_stream, self._per_stream, strict=True)
        )
        matches, unmatched, ended, finals = (a - b for a, b in zip(whole, self._whole, strict=True))
        return BucketFigures(
            tuples, late, bad, beats, matches, unmatched,
            tuple(state.live_rows(stream) for stream in streams),
            tuple(state.nbytes(stream) for stream in streams),
            tuple(progress.now for progress in pipeline.progress),
            punctuations, violations,
            tuple(
                state.live_flags(stream) if isinstance(state, PunctuatedState) else 0
                for stream in streams
            ),
            ended, finals, 0 if pipeline.finals is None else pipeline.finals.held(),
            self._order(pipeline.order),
        )  # fmt: skip

    def _order(self, order: InOrder | None) -> OrderFigures | None:
        if order is None:
            return None
        waiting, held = order.waiting(self._pipeline.join), order.hold.runs
        return OrderFigures(
            order.hold.released,
            tuple(len(runs) for runs in waiting),
            tuple(runs.nbytes for runs in waiting),
            tuple(runs.peak for runs in waiting),
            len(held), held.nbytes, held.peak, order.switches,
        )  # fmt: skip

    def _counts(self) -> tuple[list[list[int]], list[int]]:
        found, join = self._pipeline.metrics, self._pipeline.join
        counted = (found.tuples, found.late, found.bad, found.beats)
        per_stream = [[by_name[name] for name in self._pipeline.names] for by_name in counted]
        streams = range(len(self._pipeline.names))
        for first in (c.ACTED_ONE, c.VIOLATIONS_ONE):
            per_stream.append([int(join.cursor[first + stream]) for stream in streams])
        finals = self._pipeline.finals
        return per_stream, [
            join.matches,
            join.unmatched,
            int(join.cursor[c.ENDED]),
            0 if finals is None else finals.count,
        ]


class Added(AccumulatorParam[Records]):
    """In a worker: the records of one task, which add up."""

    def zero(self, value: Records) -> Records:
        return {}

    def addInPlace(self, value1: Records, value2: Records) -> Records:  # noqa: N802
        for key, record in value2.items():
            known = value1.get(key)
            value1[key] = record if known is None else known + record
        return value1
