"""The window join with punctuations (PWJoin): paper 3, sections 4.2 to 4.4, on time lists.

A tuple of A at time t, as in `time_lists`, with A's and B's I-Nodes asked on the way:

    1. invalidates B's list and its own; the last tuple of a punctuated key propagates it,
    2. is a violation if A has punctuated its key,
    3. is skipped if B's flag says propagated: there is nothing to meet and nothing will come,
    4. probes, and is stored, unless B has punctuated its key: then it is discarded on the fly.

A punctuation of A acts after the tuples up to its time. It

    1. purges B's tuples of its key,
    2. meets B's punctuation of the key, if there is one: the key ends, B's I-Node goes,
    3. or flags the key, and its last tuple in A's list; without one the key ends at once.

An emptied record stays in its chain and its list until the low mark passes it, or until half of
the list is empty: then the others are appended anew and the list shrinks to them.
"""

from __future__ import annotations

from windrow.kernels import ends, inodes, purge
from windrow.kernels import lists as ls
from windrow.kernels.compaction import compact, to_be_compacted
from windrow.kernels.ends import Punctuations, has_room
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.loops.binary import earliest, look_ahead, partner_of, scan
from windrow.kernels.steps import leave, settled, store
from windrow.kernels.task import (
    ARRIVED,
    ASIDE,
    DONE,
    FULL,
    GROW,
    NEVER,
    SCANNING,
    STORING,
    Batch,
    Element,
    Task,
    element,
    passed_after,
    progress_at,
)


@inlined
def act(task: Task, said: Punctuations, part: int, first: int) -> int:
    """Let the next punctuation of a part act; see whether a list is worth compacting then."""
    by = ends.next_event(said, part)
    status = purge.act(task, said, first, by, partner_of(by.stream))
    if status == DONE:
        ends.pass_event(task, said, part, by)
        to_be_compacted(task, said, first)
    return status


@inlined
def arrive(task: Task, said: Punctuations, first: int, new: Element) -> int:
    """Steps 1 to 3. ASIDE: the tuple broke a promise, or is skipped. FULL: a buffer is."""
    asked, stream, partner = task.asked, new.stream, partner_of(new.stream)
    own, other = first + stream, first + partner
    status = DONE
    bound = progress_at(task, stream, new.t)
    if purge.due(task, other, bound - asked[partner].reach):
        status = purge.expire_rung(task, said, other, partner, bound)
    bound = progress_at(task, partner, new.t)
    if status == DONE and purge.due(task, own, bound - asked[stream].reach):
        status = purge.expire_rung(task, said, own, stream, bound)
    if status == DONE and not has_room(task, said):
        status = FULL
    if status == DONE:
        status = ask_nodes(task, said, own, other, new)
    return status


@inlined
def ask_nodes(task: Task, said: Punctuations, own: int, other: int, new: Element) -> int:
    """Has its own stream ended a tuple's key, or its partner? Then it goes aside, if it can."""
    nodes, oldest, status = said.nodes, new.t - task.rules[0].span, DONE
    mine = inodes.find(nodes, own, new.key, oldest, NEVER)
    its = inodes.find(nodes, other, new.key, oldest, NEVER)
    task.stand[0].met = its
    if mine >= 0:
        _, _, value, _ = ls.read(nodes, own, mine)
        ends.touch(task, said, ends.VIOLATED, new, new.stream, inodes.row_of(value))
        task.counted[new.stream].violations += 1
        status = ASIDE
    elif its >= 0:
        _, _, value, _ = ls.read(nodes, other, its)
        if inodes.flag_of(value) == inodes.PROPAGATED:
            status = ASIDE
            if task.asked[new.stream].preserved and not leave(task, new.stream, new.row, new.t):
                status = FULL
            else:
                partner = partner_of(new.stream)
                ends.touch(task, said, ends.REMOVED, new, partner, inodes.row_of(value))
                task.counted[new.stream].skipped += 1
    return status


@inlined
def probe(task: Task, said: Punctuations, other: int, new: Element) -> int:
    """Step 4, first half. FULL: the buffer is."""
    oldest = new.t - task.asked[partner_of(new.stream)].reach
    latest = new.t + task.asked[new.stream].reach
    met = task.stand[0].met
    if met >= 0:
        # Its life ends there: what is stored after that is of the key's next one.
        ended, _, _, _ = ls.read(said.nodes, other, met)
        latest = min(latest, ended + task.rules[0].span)
    return scan(task, other, new, oldest, latest)


@inlined
def settle(task: Task, said: Punctuations, first: int, new: Element) -> int:
    """Step 4, after the probe: store the tuple, or let it go."""
    stream, partner = new.stream, partner_of(new.stream)
    met, passed = task.stand[0].met, progress_at(task, partner, new.t)
    over = new.t + task.asked[stream].reach < passed
    status = DONE
    if met < 0 and not over and not settled(task, new):
        status = store(task, first + stream, new, passed)
    elif not has_room(task, said):
        status = FULL
    elif met >= 0:
        if task.asked[stream].preserved and not leave(task, stream, new.row, new.t):
            status = FULL
        else:
            _, _, value, _ = ls.read(said.nodes, first + partner, met)
            ends.touch(task, said, ends.REMOVED, new, partner, inodes.row_of(value))
            task.counted[stream].discarded += 1
    elif over:
        status = store(task, first + stream, new, passed)
    else:
        ends.touch(task, said, ends.REMOVED, new, stream, new.row)
    return status


@kernel
def finish_part(task: Task, said: Punctuations, first: int) -> int:
    """Free what the new progress frees. FULL: a buffer is."""
    for stream in range(task.asked.shape[0]):
        lst, passed = first + stream, passed_after(task, stream)
        if purge.expire_rung(task, said, lst, stream, passed) == FULL:
            return FULL
    for stream in range(task.asked.shape[0]):
        if purge.expire_flags(task, said, first + stream, stream) == FULL:
            return FULL
    return DONE


@kernel
def join_punctuated(task: Task, batch: Batch, said: Punctuations) -> int:
    """Run the batch from where it stands. List 2p + s is stream s of cell p."""
    now = task.stand[0]
    parts = batch.at.shape[0] // 2
    for part in range(now.part, parts):
        now.part = part
        first = 2 * part
        while True:
            if compact(task, said) == GROW:
                return GROW
            stream, at, t = earliest(batch, first)
            if now.step == ARRIVED:
                next_said = said.at[part]
                if next_said < said.end[part] and said.events[next_said, 0] < t:
                    status = act(task, said, part, first)
                    if status != DONE:
                        return status
                    continue
            if t == NEVER:
                break
            own, other = first + stream, first + partner_of(stream)
            new = element(batch, stream, at)
            if now.step == ARRIVED:
                look_ahead(batch, at, task.lists, own, other)
                status = arrive(task, said, first, new)
                if status == ASIDE:
                    batch.at[own] += 1
                    continue
                if status != DONE:
                    return status
                now.scan = ls.newest(task.lists, other, new.key)
                now.step = SCANNING
            if now.step == SCANNING:
                if probe(task, said, other, new) == FULL:
                    return FULL
                now.step = STORING
            status = settle(task, said, first, new)
            if status != DONE:
                return status
            now.step = ARRIVED
            batch.at[own] += 1
        if finish_part(task, said, first) == FULL:
            return FULL
    now.part = parts
    return DONE
