"""Lists that punctuations have half emptied are compacted, tuples' and I-Nodes', one at a time."""

from __future__ import annotations

from windrow.kernels import lists as ls
from windrow.kernels.ends import Punctuations
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.task import ARRIVED, COMPACTING, COMPACTING_FLAGS, DONE, GROW, Task

#: A list shorter than this is not worth compacting.
LEAST_COMPACTED = 64


@inlined
def to_be_compacted(task: Task, said: Punctuations, first: int) -> None:
    """Have a list of a part compacted, if there is one that is worth it."""
    now = task.stand[0]
    for lst in range(first, first + task.asked.shape[0]):
        # One list at a time: what is left for later is found by then.
        if too_empty(task.lists, lst):
            now.compacted, now.compacted_to = lst, task.lists.meta[lst, ls.NEXT]
            now.step = COMPACTING
        elif too_empty(said.nodes, lst):
            now.compacted, now.compacted_to = lst, said.nodes.meta[lst, ls.NEXT]
            now.step = COMPACTING_FLAGS


@inlined
def compact(task: Task, said: Punctuations) -> int:
    """Go on with the list that is being compacted. GROW: it needs room first."""
    now, status = task.stand[0], DONE
    if now.step == COMPACTING:
        status = rewrite(task.lists, now.compacted, now.compacted_to)
    elif now.step == COMPACTING_FLAGS:
        status = rewrite(said.nodes, now.compacted, now.compacted_to)
    if status == DONE and now.step >= COMPACTING:
        now.step = ARRIVED
    return status


@kernel
def rewrite(s: ls.ListArrays, lst: int, stop: int) -> int:
    """Append what is left before `stop` anew, in its order, so that the empty records go.

    GROW: make room, and call again before anything else.
    """
    while s.meta[lst, ls.LOW] < stop:
        ts, key, row, _ = ls.read(s, lst, s.meta[lst, ls.LOW])
        if row == ls.EMPTY:
            s.meta[lst, ls.DEAD] -= 1
        elif not ls.append(s, lst, ts, key, row, 0):
            return GROW
        ls.drop_oldest(s, lst)
    return DONE


@inlined
def too_empty(s: ls.ListArrays, lst: int) -> bool:
    """Is half of a list empty, and is that worth the work?"""
    dead = s.meta[lst, ls.DEAD]
    return dead >= LEAST_COMPACTED and 2 * dead > s.meta[lst, ls.NEXT] - s.meta[lst, ls.LOW]
