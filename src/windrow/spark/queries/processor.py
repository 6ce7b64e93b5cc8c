"""The stateful operator of a shared join: feeds one bucket's micro-batch to it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from windrow.operators.figures import Share
from windrow.spark.bucket import BucketJoin, Packed
from windrow.spark.metrics import advice
from windrow.spark.metrics.figures import BucketFigures
from windrow.spark.processor import Job, JoinProcessor
from windrow.spark.queries.bucket import SharedBucket, Sharing
from windrow.spark.queries.results import Results

if TYPE_CHECKING:
    from windrow.spark.arena import Arena
    from windrow.spark.log.directory import Directory


@dataclass(frozen=True)
class SharedJob(Job):
    """What a worker must know of a shared join."""

    sharing: Sharing


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
        seconds = time.perf_counter() - begun - waited
        figures = BucketFigures.of(join.pipeline, share)
        job.reporter.joined(bucket, figures, seconds, join.hit)
        job.reporter.advise(*advice.late(job.plan, figures.numbers["late"]))
        if note is not None:
            yield output.noted(join.pipeline, note.to_text())
