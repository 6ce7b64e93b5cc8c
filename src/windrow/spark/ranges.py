"""Punctuations about ranges of keys, on Spark: which keys are in them shows as they come.

Pack sends a range to every bucket. It is kept for as long as it speaks of its keys, until both
streams have passed its time by a span, and becomes a punctuation for each key in it that a bucket
has or gets: a row like any other of its stream, in a chunk of its own, so that all else need not
know. Which keys have had theirs is kept beside, because a key that has ended must not end again.
So a micro-batch costs its keys and those that live ranges have ended; one that brings a range, the
stored tuples as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.model import Stream
from windrow.operators.columns import columns_of, plain
from windrow.operators.keys import hash_keys
from windrow.operators.ranges import FROM, Numbers, Seen, keys_in_ranges
from windrow.spark import blobs, durable
from windrow.spark.chunks import Chunk, as_asked
from windrow.spark.log import Delta

if TYPE_CHECKING:
    from windrow.spark.bucket import Arrived, BucketJoin

#: Kinds of what is written down: the ranges themselves, and the keys that have had theirs.
RANGES, SAID = "ranges", "said"
SAID_SCHEMA = pa.schema({"key": pa.int64(), "ts": pa.int64()})


def to_keys(join: BucketJoin, arrived: Sequence[list[Arrived]]) -> None:
    """Add a chunk with a punctuation for each key that the ranges end now."""
    passed = min(join.directory.progress)
    new = {part.chunk.number for side in arrived for part in side}
    now = _seen(join, lambda chunk: chunk.number in new)
    stored: Seen | None = None
    for side, stream in enumerate(join.plan.streams):
        if not stream.ranged:
            continue
        known = _read(join, side, RANGES, stream.schema)
        current = known.filter(pa.array(_times(join, side, known) + join.plan.span >= passed))
        come = _new(join, side, arrived[side])
        if come.num_rows and stored is None:
            # A range that has just come is also about what is there already.
            stored = _seen(join, lambda chunk: chunk.number not in new)
        parts = [_rows(join, side, current, now), _rows(join, side, come, now)]
        if stored is not None:
            parts.append(_rows(join, side, come, stored))
        before = _read(join, side, SAID, SAID_SCHEMA)
        said = before.filter(pa.array(_numbers(before, "ts") + join.plan.span >= passed))
        rows, more = _once(stream, _times(join, side, parts), pa.concat_tables(parts), said)
        if not join.finite:
            if come.num_rows or current.num_rows < known.num_rows:
                _write(join, side, RANGES, pa.concat_tables([current, come]))
            if more.num_rows or said.num_rows < before.num_rows:
                _write(join, side, SAID, pa.concat_tables([said, more]))
        if rows.num_rows:
            join.take_in(side, rows, arrived[side])


def _seen(join: BucketJoin, chosen: Callable[[Chunk], bool]) -> Seen:
    """The tuples of some chunks."""
    kind = plain_key(join.plan.streams[0])
    keys, ts = [pa.array([], kind)], [np.empty(0, np.int64)]
    for side, payload in enumerate(join.payloads):
        for chunk in [chunk for chunk in payload.chunks if chosen(chunk)]:
            batch = payload.opened(chunk)
            columns = columns_of(join.streams[side], batch)
            there = columns.are_tuples()
            name = (join.plan.streams[side].key or ("",))[0]
            keys.append(plain(batch.column(name)).cast(kind).filter(pa.array(there)))
            ts.append(columns.ts[there])
    return Seen(pa.concat_arrays(keys), np.concatenate(ts))


def plain_key(stream: Stream) -> pa.DataType:
    """The type of a key that is a range's."""
    return stream.schema.field((stream.key or ("",))[0]).type


def _new(join: BucketJoin, side: int, arrived: Sequence[Arrived]) -> pa.Table:
    """The ranges of this batch."""
    tables = [join.plan.streams[side].schema.empty_table()]
    for part in arrived:
        if part.columns.ranges is not None and part.columns.ranges.any():
            batch = join.payloads[side].opened(part.chunk)
            tables.append(pa.Table.from_batches([batch]).filter(pa.array(part.columns.ranges)))
    return pa.concat_tables(tables)


def _times(join: BucketJoin, side: int, rows: pa.Table | list[pa.Table]) -> Numbers:
    table = rows if isinstance(rows, pa.Table) else pa.concat_tables(rows)
    return columns_of(join.streams[side], table).ts


def _rows(join: BucketJoin, side: int, ranges: pa.Table, seen: Seen) -> pa.Table:
    ts = _times(join, side, ranges)
    made = keys_in_ranges(join.plan.streams[side], ranges, ts, seen, join.plan.span)
    return made.drop_columns(FROM)


def _once(stream: Stream, ts: Numbers, rows: pa.Table, said: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The rows whose key has not had its punctuation of that time, and which keys these are."""
    keys = hash_keys([rows.column((stream.key or ("",))[0])], rows.num_rows).hashes
    pairs = np.stack([keys, ts], axis=1)
    known = np.stack([_numbers(said, "key"), _numbers(said, "ts")], axis=1)
    _, first = np.unique(np.concatenate([known, pairs]), axis=0, return_index=True)
    fresh = np.sort(first[first >= len(known)]) - len(known)
    arrays = [pa.array(column) for column in pairs[fresh].T]
    return rows.take(pa.array(fresh)), pa.Table.from_arrays(arrays, schema=SAID_SCHEMA)


def _numbers(table: pa.Table, name: str) -> Numbers:
    found: Numbers = table.column(name).to_numpy()
    return found


# -- what is written down ----------------------------------------------------------------------


def _read(join: BucketJoin, side: int, kind: str, schema: pa.Schema) -> pa.Table:
    opened = [join.open_blob(d.number) for d in join.directory.deltas_of(kind, side)]
    batches = [as_asked(batch, schema, _others(batch, schema)) for batch in opened]
    return pa.Table.from_batches(batches, schema)


def _others(batch: pa.RecordBatch, schema: pa.Schema) -> frozenset[str]:
    """Columns of another type than is asked for now: they went, and came back as something else."""
    there = [field for field in schema if field.name in batch.schema.names]
    return frozenset(f.name for f in there if batch.schema.field(f.name).type != f.type)


def _write(join: BucketJoin, side: int, kind: str, table: pa.Table) -> None:
    """Replace what was written."""
    for delta in join.directory.deltas_of(kind, side):
        durable.drop_delta(join, delta)
        if join.arena is not None:
            join.arena.drop_chunk(delta.number)
    if table.num_rows:
        (batch,) = table.combine_chunks().to_batches()
        blob = blobs.encode(batch).to_pybytes()
        number = join.directory.number()
        join.store.write(number, blob)
        if join.arena is not None:
            join.arena.put_chunk(number, blob)
        join.directory.deltas.append(Delta(number, side, table.num_rows, 0, 0, kind))
