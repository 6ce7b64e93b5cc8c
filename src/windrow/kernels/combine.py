"""The search of many streams: which stored tuples an arriving one makes results with (MJoin).

A tuple that arrives is level 0. Each level above binds a tuple of one more stream, the one with the
fewest expected matches first; a probe that finds nothing ends the work of what is below it. What
is bound bounds the rest: every two tuples must be within the reach of the earlier one.

    level    0          1               2
    stream   buy        imp             clk          order: imp, clk, buy
    bound    b7 12:30   i3 12:04        c1 12:10     reaches: imp 30 min, clk 25, buy 0
    newest   12:30      12:30           12:30        a tuple of clk must be from 12:30 - 25 min on
    limit    12:30      12:30           12:30        and not after what is bound reaches

Each level has a scan pointer, so the search can stop anywhere and go on: where a buffer is full,
or at a level where the condition is asked. Such partial combinations are kept, with how far each
list had come, until the condition has been asked about all of them in bulk; `extend` goes on with
those that hold. Until then nothing that was stored goes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.task import (
    DONE,
    EMIT_NOTHING,
    FULL,
    NEVER,
    SCANNING,
    STORING,
    Element,
    Task,
    flag_at,
)

#: A partial combination, with n streams: their row ids (-1 where none is bound), their times, how
#: far their lists had come, and which lists they are; then the stream that the tuple arrived on,
#: its key, and the times between which all of a result is.
ARRIVED_ON, KEY, OLDEST, LIMIT = range(4)
FURTHER = 4


def width(streams: int) -> int:
    """Numbers that a partial combination has."""
    return 4 * streams + FURTHER


@inlined
def bind(task: Task, new: Element, first: int) -> None:
    """Bind the tuple that arrives, and lay out the levels. Lists are from `first` on."""
    cursor = task.cursor
    cursor[0].stream, cursor[0].row, cursor[0].ts = new.stream, new.row, new.t
    cursor[0].newest, cursor[0].limit = new.t, new.t + task.asked[new.stream].reach
    cursor[0].oldest = -NEVER
    for level in range(1, task.asked.shape[0]):
        stream = task.probing.order[new.stream, level]
        cursor[level].stream = stream
        cursor[level].lst = first + stream
        cursor[level].mark = NEVER


@inlined
def aim(task: Task, level: int, key: int) -> None:
    """Begin the scan of a level."""
    cursor = task.cursor[level]
    cursor.scan = ls.newest(task.lists, cursor.lst, key)
    task.counted[cursor.stream].probes += 1
    task.stand[0].level = level


@inlined
def bound(task: Task, level: int, row: int, ts: int) -> None:
    """Bind a tuple at a level."""
    cursor, under = task.cursor[level], task.cursor[level - 1]
    cursor.row, cursor.ts = row, ts
    cursor.newest = max(under.newest, ts)
    cursor.limit = min(under.limit, ts + task.asked[cursor.stream].reach)


@inlined
def wanted(task: Task, stream: int, row: int) -> bool:
    """Does it matter what else a row makes results with? Of semi and anti joins, only once."""
    once = task.rules[0].once != 0 and stream == 0
    return not (once and task.matched.flags[flag_at(task, 0, row)] != 0)


@inlined
def report(task: Task) -> bool:
    """Report the combination that is bound. False: no room."""
    cursor, streams = task.cursor, task.asked.shape[0]
    if task.rules[0].age_from > 0:
        last = cursor[streams - 1]
        oldest = last.limit - task.asked[0].reach
        if last.newest - oldest < task.rules[0].age_from:
            return True
    if task.rules[0].emit != EMIT_NOTHING:
        n, matches = task.stand[0].matches, task.out.matches
        if n == matches.shape[1]:
            return False
        for level in range(streams):
            stream = cursor[level].stream
            matches[stream, n], matches[streams + stream, n] = cursor[level].row, cursor[level].ts
        task.stand[0].matches = n + 1
    if task.rules[0].mark:
        for level in range(streams):
            if cursor[level].stream == 0:
                # The other bits are the operator's.
                task.matched.flags[flag_at(task, 0, cursor[level].row)] |= 1
    return True


@inlined
def set_aside(task: Task, new: Element, level: int) -> bool:
    """Keep a partial combination, bound up to a level, to ask the condition. False: no room."""
    cursor, streams = task.cursor, task.asked.shape[0]
    n, partials = task.stand[0].partials, task.out.partials
    if n == partials.shape[1]:
        return False
    for at in range(streams):
        stream = cursor[at].stream
        its = at <= level
        partials[stream, n] = cursor[at].row if its else -1
        partials[streams + stream, n] = cursor[at].ts if its else 0
        if at > 0:
            mark = cursor[at].mark
            if mark == NEVER:
                mark = task.lists.meta[cursor[at].lst, ls.NEXT]
            partials[2 * streams + stream, n] = mark
            partials[3 * streams + stream, n] = cursor[at].lst
    further = 4 * streams
    partials[further + ARRIVED_ON, n], partials[further + KEY, n] = new.stream, new.key
    partials[further + OLDEST, n] = cursor[0].oldest
    partials[further + LIMIT, n] = cursor[0].limit
    task.stand[0].partials = n + 1
    return True


@inlined
def combine(task: Task, new: Element, floor: int, ties: bool) -> int:
    """Go on with the search above a level, from where it stands. FULL: a buffer is.

    `ties`: input is in time order, all tuples of one time are stored before they probe, and the one
    of the last stream finds the others, so that each combination is found once.
    """
    now, last, status = task.stand[0], task.asked.shape[0] - 1, DONE
    while now.level > floor and status == DONE:
        level = now.level
        at, under = task.cursor[level], task.cursor[level - 1]
        stream = at.stream
        latest = under.limit
        if ties:
            latest = min(latest, new.t if stream < new.stream else new.t - 1)
        earliest = max(under.newest - task.asked[stream].reach, task.cursor[0].oldest)
        seq, ts, found, link, looked = ls.probe(
            task.lists, at.lst, new.key, earliest, latest, at.scan
        )
        task.work[0].comparisons += looked
        if seq < 0:
            now.level = level - 1
        elif seq >= at.mark or not wanted(task, stream, found):
            at.scan = link
        else:
            bound(task, level, found, ts)
            task.counted[stream].found += 1
            kept = True
            if level == last:
                kept = report(task)
                if kept and task.rules[0].mark and task.rules[0].once:
                    # The first stream's row has what it needs: on with the next one.
                    while now.level > floor and task.cursor[now.level].stream != 0:
                        now.level -= 1
            elif task.probing.asks[new.stream, level]:
                kept = set_aside(task, new, level)
            else:
                aim(task, level + 1, new.key)
            if kept:
                at.scan = link
            else:
                # It is looked at again.
                task.work[0].comparisons -= 1
                task.counted[stream].found -= 1
                at.scan = seq
                status = FULL
    return status


@inlined
def begin_search(task: Task, new: Element, first: int) -> None:
    """Begin the search for a tuple that arrives, in the lists from `first` on."""
    bind(task, new, first)
    aim(task, 1, new.key)
    task.stand[0].step = SCANNING


@inlined
def search(task: Task, new: Element) -> int:
    """Go on with it, from where it stands. FULL: a buffer is."""
    status = combine(task, new, 0, False)
    if status == DONE:
        task.stand[0].step = STORING
    return status


@kernel
def extend(task: Task, partials: NDArray[np.int64], bound_to: int, ties: bool) -> int:
    """Go on with partial combinations that are bound up to a level. FULL: a buffer is.

    `ties`: as of `combine`.
    """
    now, streams = task.stand[0], task.asked.shape[0]
    further = 4 * streams
    while now.extended < partials.shape[1]:
        n = now.extended
        stream = partials[further + ARRIVED_ON, n]
        key = partials[further + KEY, n]
        new = Element(stream, partials[streams + stream, n], key, partials[stream, n])
        if now.level <= bound_to:
            bind(task, new, 0)
            task.cursor[0].oldest = partials[further + OLDEST, n]
            task.cursor[0].limit = partials[further + LIMIT, n]
            for level in range(1, streams):
                its = task.cursor[level].stream
                task.cursor[level].mark = partials[2 * streams + its, n]
                task.cursor[level].lst = partials[3 * streams + its, n]
                if level <= bound_to:
                    bound(task, level, partials[its, n], partials[streams + its, n])
            aim(task, bound_to + 1, key)
        if combine(task, new, bound_to, ties) == FULL:
            return FULL
        now.extended = n + 1
    return DONE
