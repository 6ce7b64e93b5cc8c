"""The join of many streams on time lists (MJoin): invalidate, search, insert, a tuple at a time.

As `time_lists`, with one list for each stream and cell and nothing stored of what is in between. A
tuple of a stream at time t

    1. invalidates its own list against the smallest progress of the others (theirs are, when their
       own tuples come),
    2. searches the other streams' lists for combinations (`kernels.combine`),
    3. is appended to its own list, unless it is past its own reach already.
"""

from __future__ import annotations

from windrow.kernels.combine import begin_search, search
from windrow.kernels.jit import kernel
from windrow.kernels.loops.many import earliest, expire_stream, finish_part, look_ahead
from windrow.kernels.steps import store
from windrow.kernels.task import (
    ARRIVED,
    DONE,
    FULL,
    NEVER,
    SCANNING,
    Batch,
    Task,
    element,
    passed_at,
)


@kernel
def join_many_time_lists(task: Task, batch: Batch) -> int:
    """Run the batch from where it stands. List n * p + s is stream s of n and cell p."""
    now, streams = task.stand[0], task.asked.shape[0]
    parts = batch.at.shape[0] // streams
    for part in range(now.part, parts):
        now.part = part
        first = streams * part
        while True:
            stream, at, t = earliest(batch, first, streams)
            if t == NEVER:
                break
            new = element(batch, stream, at)
            if now.step == ARRIVED:
                if now.patience == 0:
                    return FULL
                look_ahead(batch, task, at, first, stream)
                if now.partials == 0 and expire_stream(task, first, stream, t) == FULL:
                    return FULL
                now.patience -= 1
                begin_search(task, new, first)
            if now.step == SCANNING and search(task, new) == FULL:
                return FULL
            status = store(task, first + stream, new, passed_at(task, stream, t))
            if status != DONE:
                return status
            now.step = ARRIVED
            batch.at[first + stream] += 1
        if finish_part(task, first) == FULL:
            return FULL
    now.part = parts
    return DONE
