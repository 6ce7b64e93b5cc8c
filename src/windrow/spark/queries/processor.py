"""The stateful operators: of a shared join, and of the aggregates over its results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from windrow.spark import buckets
from windrow.spark.bucket import BucketJoin, Packed
from windrow.spark.log import blobs
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

    def _frames(self, packed: Sequence[Packed], join: BucketJoin) -> Iterator[pd.DataFrame]:
        assert isinstance(join, SharedBucket)
        for found in join.serve(packed):
            yield self._output.routed(join.pipeline, found)

    def _last(self, bucket: int, join: BucketJoin) -> Iterable[pd.DataFrame]:
        assert isinstance(join, SharedBucket)
        self.job.since.add({q.id: q.since for q in join.catalog.queries.values()})
        note = join.note(bucket)
        if note is not None:
            yield self._output.noted(join.pipeline, note.to_text())

    @property
    def _output(self) -> Results:
        assert isinstance(self.job.output, Results)
        return self.job.output


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
