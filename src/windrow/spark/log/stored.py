"""Which tuples a chunk's batch stored, and in which order, by the chunk and the progress.

*Time windows*: lists drop from their old end only, so what is stored follows from what was
appended, in order, and from the progress now. A merged chunk knows its stored rows and their order
itself (`ORDER`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windrow.model import JoinPlan
from windrow.operators.arrivals import Arrivals
from windrow.operators.columns import Columns
from windrow.spark.log.chunks import ids_of
from windrow.spark.log.directory import Entry
from windrow.spark.log.log import Log
from windrow.state.join_state import Layout

#: Cells of a bucket's state: a bucket has a part of the keys already, so fewer than in process.
CELLS = 16
#: A merged chunk's column: each row's place in the order of storing; -1 if it was not stored.
ORDER = "__windrow_order"


def layout(plan: JoinPlan) -> Layout:
    """How a bucket's state is laid out."""
    streams, nodes = len(plan.streams), plan.punctuated
    if plan.schedule is not None and not plan.counted:
        # All arrivals have one order, so all tuples are in one part.
        return Layout(streams, "time-list", 1)
    if plan.memory is not None:
        # A stream's tuples stay by how many came since, so they are in one list.
        return Layout(streams, "time-list", 1, part=plan.buckets != 1)
    if plan.counted:
        return Layout(streams, "counted")
    if plan.algorithm == "nested-loops" or plan.streams[0].key is None:
        return Layout(streams, "buckets", nodes=nodes)
    return Layout(streams, "time-list", CELLS, nodes=nodes)


def stored_in_order(log: Log, batch: Sequence[Entry], reach: int) -> Arrivals:
    """The tuples that a batch of one stream stored, in the order it stored them.

    A count window, and an order that lets input wait, store when a tuple is complete, not when it
    comes, so there it is all tuples, as they came.
    """
    if batch[0].merged:
        return _merged(log, batch)
    parts = []
    for entry in batch:
        columns = log.columns_of(entry)
        stored = stored_rows(log, entry, columns, reach)
        hashes = columns.keys.hashes[stored]
        parts.append(Arrivals(columns.ts[stored], hashes, stored + entry.first))
    found = Arrivals.concatenate(parts)
    return found if log.plan.counted or log.plan.waits else found.in_time_order()


def stored_rows(log: Log, entry: Entry, columns: Columns, reach: int) -> NDArray[np.int64]:
    """Which rows of a chunk were stored when it came: in time, with a key, not yet past."""
    in_time = columns.ts >= entry.own_before
    if log.plan.counted:
        return np.flatnonzero(in_time)
    stored = in_time
    # Where a standing says how many are left, all that come are stored.
    if not log.plan.waits and log.plan.schedule is None and log.plan.memory is None:
        around = zip(entry.others_before, entry.others_after, strict=True)
        passed = [np.maximum(before, np.minimum(columns.ts, after)) for before, after in around]
        stored = stored & (columns.ts + reach >= np.minimum.reduce(passed))
    for others in (columns.keys.null, columns.mute, columns.ends, columns.ranges):
        if others is not None:
            stored = stored & ~others
    return np.flatnonzero(stored)


def _merged(log: Log, entries: Sequence[Entry]) -> Arrivals:
    """The tuples of chunks that were written together, so their places count through them all."""
    parts, places = [], []
    for entry in entries:
        batch, columns = log.rows_of(entry), log.columns_of(entry)
        order = batch.column(ORDER).to_numpy()
        stored = np.flatnonzero(order >= 0)
        places.append(order[stored])
        ids = ids_of(batch, entry.first)[stored]
        parts.append(Arrivals(columns.ts[stored], columns.keys.hashes[stored], ids))
    return Arrivals.concatenate(parts).chosen(np.argsort(np.concatenate(places)))
