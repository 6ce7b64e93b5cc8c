"""What a micro-batch writes to its bucket's log: new chunks, matches, and what it merges.

Small chunks and deltas would add up to a directory that grows with the window, so eight of a kind
become one: each row is written again once for every eightfold. Chunks of some size stay as they
are, since rewriting them would cost more than they do. Under a count window one old tuple can
hold a chunk for ever; there the log is written anew once most of it is dead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels import lists as ls
from windrow.model import BEGINNING
from windrow.operators.columns import columns_of
from windrow.operators.count_join import CountJoin
from windrow.spark import blobs, rebuild
from windrow.spark.chunks import Chunk
from windrow.spark.log import Delta, Entry, expired_chunks
from windrow.state.join_state import STREAMS

if TYPE_CHECKING:
    from windrow.spark.bucket import Arrived, BucketJoin

#: So many small chunks, or deltas, of a kind become one.
MERGED_AT_ONCE = 8
#: What is no longer small.
SMALL_BYTES = 1 << 20
#: A log of a count window is written anew when it has more rows than this and twice the live ones.
LEAST_RENEWED = 1000


def write(join: BucketJoin, arrived: Sequence[Sequence[Arrived]], before: Sequence[int]) -> None:
    """Append this batch's chunks and matches to the log, remove what it freed."""
    for side in range(STREAMS):
        for part in arrived[side]:
            _append(join, side, part, before)
        if not join.counted:
            _forget(join, expired_chunks(join.directory, side))
        _log_matches(join, side)
    if join.counted:
        _renew_if_sparse(join)
        return
    for side in range(STREAMS):
        for run in list(_runs_of_chunks(join, side)):
            _merge_chunks(join, run)
    oldest = min((entry.batch for entry in join.directory.chunks), default=join.directory.batch)
    join.directory.changes = [c for c in join.directory.changes if c.batch >= oldest]


def _append(join: BucketJoin, side: int, part: Arrived, before: Sequence[int]) -> None:
    directory, ts = join.directory, part.columns.ts
    entry = Entry(
        part.chunk.number, side, part.chunk.first, part.chunk.rows, directory.batch,
        int(ts.min()), int(ts.max()), len(part.blob),
        before[side], before[1 - side], directory.progress[1 - side],
    )  # fmt: skip
    _keep(join, entry, part.blob)


def _keep(join: BucketJoin, entry: Entry, blob: bytes) -> None:
    join.store.write(entry.number, blob)
    if join.arena is not None:
        join.arena.put_chunk(entry.number, blob)
    join.directory.chunks.append(entry)


def _forget(join: BucketJoin, gone: list[Entry]) -> None:
    """Remove chunks from the log, the arena and the payload."""
    join.directory.forget(gone)
    for entry in gone:
        join.store.remove(entry.number)
        join.payloads[entry.stream].drop(entry.first)
        if join.arena is not None:
            join.arena.drop_chunk(entry.number)


# -- matched rows ------------------------------------------------------------------------------


def _log_matches(join: BucketJoin, side: int) -> None:
    """Write down which rows were matched, where that decides what leaves later."""
    plan, directory, operator = join.plan, join.directory, join.pipeline.join
    if not (plan.preserved[side] or (plan.how == "semi" and side == 0)):
        return
    oldest = directory.oldest_row(side)
    for delta in [d for d in directory.deltas if d.stream == side and d.newest_row < oldest]:
        _drop_delta(join, delta)
    rows = operator.flags.news(side)
    _add_delta(join, side, rows[rows >= oldest], 0)
    mine = [delta for delta in directory.deltas if delta.stream == side]
    for merged, run in groupby(mine, key=lambda delta: delta.merged):
        deltas = list(run)
        if len(deltas) >= MERGED_AT_ONCE and sum(d.rows for d in deltas) * 8 < SMALL_BYTES:
            found = [np.frombuffer(join.store.read(d.number), np.int64) for d in deltas]
            for delta in deltas:
                _drop_delta(join, delta)
            together = np.sort(np.concatenate(found))
            _add_delta(join, side, together[together >= oldest], merged + 1)
    directory.deltas.sort(key=lambda delta: -delta.merged)


def _add_delta(join: BucketJoin, side: int, rows: NDArray[np.int64], merged: int) -> None:
    if len(rows):
        delta = Delta(join.directory.number(), side, len(rows), int(rows[-1]), merged)
        join.store.write(delta.number, rows.tobytes())
        join.directory.deltas.append(delta)


def _drop_delta(join: BucketJoin, delta: Delta) -> None:
    join.store.remove(delta.number)
    join.directory.deltas.remove(delta)


# -- merging chunks ----------------------------------------------------------------------------


def _runs_of_chunks(join: BucketJoin, side: int) -> Iterator[list[Entry]]:
    """Stretches of small chunks that were merged equally often, eight or more of them.

    A stretch never crosses a change of the windows, because what was dropped then depends on it.
    """
    entries = join.directory.of(side)
    changes = [change.batch for change in join.directory.changes]
    # A batch is merged as a whole, because it was stored in time order as a whole.
    large = {entry.batch for entry in entries if entry.bytes >= SMALL_BYTES}

    def kind(entry: Entry) -> tuple[int, int, bool]:
        return entry.merged, sum(entry.batch > b for b in changes), entry.batch not in large

    for (_, _, small), run in groupby(entries, key=kind):
        stretch = list(run)
        if small and len(stretch) >= MERGED_AT_ONCE:
            yield stretch


def _merge_chunks(join: BucketJoin, entries: list[Entry]) -> None:
    """Make one chunk of these. Row ids stay as they are: the chunks are neighbours."""
    first, side = entries[0], entries[0].stream
    rows = sum(entry.rows for entry in entries)
    order = np.full(rows, -1, np.int64)
    place = 0
    for _, group in groupby(entries, key=lambda entry: entry.batch):
        batch = list(group)
        reach = _reach_at(join, batch[0].batch, side)
        records = rebuild.stored_in_order(join, batch, reach)
        order[records[:, ls.ROW] - first.first] = np.arange(place, place + len(records))
        place += len(records)
    names = join.plan.streams[side].schema.names
    parts = [rebuild.rows_of(join, entry).select(names) for entry in entries]
    batch_of_all = pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
    merged = batch_of_all.append_column(rebuild.ORDER, pa.array(order))
    blob = blobs.encode(merged).to_pybytes()
    at = join.directory.chunks.index(first)
    _forget(join, entries)
    entry = replace(
        entries[-1],
        number=join.directory.number(),
        first=first.first,
        rows=rows,
        oldest=min(entry.oldest for entry in entries),
        newest=max(entry.newest for entry in entries),
        bytes=len(blob),
        merged=first.merged + 1,
    )
    _keep(join, entry, blob)
    # Where its parts were: the order of chunks is the order of their batches.
    join.directory.chunks.insert(at, join.directory.chunks.pop())
    join.payloads[side].add(Chunk(entry.first, entry.rows, entry.number, merged))


def _reach_at(join: BucketJoin, batch: int, side: int) -> int:
    """How far tuples of a stream reached when that batch came."""
    for change in join.directory.changes:
        if batch <= change.batch:
            return change.reaches[side]
    return join.directory.reaches[side]


# -- count windows -----------------------------------------------------------------------------


def _renew_if_sparse(join: BucketJoin) -> None:
    """Write the log of live tuples only, with new row ids, and make the state again from it."""
    operator, directory = join.pipeline.join, join.directory
    assert isinstance(operator, CountJoin)
    logged = sum(entry.rows for entry in directory.chunks)
    live = [operator.state.live_rows(side) + operator.sync.held(side) for side in range(STREAMS)]
    if logged <= max(LEAST_RENEWED, 2 * sum(live)) and len(directory.chunks) < 64 * STREAMS:
        return
    kept = [_live_rows(operator, side) for side in range(STREAMS)]
    flags = [
        operator.flags.get(side, rows) if operator.config.flagged else np.zeros(0, np.bool_)
        for side, rows in enumerate(kept)
    ]
    names = [stream.schema.names for stream in join.plan.streams]
    batches = [
        pa.RecordBatch.from_arrays(payload.columns(rows), names[side])
        for side, (payload, rows) in enumerate(zip(join.payloads, kept, strict=True))
    ]
    _forget(join, list(directory.chunks))
    for delta in list(directory.deltas):
        _drop_delta(join, delta)
    for side, batch in enumerate(batches):
        directory.next_rows[side] = batch.num_rows
        if batch.num_rows:
            _write_renewed(join, side, batch)
        _add_delta(join, side, np.flatnonzero(flags[side]), 0)
    join.pipeline.restart(join.empty_state())
    rebuild.from_log(join)


def _write_renewed(join: BucketJoin, side: int, batch: pa.RecordBatch) -> None:
    ts = columns_of(join.streams[side], batch).ts
    blob = blobs.encode(batch).to_pybytes()
    number = join.directory.number()
    entry = Entry(
        number, side, 0, batch.num_rows, join.directory.batch, int(ts.min()), int(ts.max()),
        len(blob), BEGINNING, BEGINNING, BEGINNING,
    )  # fmt: skip
    _keep(join, entry, blob)
    join.payloads[side].add(Chunk(0, batch.num_rows, number, batch))


def _live_rows(operator: CountJoin, side: int) -> NDArray[np.int64]:
    """The row ids that are stored or wait, in the order they came."""
    waiting = [chunk.row for chunk in operator.sync.waiting[side]]
    return np.unique(np.concatenate([operator.state.rows(side), *waiting]))
