"""The figures of a running query, at the driver: what `windrow.metrics(query)` reads.

A record replaces the one before it that has its key, so that a task that ran twice counts once.
When a second later micro-batch begins, a micro-batch is complete: its records become one
`BatchMetrics` for each join and are let go.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pyspark.accumulators import AccumulatorParam

from windrow.model import BEGINNING, END, BatchMetrics, JoinPlan
from windrow.spark.figures import Added, JoinName, Key, Record, Records, Reporter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Micro-batches that are kept of a query, and queries that are kept.
MOST_BATCHES = 100
MOST_QUERIES = 100
#: Micro-batches of a query whose records may still change.
OPEN_BATCHES = 2


def reporter(session: SparkSession, plan: JoinPlan) -> Reporter:
    """One for a new join. Spark Connect has no accumulators, so there it stays silent."""
    context = getattr(session, "sparkContext", None)
    entered: AccumulatorParam[Records] = Entered()
    return Reporter(context and context.accumulator({}, entered), JoinName.of(plan))


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
        self._warned: set[tuple[str, JoinName, str]] = set()

    def enter(self, records: Mapping[Key, Record]) -> None:
        """A task reports."""
        with self._lock:
            for key, record in records.items():
                self._warn(key, record)
                self._queries.setdefault(key.query, QueryFigures()).enter(key, record)
                self._queries.move_to_end(key.query)
            while len(self._queries) > MOST_QUERIES:
                self._queries.popitem(last=False)

    def _warn(self, key: Key, record: Record) -> None:
        """Say what a worker has found, of each subject once in a run."""
        names = " and ".join(key.join.streams)
        for advice in record.advice:
            if (key.run, key.join, advice.subject) not in self._warned:
                self._warned.add((key.run, key.join, advice.subject))
                text = f"query {key.query}, join of {names}: {advice.text}"
                warnings.warn(text, RuntimeWarning, stacklevel=2)

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
        partials=sum(bucket.partials for bucket in buckets),
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
