"""What the loops over many streams share: which tuple is next, what expires, what is stored."""

from __future__ import annotations

from windrow.kernels import forsake
from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined, kernel, prefetch
from windrow.kernels.steps import expire
from windrow.kernels.task import DONE, FAR, FULL, NEAR, NEVER, Batch, Task, passed_at


@inlined
def earliest(batch: Batch, first: int, streams: int) -> tuple[int, int, int]:
    """The next tuple of a part: its stream, its place in the batch, its time (or NEVER).

    Which stream is next is a throw of dice, so it is computed and not branched on.
    """
    stream, at, t = 0, 0, NEVER
    for each in range(streams):
        place = batch.at[first + each]
        its = batch.tuples[place, 0] if place < batch.end[first + each] else NEVER
        sooner = int(its < t)
        stream += sooner * (each - stream)
        at += sooner * (place - at)
        t = min(t, its)
    return stream, at, t


@inlined
def look_ahead(batch: Batch, task: Task, at: int, first: int, stream: int) -> None:
    """Fetch what coming tuples of this stream will touch: heads first, then the newest records."""
    s, tuples, end = task.lists, batch.tuples, batch.end[first + stream]
    streams = task.asked.shape[0]
    if at + FAR < end:
        key = tuples[at + FAR, 1]
        for each in range(streams):
            prefetch(s.heads, ls.head_at(s, first + each, key))
    if at + NEAR < end:
        key = tuples[at + NEAR, 1]
        for each in range(streams):
            seq = s.heads[ls.head_at(s, first + each, key)]
            if each != stream and seq >= s.meta[first + each, ls.LOW]:
                prefetch(s.records, ls.place(s, first + each, seq))


@inlined
def expire_stream(task: Task, first: int, stream: int, t: int) -> int:
    """Drop what all others have passed of a stream's list, while the batch is at time t."""
    if task.rules[0].forsake and stream > 0:
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
