"""The window join of paper 1 on hash buckets: its Figures 2 and 3, with its four invalidations.

Each stream's state is N buckets, every bucket a circular buffer in arrival order; one bucket is
nested loops. A tuple that arrives at time t on one stream

    1. invalidates: its bucket of the partner, or all of them (probe-all, all),
    2. scans that bucket and emits the pairs within both reaches,
    3. is inserted into its bucket of its own stream,
    4. invalidates again: nothing (probe, probe-all), that bucket (probe-insert), or all of its
       own stream's (all, the paper's "optimal").

What a lazy strategy leaves is stale: it holds memory, and each scan of its bucket drops it
before it can match. Preserved streams (outer, anti) are swept at the end of a batch, because
their unmatched rows must leave then whatever the strategy.
"""

from __future__ import annotations

from windrow.kernels import lists as ls
from windrow.kernels.cells import cell_of
from windrow.kernels.jit import kernel
from windrow.kernels.loops.binary import earliest, partner_of, scan
from windrow.kernels.steps import expire, store
from windrow.kernels.task import (
    ALL,
    ARRIVED,
    CLEANING,
    DONE,
    FULL,
    NEVER,
    PROBE_ALL,
    PROBE_INSERT,
    SCANNING,
    STORING,
    Batch,
    Task,
    element,
    passed_after,
    progress_at,
)


@kernel
def expire_stream(task: Task, stream: int, keep_from: int) -> int:
    """Invalidate every bucket of a stream. FULL: the buffer is; calling again goes on."""
    for lst in range(stream, task.lists.meta.shape[0], task.asked.shape[0]):
        if expire(task, lst, stream, keep_from) == FULL:
            return FULL
    return DONE


@kernel
def join_buckets(task: Task, batch: Batch) -> int:
    """Run the batch (one part) from where it stands. List 2b + s is stream s of bucket b."""
    asked, lists, now = task.asked, task.lists, task.stand[0]
    buckets = lists.meta.shape[0] // 2
    strategy = task.rules[0].strategy
    while True:
        stream, at, t = earliest(batch, 0)
        if t == NEVER:
            break
        new, partner = element(batch, stream, at), partner_of(stream)
        first = 2 * cell_of(new.key, buckets)
        own, other = first + stream, first + partner

        if now.step == ARRIVED:
            keep_from = progress_at(task, stream, t) - asked[partner].reach
            if strategy >= PROBE_ALL:
                status = expire_stream(task, partner, keep_from)
            else:
                status = expire(task, other, partner, keep_from)
            if status == FULL:
                return FULL
            now.scan = ls.newest(lists, other, new.key)
            now.step = SCANNING

        if now.step == SCANNING:
            bounds = t - asked[partner].reach, t + asked[stream].reach
            if scan(task, other, new, bounds[0], bounds[1]) == FULL:
                return FULL
            now.step = STORING

        passed = progress_at(task, partner, t)
        if now.step == STORING:
            status = store(task, own, new, passed)
            if status != DONE:
                return status
            now.step = CLEANING

        status = DONE
        if strategy == ALL:
            status = expire_stream(task, stream, passed - asked[stream].reach)
        elif strategy == PROBE_INSERT:
            status = expire(task, own, stream, passed - asked[stream].reach)
        if status == FULL:
            return FULL
        now.step = ARRIVED
        batch.at[stream] += 1
    for stream in range(2):
        keep_from = passed_after(task, stream) - asked[stream].reach
        swept = asked[stream].preserved or strategy == ALL
        if swept and expire_stream(task, stream, keep_from) == FULL:
            return FULL
    return DONE
