"""The answers of a query's aggregates, one time after the other.

At a time T the results that are live are those with HI <= T < DEATH. Time goes from one T to the
next: deaths up to it leave their groups, births up to it join them, and each group that is to be
answered for gives a row. A result costs two steps in each heap, whatever the window.

Without a slide T is each time at which a result of a group is born. With one, T is each multiple
at which a group has a live result, and of ungrouped aggregates the one after the last such.
"""

from __future__ import annotations

from windrow.kernels.answers import heaps, sums, values
from windrow.kernels.answers.numbers import (
    BIRTHS,
    COLUMN,
    COUNT,
    CROWDED,
    DEATH,
    DEATHS,
    DISTINCT,
    DONE,
    EMITTING,
    FILLING,
    FIRST,
    FLAVOR,
    FLOATING,
    FULL,
    GONE,
    GROUP,
    GROUPS,
    HEAP,
    IDLE,
    KIND,
    LAST,
    LEAST,
    LIVE,
    MEAN,
    NONE,
    NOTED,
    NOTES,
    NOW,
    OPEN,
    OUT,
    PHASE,
    PLACE,
    ROW,
    ROWS,
    SECOND,
    SUM,
    VALUES,
    Ints,
    Task,
)
from windrow.kernels.jit import inlined, kernel


@kernel
def answer(task: Task, bound: int, slide: int, grouped: bool) -> int:
    """Answer for all times before `bound`. slide 0: there is none.

    Returns DONE; FULL, to be called again with an empty output (or a larger one, if there is
    nothing in it); or CROWDED, to be called again with a larger table of values.
    """
    meta = task.meta
    while True:
        if meta[PHASE] == IDLE:
            now = following(task, bound, slide, grouped)
            if now >= bound:
                break
            meta[NOW] = now
            meta[PHASE] = FILLING
        if meta[PHASE] == FILLING:
            expire(task, meta[NOW])
            if not fill(task, meta[NOW], slide == 0):
                return CROWDED
            meta[PHASE] = EMITTING
        if not emit(task, meta[NOW], slide, grouped):
            return FULL
        meta[LAST] = meta[NOW]
        meta[NOTES] = 0
        meta[PHASE] = IDLE
    # No time before the bound is answered for any more.
    expire(task, bound)
    return DONE


@kernel
def settle(task: Task, now: int) -> bool:
    """Let in what was born up to a time that has been answered for; False: the table is crowded."""
    return fill(task, now, False)


@inlined
def following(task: Task, bound: int, slide: int, grouped: bool) -> int:
    """The next time to answer for; one that is not before `bound` if there is none."""
    meta = task.meta
    found = bound
    waits = meta[BIRTHS] > 0
    if slide == 0:
        if waits:
            found = task.queues.births[0, 0]
    elif meta[GROUPS] > 0 or (meta[OPEN] == 1 and not grouped):
        found = meta[LAST] + slide
    elif waits:
        found = -((-task.queues.births[0, 0]) // slide) * slide
    return found


@kernel
def expire(task: Task, now: int) -> None:
    """Take out what is in no interval from `now` on."""
    meta, deaths = task.meta, task.queues.deaths
    while meta[DEATHS] > 0 and deaths[0, 0] <= now:
        slot = heaps.pop(deaths, meta[DEATHS])
        meta[DEATHS] -= 1
        leave(task, slot)
        task.queues.gone[meta[GONE]] = slot
        meta[GONE] += 1


@kernel
def fill(task: Task, now: int, note: bool) -> bool:
    """Let in what is born up to `now`; False: the table of values is crowded.

    `note`: their groups are to be answered for.
    """
    meta, times = task.meta, task.results.times
    births, counts = task.queues.births, task.groups.counts
    while meta[BIRTHS] > 0 and births[0, 0] <= now:
        if (meta[VALUES] + task.measures.shape[0]) * 2 > task.entries.shape[0]:
            return False
        slot = heaps.pop(births, meta[BIRTHS])
        meta[BIRTHS] -= 1
        group = times[slot, GROUP]
        if note and counts[group, NOTED] != now:
            counts[group, NOTED] = now
            task.queues.notes[meta[NOTES]] = group
            meta[NOTES] += 1
        if times[slot, DEATH] > now:
            enter(task, slot)
            heaps.push(task.queues.deaths, meta[DEATHS], times[slot, DEATH], slot)
            meta[DEATHS] += 1
        else:
            task.queues.gone[meta[GONE]] = slot
            meta[GONE] += 1
    return True


@kernel
def enter(task: Task, slot: int) -> None:
    """A result becomes live."""
    results, groups, meta = task.results, task.groups, task.meta
    group = results.times[slot, GROUP]
    if groups.counts[group, LIVE] == 0:
        groups.counts[group, PLACE] = meta[GROUPS]
        groups.live[meta[GROUPS]] = group
        meta[GROUPS] += 1
    groups.counts[group, LIVE] += 1
    for m in range(task.measures.shape[0]):
        measure = task.measures[m]
        kind = measure[KIND]
        if kind != ROWS and results.valid[slot, m]:
            column, second = measure[COLUMN], measure[SECOND]
            if kind == DISTINCT:
                word, more = results.words[slot, column], results.words[slot, second]
                if values.raise_entry(task.entries, group, m, word, more):
                    groups.counts[group, FIRST + m] += 1
                    meta[VALUES] += 1
            else:
                groups.counts[group, FIRST + m] += 1
            if kind in (SUM, MEAN):
                sums.add(groups.limbs, group, measure, results.words, slot, 1)
            elif kind == LEAST:
                heap = measure[HEAP]
                root = groups.roots[group, heap]
                groups.roots[group, heap] = heaps.insert(results, heap, column, second, root, slot)


@kernel
def leave(task: Task, slot: int) -> None:
    """A result is live no more: all that `enter` did is undone."""
    results, groups, meta = task.results, task.groups, task.meta
    group = results.times[slot, GROUP]
    groups.counts[group, LIVE] -= 1
    if groups.counts[group, LIVE] == 0:
        meta[GROUPS] -= 1
        last = groups.live[meta[GROUPS]]
        groups.live[groups.counts[group, PLACE]] = last
        groups.counts[last, PLACE] = groups.counts[group, PLACE]
    for m in range(task.measures.shape[0]):
        measure = task.measures[m]
        kind = measure[KIND]
        if kind != ROWS and results.valid[slot, m]:
            column, second = measure[COLUMN], measure[SECOND]
            if kind == DISTINCT:
                word, more = results.words[slot, column], results.words[slot, second]
                if values.lower_entry(task.entries, group, m, word, more):
                    groups.counts[group, FIRST + m] -= 1
                    meta[VALUES] -= 1
            else:
                groups.counts[group, FIRST + m] -= 1
            if kind in (SUM, MEAN):
                sums.add(groups.limbs, group, measure, results.words, slot, -1)
            elif kind == LEAST:
                heap = measure[HEAP]
                root = groups.roots[group, heap]
                groups.roots[group, heap] = heaps.remove(results, heap, column, second, root, slot)


@kernel
def emit(task: Task, now: int, slide: int, grouped: bool) -> bool:
    """A row for each group that is to be answered for; False: they do not fit."""
    meta, groups = task.meta, task.groups
    count = meta[NOTES] if slide == 0 else meta[GROUPS]
    empty = slide != 0 and not grouped and count == 0 and meta[OPEN] == 1
    if meta[ROW] + count + int(empty) > task.output.ts.shape[0]:
        return False
    for k in range(count):
        write(task, now, task.queues.notes[k] if slide == 0 else groups.live[k])
    if empty:
        write(task, now, NONE)
    meta[OPEN] = int(count > 0)
    return True


@kernel
def write(task: Task, now: int, group: int) -> None:
    """The row of a group at this time; NONE: of no result at all."""
    output, row = task.output, task.meta[ROW]
    output.ts[row], output.group[row] = now, group
    for m in range(task.measures.shape[0]):
        put(task, row, m, task.measures[m], group)
    task.meta[ROW] = row + 1


@inlined
def put(task: Task, row: int, m: int, measure: Ints, group: int) -> None:
    """One aggregate of a row."""
    output, groups, kind, at = task.output, task.groups, measure[KIND], measure[OUT]
    counted = kind in (ROWS, COUNT, DISTINCT)
    number = 0
    if group != NONE:
        number = groups.counts[group, LIVE if kind == ROWS else FIRST + m]
    output.valid[row, m] = counted or number > 0
    if counted:
        output.words[row, at] = number
    elif number > 0:
        if kind == LEAST:
            slot = groups.roots[group, measure[HEAP]]
            output.words[row, at] = task.results.words[slot, measure[COLUMN]]
            output.words[row, at + 1] = task.results.words[slot, measure[SECOND]]
        elif kind == MEAN or measure[FLAVOR] == FLOATING:
            total = sums.total(groups.limbs, group, measure, task.scratch)
            output.floats[row, m] = total / number if kind == MEAN else total
        else:
            sums.exact(groups.limbs, group, measure, output.words, row, at)
