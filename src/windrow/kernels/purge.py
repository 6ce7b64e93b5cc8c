"""What punctuations do to the lists: purge, expiry with rings and flags, compaction.

The order is always the same: rows leave first, then their key ends. A punctuation acts between its
own stream and a partner.
"""

from __future__ import annotations

from windrow.kernels import ends, inodes
from windrow.kernels import lists as ls
from windrow.kernels.ends import Punctuations, has_room
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.steps import expire, leave
from windrow.kernels.task import (
    DONE,
    FULL,
    GROW,
    NEVER,
    RUNG,
    Element,
    Task,
    passed_at,
    progress_at,
)


@kernel
def end_orphans(
    task: Task, said: Punctuations, lst: int, stream: int, key: int, bound: int
) -> None:
    """Propagate the flags of a key that have no stored tuple left (early propagation).

    `bound`: the largest time that any of the key's results can have, if the flag's own time
    plus the reach is later.
    """
    if task.asked[stream].early == 0:
        return
    nodes = said.nodes
    seq = ls.newest(nodes, lst, key)
    count = 0
    while seq >= 0 and count < ends.MOST_ORPHANS:
        seq, t, value, link, _ = ls.probe(nodes, lst, key, -NEVER, NEVER, seq)
        if seq >= 0:
            waits = inodes.flag_of(value) == inodes.PUNCTUATED
            if waits and inodes.last_stored(task.lists, lst, key, t + task.rules[0].span) < 0:
                row = inodes.row_of(value)
                latest = min(t + task.asked[stream].reach, min(bound, task.rules[0].seen))
                ends.end_key(task, said, stream, row, max(t, latest), ends.EARLY)
                ls.set_row(nodes, lst, seq, inodes.value_of(row, inodes.PROPAGATED))
                of = Element(stream, t, key, row)
                ends.tell_flag(task, said, ends.FLAGGED, of, inodes.PROPAGATED)
                count += 1
            seq = link


@kernel
def expire_rung(task: Task, said: Punctuations, lst: int, stream: int, bound: int) -> int:
    """Drop from a list what `bound` has passed; a key's last tuple propagates its flags."""
    reach = task.asked[stream].reach
    status = RUNG
    while status == RUNG:
        if not has_room(task, said):
            return FULL
        status = expire(task, lst, stream, bound - reach)
        if status == RUNG:
            latest = task.stand[0].rung_time + reach
            end_orphans(task, said, lst, stream, task.stand[0].rung_key, latest)
    return status


@inlined
def due(task: Task, lst: int, keep_from: int) -> bool:
    """Is there anything to drop at the old end?

    A look that finds nothing is a check; one that finds something is counted by `expire`.
    """
    s, result = task.lists, False
    if s.meta[lst, ls.LOW] < s.meta[lst, ls.NEXT]:
        ts, _, row, _ = ls.read(s, lst, s.meta[lst, ls.LOW])
        result = ts < keep_from or row == ls.EMPTY
        task.work[0].checks += int(not result)
    return result


@kernel
def expel(
    task: Task, said: Punctuations, lst: int, stream: int, after: int, latest: int,
    by: Element, what: int,
) -> int:  # fmt: skip
    """Empty a list's records of a punctuation's key after a time, up to another. FULL: no room.

    `what`: REMOVED, then preserved rows leave; or VIOLATED, then they are dropped and counted.
    Called again, it finds only what it has not emptied yet.
    """
    s, counted = task.lists, task.counted[stream]
    seq = ls.newest(s, lst, by.key)
    while seq >= 0:
        seq, ts, row, link, _ = ls.probe(s, lst, by.key, after + 1, latest, seq)
        if seq < 0:
            break
        if not has_room(task, said):
            return FULL
        if what == ends.VIOLATED:
            counted.violations += 1
            counted.purged += 1
        else:
            if task.asked[stream].preserved and not leave(task, stream, row, ts):
                return FULL
            if by.stream != stream:
                counted.purged += 1
            else:
                counted.dropped += 1
        ends.touch(task, said, what, Element(stream, ts, by.key, row), by.stream, by.row)
        ls.empty(s, lst, seq)
        seq = link
    return DONE


@kernel
def expire_flags(task: Task, said: Punctuations, lst: int, stream: int) -> int:
    """Drop the flags whose life all streams have passed. FULL: a buffer is."""
    nodes, span = said.nodes, task.rules[0].span
    passed = task.asked[stream].after
    for other in range(task.asked.shape[0]):
        passed = min(passed, task.asked[other].after)
    early = task.asked[stream].early != 0
    while nodes.meta[lst, ls.LOW] < nodes.meta[lst, ls.NEXT]:
        t, key, value, _ = ls.read(nodes, lst, nodes.meta[lst, ls.LOW])
        if value == ls.EMPTY:
            nodes.meta[lst, ls.DEAD] -= 1
        elif t + span >= passed:
            return DONE
        elif inodes.flag_of(value) == inodes.PUNCTUATED:
            row = inodes.row_of(value)
            by = Element(stream, t, key, row)
            # Its tuples have expired as well, though in a list out of order they may wait behind
            # others. A key must not end before its rows have left.
            if expel(task, said, lst, stream, -NEVER, t + span, by, ends.REMOVED) == FULL:
                return FULL
            if not has_room(task, said):
                return FULL
            latest = t + (max(0, task.asked[stream].reach) if early else span)
            latest = max(t, min(latest, task.rules[0].seen))
            ends.end_key(task, said, stream, row, latest, ends.EARLY if early else ends.LAPSED)
        ls.drop_oldest(nodes, lst)
    return DONE


@kernel
def act(task: Task, said: Punctuations, first: int, by: Element, partner: int) -> int:
    """A punctuation acts on its stream's list and a partner's, of the part from list `first` on.

    FULL or GROW: call again; what is done is not done twice.
    """
    own, other = first + by.stream, first + partner
    t, key, nodes, span = by.t, by.key, said.nodes, task.rules[0].span
    met = inodes.find(nodes, other, key, t - span, t + span)
    its_t = t
    if met >= 0:
        its_t, _, _, _ = ls.read(nodes, other, met)
    # Purge: the other's tuples of the key meet nothing any more. If the other has ended the key
    # before, what it sent a span after that is of the next life, and stays.
    last = min(t, its_t) + span
    if expel(task, said, other, partner, -NEVER, last, by, ends.REMOVED) == FULL:
        return FULL
    # Tuples of its own that came before the promise which they break: now it is known.
    if expel(task, said, own, by.stream, t, t + span, by, ends.VIOLATED) == FULL:
        return FULL
    if not has_room(task, said):
        return FULL
    if met >= 0:
        meet(task, said, other, met, by, partner)
    if nodes.meta[other, ls.LOW] < nodes.meta[other, ls.NEXT]:
        # Flags of another life of the key may have lost their last tuple as well.
        passed = progress_at(task, by.stream, t)
        end_orphans(task, said, other, partner, key, max(t, passed))
    status = DONE
    if met < 0:
        mine = inodes.find(nodes, own, key, t - span, t + span)
        if mine < 0:
            return flag(task, said, own, by)
        status = say_again(task, said, own, mine, by)
    return status


@inlined
def meet(task: Task, said: Punctuations, other: int, met: int, by: Element, partner: int) -> None:
    """The other stream has punctuated the key before: the key ends, and the other's I-Node goes."""
    its_t, _, value, _ = ls.read(said.nodes, other, met)
    its_row = inodes.row_of(value)
    its = Element(partner, its_t, by.key, its_row)
    ends.touch(task, said, ends.ASKED, its, by.stream, by.row)
    if inodes.flag_of(value) == inodes.PUNCTUATED:
        ends.end_key(task, said, by.stream, by.row, max(by.t, its_t), ends.MET)
    ls.empty(said.nodes, other, met)
    ends.tell_flag(task, said, ends.UNFLAGGED, its, 0)


@inlined
def say_again(task: Task, said: Punctuations, own: int, mine: int, by: Element) -> int:
    """A key is punctuated twice: the later one holds, in the log too."""
    nodes, status = said.nodes, DONE
    its_t, _, value, _ = ls.read(nodes, own, mine)
    its_row, its_flag = inodes.row_of(value), inodes.flag_of(value)
    before = Element(by.stream, its_t, by.key, its_row)
    if by.t > its_t:
        if ls.append(nodes, own, by.t, by.key, inodes.value_of(by.row, its_flag), 0):
            ls.empty(nodes, own, mine)
            ends.tell_flag(task, said, ends.UNFLAGGED, before, 0)
            ends.tell_flag(task, said, ends.FLAGGED, by, its_flag)
        else:
            status = GROW
    if status == DONE:
        ends.touch(task, said, ends.ASKED, before, by.stream, by.row)
    return status


@inlined
def flag(task: Task, said: Punctuations, own: int, by: Element) -> int:
    """Flag the key, and its last tuple; without one it ends at once if it may."""
    t, stream = by.t, by.stream
    last = inodes.last_stored(task.lists, own, by.key, t + task.rules[0].span)
    over = last < 0 and task.asked[stream].early != 0
    mark = inodes.PROPAGATED if over else inodes.PUNCTUATED
    if not ls.append(said.nodes, own, t, by.key, inodes.value_of(by.row, mark), 0):
        return GROW
    ends.tell_flag(task, said, ends.FLAGGED, by, mark)
    if over:
        passed = min(passed_at(task, stream, t), task.rules[0].seen)
        latest = max(t, min(t + task.asked[stream].reach, passed))
        ends.end_key(task, said, stream, by.row, latest, ends.EARLY)
    elif last >= 0:
        ts, _, found, _ = ls.read(task.lists, own, last)
        tuple_ = Element(stream, ts, by.key, found & ~ls.RING)
        ends.touch(task, said, ends.ASKED, tuple_, stream, by.row)
        ls.set_row(task.lists, own, last, found | ls.RING)
    return DONE


@kernel
def mark_rings(s: ls.ListArrays, nodes: ls.ListArrays, span: int) -> None:
    """Mark the last tuple of each punctuated key, in a state that was filled from outside."""
    for lst in range(nodes.meta.shape[0]):
        for seq in range(nodes.meta[lst, ls.LOW], nodes.meta[lst, ls.NEXT]):
            t, key, value, _ = ls.read(nodes, lst, seq)
            if value != ls.EMPTY and inodes.flag_of(value) == inodes.PUNCTUATED:
                last = inodes.last_stored(s, lst, key, t + span)
                if last >= 0:
                    _, _, row, _ = ls.read(s, lst, last)
                    ls.set_row(s, lst, last, row | ls.RING)
