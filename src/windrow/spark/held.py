"""An ordered join in a bucket's log: input that waits, results that are held.

Input that waits is in its chunk, so it is found there again: its time is not before the smallest
progress. Held results are row ids; each batch writes down those that it leaves held, and a restart
reads them back. What has left is not among them, because all of it was before the trigger.

Where input waits, lists are in time order. Only the adaptive policy can have them out of order, by
a lateness, in a way that the log does not tell; there a state that is made again is in time order,
and rows may leave it sooner. That makes no difference to what comes out, because whatever leaves
goes through the hold buffer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import lists as ls
from windrow.operators import hold
from windrow.operators.arrivals import Arrivals
from windrow.operators.columns import Columns
from windrow.operators.in_order import InOrder
from windrow.spark import durable, rebuild
from windrow.spark.log import NO_STREAM, Delta, Entry
from windrow.state.join_state import STREAMS
from windrow.state.runs import in_order

if TYPE_CHECKING:
    from windrow.spark.bucket import BucketJoin

KIND = "held"

Rows = NDArray[np.int64]


# -- writing -----------------------------------------------------------------------------------


def log(join: BucketJoin, order: InOrder) -> None:
    """Write down what this batch has added to the hold buffer, and forget what has left."""
    directory, released = join.directory, order.hold.released
    for delta in directory.deltas_of(KIND, NO_STREAM):
        if delta.newest_row < released:
            durable.drop_delta(join, delta)
    added = order.hold.take_added()
    plan = join.plan
    if plan.order != "sync-filter" or any(plan.singles) or plan.punctuate:
        add(join, added[added[:, hold.TS] >= released], 0)
    row_bytes = 8 * order.hold.runs.width
    for level, run, _ in durable.runs_of_deltas(join, KIND, row_bytes):
        together = np.concatenate([_read(join, delta) for delta in run])
        for delta in run:
            durable.drop_delta(join, delta)
        add(join, together[together[:, hold.TS] >= released], level + 1)


def add(join: BucketJoin, rows: Rows, merged: int) -> None:
    """Write held results down.

    Two attempts at a micro-batch may hold an unmatched row one batch sooner or later than each
    other, so the number is taken even if there is nothing to write: blobs after it must have the
    same numbers in both.
    """
    number = join.directory.number()
    if len(rows):
        join.store.write(number, np.ascontiguousarray(rows).tobytes())
        newest = int(rows[:, hold.TS].max())
        delta = Delta(number, NO_STREAM, len(rows), newest, merged, KIND)
        join.directory.deltas.append(delta)


def _read(join: BucketJoin, delta: Delta) -> Rows:
    return np.frombuffer(join.store.read(delta.number), np.int64).reshape(delta.rows, -1)


def expired_chunks(join: BucketJoin, order: InOrder, stream: int) -> list[Entry]:
    """The chunks of one stream that no stored tuple, flag or result, held or to come, is in.

    Where input does not wait, a stored tuple may sit behind one that is later by the lateness.
    """
    directory, plan = join.directory, join.plan
    reach = max(directory.reaches[stream], plan.span if plan.punctuated else 0, 0)
    if plan.order != "sync-filter":
        reach += plan.streams[stream].lateness
    gone: list[Entry] = []
    for entry in directory.of(stream):
        if entry.newest + reach >= order.hold.released:
            break
        gone.append(entry)
    return gone


def newest(join: BucketJoin, ts: int) -> int:
    """The time by which a chunk's rows are judged, given their largest.

    A punctuation that comes late ends its key no sooner than what has left already.
    """
    order = join.pipeline.order
    return ts if order is None or not join.plan.punctuate else max(ts, order.hold.released)


# -- reading -----------------------------------------------------------------------------------


def restore_results(join: BucketJoin, order: InOrder) -> None:
    """The hold buffer as it was."""
    order.hold.load([logged(join)], order.hold.released)


def logged(join: BucketJoin) -> Rows:
    """The held results that are written down."""
    deltas = join.directory.deltas_of(KIND, NO_STREAM)
    none = np.empty((0, hold.FIRST + STREAMS), np.int64)
    return np.concatenate([none, *(_read(join, delta) for delta in deltas)])


def restore_tuples(join: BucketJoin, order: InOrder) -> None:
    """Stored tuples into their lists, and those that wait back to where they do."""
    if join.plan.order == "filter-order":
        # Nothing waits, and tuples are stored as they come: as without an order.
        for stream in range(STREAMS):
            rebuild.restore_lists(join, stream)
        return
    waiting = []
    for stream in range(STREAMS):
        records = _records(join, stream)
        waits = _waits(join, order, stream, records[:, ls.TS], records[:, ls.ROW])
        stored = records[~waits & _alive(join, order, stream, records)]
        stored = stored[np.lexsort((stored[:, ls.ROW], stored[:, ls.TS]))]
        rebuild.append(join, stream, stored)
        left = records[waits]
        waiting.append(Arrivals(left[:, ls.TS], left[:, ls.KEY], left[:, ls.ROW]))
    order.sync.keep(waiting)


def _records(join: BucketJoin, stream: int) -> Rows:
    """The tuples of a stream that came in time and that no punctuation has removed."""
    entries = [[entry] for entry in join.directory.of(stream)]
    stored = [rebuild.stored_in_order(join, entry, 0) for entry in entries]
    records = np.concatenate([np.empty((0, ls.COLUMNS), np.int64), *stored])
    removed = rebuild.logged_rows(join, stream, "removed")
    return records[~np.isin(records[:, ls.ROW], removed)]


def _waits(join: BucketJoin, order: InOrder, stream: int, ts: Rows, row: Rows) -> NDArray[np.bool_]:
    """Which tuples wait to be joined."""
    if not order.synchronised:
        return np.zeros(len(ts), np.bool_)
    waits: NDArray[np.bool_] = (row >= order.since[stream]) & (ts >= min(join.directory.progress))
    return waits


def _alive(join: BucketJoin, order: InOrder, stream: int, records: Rows) -> NDArray[np.bool_]:
    """Which joined tuples are still stored, or may be."""
    ts, rows = records[:, ls.TS], records[:, ls.ROW]
    alive: NDArray[np.bool_] = ts + join.directory.reaches[stream] >= order.joined[1 - stream]
    if not join.plan.singles[stream] or join.plan.order == "sync-filter":
        return alive
    # One that has expired may have waited in its list behind others, and not left yet.
    held = order.hold.runs.all()
    alone = held[held[:, hold.KIND] == hold.UNMATCHED, hold.FIRST + stream]
    met = join.pipeline.join.flags.get(stream, rows)
    return alive | ((ts >= order.hold.released) & ~met & ~np.isin(rows, alone))


def punctuations_wait(
    join: BucketJoin, order: InOrder, stream: int, columns: Columns, places: Rows, ids: Rows
) -> NDArray[np.bool_]:
    """Which of the punctuations at these places of a chunk have not acted yet, where input waits.

    `ids` are the row ids of the chunk's rows.
    One that came before input began to wait acted when its stream had reached it.
    """
    ts = columns.ts[places]
    before = ids[places] < order.since[stream]
    waits: NDArray[np.bool_] = ts >= min(join.directory.progress)
    waits &= ~before | (ts > order.since_progress[stream])
    if join.plan.streams[stream].unique:
        # A tuple that waits says so itself when it is joined.
        marked = np.zeros(len(ts), np.bool_) if columns.ends is None else columns.ends[places]
        waits &= before | marked
    return waits


# -- new row ids -------------------------------------------------------------------------------


def live_rows(order: InOrder, stream: int) -> list[Rows]:
    """The row ids that wait or that held results have."""
    return [order.sync.rows(stream), order.ends.rows(stream), order.hold.row_ids(stream)]


def renumber(join: BucketJoin, order: InOrder, kept: list[Rows]) -> None:
    """Give held results the ids that their rows now have, and write them down so."""
    # Sorted: they lie in runs, which are other runs after a rebuild.
    rows = in_order(order.hold.runs.all())
    for stream in range(STREAMS):
        column = rows[:, hold.FIRST + stream]
        there = column != hold.NO_ROW
        column[there] = np.searchsorted(kept[stream], column[there])
        order.since[stream] = int(np.searchsorted(kept[stream], order.since[stream]))
        order.rows[stream] = len(kept[stream])
    add(join, rows, 0)
