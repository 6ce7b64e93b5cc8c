"""The steps that every join kernel is made of: expire, match, store, leave. (`lists` has probe.)

A step that finds its output buffer full has done nothing for the record that it was at, so the
kernel can stop and take the same step again later.
"""

from __future__ import annotations

from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined
from windrow.kernels.task import (
    DONE,
    EMIT_FIRST,
    EMIT_PAIRS,
    FULL,
    GROW,
    RUNG,
    Element,
    Task,
    flag_at,
)


@inlined
def expire(task: Task, lst: int, stream: int, keep_from: int) -> int:
    """Drop from a list's old end what is before a time, and what is empty.

    Preserved tuples that nothing has matched leave. FULL: their buffer is. RUNG: the tuple just
    dropped was the last of a punctuated key; see to that and call again.
    """
    s = task.lists
    while s.meta[lst, ls.LOW] < s.meta[lst, ls.NEXT]:
        low = s.meta[lst, ls.LOW]
        ts, key, row, _ = ls.read(s, lst, low)
        if ts >= keep_from and row != ls.EMPTY:
            task.work[0].checks += 1
            return DONE
        if row == ls.EMPTY:
            s.meta[lst, ls.DEAD] -= 1
        else:
            if task.asked[stream].preserved and not leave(task, stream, row & ~ls.RING, ts):
                return FULL
            task.counted[stream].dropped += 1
        ls.drop_oldest(s, lst)
        task.work[0].checks += 1
        if row != ls.EMPTY and row & ls.RING:
            task.stand[0].rung_key = key
            task.stand[0].rung_time = ts if low >= s.meta[lst, ls.DISORDER] else keep_from - 1
            return RUNG
    return DONE


@inlined
def leave(task: Task, stream: int, row: int, ts: int) -> bool:
    """Report a row that nothing can match any more, unless something did. False: no room."""
    room = True
    if not task.matched.flags[flag_at(task, stream, row)]:
        n = task.stand[0].gone
        gone = task.out.gone
        room = n < gone.shape[1]
        if room:
            gone[0, n], gone[1, n], gone[2, n], gone[3, n] = row, ts, stream, 0
            task.stand[0].gone = n + 1
    return room


@inlined
def match(task: Task, new: Element, partner: int, found: int, ts: int) -> bool:
    """Report that a tuple that arrives meets the partner's row `found`. False: no room."""
    emit, marks = task.rules[0].emit, task.rules[0].mark
    flags, streams = task.matched.flags, task.asked.shape[0]
    own = its = 0
    if marks:
        own = flag_at(task, new.stream, new.row)
        its = flag_at(task, partner, found)
    if emit == EMIT_PAIRS or (emit == EMIT_FIRST and not flags[own if new.stream == 0 else its]):
        n = task.stand[0].matches
        matches = task.out.matches
        if n == matches.shape[1]:
            return False
        matches[new.stream, n], matches[partner, n] = new.row, found
        matches[streams + new.stream, n], matches[streams + partner, n] = new.t, ts
        task.stand[0].matches = n + 1
    if marks:
        # The other bits are the operator's.
        flags[own] |= 1
        flags[its] |= 1
    return True


@inlined
def settled(task: Task, new: Element) -> bool:
    """Is a tuple's fate known already? Of semi and anti joins, by its first match."""
    # The stream is asked last: which it is is a coin toss, and a branch on it would often be wrong.
    settles = task.rules[0].mark != 0 and task.rules[0].emit != EMIT_PAIRS and new.stream == 0
    return settles and task.matched.flags[flag_at(task, new.stream, new.row)] != 0


@inlined
def store(task: Task, lst: int, new: Element, passed: int) -> int:
    """Keep a tuple, unless the others have `passed` its reach already, or it is settled."""
    status = DONE
    if new.t + task.asked[new.stream].reach < passed:
        if task.asked[new.stream].preserved and not leave(task, new.stream, new.row, new.t):
            status = FULL
    elif not settled(task, new):
        if ls.append(task.lists, lst, new.t, new.key, new.row, 0):
            task.counted[new.stream].inserted += 1
        else:
            status = GROW
    return status
