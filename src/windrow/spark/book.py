"""The figures of a running query, at the driver: what `windrow.metrics(query)` reads.

A record replaces the one before it that has its key, so that a task that ran twice counts once.
When a second later micro-batch begins, the records of a micro-batch become one `BatchMetrics` for
each join and are let go.

Runs are kept apart: a query that is started again does its last micro-batch again, if it had not
been committed. Whether a micro-batch has *finished* is read from the progress of the query itself.
Spark sets that when a micro-batch has been committed, and the records of its tasks are here before
that: the driver takes a task's records in before it counts the task as done. Listeners hear of
both later.
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
from windrow.operators.figures import added_up
from windrow.spark.figures import Added, JoinName, Key, Record, Records, Reporter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

#: Micro-batches that are kept of a run of a query, and runs that are kept.
MOST_BATCHES = 100
MOST_RUNS = 100
#: Micro-batches of a run whose records may still change.
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


def finished(query: StreamingQuery) -> list[BatchMetrics]:
    """The last micro-batches of this run of a query that have finished, oldest first."""
    # First: a micro-batch that finishes in between is then left out, and not half counted.
    last = last_finished(query.lastProgress)
    return [each for each in BOOK.of(str(query.id), str(query.runId)) if each.batch <= last]


def last_finished(progress: StreamingQueryProgress | None) -> int:
    """The newest micro-batch that has finished by that progress; -1 if none has.

    A query that waits for data reports from time to time too, and names the micro-batch to come.
    """
    if progress is None:
        return -1
    return int(progress.batchId) - (not executed(progress))


def executed(progress: StreamingQueryProgress) -> bool:
    """Is this progress of a micro-batch that was run? Only then it had a plan to add to a sink."""
    return "addBatch" in progress.durationMs


class RunFigures:
    """The last micro-batches of one run of a query."""

    def __init__(self) -> None:
        self._open: dict[int, Records] = {}
        self._closed: dict[int, list[BatchMetrics]] = {}

    def enter(self, key: Key, record: Record) -> None:
        """A part of a task reports."""
        if self._closed and key.batch <= max(self._closed):
            return
        self._open.setdefault(key.batch, {})[key] = record
        while len(self._open) > OPEN_BATCHES:
            oldest = min(self._open)
            self._closed[oldest] = list(batch_metrics(self._open.pop(oldest)))
        while len(self._closed) > MOST_BATCHES - OPEN_BATCHES:
            del self._closed[min(self._closed)]

    def all(self) -> list[BatchMetrics]:
        """What is known, oldest first; the newest may still run."""
        found = dict(self._closed)
        found.update({b: list(batch_metrics(records)) for b, records in self._open.items()})
        return [metrics for batch in sorted(found) for metrics in found[batch]]


class Book:
    """The figures of this driver's queries. The accumulators' thread writes, others read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[tuple[str, str], RunFigures] = OrderedDict()
        #: By query, the run that Spark has started last.
        self._started: dict[str, str] = {}
        self._warned: set[tuple[str, JoinName, str]] = set()

    def started(self, query: str, run: str) -> None:
        """Spark has started a query."""
        with self._lock:
            self._started[query] = run

    def ended(self, query: str, run: str) -> None:
        """A query has ended, and all its tasks have reported."""
        with self._lock:
            if self._started.get(query) == run:
                del self._started[query]

    def enter(self, records: Mapping[Key, Record]) -> None:
        """A task reports."""
        with self._lock:
            for key, record in records.items():
                self._warn(key, record)
                run = (key.query, key.run or self._started.get(key.query, ""))
                self._runs.setdefault(run, RunFigures()).enter(key, record)
                self._runs.move_to_end(run)
            while len(self._runs) > MOST_RUNS:
                self._runs.popitem(last=False)

    def _warn(self, key: Key, record: Record) -> None:
        """Say what a worker has found, of each subject once in a run."""
        names = " and ".join(key.join.streams)
        for advice in record.advice:
            if (key.run, key.join, advice.subject) not in self._warned:
                self._warned.add((key.run, key.join, advice.subject))
                text = f"query {key.query}, join of {names}: {advice.text}"
                warnings.warn(text, RuntimeWarning, stacklevel=2)

    def of(self, query: str, run: str) -> list[BatchMetrics]:
        """The last micro-batches of a run, oldest first; none if it never reported.

        The newest may still run, and have figures of some of its tasks only.
        """
        with self._lock:
            known = self._runs.get((query, run))
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

    def seconds(step: str) -> float:
        return sum(record.seconds for key, record in records.items() if key.step == step)

    rows = dict.fromkeys(names, 0)
    for key, record in records.items():
        if key.step == "pack":
            rows[names[key.part[0]]] += record.rows
    # Progress is the same in every bucket, and so is the trigger.
    progress = buckets[0].progress if buckets else (BEGINNING,) * len(names)
    trigger = buckets[0].trigger if buckets else None
    return BatchMetrics(
        batch=next(iter(records)).batch,
        streams=names,
        rows=rows,
        **added_up([bucket.numbers for bucket in buckets], names),
        progress={
            name: moment(now, zoned)
            for name, now, zoned in zip(names, progress, join.zoned, strict=True)
        },
        lag=dict(zip(names, lags(progress), strict=True)),
        trigger=None if trigger is None else moment(trigger, join.zoned[0]),
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
