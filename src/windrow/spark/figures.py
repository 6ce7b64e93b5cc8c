"""The figures of a running query, from the workers to `windrow.metrics(query)`.

    worker: Reporter --> accumulator, one for each join --> driver: BOOK --> BatchMetrics

Each record has a key: query, run, micro-batch, join, step, part. Within a task records of one key
add up; at the driver a record replaces the one before it, so that a task that ran twice counts
once. When a second later micro-batch begins, a micro-batch is complete: its records become one
`BatchMetrics` for each join and are let go.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, Literal

from pyspark import TaskContext
from pyspark.accumulators import Accumulator, AccumulatorParam

from windrow import expressions
from windrow.kernels import cursor as c
from windrow.model import BEGINNING, END, BatchMetrics, JoinPlan
from windrow.operators.in_order import InOrder
from windrow.operators.pipeline import Pipeline
from windrow.state.punctuated_state import PunctuatedState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Micro-batches that are kept of a query, and queries that are kept.
MOST_BATCHES = 100
MOST_QUERIES = 100
#: Micro-batches of a query whose records may still change.
OPEN_BATCHES = 2

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

    def __add__(self, other: Record) -> Record:
        """More of the same part of the same task. A bucket reports once, when it is done."""
        return Record(
            self.seconds + other.seconds,
            self.rows + other.rows,
            other.bucket or self.bucket,
            self.hit if other.hit is None else other.hit,
        )


Records = dict[Key, Record]


# -- in a worker -------------------------------------------------------------------------------


class Reporter:
    """Takes the figures of one join in a worker. Without a streaming query it does nothing."""

    def __init__(self, accumulator: Accumulator[Records] | None, join: JoinName) -> None:
        self.accumulator = accumulator
        self.join = join

    @classmethod
    def of(cls, session: SparkSession, plan: JoinPlan) -> Reporter:
        """One for a new join. Spark Connect has no accumulators, so there it stays silent."""
        context = getattr(session, "sparkContext", None)
        book: AccumulatorParam[Records] = Entered()
        return cls(context and context.accumulator({}, book), JoinName.of(plan))

    def packed(self, side: int, rows: int, seconds: float) -> None:
        """So many rows of a stream were packed."""
        self._add("pack", Record(seconds, rows), side)

    def joined(self, bucket: int, figures: BucketFigures, seconds: float, hit: bool | None) -> None:
        """A bucket is done. `hit`: was its state at hand, or rebuilt; None: it was its first."""
        self._add("join", Record(seconds, 0, figures, hit), bucket)

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
            ended, finals, self._order(pipeline.order),
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


# -- at the driver -----------------------------------------------------------------------------


class Entered(AccumulatorParam[Records]):
    """At the driver: records go into the book. A worker gets `Added` in its place."""

    def zero(self, value: Records) -> Records:
        return {}

    def addInPlace(self, value1: Records, value2: Records) -> Records:  # noqa: N802
        BOOK.enter(value2)
        return value1

    def __reduce__(self) -> tuple[type[Added], tuple[()]]:
        return Added, ()


class QueryFigures:
    """The last micro-batches of one query."""

    def __init__(self) -> None:
        self._run = ""
        self._open: dict[int, Records] = {}
        self._closed: dict[int, list[BatchMetrics]] = {}

    def enter(self, key: Key, record: Record) -> None:
        """A part of a task reports."""
        if key.run != self._run:
            # A query that starts again does its last micro-batch again, maybe with a new join.
            self._run = key.run
            for batches in (self._open, self._closed):
                for batch in [batch for batch in batches if batch >= key.batch]:
                    del batches[batch]
        if self._closed and key.batch <= max(self._closed):
            return
        self._open.setdefault(key.batch, {})[key] = record
        while len(self._open) > OPEN_BATCHES:
            oldest = min(self._open)
            self._closed[oldest] = list(batch_metrics(self._open.pop(oldest)))
        while len(self._closed) > MOST_BATCHES - OPEN_BATCHES:
            del self._closed[min(self._closed)]

    def all(self) -> list[BatchMetrics]:
        """What is known, oldest first."""
        found = dict(self._closed)
        found.update({b: list(batch_metrics(records)) for b, records in self._open.items()})
        return [metrics for batch in sorted(found) for metrics in found[batch]]


class Book:
    """The figures of this driver's queries. The accumulators' thread writes, others read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queries: OrderedDict[str, QueryFigures] = OrderedDict()

    def enter(self, records: Mapping[Key, Record]) -> None:
        """A task reports."""
        with self._lock:
            for key, record in records.items():
                self._queries.setdefault(key.query, QueryFigures()).enter(key, record)
                self._queries.move_to_end(key.query)
            while len(self._queries) > MOST_QUERIES:
                self._queries.popitem(last=False)

    def of(self, query: str) -> list[BatchMetrics]:
        """The last micro-batches of a query, oldest first; none if it never reported."""
        with self._lock:
            known = self._queries.get(query)
            return known.all() if known else []


BOOK = Book()


def batch_metrics(records: Records) -> Iterator[BatchMetrics]:
    """The figures of one micro-batch, one for each join in it."""
    joins = sorted({key.join for key in records}, key=lambda join: join.number)
    for join in joins:
        yield _one_join(join, {key: r for key, r in records.items() if key.join == join})


def _one_join(join: JoinName, records: Records) -> BatchMetrics:
    names = join.streams
    buckets = [record.bucket for record in records.values() if record.bucket is not None]
    hits = [record.hit for record in records.values()]

    def summed(per_bucket: Sequence[Sequence[int]]) -> dict[str, int]:
        return {name: sum(numbers[s] for numbers in per_bucket) for s, name in enumerate(names)}

    def seconds(step: str) -> float:
        return sum(record.seconds for key, record in records.items() if key.step == step)

    rows = dict.fromkeys(names, 0)
    for key, record in records.items():
        if key.step == "pack":
            rows[names[key.part[0]]] += record.rows
    orders = [bucket.order for bucket in buckets if bucket.order is not None]
    # Progress is the same in every bucket, and so is the trigger.
    progress = buckets[0].progress if buckets else (BEGINNING,) * len(names)
    return BatchMetrics(
        batch=next(iter(records)).batch,
        streams=names,
        rows=rows,
        tuples=summed([bucket.tuples for bucket in buckets]),
        late=summed([bucket.late for bucket in buckets]),
        bad=summed([bucket.bad for bucket in buckets]),
        beats=summed([bucket.beats for bucket in buckets]),
        punctuations=summed([bucket.punctuations for bucket in buckets]),
        violations=summed([bucket.violations for bucket in buckets]),
        matches=sum(bucket.matches for bucket in buckets),
        unmatched=sum(bucket.unmatched for bucket in buckets),
        ended=sum(bucket.ended for bucket in buckets),
        finals=sum(bucket.finals for bucket in buckets),
        live_rows=summed([bucket.live_rows for bucket in buckets]),
        live_bytes=summed([bucket.live_bytes for bucket in buckets]),
        flags=summed([bucket.flags for bucket in buckets]),
        progress={
            name: moment(now, zoned)
            for name, now, zoned in zip(names, progress, join.zoned, strict=True)
        },
        lag=dict(zip(names, lags(progress), strict=True)),
        trigger=moment(orders[0].trigger, join.zoned[0]) if orders else None,
        waiting=summed([order.waiting for order in orders]),
        waiting_bytes=summed([order.waiting_bytes for order in orders]),
        peak_waiting=summed([order.peak_waiting for order in orders]),
        held=sum(order.held for order in orders),
        held_bytes=sum(order.held_bytes for order in orders),
        peak_held=sum(order.peak_held for order in orders),
        switches=sum(order.switches for order in orders),
        arena_hits=hits.count(True),
        arena_rebuilds=hits.count(False),
        pack_seconds=seconds("pack"),
        join_seconds=seconds("join"),
        unpack_seconds=seconds("unpack"),
    )


def moment(micros: int, zoned: bool) -> datetime | None:
    """A progress as a time; None before the beginning, after the end, or past the year 9999."""
    if micros in (BEGINNING, END):
        return None
    start = datetime(1970, 1, 1, tzinfo=UTC if zoned else None)
    with suppress(OverflowError):
        return start + timedelta(microseconds=micros)
    return None


def lags(progress: Sequence[int]) -> list[timedelta | None]:
    """How far each stream is behind the one furthest ahead; None where that has no measure."""
    known = [now for now in progress if now not in (BEGINNING, END)]
    return [
        timedelta(microseconds=max(known) - now) if now not in (BEGINNING, END) else None
        for now in progress
    ]
