"""A log that is written anew once most of it is dead.

Under a count window one old tuple of a rare key can hold its chunk for ever, and punctuations take
tuples out of the middle of chunks. So, beside what time frees, when the log has twice the rows that
are live, the live ones become one chunk (several if they are wide), with new row ids, and the state
is made again from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.ends import FLAGGED
from windrow.model import BEGINNING
from windrow.operators.columns import columns_of
from windrow.operators.in_order import InOrder
from windrow.operators.join.counted import CountJoin
from windrow.operators.join.punctuated import PunctuatedJoin
from windrow.operators.join.window import WindowJoin
from windrow.operators.sizes import cuts
from windrow.spark import durable, held, punctuations, ranges, rebuild
from windrow.spark.log import Entry
from windrow.state.room import HEAP

if TYPE_CHECKING:
    from windrow.spark.bucket import BucketJoin

#: A log with fewer rows than this is not worth it.
LEAST_RENEWED = 1000


def if_sparse(join: BucketJoin) -> None:
    """Write the log of live tuples only, with new row ids, and make the state again from it."""
    operator, directory = join.pipeline.join, join.directory
    logged = sum(entry.rows for entry in directory.chunks)
    streams = range(len(join.streams))
    live = _waiting(join) + sum(_live(operator, side) for side in streams)
    if logged <= max(LEAST_RENEWED, 2 * live):
        return
    order = join.pipeline.order
    kept = [_live_rows(operator, order, side) for side in streams]
    flags = [_matched(operator, side, rows) for side, rows in enumerate(kept)]
    batches = [list(_gathered(join, side, rows)) for side, rows in enumerate(kept)]
    told = np.empty((6, 0), np.int64)
    if isinstance(operator, PunctuatedJoin):
        told = _flags(operator, kept)
    durable.forget(join, list(directory.chunks))
    kept_as_they_are = ("taken", ranges.RANGES, ranges.SAID)
    for delta in [delta for delta in directory.deltas if delta.kind not in kept_as_they_are]:
        durable.drop_delta(join, delta)
    for side, parts in enumerate(batches):
        directory.next_rows[side] = len(kept[side])
        _write(join, side, parts)
        if durable.wants_matches(join, side):
            durable.add_delta(join, side, np.flatnonzero(flags[side]), 0)
    punctuations.add_flags(join, told, 0)
    if order is not None:
        held.renumber(join, order, kept)
        standing = order.snapshot()
        order.begin(join.arena or HEAP)
        order.restore(standing)
    # They are numbered apart, and stay as they are.
    finals, join.pipeline.finals = join.pipeline.finals, None
    join.pipeline.restart(join.empty_state())
    rebuild.from_log(join)
    join.pipeline.finals = finals


def _gathered(join: BucketJoin, side: int, rows: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """These rows of a stream, in batches of a bounded size; with places where lists have some."""
    payload, names = join.payloads[side], join.plan.streams[side].schema.names
    operator = join.pipeline.join
    places = None
    if isinstance(operator, PunctuatedJoin):
        places = _in_list_order(operator, join.pipeline.order, side, rows)
    for start, stop in cuts(payload.sizes(rows), len(rows)):
        batch = pa.RecordBatch.from_arrays(payload.columns(rows[start:stop]), names)
        if places is not None:
            batch = batch.append_column(rebuild.ORDER, pa.array(places[start:stop]))
        yield batch


def _write(join: BucketJoin, side: int, batches: Sequence[pa.RecordBatch]) -> None:
    """Log the rows; all their chunks speak of the same times, so they stay and go together."""
    if not batches:
        return
    times = [columns_of(join.streams[side], batch).ts for batch in batches]
    unknown = [BEGINNING] * (len(join.streams) - 1)
    entry = Entry(
        0, side, 0, 0, join.directory.batch, min(int(ts.min()) for ts in times),
        held.newest(join, max(int(ts.max()) for ts in times)), 0, BEGINNING, unknown, unknown,
        int(join.plan.punctuated),
    )  # fmt: skip
    for batch in batches:
        durable.write_rows(join, entry, batch)
        entry = replace(entry, first=entry.first + batch.num_rows)


def _live(operator: WindowJoin, side: int) -> int:
    """How many rows of a stream must be kept."""
    if isinstance(operator, CountJoin):
        return operator.state.live_rows(side) + operator.sync.held(side)
    assert isinstance(operator, PunctuatedJoin)
    waiting = len(operator.pending[side].ts)
    return operator.state.live_rows(side) + operator.state.live_flags(side) + waiting


def _waiting(join: BucketJoin) -> int:
    """How many rows an order keeps, at most."""
    order = join.pipeline.order
    if order is None:
        return 0
    streams = range(len(join.streams))
    waiting = sum(order.sync.held(side) + order.ends.held(side) for side in streams)
    return waiting + len(streams) * len(order.hold)


def _live_rows(operator: WindowJoin, order: InOrder | None, side: int) -> NDArray[np.int64]:
    """The row ids that are stored or wait, or say that a key is over, in the order they came."""
    parts = [operator.state.rows(side)]
    if isinstance(operator, CountJoin):
        parts.append(operator.sync.rows(side))
    elif isinstance(operator, PunctuatedJoin):
        parts += [operator.state.flags(side).row, operator.pending[side].row]
    if order is not None:
        parts += held.live_rows(order, side)
    return np.unique(np.concatenate(parts))


def _matched(operator: WindowJoin, side: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of these rows have met a partner, of those that are stored: for others it is over."""
    matched = np.zeros(len(rows), np.bool_)
    if operator.config.flagged:
        known = np.isin(rows, operator.state.rows(side))
        matched[known] = operator.flags.get(side, rows[known])
    return matched


def _in_list_order(
    operator: PunctuatedJoin,
    order_of: InOrder | None,
    side: int,
    kept: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The rows' places in the lists; -1 for those that are in none."""
    order = np.full(len(kept), -1, np.int64)
    stored = operator.state.rows(side)
    if order_of is not None:
        # Those that wait lie in runs, which are other runs after a rebuild.
        stored = np.concatenate([stored, np.sort(order_of.sync.rows(side))])
    order[np.searchsorted(kept, stored)] = np.arange(len(stored))
    return order


def _flags(operator: PunctuatedJoin, kept: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The flags as they are, under the new row ids."""
    parts = []
    for side, mine in enumerate(kept):
        flags = operator.state.flags(side)
        what, stream = np.full(len(flags), FLAGGED), np.full(len(flags), side)
        rows = np.searchsorted(mine, flags.row)
        parts.append(np.stack([what, stream, rows, flags.ts, flags.key, flags.flag]))
    return np.concatenate(parts, axis=1)
