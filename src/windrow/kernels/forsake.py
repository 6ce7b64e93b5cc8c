"""Rows of the first of many streams that can be in no result: they leave before their time.

In a left or anti join of s1 against the others, a row of s1 needs one stored tuple of each other
stream, or one that may still come. Two things can take that away:

    the progress of Y passes the row's reach, and no stored tuple of Y is within reach of it;
    a tuple of Y is dropped that was the last one within reach, and Y can send no other.

So each list of s1 is walked once for each other stream, as that stream's progress moves on
(`look_at`), and a dropped tuple asks about the rows that it could have met (`dropped`). A row that
has met others keeps its place; it leaves in its time.
"""

from __future__ import annotations

from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.steps import leave
from windrow.kernels.task import DONE, FULL, RUNG, Element, Task, flag_at, passed_at, progress_at


@inlined
def has_partner(task: Task, row: Element, lst: int, other: int, passed: int) -> bool:
    """Has a stream a stored tuple that a row may be in a result with?

    `passed`: how far all but that stream are; a tuple whose reach they have passed counts no more.
    """
    earliest = max(row.t, passed) - task.asked[other].reach
    latest = row.t + task.asked[row.stream].reach
    s = task.lists
    seq, _, _, _, looked = ls.probe(s, lst, row.key, earliest, latest, ls.newest(s, lst, row.key))
    task.work[0].checks += looked
    return seq >= 0


@inlined
def leave_early(task: Task, lst: int, seq: int, row: Element) -> bool:
    """Let a stored row go that can be in no result. False: no room.

    If it was the last one of a punctuated key, that key's flags are to be looked at next.
    """
    n = task.stand[0].gone
    if not leave(task, 0, row.row, row.t):
        return False
    task.out.gone[3, n] = 1
    _, _, marked, _ = ls.read(task.lists, lst, seq)
    if marked & ls.RING:
        task.stand[0].unsettled, task.stand[0].rung_key = 1, row.key
    ls.empty(task.lists, lst, seq)
    task.counted[0].dropped += 1
    return True


@inlined
def alone(task: Task, row: Element) -> bool:
    """Has nothing matched a row so far?"""
    return task.matched.flags[flag_at(task, row.stream, row.row)] == 0


@kernel
def look_at(task: Task, first: int, t: int) -> int:
    """Look at the rows of s1 whose reach a stream has passed since. FULL: call again.

    Lists are from `first` on; the batch is at time t. A row behind a later one waits for that one.
    RUNG: see to the flags of the key that is named, and call again.
    """
    s, streams = task.lists, task.asked.shape[0]
    reach = task.asked[0].reach
    for other in range(1, streams):
        passed_by, passed = progress_at(task, other, t), passed_at(task, other, t)
        at = max(s.meta[first, ls.LOW], s.meta[first + other, ls.LOOKED])
        while at < s.meta[first, ls.NEXT]:
            ts, key, row, _ = ls.read(s, first, at)
            if row != ls.EMPTY:
                if ts + reach >= passed_by:
                    break
                mine = Element(0, ts, key, row & ~ls.RING)
                if alone(task, mine):
                    there = has_partner(task, mine, first + other, other, passed)
                    if not there and not leave_early(task, first, at, mine):
                        s.meta[first + other, ls.LOOKED] = at
                        return FULL
            at += 1
            if task.stand[0].unsettled:
                s.meta[first + other, ls.LOOKED] = at
                return RUNG
        s.meta[first + other, ls.LOOKED] = at
    return DONE


@kernel
def dropped(task: Task, first: int, other: int, seq: int, t: int) -> int:
    """Ask about the rows of s1 that the oldest tuple of a list could have met. FULL: call again.

    Lists are from `first` on; `seq` is that tuple, about to be dropped. RUNG: as of `look_at`.
    """
    s = task.lists
    its_t, key, _, _ = ls.read(s, first + other, seq)
    passed_by, passed = progress_at(task, other, t), passed_at(task, other, t)
    reach = task.asked[0].reach
    earliest, latest = its_t - reach, min(its_t + task.asked[other].reach, passed_by - reach - 1)
    at = ls.newest(s, first, key)
    while at >= 0:
        at, ts, row, link, looked = ls.probe(s, first, key, earliest, latest, at)
        task.work[0].checks += looked
        if at >= 0:
            mine = Element(0, ts, key, row)
            if alone(task, mine):
                there = has_partner(task, mine, first + other, other, passed)
                if not there and not leave_early(task, first, at, mine):
                    return FULL
                if task.stand[0].unsettled:
                    return RUNG
            at = link
    return DONE


@kernel
def expire_asking(task: Task, first: int, other: int, t: int) -> int:
    """Expire the list of a stream that is not s1, tuple by tuple. FULL: call again."""
    s, lst = task.lists, first + other
    keep_from = passed_at(task, other, t) - task.asked[other].reach
    while s.meta[lst, ls.LOW] < s.meta[lst, ls.NEXT]:
        low = s.meta[lst, ls.LOW]
        ts, _, row, _ = ls.read(s, lst, low)
        task.work[0].checks += 1
        if row == ls.EMPTY:
            s.meta[lst, ls.DEAD] -= 1
        elif ts >= keep_from:
            break
        elif dropped(task, first, other, low, t) == FULL:
            return FULL
        else:
            task.counted[other].dropped += 1
        ls.drop_oldest(s, lst)
    return DONE
