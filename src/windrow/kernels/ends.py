"""What a punctuated join tells beside its results: keys that ended, and what flags have done.

Each step of a kernel first makes sure that there is room for all that it can tell, so that it
never has to stop half way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import inlined
from windrow.kernels.lists import ListArrays
from windrow.kernels.task import Element, Task

#: Ends that one step can cause, most of them lives of one key that wait for the same tuple. More
#: of those would come when their flags expire.
MOST_ENDS, MOST_ORPHANS, MOST_TOUCHED = 8, 6, 24

#: Why a key has ended: punctuated by all streams, early, or its flag's time is over while another
#: stream may still send it (a promise to no stream: only what is held for the key can go).
MET, EARLY, LAPSED = range(3)
#: What the join is told: a flag kept a row out or threw it out, the row broke a promise, or its
#: key was taken for equal; or a flag itself is new, changed or gone.
REMOVED, VIOLATED, ASKED, FLAGGED, UNFLAGGED = range(5)


class Punctuations(NamedTuple):
    """What a punctuated join has beside its task.

    nodes: the I-Nodes of all streams.
    events: the punctuations that act in the batch, (time, key, row id, stream); those of part p are
        events[at[p] : end[p]], in time order.
    ends: where keys that ended go: (row id of the punctuation, its stream, time, why); no result of
        the key is later.
    touched: where goes what flags did: (what, stream, row id, then stream and row id of the
        punctuation; or, of a flag, its time, its key and the flag).
    """

    nodes: ListArrays
    events: NDArray[np.int64]
    at: NDArray[np.int64]
    end: NDArray[np.int64]
    ends: NDArray[np.int64]
    touched: NDArray[np.int64]


@inlined
def next_event(said: Punctuations, part: int) -> Element:
    """The punctuation of a part that acts next."""
    at, events = said.at[part], said.events
    return Element(events[at, 3], events[at, 0], events[at, 1], events[at, 2])


@inlined
def pass_event(task: Task, said: Punctuations, part: int, by: Element) -> None:
    """It has acted: go on to the next one."""
    task.counted[by.stream].acted += 1
    said.at[part] += 1


@inlined
def end_key(task: Task, said: Punctuations, stream: int, row: int, ts: int, why: int) -> None:
    """Report the end of a key. The caller has made sure that there is room."""
    k, ends = task.stand[0].ends, said.ends
    ends[0, k], ends[1, k], ends[2, k], ends[3, k] = row, stream, ts, why
    task.stand[0].ends = k + 1
    if why != LAPSED:
        task.work[0].ended += 1
    if why == EARLY:
        task.work[0].early += 1


@inlined
def touch(
    task: Task, said: Punctuations, what: int, of: Element, by_stream: int, by_row: int
) -> None:
    """Tell what a punctuation did to a row, where that is asked for. There must be room."""
    if task.rules[0].tell:
        k, touched = task.stand[0].touched, said.touched
        touched[0, k], touched[1, k], touched[2, k] = what, of.stream, of.row
        touched[3, k], touched[4, k] = by_stream, by_row
        task.stand[0].touched = k + 1


@inlined
def tell_flag(task: Task, said: Punctuations, what: int, of: Element, flag: int) -> None:
    """Tell what became of a punctuation's flag, where that is asked for. There must be room."""
    if task.rules[0].tell:
        k, touched = task.stand[0].touched, said.touched
        touched[0, k], touched[1, k], touched[2, k] = what, of.stream, of.row
        touched[3, k], touched[4, k], touched[5, k] = of.t, of.key, flag
        task.stand[0].touched = k + 1


@inlined
def has_room(task: Task, said: Punctuations) -> bool:
    """Is there room for what one record can cause?"""
    return (
        task.stand[0].ends + MOST_ENDS <= said.ends.shape[1]
        and task.stand[0].touched + MOST_TOUCHED <= said.touched.shape[1]
    )
