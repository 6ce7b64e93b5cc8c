"""Results of a shared join on their way to its aggregates: each to the buckets of who gets it.

A bucket has the aggregates whose ids, counted around, are its own, and all of their results. Notes
go to every bucket. Nothing here knows what a query asks: that is in the notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from windrow.spark import buckets
from windrow.spark.log import blobs
from windrow.spark.queries.results import AGE, AGGREGATES, NOTE
from windrow.spark.worker import begin_task

TS = "ts"
#: The columns of results that come after the streams' structs.
BESIDE = (TS, AGE, AGGREGATES, NOTE)
GATHERED = pa.schema(
    {"bucket": pa.int32(), "place": pa.int64(), "blob": pa.binary(), "note": pa.string()}
)
GATHERED_DDL = "bucket INT, place BIGINT, blob BINARY, note STRING"


@dataclass(frozen=True)
class Gather:
    """Packs results for the aggregates' buckets; what `mapInArrow` calls in a worker.

    The rows have a struct for each stream, c_0 and so on, and then `BESIDE`.
    """

    partitions: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begin_task()
        ids = buckets.bucket_ids(buckets.of_task(self.partitions))
        task = TaskContext.get()
        place = 0 if task is None else task.partitionId() << 32
        for batch in batches:
            yield gathered(batch, ids, place)
            place += 1


def gathered(batch: pa.RecordBatch, ids: Sequence[int], place: int) -> pa.RecordBatch:
    """The notes for every bucket, and for each the results that an aggregate of it gets."""
    notes = batch.column(NOTE).drop_null().to_pylist()
    rows = [
        {"bucket": bucket, "place": place, "blob": None, "note": note}
        for bucket in ids
        for note in notes
    ]
    batch = batch.drop_columns(NOTE)
    lists = batch.column(AGGREGATES)
    row, bucket_of = pc.list_parent_indices(lists).to_numpy(), pc.list_flatten(lists).to_numpy()
    bucket_of = bucket_of % len(ids)
    for number, bucket in enumerate(ids):
        mine = np.unique(row[bucket_of == number])
        if len(mine):
            blob = blobs.encode(batch.take(pa.array(mine))).to_pybytes()
            rows.append({"bucket": bucket, "place": place, "blob": blob, "note": None})
    return pa.RecordBatch.from_pylist(rows, schema=GATHERED)
