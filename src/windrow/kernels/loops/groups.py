"""What the loops with count windows share: groups of tuples of one time, and their windows.

What counts as later depends on event time, so these joins run only on input that is complete up
to some time, in global time order (the gate sees to that). All tuples of one time form a group,
because ties count for no window and always join:

    1. append the whole group, 2. expire, 3. let each tuple of the group look for its partners.

A list is sorted by time, so its oldest record x is out iff the n-th newest is strictly newer
than x. Part p holds one key's tuples (list n * p + s for stream s of n); part 0 is the stream's
one time list, for windows that do not count per key.
"""

from __future__ import annotations

from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.steps import expire
from windrow.kernels.task import (
    APPENDING,
    BY_TIME,
    DONE,
    EXPIRING,
    FULL,
    GROW,
    NEVER,
    PER_KEY,
    PROBING,
    Batch,
    Task,
    element,
    passed_after,
)
from windrow.model import END

#: Parts that are none: the partner has no such key; the tuple's own key is null.
ABSENT, KEYLESS = -1, -2
#: A part at or below this is that of a mute tuple, which only counts: so much less the part.
MUTE = -16
#: A scan pointer that says: start with the newest.
FRESH_SCAN = -9


@inlined
def list_of(task: Task, stream: int, part: int) -> int:
    """The list of a stream where a part's tuples are; negative if there is none."""
    lst = stream
    if part <= MUTE:
        part = MUTE - part
    if task.asked[stream].kind == PER_KEY:
        lst = task.asked.shape[0] * part + stream if part > 0 else ABSENT
    return lst


@inlined
def kept_from(task: Task, lst: int, stream: int, t: int) -> int:
    """The time from which a list's tuples still have a place in their window at time t."""
    s, n = task.lists, task.asked[stream].count
    found = t - task.asked[stream].reach
    if task.asked[stream].kind != BY_TIME:
        found = -NEVER
        if s.meta[lst, ls.NEXT] - s.meta[lst, ls.LOW] > n:
            found, _, _, _ = ls.read(s, lst, s.meta[lst, ls.NEXT] - n)
    return found


@inlined
def expire_list(task: Task, lst: int, stream: int, t: int) -> int:
    """Drop what is out of its window at time t. FULL: the buffer is."""
    keep_from, status = kept_from(task, lst, stream, t), DONE
    if keep_from > -NEVER:
        status = expire(task, lst, stream, keep_from)
    return status


@kernel
def append_group(task: Task, batch: Batch, t: int) -> int:
    """Append all tuples of a time. GROW: call again after that."""
    for stream in range(task.asked.shape[0]):
        group = task.groups[stream]
        stop = batch.at[stream]
        while stop < batch.end[stream] and batch.tuples[stop, 0] == t:
            stop += 1
        group.end = stop
        while group.at < stop:
            new, part = element(batch, stream, group.at), batch.tuples[group.at, 3]
            link = ls.UNCHAINED if part == KEYLESS else 0
            lst = list_of(task, stream, part)
            # In a list of one key, no tuple of another key is ever found.
            key = new.key ^ 1 if part <= MUTE else new.key
            if not ls.append(task.lists, lst, t, key, new.row, link):
                return GROW
            task.counted[stream].inserted += 1
            group.at += 1
    return DONE


@kernel
def expire_group(task: Task, batch: Batch, t: int) -> int:
    """Drop what a group's tuples have driven out. FULL: the buffer is; calling again goes on."""
    for stream in range(task.asked.shape[0]):
        if task.asked[stream].kind != PER_KEY:
            if expire_list(task, stream, stream, t) == FULL:
                return FULL
        else:
            for k in range(batch.at[stream], task.groups[stream].end):
                lst = list_of(task, stream, batch.tuples[k, 3])
                if expire_list(task, lst, stream, t) == FULL:
                    return FULL
    return DONE


@kernel
def open_group(task: Task, batch: Batch, t: int) -> int:
    """Append a group and expire, from where it stands. FULL, GROW: call again after that."""
    now, status = task.stand[0], DONE
    if now.step == APPENDING:
        status = append_group(task, batch, t)
        if status == DONE:
            now.step = EXPIRING
    if now.step == EXPIRING:
        status = expire_group(task, batch, t)
        if status == DONE:
            now.step, now.scan = PROBING, FRESH_SCAN
    return status


@kernel
def expire_after(task: Task) -> int:
    """Time windows follow the others' progress after the batch; the end of the input frees all."""
    streams = task.asked.shape[0]
    for stream in range(streams):
        passed = passed_after(task, stream)
        if task.asked[stream].kind == BY_TIME:
            if expire(task, stream, stream, passed - task.asked[stream].reach) == FULL:
                return FULL
        elif passed == END:
            for lst in range(stream, task.lists.meta.shape[0], streams):
                if expire(task, lst, stream, NEVER) == FULL:
                    return FULL
    return DONE
