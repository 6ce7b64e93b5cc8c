"""What the loops over many streams share: which tuple is next, what expires, what is stored."""

from __future__ import annotations

from windrow.kernels import forsake
from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined, kernel, prefetch
from windrow.kernels.loops.binary import FAR, NEAR
from windrow.kernels.steps import expire
from windrow.kernels.task import DONE, FULL, NEVER, Batch, Task, passed_at


@inlined
def earliest(batch: Batch, first: int, streams: int) -> tuple[int, int, int]:
    """The next tuple of a part: its stream, its place in the batch, its time (or NEVER)."""
    stream, at, t = 0, batch.at[first], NEVER
    for each in range(streams):
        place = batch.at[first + each]
        if place < batch.end[first + each] and batch.tuples[place, 0] < t:
            stream, at, t = each, place, batch.tuples[place, 0]
    return stream, at, t


@inlined
def look_ahead(batch: Batch, task: Task, at: int, first: int, stream: int) -> None:
    """Fetch what coming tuples of this stream will touch: heads first, then the newest records.

    That is its own list, and the one that is probed first.
    """
    s, tuples, end = task.lists, batch.tuples, batch.end[first + stream]
    probed = first + task.probing.order[stream, 1]
    if at + FAR < end:
        key = tuples[at + FAR, 1]
        prefetch(s.heads, ls.head_at(s, probed, key))
        prefetch(s.heads, ls.head_at(s, first + stream, key))
    if at + NEAR < end:
        seq = s.heads[ls.head_at(s, probed, tuples[at + NEAR, 1])]
        if seq >= s.meta[probed, ls.LOW]:
            prefetch(s.records, ls.place(s, probed, seq))


@inlined
def expire_stream(task: Task, first: int, stream: int, t: int) -> int:
    """Drop what all others have passed of a stream's list, while the batch is at time t."""
    if stream > 0 and task.rules[0].forsake:
        return forsake.expire_asking(task, first, stream, t)
    keep_from = passed_at(task, stream, t) - task.asked[stream].reach
    return expire(task, first + stream, stream, keep_from)


@kernel
def expire_part(task: Task, first: int, t: int) -> int:
    """Expire the lists of all streams of a part."""
    for stream in range(task.asked.shape[0]):
        if expire_stream(task, first, stream, t) == FULL:
            return FULL
    return DONE


@kernel
def finish_part(task: Task, first: int) -> int:
    """Free what the new progress frees, at the end of a part. FULL: call again."""
    if task.stand[0].partials > 0 or expire_part(task, first, NEVER) == FULL:
        # Partial combinations hold what is stored, until the condition has been asked.
        return FULL
    if task.rules[0].forsake:
        return forsake.look_at(task, first, NEVER)
    return DONE
