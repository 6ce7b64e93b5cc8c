"""The log of a join with count windows, written anew once most of it is dead.

Under a count window one old tuple of a rare key can hold its chunk for ever, so chunks are not
dropped one by one: when the log has twice the rows that are live, the live ones become one chunk,
with new row ids, and the state is made again from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.model import BEGINNING
from windrow.operators.columns import columns_of
from windrow.operators.count_join import CountJoin
from windrow.spark import blobs, durable, rebuild
from windrow.spark.chunks import Chunk
from windrow.spark.log import Entry
from windrow.state.join_state import STREAMS

if TYPE_CHECKING:
    from windrow.spark.bucket import BucketJoin

#: A log with fewer rows than this is not worth it.
LEAST_RENEWED = 1000


def if_sparse(join: BucketJoin) -> None:
    """Write the log of live tuples only, with new row ids, and make the state again from it."""
    operator, directory = join.pipeline.join, join.directory
    assert isinstance(operator, CountJoin)
    logged = sum(entry.rows for entry in directory.chunks)
    live = [operator.state.live_rows(side) + operator.sync.held(side) for side in range(STREAMS)]
    if logged <= max(LEAST_RENEWED, 2 * sum(live)):
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
    durable.forget(join, list(directory.chunks))
    for delta in list(directory.deltas):
        durable.drop_delta(join, delta)
    for side, batch in enumerate(batches):
        directory.next_rows[side] = batch.num_rows
        if batch.num_rows:
            _write(join, side, batch)
        durable.add_delta(join, side, np.flatnonzero(flags[side]), 0)
    join.pipeline.restart(join.empty_state())
    rebuild.from_log(join)


def _write(join: BucketJoin, side: int, batch: pa.RecordBatch) -> None:
    ts = columns_of(join.streams[side], batch).ts
    blob = blobs.encode(batch).to_pybytes()
    number = join.directory.number()
    entry = Entry(
        number, side, 0, batch.num_rows, join.directory.batch, int(ts.min()), int(ts.max()),
        len(blob), BEGINNING, BEGINNING, BEGINNING,
    )  # fmt: skip
    durable.keep(join, entry, blob)
    join.payloads[side].add(Chunk(0, batch.num_rows, number, batch))


def _live_rows(operator: CountJoin, side: int) -> NDArray[np.int64]:
    """The row ids that are stored or wait, in the order they came."""
    waiting = [chunk.row for chunk in operator.sync.waiting[side]]
    return np.unique(np.concatenate([operator.state.rows(side), *waiting]))
