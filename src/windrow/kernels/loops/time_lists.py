"""The window join on time lists: invalidate, probe, insert, one tuple at a time.

Paper 1, Figure 3, with paper 3's time list as the state. The state is split into cells by key,
so that a cell fits the cache; a batch is split likewise, and each cell runs its part from start
to end. Inside a part the streams' arrivals are merged in time order; a tuple at time t

    1. invalidates its partner's list against its own stream's progress at t, and its own list
       against the partner's (expiry follows the *others'* progress: a stream ahead loses nothing),
    2. walks its key's chain in the partner's list and emits the pairs within both reaches,
    3. is appended to its own list, unless it is past its own reach already.

At the end of a part the new progress frees what is left to free.
"""

from __future__ import annotations

from windrow.kernels import lists as ls
from windrow.kernels.jit import kernel
from windrow.kernels.loops.binary import earliest, look_ahead, partner_of, scan
from windrow.kernels.steps import expire, store
from windrow.kernels.task import (
    ARRIVED,
    DONE,
    FULL,
    NEVER,
    SCANNING,
    STORING,
    Batch,
    Task,
    element,
    passed_after,
    progress_at,
)


@kernel
def join_time_lists(task: Task, batch: Batch) -> int:
    """Run the batch from where it stands. List 2p + s is stream s of cell p."""
    asked, lists, now = task.asked, task.lists, task.stand[0]
    parts = batch.at.shape[0] // 2
    for part in range(now.part, parts):
        now.part = part
        first = 2 * part
        while True:
            stream, at, t = earliest(batch, first)
            if t == NEVER:
                break
            new, partner = element(batch, stream, at), partner_of(stream)
            own, other = first + stream, first + partner
            passed = progress_at(task, partner, t)

            if now.step == ARRIVED:
                look_ahead(batch, at, lists, own, other)
                keep_from = progress_at(task, stream, t) - asked[partner].reach
                if expire(task, other, partner, keep_from) == FULL:
                    return FULL
                if expire(task, own, stream, passed - asked[stream].reach) == FULL:
                    return FULL
                now.scan = ls.newest(lists, other, new.key)
                now.step = SCANNING

            if now.step == SCANNING:
                bounds = t - asked[partner].reach, t + asked[stream].reach
                if scan(task, other, new, bounds[0], bounds[1]) == FULL:
                    return FULL
                now.step = STORING

            status = store(task, own, new, passed)
            if status != DONE:
                return status
            now.step = ARRIVED
            batch.at[own] += 1
        for stream in range(2):
            keep_from = passed_after(task, stream) - asked[stream].reach
            if expire(task, first + stream, stream, keep_from) == FULL:
                return FULL
    now.part = parts
    return DONE
