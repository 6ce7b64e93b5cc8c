"""The memory manager of a join without windows: how many tuples of each stream stay (paper 5).

    arrives --> watched (`ordering`) --> joined, stored --> evicted, once it is needed no more

The model is Equation (8) with the partner itself counted, M_i = max over j of k_i + over + L + 1,
where `over` is r_i k_j / r_j (`cost.paper5` has the proof). A pair of streams whose rates and lag
are given has one M for ever, so stream i is cut to it at each arrival. What is measured says at a
moment how far back the tuples still to come may look, so there the buffers are cut when it is
looked at: after so many arrivals that looking costs little beside joining them.

A buffer is a list: first in, first out. What has left it is gone, whether or not it was needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import lists as ls
from windrow.kernels import ordering
from windrow.kernels.hashing import word_of
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.ordering import COUNT, FROM, GIVEN, TOP, WHEN, K, Track
from windrow.kernels.sampling import Sample
from windrow.kernels.steps import leave
from windrow.kernels.task import DONE, FULL, NEVER, Task

#: Of all: 0, or -1 where keys descend; arrivals until the manager looks; so many arrivals it lets
#: pass at least, and one for so many of the steps that a look has taken; whether it sees a part of
#: the keys only: then rates and lags that are given of whole streams cannot be told to be broken.
FLIP, DUE, LEAST, STEPS, PART = range(5)
#: Of a stream: tuples evicted because of a limit; tuples and moments that broke given bounds.
FORCED, BROKEN = range(2)


class Manager(NamedTuple):
    """What the manager has been told, what it sees, and what it decides.

    over, lag: for S_i and S_j what is given: arrivals of S_i over k_j of S_j, -1 if nothing is; L
        from S_i to S_j, NEVER if nothing is.
    limit: by stream, the most tuples that may be stored.
    fixed: by stream, the tuples that stay at any time; NEVER where something is measured.
    keep: by stream, the tuples that were to stay when it last looked; NEVER: all. Under a limit
        also those that have come since.
    counted: by stream, FORCED and BROKEN.
    """

    track: Track
    sample: Sample
    over: NDArray[np.int64]
    lag: NDArray[np.int64]
    limit: NDArray[np.int64]
    fixed: NDArray[np.int64]
    keep: NDArray[np.int64]
    counted: NDArray[np.int64]
    whole: NDArray[np.int64]
    scratch: NDArray[np.int64]


@inlined
def watch(manager: Manager, stream: int, key: int) -> int:
    """Take the arrival of a tuple in. GROW: nothing was done; give the rings room first."""
    track = manager.track
    word = word_of(key) ^ manager.whole[FLIP]
    mine = track.standing[stream]
    given, back = mine[GIVEN], mine[COUNT] - mine[GIVEN]
    ring = track.rings[stream]
    breaks = given > 0 and back >= mine[FROM] and word <= ring[back & (ring.shape[0] - 1), TOP]
    status = ordering.watch(track, stream, word)
    if status == DONE:
        manager.counted[stream, BROKEN] += breaks
        manager.whole[DUE] -= 1
    return status


@inlined
def breaks(manager: Manager, i: int, j: int, came: int, its_lag: int) -> bool:
    """Is more than what is given? `came`: tuples of S_i that had come k_j tuples of S_j ago.

    A rate is of stretches that end with an arrival of S_j, so later tuples of S_i do not count.
    """
    over, lag = manager.over[i, j], manager.lag[i, j]
    broken = lag != NEVER and its_lag > lag
    if over >= 0 and not broken:
        standing, rings = manager.track.standing, manager.track.rings
        latest = rings[j, standing[j, COUNT] & (rings.shape[1] - 1), WHEN]
        by_then = ordering.search(rings[i], standing[i, FROM], standing[i, COUNT], WHEN, latest) - 1
        broken = by_then - came > over
    return broken


@inlined
def needed(manager: Manager, i: int, j: int) -> int:
    """How many tuples of S_i those of S_j still to come may need: Equation (7); NEVER: all."""
    k = manager.track.standing[i, K]
    over, lag = manager.over[i, j], manager.lag[i, j]
    known = over >= 0 and lag != NEVER
    kin = ordering.place_of_kin(manager.track, i, j, manager.scratch)
    if kin.known:
        its_lag = kin.came - kin.kin
        if manager.whole[PART] == 0 and breaks(manager, i, j, kin.came, its_lag):
            manager.counted[i, BROKEN] += 1
        if not known:
            # What is given of whole streams may be too little for the part of them that is here.
            over = max(over, manager.track.standing[i, COUNT] - kin.came)
            lag = its_lag if lag == NEVER else max(lag, its_lag)
            known = True
    return max(1, k + over + lag + 1) if known else NEVER


@kernel
def look(manager: Manager) -> None:
    """Find out how many tuples of each stream are needed from now on: Equation (8)."""
    standing = manager.track.standing
    streams, steps = standing.shape[0], 0
    for i in range(streams):
        most = 1
        for j in range(streams):
            if j != i:
                most = max(most, needed(manager, i, j))
                steps += 2 * standing[j, K] + standing[i, K]
        manager.keep[i] = most
    manager.whole[DUE] = max(manager.whole[LEAST], steps // manager.whole[STEPS])


@inlined
def evict(task: Task, stream: int, keep: int) -> int:
    """Drop a stream's oldest tuples but for so many. FULL: the buffer for those that leave is."""
    s, status = task.lists, DONE
    while s.meta[stream, ls.NEXT] - s.meta[stream, ls.LOW] > keep and status == DONE:
        low = s.meta[stream, ls.LOW]
        ts, _, row, _ = ls.read(s, stream, low)
        if task.asked[stream].preserved and not leave(task, stream, row, ts):
            status = FULL
        else:
            ls.drop_oldest(s, stream)
            task.counted[stream].dropped += 1
            task.work[0].checks += 1
    return status


@inlined
def cut(task: Task, manager: Manager, stream: int) -> int:
    """Evict what is not to stay after an arrival: of a fixed memory, or over the limit."""
    fixed, limit = manager.fixed[stream], manager.limit[stream]
    s = task.lists
    if limit != NEVER and manager.keep[stream] != NEVER:
        # What was needed when the manager looked is needed beside what has come since.
        manager.keep[stream] += 1
    over = s.meta[stream, ls.NEXT] - s.meta[stream, ls.LOW] - min(fixed, limit)
    if over > 0 and limit < min(fixed, manager.keep[stream]):
        manager.counted[stream, FORCED] += over
    return evict(task, stream, min(fixed, limit))


@kernel
def cut_all(task: Task, manager: Manager) -> None:
    """Look, and evict what is needed no more. Only what is measured is looked at."""
    look(manager)
    for stream in range(task.asked.shape[0]):
        if not task.asked[stream].preserved:
            evict(task, stream, manager.keep[stream])


@kernel
def cut_to_limits(task: Task, manager: Manager) -> None:
    """Evict what new limits do not allow. There are no unmatched rows to give out."""
    for stream in range(task.asked.shape[0]):
        cut(task, manager, stream)


@kernel
def cut_to_past(task: Task, manager: Manager, past: NDArray[np.int64]) -> None:
    """Evict what no stream can ask for that sends no key up to `past` any more; -NEVER: not known.

    A gate that sorts knows that exactly, whatever the scrambling factor behind it may be.
    """
    track = manager.track
    for i in range(past.shape[0]):
        count, oldest = track.standing[i, COUNT], track.standing[i, FROM]
        most = 0
        for j in range(past.shape[0]):
            if j != i:
                first = ordering.search(track.rings[i], oldest, count, TOP, past[j] + 1)
                known = past[j] != -NEVER and not (first == oldest and oldest > 1)
                most = max(most, count - first + 1 if known else NEVER)
        if most < manager.keep[i]:
            manager.keep[i] = most
            evict(task, i, most)
