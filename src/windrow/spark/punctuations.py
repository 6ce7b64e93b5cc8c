"""Punctuations in a bucket's log: which rows they removed, what became of their flags, finals.

A punctuation's own row is in its chunk, so a pending one is found there again: its time is beyond
the progress. What has acted is written down as deltas, because it does not follow from the chunks
alone: rows thrown or kept out, and for each flag its time, its key and whether it was propagated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.ends import FLAGGED
from windrow.operators.arrivals import Arrivals
from windrow.operators.columns import Columns, columns_of
from windrow.operators.join.punctuated import PunctuatedJoin, cells_of
from windrow.spark import blobs, durable, held, rebuild
from windrow.spark.chunks import ids_of
from windrow.spark.log import NO_STREAM, Delta, Partials

if TYPE_CHECKING:
    from windrow.operators.results.finals import Finals
    from windrow.spark.bucket import BucketJoin

#: How many blobs of partial rows there may be before they become one.
MOST_PARTIALS = 64


def said(join: BucketJoin, side: int, columns: Columns) -> NDArray[np.int64]:
    """The rows of a chunk that are punctuations. Where keys are unique, every tuple is one."""
    marked = columns.ends if columns.ends is not None else np.zeros(len(columns.ts), np.bool_)
    if join.plan.streams[side].unique:
        marked = marked | columns.are_tuples()
    if columns.keys.null is not None:
        marked = marked & ~columns.keys.null
    return np.flatnonzero(marked)


# -- writing -----------------------------------------------------------------------------------


def log(join: BucketJoin) -> None:
    """Write down what punctuations have done in this batch."""
    operator = join.pipeline.join
    assert isinstance(operator, PunctuatedJoin)
    for side in range(len(join.streams)):
        durable.log_rows(join, side, "removed", operator.take_removed(side))
    _log_flags(join, operator.take_flagged())
    if join.pipeline.finals is not None:
        _log_finals(join, join.pipeline.finals)


def _log_flags(join: BucketJoin, told: NDArray[np.int64]) -> None:
    directory = join.directory
    passed = min(directory.progress)
    for delta in directory.deltas_of("flags", NO_STREAM):
        if delta.newest_row + join.plan.span < passed:
            durable.drop_delta(join, delta)
    add_flags(join, told, 0)
    for level, run, oldest in durable.runs_of_deltas(join, "flags"):
        together = np.concatenate([_told(join, delta) for delta in run], axis=1)
        for delta in run:
            durable.drop_delta(join, delta)
        add_flags(join, _folded(together, join.plan.span, passed, oldest), level + 1)
    directory.deltas.sort(key=lambda delta: -delta.merged)


def add_flags(join: BucketJoin, told: NDArray[np.int64], merged: int) -> None:
    """Write down what became of some flags."""
    if told.shape[1]:
        number = join.directory.number()
        join.store.write(number, np.ascontiguousarray(told).tobytes())
        newest = int(told[3].max())
        delta = Delta(number, NO_STREAM, told.shape[1], newest, merged, "flags")
        join.directory.deltas.append(delta)


def _told(join: BucketJoin, delta: Delta) -> NDArray[np.int64]:
    return np.frombuffer(join.store.read(delta.number), np.int64).reshape(6, -1)


def _folded(told: NDArray[np.int64], span: int, passed: int, complete: bool) -> NDArray[np.int64]:
    """The last word on each flag; `complete`: there is nothing before, so gone flags can go."""
    # A flag is known by its stream and its punctuation's row; the order stays that of its first.
    _, first, back = np.unique(told[1:3], axis=1, return_index=True, return_inverse=True)
    last = np.empty(len(first), np.int64)
    last[back.reshape(-1)] = np.arange(told.shape[1])
    kept = told[:, last[np.argsort(first)]]
    kept = kept[:, kept[3] + span >= passed]
    return kept[:, kept[0] == FLAGGED] if complete else kept


def _log_finals(join: BucketJoin, finals: Finals) -> None:
    """Write the partial rows of this batch down, and which ones have gone into finals."""
    directory = join.directory
    if len(directory.partials) >= MOST_PARTIALS and not finals.renewed:
        join.pipeline.merge_finals()
    oldest = finals.oldest()
    renewed = finals.renewed
    for partials in list(directory.partials):
        if renewed or partials.first + partials.rows <= oldest:
            join.store.remove(partials.number)
            if join.arena is not None:
                join.arena.drop_chunk(partials.number)
            directory.partials.remove(partials)
    for first, batch in finals.take_added():
        if first + batch.num_rows > oldest:
            number = directory.number()
            blob = blobs.encode(batch).to_pybytes()
            join.store.write(number, blob)
            if join.arena is not None:
                join.arena.put_chunk(number, blob)
            directory.partials.append(Partials(number, first, batch.num_rows))
    directory.next_partial = finals.next_row
    # A blob is kept whole, so whatever was taken of it must stay known.
    first = min((partials.first for partials in directory.partials), default=finals.next_row)
    taken = finals.take_taken()
    deltas = directory.deltas_of("taken", NO_STREAM)
    if renewed or len(deltas) >= durable.MERGED_AT_ONCE:
        if not renewed:
            taken = np.sort(np.concatenate([rebuild.logged_rows(join, NO_STREAM, "taken"), taken]))
        for delta in deltas:
            durable.drop_delta(join, delta)
    durable.add_delta(join, NO_STREAM, taken[taken >= first], 0, "taken")


# -- reading -----------------------------------------------------------------------------------


def restore(join: BucketJoin) -> None:
    """Flags, pending punctuations and finals, into a state that has its tuples again."""
    operator, directory = join.pipeline.join, join.directory
    assert isinstance(operator, PunctuatedJoin)
    told = [_told(join, delta) for delta in directory.deltas_of("flags", NO_STREAM)]
    together = np.concatenate([np.empty((6, 0), np.int64), *told], axis=1)
    flags = _folded(together, join.plan.span, min(directory.progress), True)
    for stream in range(len(join.streams)):
        _append_flags(operator, stream, flags[:, flags[1] == stream])
    _restore_pending(join, operator)
    operator.mark_rings()
    finals = join.pipeline.finals
    if finals is not None:
        parts = [(p.first, _partial(join, p.number)) for p in directory.partials]
        taken = rebuild.logged_rows(join, NO_STREAM, "taken")
        finals.load(parts, taken, directory.next_partial)


def _partial(join: BucketJoin, number: int) -> pa.RecordBatch:
    return blobs.decode(join.store.read(number))


def _append_flags(operator: PunctuatedJoin, stream: int, flags: NDArray[np.int64]) -> None:
    _, _, rows, ts, keys, marks = flags
    cells = cells_of(keys, operator.state.parts)
    for cell in np.unique(cells):
        of = cells == cell
        operator.state.append_flags(stream, int(cell), ts[of], keys[of], rows[of], marks[of])


def _restore_pending(join: BucketJoin, operator: PunctuatedJoin) -> None:
    """Punctuations that have not acted yet, back to where they wait."""
    order = join.pipeline.order
    found = [_waiting(join, stream) for stream in range(len(join.streams))]
    if order is not None and order.synchronised:
        order.ends.keep(found)
    else:
        operator.pending = found


def _waiting(join: BucketJoin, stream: int) -> Arrivals:
    order = join.pipeline.order
    parts = []
    for entry in join.directory.of(stream):
        batch = rebuild.rows_of(join, entry)
        columns, ids = columns_of(join.streams[stream], batch), ids_of(batch, entry.first)
        places = said(join, stream, columns)
        if order is not None and order.synchronised:
            waits = held.punctuations_wait(join, order, stream, columns, places, ids)
        else:
            waits = columns.ts[places] > join.directory.progress[stream]
        found = places[waits]
        parts.append(Arrivals(columns.ts[found], columns.keys.hashes[found], ids[found]))
    return Arrivals.concatenate(parts)
