"""Rows to blobs: hash, split by bucket, and one row per bucket for all that a task has read.

Raw rows never go through the stateful operator, which would handle them one Python object at a
time. A packed row is (bucket, side, blob, newest, newest_beat, bad, beats): the blob has the
tuples of that bucket, with their times and key hashes as two more columns; the rest is what moves
progress, and it goes to *every* bucket, so that progress is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.model import Stream
from windrow.operators.columns import columns_of
from windrow.spark import blobs

#: Columns that pack adds to a stream's own.
TIME, KEY, KEYLESS = "__windrow_time", "__windrow_key", "__windrow_keyless"

PACKED_DDL = (
    "bucket INT, side INT, blob BINARY, newest BIGINT, newest_beat BIGINT, bad BIGINT, beats BIGINT"
)
PACKED = pa.schema(
    {
        "bucket": pa.int32(),
        "side": pa.int32(),
        "blob": pa.binary(),
        "newest": pa.int64(),
        "newest_beat": pa.int64(),
        "bad": pa.int64(),
        "beats": pa.int64(),
    }
)
#: Rows that are packed together: large blobs, but bounded memory.
PACK_ROWS = 1_000_000


@dataclass(frozen=True)
class Pack:
    """Packs one stream's rows; what `mapInArrow` calls in a worker.

    `ids` are the bucket ids, chosen so that Spark spreads them over its partitions.
    """

    stream: Stream
    side: int
    ids: tuple[int, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            waiting.append(batch)
            rows += batch.num_rows
            if rows >= PACK_ROWS:
                yield self.pack(waiting)
                waiting, rows = [], 0
        if rows:
            yield self.pack(waiting)

    def pack(self, batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        """One packed row for each bucket."""
        table = pa.Table.from_batches(batches).combine_chunks()
        columns = columns_of(self.stream, table)
        none = np.zeros(len(columns.ts), np.bool_)
        bad = none if columns.bad is None else columns.bad
        beats = none if columns.beats is None else columns.beats & ~bad
        tuples = np.flatnonzero(~(bad | (none if columns.beats is None else columns.beats)))
        times = columns.ts[tuples]
        beat_times = columns.ts[beats]
        common = [
            int(times.max()) if len(times) else None,
            int(beat_times.max()) if len(beat_times) else None,
            int(bad.sum()),
            int(beats.sum()),
        ]
        whole = table.append_column(TIME, pa.array(columns.ts))
        whole = whole.append_column(KEY, pa.array(columns.keys.hashes))
        whole = whole.append_column(KEYLESS, pa.array(columns.keys.is_null(np.arange(len(none)))))
        parts = split(whole.take(pa.array(tuples)), columns.keys.hashes[tuples], len(self.ids))
        found = [
            [bucket, self.side, blob, *common] for bucket, blob in zip(self.ids, parts, strict=True)
        ]
        # The counts belong to the batch, not to each bucket: only the first one reports them.
        for row in found[1:]:
            row[5] = row[6] = 0
        return pa.RecordBatch.from_pylist(
            [dict(zip(PACKED.names, row, strict=True)) for row in found], PACKED
        )


def split(table: pa.Table, hashes: NDArray[np.int64], buckets: int) -> list[bytes | None]:
    """The rows of each bucket as a blob; None where there are none."""
    bucket = bucket_of(hashes, buckets)
    order = np.argsort(bucket, kind="stable")
    sorted_table = table.take(pa.array(order)).combine_chunks()
    borders = np.searchsorted(bucket[order], np.arange(buckets + 1))
    parts: list[bytes | None] = []
    for start, stop in pairwise(borders):
        part = sorted_table.slice(start, stop - start).to_batches()
        parts.append(blobs.encode(part[0]) if stop > start else None)
    return parts


def bucket_of(hashes: NDArray[np.int64], buckets: int) -> NDArray[np.int64]:
    """Which bucket: by a further product, so that cells and chains inside still see all bits."""
    spread = hashes.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(33)
    return (spread % np.uint64(buckets)).astype(np.int64)
