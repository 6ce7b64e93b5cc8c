"""The stateful operators: of a shared join, and of the aggregates over its results."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from windrow.operators.figures import Share
from windrow.spark import buckets
from windrow.spark.bucket import BucketJoin, Packed
from windrow.spark.log import blobs
from windrow.spark.metrics import advice
from windrow.spark.metrics.figures import BucketFigures
from windrow.spark.processor import Job, JoinProcessor, SparkStore
from windrow.spark.queries.aggregates import AggregateBucket
from windrow.spark.queries.bucket import SharedBucket, Sharing
from windrow.spark.queries.results import Results
from windrow.spark.worker import begin_task, message_first

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator

    from windrow.spark.arena import Arena
    from windrow.spark.log.directory import Directory
    from windrow.spark.queries.since import Times


@dataclass(frozen=True)
class SharedJob(Job):
    """What a worker must know of a shared join."""

    sharing: Sharing
    since: Accumulator[Times]


class SharedProcessor(JoinProcessor):
    """One per task; `handleInputRows` runs once per bucket and micro-batch."""

    job: SharedJob

    def _open(self, kept: Directory | None, arena: Arena | None) -> BucketJoin:
        job = self.job
        found = SharedBucket.open(
            job.plan, job.bucket_count, self.store, arena, job.built, kept, job.back_to
        )
        assert isinstance(found, SharedBucket)
        return found.share(job.sharing)

    def _join(
        self, bucket: int, packed: Sequence[Packed], join: BucketJoin, begun: float
    ) -> Iterator[pd.DataFrame]:
        assert isinstance(join, SharedBucket)
        assert isinstance(self.job.output, Results)
        job, output = self.job, self.job.output
        share = Share(join.pipeline)
        waited = 0.0
        for found in join.serve(packed):
            frame = output.routed(join.pipeline, found)
            handed = time.perf_counter()
            yield frame
            waited += time.perf_counter() - handed
        note = join.note(bucket)
        job.since.add({q.id: q.since for q in join.catalog.queries.values()})
        seconds = time.perf_counter() - begun - waited
        figures = BucketFigures.of(join.pipeline, share)
        job.reporter.joined(bucket, figures, seconds, join.hit)
        job.reporter.advise(*advice.late(job.plan, figures.numbers["late"]))
        if note is not None:
            yield output.noted(join.pipeline, note.to_text())


class AggregateProcessor(StatefulProcessor):
    """The same of the aggregates."""

    def __init__(self, sharing: Sharing, partitions: int) -> None:
        self.sharing = sharing
        self.partitions = partitions

    def init(self, handle: StatefulProcessorHandle) -> None:
        begin_task()
        self.store = SparkStore(handle)

    def handleInputRows(  # noqa: N802
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        found = [row for frame in rows for row in frame.itertuples(index=False)]
        found.sort(key=lambda row: row.place)
        with message_first():
            ids = buckets.bucket_ids(buckets.of_task(self.partitions))
            number = ids.index(int(key[0]))
            bucket = AggregateBucket(self.sharing, self.store, number, len(ids))
            notes = [row.note for row in found if row.note is not None]
            parts = [row.blob for row in found if row.blob is not None]
            for id, batch in bucket.process(notes, parts):
                blob = blobs.encode(batch).to_pybytes()
                yield pd.DataFrame({"query": [id], "answers": [blob]})

    def close(self) -> None:
        pass
