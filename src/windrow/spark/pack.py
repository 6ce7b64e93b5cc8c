"""Rows to blobs: hash, split by bucket, and one row per bucket for all that a task has read.

Raw rows never go through the stateful operator, which would handle them one Python object at a
time. A packed row has the tuples of one bucket as an Arrow blob; the rest of it is what moves
progress, and that goes to *every* bucket, so that progress is the same everywhere. Bad rows
(without a time, or too far ahead of the micro-batch's clock) move none; if they are kept, they
travel in a blob of their own. Pack adds no heartbeat: a task that has seen no row sends none.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext

from windrow.model import Bad, Stream
from windrow.operators.columns import Columns, columns_of, refuse_bad
from windrow.spark import buckets
from windrow.spark.log import blobs
from windrow.spark.metrics import advice
from windrow.spark.worker import begin_task

if TYPE_CHECKING:
    from windrow.spark.metrics.figures import Reporter

#: A column that comes with the rows where some stream can be idle or ahead: the micro-batch's time.
NOW = "__windrow_now"

PACKED = pa.schema(
    {
        "bucket": pa.int32(),
        "side": pa.int32(),
        "blob": pa.binary(),
        "newest": pa.int64(),
        "newest_beat": pa.int64(),
        "bad": pa.int64(),
        "beats": pa.int64(),
        "now": pa.int64(),
        "place": pa.int64(),
        "bad_rows": pa.binary(),
    }
)
PACKED_DDL = (
    "bucket INT, side INT, blob BINARY, newest BIGINT, newest_beat BIGINT, bad BIGINT, "
    "beats BIGINT, now BIGINT, place BIGINT, bad_rows BINARY"
)
#: In place of a null, which pandas would turn a whole column of numbers into floats for.
NOTHING = -(2**63)
#: What is packed together: large blobs, but bounded memory.
PACK_ROWS = 1_000_000
PACK_BYTES = 256 << 20


@dataclass(frozen=True)
class Pack:
    """Packs one stream's rows; what `mapInArrow` calls in a worker.

    `ids` are the bucket ids, chosen so that Spark spreads them over its partitions; None: of as
    many buckets as the query has partitions, which is `partitions` if its tasks do not say.
    `bad`: what becomes of bad rows.
    """

    stream: Stream
    side: int
    ids: tuple[int, ...] | None
    reporter: Reporter | None = None
    partitions: int = 1
    bad: Bad = "drop"

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begin_task()
        task = TaskContext.get()
        # Blobs reach a bucket in any order; their places make it the same in every attempt.
        place = 0 if task is None else task.partitionId() << 32
        waiting: list[pa.RecordBatch] = []
        rows = size = 0
        for batch in (part for whole in batches for part in _slices(whole)):
            waiting.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
            if rows >= PACK_ROWS or size >= PACK_BYTES:
                yield self._timed(waiting, rows, place)
                waiting, rows, size, place = [], 0, 0, place + 1
        if rows:
            yield self._timed(waiting, rows, place)

    def _timed(self, batches: Sequence[pa.RecordBatch], rows: int, place: int) -> pa.RecordBatch:
        begun = time.perf_counter()
        packed = self.pack(batches, place)
        if self.reporter is not None:
            self.reporter.packed(self.side, rows, time.perf_counter() - begun)
        return packed

    def pack(self, batches: Sequence[pa.RecordBatch], place: int = 0) -> pa.RecordBatch:
        """One packed row for each bucket."""
        table = pa.Table.from_batches(batches).combine_chunks()
        now = NOTHING
        if NOW in table.column_names:
            now = table.column(NOW)[0].value
            table = table.drop_columns(NOW)
        table = as_planned(table, self.stream.schema)
        columns = columns_of(self.stream, table, None if now == NOTHING else now)
        self._judge(columns)
        none = np.zeros(len(columns.ts), np.bool_)
        bad = none if columns.bad is None else columns.bad
        beats = none if columns.beats is None else columns.beats & ~bad
        ids = self.ids or buckets.bucket_ids(buckets.of_task(self.partitions))
        count = len(ids)
        kept: list[pa.RecordBatch | None] = [None] * count
        if self.bad == "keep" and bad.any():
            kept = split(table.filter(pa.array(bad)), columns.keys.hashes[bad], count)
        ranges = columns.ranges
        hashes, times, beat_times = columns.keys.hashes, columns.ts, columns.ts[beats]
        if columns.bad is not None or columns.beats is not None:
            tuples = np.flatnonzero(~(bad | (none if columns.beats is None else columns.beats)))
            table = table.take(pa.array(tuples))
            hashes, times = hashes[tuples], times[tuples]
            ranges = None if ranges is None else ranges[tuples]
        # The counts belong to the rows, not to each bucket: only the first one reports them.
        first = [1] + [0] * (count - 1)
        values = {
            "bucket": ids,
            "side": [self.side] * count,
            "newest": [int(times.max(initial=NOTHING))] * count,
            "newest_beat": [int(beat_times.max(initial=NOTHING))] * count,
            "bad": [int(bad.sum()) * one for one in first],
            "beats": [int(beats.sum()) * one for one in first],
            "now": [now] * count,
            "place": [place] * count,
        }
        parts = split(table, hashes, count)
        if ranges is not None and ranges.any():
            # A range may have keys in any bucket.
            others = pa.array(~ranges)
            parts = split(table.filter(others), hashes[~ranges], count)
            parts = [_with(part, table.filter(pa.array(ranges))) for part in parts]
        packed = {"blob": blobs.encode_all(parts), "bad_rows": blobs.encode_all(kept)}
        arrays = [
            packed[field.name] if field.name in packed else pa.array(values[field.name], field.type)
            for field in PACKED
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=PACKED)

    def _judge(self, columns: Columns) -> None:
        """Refuse bad rows, or say that some are too far ahead."""
        if self.bad == "fail":
            refuse_bad(self.stream, columns)
        if columns.ahead and self.reporter is not None:
            furthest = int(columns.ts.max())
            self.reporter.advise(advice.ahead(self.stream, furthest, self.bad == "keep"))


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in parts that are not too large to be packed."""
    parts = max(1, -(-batch.nbytes // PACK_BYTES))
    rows = max(1, -(-batch.num_rows // parts))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def as_planned(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows under the plan's names and types: chunks stay alike, whatever the session's zone."""
    arrays = [column.cast(field.type) for column, field in zip(table.columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def split(table: pa.Table, hashes: NDArray[np.int64], count: int) -> list[pa.RecordBatch | None]:
    """The rows of each bucket, in the order they came; None where there are none."""
    if count == 1:
        return [_whole(table)]
    bucket = bucket_of(hashes, count)
    # Sorting numbers of 16 bits is a radix sort.
    order = np.argsort(bucket.astype(np.uint16) if count <= 1 << 16 else bucket, kind="stable")
    borders = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=count))])
    together = table.take(pa.array(order))
    return [_whole(together.slice(start, stop - start)) for start, stop in pairwise(borders)]


def _with(part: pa.RecordBatch | None, more: pa.Table) -> pa.RecordBatch | None:
    """A bucket's rows and these."""
    mine = more.schema.empty_table() if part is None else pa.Table.from_batches([part])
    return _whole(pa.concat_tables([mine, more]))


def _whole(table: pa.Table) -> pa.RecordBatch | None:
    if not table.num_rows:
        return None
    (batch,) = table.combine_chunks().to_batches()
    return batch


def bucket_of(hashes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Which bucket: by a further product, so that cells and chains inside still see all bits."""
    spread = hashes.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(33)
    return (spread % np.uint64(count)).astype(np.int64)
