"""The join without windows: probe, insert, evict what is needed no more (WO-Join, paper 5).

One list for each stream, in the order of arrival, or in the turn that a gate has given. A tuple

    1. is watched by the memory manager, which looks from time to time at what must stay,
    2. searches the other streams' lists for its key (`kernels.combine`), whatever their times,
    3. is appended to its own list, whatever it has met: so the latest tuples are what is stored,
    4. of which the oldest are evicted where more are stored than must stay.

Once all others have ended, what is left of a stream leaves.
"""

from __future__ import annotations

from windrow.kernels import lists as ls
from windrow.kernels import manager as memory
from windrow.kernels import sampling
from windrow.kernels.combine import begin_search, search
from windrow.kernels.jit import kernel
from windrow.kernels.loops.many import earliest, look_ahead
from windrow.kernels.manager import DUE, Manager
from windrow.kernels.task import (
    ARRIVED,
    CLEANING,
    DONE,
    FULL,
    GROW,
    NEVER,
    SCANNING,
    STORING,
    Batch,
    Element,
    Task,
    passed_after,
)
from windrow.model import END

#: The rings in which arrivals are remembered have no room.
FORGETFUL = 4
#: In this loop the first column of a batch is a tuple's turn, and this one its time.
WHEN = 3


@kernel
def join_oblivious(task: Task, batch: Batch, manager: Manager) -> int:
    """Run the batch from where it stands; it has one part, and list s is stream s."""
    now, streams = task.stand[0], task.asked.shape[0]
    while True:
        stream, at, t = earliest(batch, 0, streams)
        if t == NEVER:
            break
        tuples = batch.tuples
        new = Element(stream, tuples[at, WHEN], tuples[at, 1], tuples[at, 2])
        if now.step == ARRIVED:
            if now.patience == 0:
                return FULL
            if now.partials == 0 and manager.whole[DUE] <= 0:
                memory.cut_all(task, manager)
            if memory.watch(manager, stream, new.key) != DONE:
                return FORGETFUL
            look_ahead(batch, task, at, 0, stream)
            if sampling.drawn(manager.sample, new.key):
                sampling.count(manager.sample, task.lists, stream, new.key)
            now.patience -= 1
            begin_search(task, new, 0)
        if now.step == SCANNING and search(task, new) == FULL:
            return FULL
        if now.step == STORING:
            if not ls.append(task.lists, stream, new.t, new.key, new.row, 0):
                return GROW
            task.counted[stream].inserted += 1
            now.step = CLEANING
        # Partial combinations hold what is stored, until the condition has been asked.
        if now.partials == 0 and memory.cut(task, manager, stream) == FULL:
            return FULL
        now.step = ARRIVED
        batch.at[stream] += 1
    if now.partials > 0:
        return FULL
    for stream in range(streams):
        if passed_after(task, stream) == END and memory.evict(task, stream, 0) == FULL:
            return FULL
    return DONE
