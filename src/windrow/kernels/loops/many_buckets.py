"""The join of many streams on paper 1's hash buckets, or on one: nested loops.

As `buckets`, with one bucket for each stream and part of the keys. A tuple that arrives invalidates
the buckets that it probes (or all of their streams), searches them, and is inserted into its own.
"""

from __future__ import annotations

from windrow.kernels.cells import cell_of
from windrow.kernels.combine import begin_search, search
from windrow.kernels.jit import kernel
from windrow.kernels.loops.many import earliest, expire_stream, finish_part
from windrow.kernels.steps import store
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
    passed_at,
)


@kernel
def invalidate(task: Task, own: int, stream: int, t: int) -> int:
    """Invalidate what a tuple that arrives is about to probe: its buckets, or all of them."""
    streams = task.asked.shape[0]
    for other in range(streams):
        if other != stream:
            if task.rules[0].strategy < PROBE_ALL:
                if expire_stream(task, own, other, t) == FULL:
                    return FULL
            else:
                for first in range(0, task.lists.meta.shape[0], streams):
                    if expire_stream(task, first, other, t) == FULL:
                        return FULL
    return DONE


@kernel
def clean(task: Task, own: int, stream: int, t: int) -> int:
    """Invalidate the stream of a tuple that has been inserted: nothing, its bucket, or all."""
    strategy, streams = task.rules[0].strategy, task.asked.shape[0]
    if strategy == ALL:
        for first in range(0, task.lists.meta.shape[0], streams):
            if expire_stream(task, first, stream, t) == FULL:
                return FULL
    elif strategy == PROBE_INSERT and expire_stream(task, own, stream, t) == FULL:
        return FULL
    return DONE


@kernel
def join_many_buckets(task: Task, batch: Batch) -> int:
    """Run the batch (one part) from where it stands. List n * b + s is stream s of bucket b."""
    now, streams = task.stand[0], task.asked.shape[0]
    buckets = task.lists.meta.shape[0] // streams
    while True:
        stream, at, t = earliest(batch, 0, streams)
        if t == NEVER:
            break
        new = element(batch, stream, at)
        first = streams * cell_of(new.key, buckets)
        if now.step == ARRIVED:
            if now.patience == 0:
                return FULL
            if now.partials == 0 and invalidate(task, first, stream, t) == FULL:
                return FULL
            now.patience -= 1
            begin_search(task, new, first)
        if now.step == SCANNING and search(task, new) == FULL:
            return FULL
        if now.step == STORING:
            status = store(task, first + stream, new, passed_at(task, stream, t))
            if status != DONE:
                return status
            now.step = CLEANING
        if now.partials == 0 and clean(task, first, stream, t) == FULL:
            return FULL
        now.step = ARRIVED
        batch.at[stream] += 1
    swept = task.rules[0].strategy == ALL or task.rules[0].forsake
    for first in range(0, task.lists.meta.shape[0], streams):
        if swept and finish_part(task, first) == FULL:
            return FULL
    return DONE
