"""The join of many streams with count windows; see `groups` for those of equal times.

1. append the whole group, 2. expire, 3. let each tuple of the group search the others. Of
   tuples of one time it is the one of the last stream that finds the others: each once.

What partial combinations still need must not be driven out: before the next group the condition is
asked about them.
"""

from __future__ import annotations

from windrow.kernels.combine import aim, bind, combine
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.loops.groups import FRESH_SCAN, expire_after, list_of, open_group
from windrow.kernels.loops.many import earliest
from windrow.kernels.task import APPENDING, DONE, FULL, NEVER, Batch, Element, Task, element


@inlined
def begin(task: Task, new: Element, part: int) -> bool:
    """Lay out the levels of a tuple's search. False: a stream has no list of its key."""
    there = True
    bind(task, new, 0)
    for level in range(1, task.asked.shape[0]):
        lst = list_of(task, task.cursor[level].stream, part)
        task.cursor[level].lst = lst
        there = there and lst >= 0
    return there


@kernel
def search_group(task: Task, batch: Batch) -> int:
    """Let each tuple of a group search the others. FULL: the buffer is; calling again goes on."""
    now = task.stand[0]
    for stream in range(task.asked.shape[0]):
        while batch.at[stream] < task.groups[stream].end:
            at = batch.at[stream]
            new, part = element(batch, stream, at), batch.tuples[at, 3]
            if part >= 0:
                if now.scan == FRESH_SCAN:
                    now.scan, now.level = 0, 0
                    if begin(task, new, part):
                        aim(task, 1, new.key)
                if combine(task, new, 0, True) == FULL:
                    return FULL
                now.scan = FRESH_SCAN
            batch.at[stream] += 1
            now.patience -= 1
    return DONE


@kernel
def join_many_counted(task: Task, batch: Batch) -> int:
    """Run the batch (one part; a fourth column has each tuple's part) from where it stands."""
    now, streams = task.stand[0], task.asked.shape[0]
    while True:
        _, _, t = earliest(batch, 0, streams)
        if t == NEVER:
            break
        if now.step == APPENDING and (now.patience <= 0 or now.partials > 0):
            return FULL
        status = open_group(task, batch, t)
        if status != DONE:
            return status
        if search_group(task, batch) == FULL:
            return FULL
        now.step = APPENDING
    if now.partials > 0:
        return FULL
    return expire_after(task)
