"""A bucket's state, made again from its log.

*Time windows*: lists drop from their old end only, so what is stored follows from what was
appended, in order, and from the progress now. Chunks are appended in the order they came, each
batch in time order, and what has expired is dropped. *Count windows*: which tuples are left
follows from the tuples themselves, so they run through the join again, with the results thrown
away. Either way no unmatched row leaves twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels import lists as ls
from windrow.model import BEGINNING, JoinPlan
from windrow.operators.admit import admit
from windrow.operators.arrivals import Arrivals
from windrow.operators.columns import Columns, columns_of
from windrow.operators.punctuated_join import cell_of
from windrow.spark import held, punctuations
from windrow.spark.chunks import ids_of
from windrow.spark.log import Change, Entry
from windrow.state.join_state import STREAMS, Structure

if TYPE_CHECKING:
    from windrow.spark.bucket import BucketJoin

#: Cells of a bucket's state: a bucket has a part of the keys already, so fewer than in process.
CELLS = 16
#: A merged chunk's column: each row's place in the order of storing; -1 if it was not stored.
ORDER = "__windrow_order"


def structure(plan: JoinPlan, counted: bool) -> tuple[Structure, int]:
    """The state's structure and its number of parts."""
    if counted:
        return "counted", 1
    if plan.algorithm == "nested-loops" or plan.streams[0].key is None:
        return "buckets", 1
    return "time-list", CELLS


def from_log(join: BucketJoin) -> None:
    """Fill an empty state."""
    _restore_flags(join)
    order = join.pipeline.order
    if order is not None:
        held.restore_results(join, order)
    if join.counted:
        _replay(join)
        return
    if order is not None:
        held.restore_tuples(join, order)
    else:
        for stream in range(STREAMS):
            restore_lists(join, stream)
    if join.plan.punctuated:
        punctuations.restore(join)


def _restore_flags(join: BucketJoin) -> None:
    operator, directory = join.pipeline.join, join.directory
    if not operator.config.flagged:
        return
    oldest = [directory.oldest_row(stream) for stream in range(STREAMS)]
    operator.flags.covers(directory.next_rows)
    operator.flags.cover(oldest)
    for stream in range(STREAMS):
        rows = logged_rows(join, stream, "matched")
        operator.flags.set(stream, rows[rows >= oldest[stream]])
    for stream in range(STREAMS):
        # They are in the log already.
        operator.flags.news(stream)


def logged_rows(join: BucketJoin, stream: int, kind: str) -> NDArray[np.int64]:
    """The row ids that deltas of one kind name."""
    deltas = join.directory.deltas_of(kind, stream)
    found = [np.frombuffer(join.store.read(delta.number), np.int64) for delta in deltas]
    return np.concatenate([np.empty(0, np.int64), *found])


# -- time windows ------------------------------------------------------------------------------


def restore_lists(join: BucketJoin, stream: int) -> None:
    """Append what was stored, in the order it was; drop what has expired since.

    Between two changes of the windows the old ones apply.
    """
    directory = join.directory
    entries = directory.of(stream)
    removed = logged_rows(join, stream, "removed")
    last = Change(directory.batch, directory.reaches, directory.progress)
    after = -1
    for change in [*directory.changes, last]:
        stored = [
            stored_in_order(join, list(batch), change.reaches[stream])
            for _, batch in groupby(
                [entry for entry in entries if after < entry.batch <= change.batch],
                key=lambda entry: entry.batch,
            )
        ]
        left = [records[~np.isin(records[:, ls.ROW], removed)] for records in stored]
        append(join, stream, np.concatenate([np.empty((0, ls.COLUMNS), np.int64), *left]))
        lists = join.pipeline.join.state.lists
        for mine in range(stream, len(lists.meta), STREAMS):
            lists.drop_expired(mine, change.reaches[stream], change.progress[1 - stream])
        after = change.batch


def append(join: BucketJoin, stream: int, records: NDArray[np.int64]) -> None:
    """Put records into the lists of their cells, in this order."""
    state = join.pipeline.join.state
    cells = cell_of(records[:, ls.KEY], state.parts)
    for cell in range(state.parts):
        state.lists.append(STREAMS * cell + stream, records[cells == cell])


def stored_in_order(join: BucketJoin, batch: Sequence[Entry], reach: int) -> NDArray[np.int64]:
    """The records that a batch of one stream stored, in the order it stored them.

    A count window, and an order that lets input wait, store when a tuple is complete, not when it
    comes, so there it is all tuples, as they came.
    """
    if batch[0].merged:
        return _merged_records(join, batch)
    records = np.concatenate([_stored_records(join, entry, reach) for entry in batch])
    if join.counted or join.plan.waits:
        return records
    return records[np.argsort(records[:, ls.TS], kind="stable")]


def stored_rows(join: BucketJoin, entry: Entry, columns: Columns, reach: int) -> NDArray[np.int64]:
    """Which rows of a chunk were stored when it came: in time, with a key, not yet past."""
    in_time = columns.ts >= entry.own_before
    if join.counted:
        return np.flatnonzero(in_time)
    stored = in_time
    if not join.plan.waits:
        progress = np.maximum(entry.other_before, np.minimum(columns.ts, entry.other_after))
        stored = stored & (columns.ts + reach >= progress)
    if columns.keys.null is not None:
        stored = stored & ~columns.keys.null
    for others in (columns.ends, columns.ranges):
        if others is not None:
            stored = stored & ~others
    return np.flatnonzero(stored)


def _stored_records(join: BucketJoin, entry: Entry, reach: int) -> NDArray[np.int64]:
    columns = columns_of(join.streams[entry.stream], rows_of(join, entry))
    stored = stored_rows(join, entry, columns, reach)
    return _records(columns.ts[stored], columns.keys.hashes[stored], stored + entry.first)


def _merged_records(join: BucketJoin, entries: Sequence[Entry]) -> NDArray[np.int64]:
    """The records of chunks that were written together, so their places count through them all."""
    records, places = [], []
    for entry in entries:
        batch = rows_of(join, entry)
        columns = columns_of(join.streams[entry.stream], batch)
        order = batch.column(ORDER).to_numpy()
        stored = np.flatnonzero(order >= 0)
        places.append(order[stored])
        ids = ids_of(batch, entry.first)[stored]
        records.append(_records(columns.ts[stored], columns.keys.hashes[stored], ids))
    return np.concatenate(records)[np.argsort(np.concatenate(places))]


def _records(
    ts: NDArray[np.int64], keys: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    records = np.zeros((len(ts), ls.COLUMNS), np.int64)
    records[:, ls.TS], records[:, ls.KEY], records[:, ls.ROW] = ts, keys, rows
    return records


def rows_of(join: BucketJoin, entry: Entry) -> pa.RecordBatch:
    """A chunk's rows."""
    payload = join.payloads[entry.stream]
    chunk = next(chunk for chunk in payload.chunks if chunk.first == entry.first)
    return payload.opened(chunk)


# -- count windows -----------------------------------------------------------------------------


def _replay(join: BucketJoin) -> None:
    """Run the tuples of the log through the join again; nothing of it leaves."""
    operator = join.pipeline.join
    figures = operator.matches, operator.unmatched, operator.candidates
    arrivals = [_arrivals(join, stream) for stream in range(STREAMS)]
    for _ in operator.process(arrivals, [BEGINNING] * STREAMS, join.directory.progress):
        pass
    operator.matches, operator.unmatched, operator.candidates = figures


def _arrivals(join: BucketJoin, stream: int) -> Arrivals:
    """The tuples of a stream that are in the log and were not late."""
    parts = []
    removed = logged_rows(join, stream, "removed")
    for entry in join.directory.of(stream):
        batch = rows_of(join, entry)
        part = admit(columns_of(join.streams[stream], batch), 0, entry.rows, entry.own_before)
        taken = join.pipeline.arrivals(stream, part)
        if entry.merged:
            in_time = batch.column(ORDER).to_numpy()[taken.row] >= 0
            taken = Arrivals(taken.ts[in_time], taken.key[in_time], taken.row[in_time])
        ids = ids_of(batch, entry.first)[taken.row]
        parts.append(Arrivals(taken.ts, taken.key, ids).chosen(~np.isin(ids, removed)))
    return Arrivals.concatenate(parts)
