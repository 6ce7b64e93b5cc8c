"""What a micro-batch writes to its bucket's log: new chunks, matches, and what it merges.

Small chunks and deltas would add up to a directory that grows with the window, so eight of a kind
become one: each row is written again once for every eightfold. Chunks of some size stay as they
are, since rewriting them would cost more than they do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels import lists as ls
from windrow.model import BEGINNING
from windrow.operators.sizes import bounded, cuts
from windrow.spark import blobs, held, punctuations, rebuild, renew
from windrow.spark.chunks import ROW, Chunk, ids_of
from windrow.spark.log import NO_STREAM, Delta, Entry, expired_chunks
from windrow.state.join_state import STREAMS

if TYPE_CHECKING:
    from windrow.spark.bucket import Arrived, BucketJoin

#: So many small chunks, or deltas, of a kind become one.
MERGED_AT_ONCE = 8
#: What is no longer small.
SMALL_BYTES = 1 << 20


def write(join: BucketJoin, arrived: Sequence[Sequence[Arrived]], before: Sequence[int]) -> None:
    """Append this batch's chunks and matches to the log, remove what it freed."""
    for side in range(STREAMS):
        for part in arrived[side]:
            _append_if_stored(join, side, part, before)
        if join.pipeline.order is not None and not join.counted:
            forget(join, held.expired_chunks(join, join.pipeline.order, side))
        elif not join.counted:
            span = join.plan.span if join.plan.punctuated else None
            forget(join, expired_chunks(join.directory, side, span))
        _log_matches(join, side)
        if not join.plan.punctuated:
            # A repair has removed some; they are forgotten with their chunks.
            log_rows(join, side, "removed", np.empty(0, np.int64))
    if join.plan.punctuated:
        punctuations.log(join)
    if join.counted or join.plan.punctuated:
        renew.if_sparse(join)
    if join.pipeline.order is not None:
        held.log(join, join.pipeline.order)
    for side in range(STREAMS):
        for run in list(_runs_of_chunks(join, side)):
            _merge_chunks(join, run)
    join.directory.forget_changes()


def _append_if_stored(join: BucketJoin, side: int, part: Arrived, before: Sequence[int]) -> None:
    """Log a chunk. One of which nothing was stored (all late, say) is of no use to anybody."""
    directory, chunk = join.directory, part.chunk
    entry = Entry(
        chunk.number, side, chunk.first, chunk.rows, directory.batch, 0, 0, len(part.blob),
        before[side], before[1 - side], directory.progress[1 - side],
    )  # fmt: skip
    stored = rebuild.stored_rows(join, entry, part.columns, directory.reaches[side])
    if join.plan.punctuated:
        stored = np.union1d(stored, punctuations.said(join, side, part.columns))
    if join.plan.ordered:
        # One that was not stored may be in a result that is held, or wait for its turn alone.
        in_time = part.columns.ts >= before[side]
        stored = np.union1d(stored, np.flatnonzero(in_time & part.columns.are_tuples()))
    if not len(stored):
        join.payloads[side].drop(chunk.first)
        return
    ts = part.columns.ts[stored]
    newest = held.newest(join, int(ts.max()))
    keep(join, replace(entry, oldest=int(ts.min()), newest=newest), part.blob)


def keep(join: BucketJoin, entry: Entry, blob: bytes) -> None:
    """Put a chunk into the log and the arena."""
    join.store.write(entry.number, blob)
    if join.arena is not None:
        join.arena.put_chunk(entry.number, blob)
    join.directory.chunks.append(entry)


def forget(join: BucketJoin, gone: list[Entry]) -> None:
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
    if wants_matches(join, side):
        log_rows(join, side, "matched", join.pipeline.join.flags.news(side))


def wants_matches(join: BucketJoin, side: int) -> bool:
    """Does it matter later which rows of a stream were matched?"""
    return join.plan.preserved[side] or (join.plan.how == "semi" and side == 0)


def log_rows(join: BucketJoin, side: int, kind: str, rows: NDArray[np.int64]) -> None:
    """Write row ids of a stream down, and merge what was written before."""
    directory = join.directory
    oldest = directory.oldest_row(side)
    for delta in [d for d in directory.deltas_of(kind, side) if d.newest_row < oldest]:
        drop_delta(join, delta)
    add_delta(join, side, rows[rows >= oldest], 0, kind)
    mine = directory.deltas_of(kind, side)
    for (merged, small), run in groupby(mine, key=lambda d: (d.merged, d.rows * 8 < SMALL_BYTES)):
        deltas = list(run)
        if small and len(deltas) >= MERGED_AT_ONCE:
            found = [np.frombuffer(join.store.read(d.number), np.int64) for d in deltas]
            for delta in deltas:
                drop_delta(join, delta)
            together = np.sort(np.concatenate(found))
            add_delta(join, side, together[together >= oldest], merged + 1, kind)
    directory.deltas.sort(key=lambda delta: -delta.merged)


def add_delta(
    join: BucketJoin, side: int, rows: NDArray[np.int64], merged: int, kind: str = "matched"
) -> None:
    """Write sorted row ids down."""
    if len(rows):
        number = join.directory.number()
        join.store.write(number, rows.tobytes())
        delta = Delta(number, side, len(rows), int(rows[-1]), merged, kind)
        join.directory.deltas.append(delta)


def runs_of_deltas(
    join: BucketJoin, kind: str, row_bytes: int = 0
) -> Iterator[tuple[int, list[Delta], bool]]:
    """Deltas of flags or held results that have been merged equally often, eight or more of them.

    With how often that was, and whether there is nothing older. The caller makes one of them; what
    that is depends on the kind. Those that are large by `row_bytes` stay as they are. (Row ids of a
    stream are merged where they are logged: only neighbours, because they are kept in order.)
    """
    deltas = join.directory.deltas_of(kind, NO_STREAM)
    small = [delta for delta in deltas if delta.rows * row_bytes < SMALL_BYTES]
    for level in range(max((delta.merged for delta in small), default=0) + 1):
        run = [delta for delta in small if delta.merged == level]
        if len(run) >= MERGED_AT_ONCE:
            yield level, run, run[0] is deltas[0]


def drop_delta(join: BucketJoin, delta: Delta) -> None:
    """Forget a delta."""
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
        if small:
            yield from (part for part in _handy(run) if len(part) >= MERGED_AT_ONCE)


def _handy(stretch: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Parts of a stretch that are not too large to be read at once. Batches stay whole."""
    batches = [list(group) for _, group in groupby(stretch, key=lambda entry: entry.batch)]
    sizes = np.array([sum(entry.bytes for entry in batch) for batch in batches], np.float64)
    for start, stop in cuts(sizes, len(batches)):
        yield [entry for batch in batches[start:stop] for entry in batch]


def _merge_chunks(join: BucketJoin, entries: list[Entry]) -> None:
    """Make one chunk of these. Row ids stay as they are."""
    first, side = entries[0], entries[0].stream
    opened = [rebuild.rows_of(join, entry) for entry in entries]
    ids = np.concatenate([ids_of(r, e.first) for r, e in zip(opened, entries, strict=True)])
    order = np.full(len(ids), -1, np.int64)
    place = 0
    for _, group in groupby(entries, key=lambda entry: entry.batch):
        batch = list(group)
        reach = _reach_at(join, batch[0].batch, side)
        records = rebuild.stored_in_order(join, batch, reach)
        order[np.searchsorted(ids, records[:, ls.ROW])] = np.arange(place, place + len(records))
        place += len(records)
    names = join.plan.streams[side].schema.names
    places = np.split(order, np.cumsum([batch.num_rows for batch in opened])[:-1])
    merged = [
        pa.RecordBatch.from_arrays(
            [*(batch.column(name) for name in names), pa.array(mine)], [*names, rebuild.ORDER]
        )
        for batch, mine in zip(opened, places, strict=True)
    ]
    at = join.directory.chunks.index(first)
    forget(join, entries)
    there = len(join.directory.chunks)
    entry = replace(
        entries[-1],
        oldest=min(entry.oldest for entry in entries),
        newest=max(entry.newest for entry in entries),
        own_before=BEGINNING,
        merged=first.merged + 1,
    )
    for part in bounded(merged):
        mine, ids = ids[: part.num_rows], ids[part.num_rows :]
        if mine[-1] - mine[0] >= len(mine):
            # A chunk between these was not logged.
            part = part.append_column(ROW, pa.array(mine - mine[0]))
        write_rows(join, replace(entry, first=int(mine[0])), part)
    # Where its parts were: the order of chunks is the order of their batches.
    chunks = join.directory.chunks
    chunks[at:] = chunks[there:] + chunks[at:there]


def write_rows(join: BucketJoin, entry: Entry, batch: pa.RecordBatch) -> None:
    """Log rows as a chunk of its own, which is like this entry but for its number and size."""
    blob = blobs.encode(batch).to_pybytes()
    number = join.directory.number()
    keep(join, replace(entry, number=number, rows=batch.num_rows, bytes=len(blob)), blob)
    join.payloads[entry.stream].add(Chunk(entry.first, batch.num_rows, number, batch))


def _reach_at(join: BucketJoin, batch: int, side: int) -> int:
    """How far tuples of a stream reached when that batch came."""
    for change in join.directory.changes:
        if batch <= change.batch:
            return change.reaches[side]
    return join.directory.reaches[side]
