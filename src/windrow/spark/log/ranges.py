"""Punctuations about ranges of keys, on Spark: which keys are in them shows as they come.

Pack sends a range to every bucket. It is kept for as long as it speaks of its keys, until all
streams have passed its time by a span, and becomes a punctuation for each key in it that a bucket
has or gets: a row like any other of its stream, in a chunk of its own, so that all else need not
know. Which keys have had theirs is kept beside, because a key that has ended must not end again.
So a micro-batch costs its keys and those that live ranges have ended; one that brings a range, the
stored tuples as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from windrow.model import Stream
from windrow.operators.columns import columns_of, plain
from windrow.operators.keys import hash_keys
from windrow.operators.ranges import FROM, Numbers, Seen, keys_in_ranges
from windrow.spark.log.chunks import Chunk, as_asked
from windrow.spark.log.directory import Delta
from windrow.spark.log.log import Log
from windrow.spark.log.tuples import Arrived

#: Kinds of what is written down: the ranges themselves, and the keys that have had theirs.
RANGES, SAID = "ranges", "said"
SAID_SCHEMA = pa.schema({"key": pa.int64(), "ts": pa.int64()})


#: Takes rows of a stream in that were made here, beside those that have come.
TakeIn = Callable[[int, pa.Table], Arrived]


def to_keys(log: Log, arrived: Sequence[list[Arrived]], take_in: TakeIn, finite: bool) -> None:
    """Add a chunk with a punctuation for each key that the ranges end now."""
    passed = min(log.directory.progress)
    new = {part.chunk.number for side in arrived for part in side}
    now = _seen(log, lambda chunk: chunk.number in new)
    stored: Seen | None = None
    for side, stream in enumerate(log.plan.streams):
        if not stream.ranged:
            continue
        known = _read(log, side, RANGES, stream.schema)
        current = known.filter(pa.array(_times(log, side, known) + log.plan.span >= passed))
        come = _new(log, side, arrived[side])
        if come.num_rows and stored is None:
            # A range that has just come is also about what is there already.
            stored = _seen(log, lambda chunk: chunk.number not in new)
        parts = [_rows(log, side, current, now), _rows(log, side, come, now)]
        if stored is not None:
            parts.append(_rows(log, side, come, stored))
        before = _read(log, side, SAID, SAID_SCHEMA)
        said = before.filter(pa.array(_numbers(before, "ts") + log.plan.span >= passed))
        rows, more = _once(stream, _times(log, side, parts), pa.concat_tables(parts), said)
        if not finite:
            if come.num_rows or current.num_rows < known.num_rows:
                _write(log, side, RANGES, pa.concat_tables([current, come]))
            if more.num_rows or said.num_rows < before.num_rows:
                _write(log, side, SAID, pa.concat_tables([said, more]))
        if rows.num_rows:
            arrived[side].append(take_in(side, rows))


def _seen(log: Log, chosen: Callable[[Chunk], bool]) -> Seen:
    """The tuples of some chunks."""
    kind = plain_key(log.plan.streams[0])
    keys, ts = [pa.array([], kind)], [np.empty(0, np.int64)]
    for side, payload in enumerate(log.payloads):
        for chunk in [chunk for chunk in payload.chunks if chosen(chunk)]:
            batch = payload.opened(chunk)
            columns = columns_of(log.streams[side], batch)
            there = columns.are_tuples()
            name = (log.plan.streams[side].key or ("",))[0]
            keys.append(plain(batch.column(name)).cast(kind).filter(pa.array(there)))
            ts.append(columns.ts[there])
    return Seen(pa.concat_arrays(keys), np.concatenate(ts))


def plain_key(stream: Stream) -> pa.DataType:
    """The type of a key that is a range's."""
    return stream.schema.field((stream.key or ("",))[0]).type


def _new(log: Log, side: int, arrived: Sequence[Arrived]) -> pa.Table:
    """The ranges of this batch."""
    tables = [log.plan.streams[side].schema.empty_table()]
    for part in arrived:
        if part.columns.ranges is not None and part.columns.ranges.any():
            batch = log.payloads[side].opened(part.chunk)
            tables.append(pa.Table.from_batches([batch]).filter(pa.array(part.columns.ranges)))
    return pa.concat_tables(tables)


def _times(log: Log, side: int, rows: pa.Table | list[pa.Table]) -> Numbers:
    table = rows if isinstance(rows, pa.Table) else pa.concat_tables(rows)
    return columns_of(log.streams[side], table).ts


def _rows(log: Log, side: int, ranges: pa.Table, seen: Seen) -> pa.Table:
    ts = _times(log, side, ranges)
    made = keys_in_ranges(log.plan.streams[side], ranges, ts, seen, log.plan.span)
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


def _read(log: Log, side: int, kind: str, schema: pa.Schema) -> pa.Table:
    opened = [log.open_blob(d.number) for d in log.directory.deltas_of(kind, side)]
    batches = [as_asked(batch, schema, _others(batch, schema)) for batch in opened]
    return pa.Table.from_batches(batches, schema)


def _others(batch: pa.RecordBatch, schema: pa.Schema) -> frozenset[str]:
    """Columns of another type than is asked for now: they went, and came back as something else."""
    there = [field for field in schema if field.name in batch.schema.names]
    return frozenset(f.name for f in there if batch.schema.field(f.name).type != f.type)


def _write(log: Log, side: int, kind: str, table: pa.Table) -> None:
    """Replace what was written."""
    for delta in log.directory.deltas_of(kind, side):
        log.drop_blob(delta.number)
        log.directory.deltas.remove(delta)
    if table.num_rows:
        (batch,) = table.combine_chunks().to_batches()
        number = log.put_rows(batch)
        log.directory.deltas.append(Delta(number, side, table.num_rows, 0, 0, kind))
