"""The join of many streams with punctuations, on time lists.

As `many_time_lists`, with the I-Nodes of all streams asked on the way. A tuple of X at time t

    1. invalidates its own list; the last tuple of a punctuated key propagates it,
    2. is a violation if X has punctuated its key,
    3. is skipped if another stream's flag says propagated: no result of this life can come,
    4. searches the other lists for combinations of its own life,
    5. is stored, unless all others have punctuated its key: then it is discarded on the fly.

A punctuation acts after the tuples up to its time (`kernels.lives`). Before anything that partial
combinations need is thrown out, the condition is asked about them.
"""

from __future__ import annotations

from windrow.kernels import ends, inodes, lives, purge
from windrow.kernels import lists as ls
from windrow.kernels.combine import begin_search, search
from windrow.kernels.compaction import compact, to_be_compacted
from windrow.kernels.ends import Punctuations, has_room
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.loops.many import earliest, look_ahead
from windrow.kernels.steps import leave, settled, store
from windrow.kernels.task import (
    ARRIVED,
    ASIDE,
    DONE,
    FULL,
    GROW,
    NEVER,
    SCANNING,
    Batch,
    Element,
    Task,
    element,
    passed_at,
)


@inlined
def act(task: Task, said: Punctuations, part: int, first: int) -> int:
    """Let the next punctuation of a part act; its key's flags are looked at next."""
    at, events = said.at[part], said.events
    by = Element(events[at, 3], events[at, 0], events[at, 1], events[at, 2])
    status = lives.act(task, said, first, by)
    if status == DONE:
        task.counted[by.stream].acted += 1
        said.at[part] = at + 1
        lives.unsettle(task, by.key, by.t)
    return status


@inlined
def look_up(task: Task, said: Punctuations, first: int, new: Element) -> int:
    """Steps 2 and 3, and the beginning of the search. ASIDE: the tuple goes out of the way.

    Of each stream that flag counts which ends the tuple's own life: the first one that is not a
    span before it. Those before that border its life from below.
    """
    nodes, span, status = said.nodes, task.rules[0].span, DONE
    met, latest, oldest = 0, NEVER, -NEVER
    border, over = Element(-1, 0, 0, 0), Element(-1, 0, 0, 0)
    for stream in range(task.asked.shape[0]):
        found, first_end, lst = -1, NEVER, first + stream
        seq = -1
        if nodes.meta[lst, ls.LOW] < nodes.meta[lst, ls.NEXT]:
            seq = ls.newest(nodes, lst, new.key)
        while seq >= 0:
            seq, t, value, link, _ = ls.probe(nodes, lst, new.key, -NEVER, NEVER, seq)
            if seq >= 0:
                if new.t <= t + span:
                    if t < first_end:
                        found, first_end = value, t
                elif t + span >= oldest:
                    oldest = t + span + 1
                    border = Element(stream, t, new.key, inodes.row_of(value))
                seq = link
        if found >= 0:
            its = Element(stream, first_end, new.key, inodes.row_of(found))
            if stream == new.stream:
                status = ASIDE
                ends.touch(task, said, ends.VIOLATED, new, stream, its.row)
            else:
                ends.touch(task, said, ends.ASKED, new, stream, its.row)
                met += 1
                latest = min(latest, first_end + span)
                if inodes.flag_of(found) == inodes.PROPAGATED:
                    over = its
    if status == ASIDE:
        task.counted[new.stream].violations += 1
    elif over.stream >= 0:
        if task.asked[new.stream].preserved and not leave(task, new.stream, new.row, new.t):
            status = FULL
        else:
            ends.touch(task, said, ends.REMOVED, new, over.stream, over.row)
            task.counted[new.stream].skipped += 1
            status = ASIDE
    else:
        if border.stream >= 0:
            ends.touch(task, said, ends.ASKED, new, border.stream, border.row)
        begin_search(task, new, first)
        task.stand[0].met = met
        task.cursor[0].oldest = oldest
        task.cursor[0].limit = min(task.cursor[0].limit, latest)
    return status


@inlined
def arrive(task: Task, said: Punctuations, first: int, new: Element) -> int:
    """Steps 1 to 3. FULL: a buffer is, or the condition is to be asked."""
    passed, status = passed_at(task, new.stream, new.t), DONE
    if purge.due(task, first + new.stream, passed - task.asked[new.stream].reach):
        if task.stand[0].partials > 0:
            status = FULL
        else:
            status = lives.expire_rung(task, said, first, new.stream, new.t)
    if status == DONE and not has_room(task, said):
        status = FULL
    if status == DONE:
        status = look_up(task, said, first, new)
    return status


@inlined
def keep(task: Task, said: Punctuations, first: int, new: Element) -> int:
    """Step 5: store the tuple, or let it go."""
    stream, streams, nodes = new.stream, task.asked.shape[0], said.nodes
    passed = passed_at(task, stream, new.t)
    over = new.t + task.asked[stream].reach < passed
    unmet = task.stand[0].met < streams - 1
    status = DONE
    if unmet and (over or not settled(task, new)):
        status = store(task, first + stream, new, passed)
        if status == DONE and task.stand[0].met > 0 and stream == 0 and task.rules[0].forsake:
            # One that has ended its key may have no tuple for it.
            lives.unsettle(task, new.key, new.t)
    elif not has_room(task, said):
        status = FULL
    elif unmet:
        ends.touch(task, said, ends.REMOVED, new, stream, new.row)
    elif task.asked[stream].preserved and not leave(task, stream, new.row, new.t):
        status = FULL
    else:
        other = int(stream == 0)
        lst = first + other
        seq = inodes.find(nodes, lst, new.key, new.t - task.rules[0].span, NEVER)
        _, _, value, _ = ls.read(nodes, lst, seq)
        ends.touch(task, said, ends.REMOVED, new, other, inodes.row_of(value))
        task.counted[stream].discarded += 1
    return status


@kernel
def finish_part(task: Task, said: Punctuations, first: int) -> int:
    """Free what the new progress frees. FULL: a buffer is, or the condition is to be asked."""
    if task.stand[0].partials > 0:
        return FULL
    for stream in range(task.asked.shape[0]):
        if lives.expire_rung(task, said, first, stream, NEVER) == FULL:
            return FULL
    for stream in range(task.asked.shape[0]):
        if lives.expire_flags(task, said, first, stream) == FULL:
            return FULL
    status = DONE
    if task.rules[0].forsake:
        status = lives.look_at(task, said, first)
    return status


@inlined
def settle(task: Task, said: Punctuations, first: int) -> int:
    """See to the flags of a key that has changed; then see whether a list is worth compacting.

    FULL: a buffer is, or the condition is to be asked.
    """
    status = DONE
    if task.stand[0].unsettled and task.stand[0].partials > 0:
        status = FULL
    elif task.stand[0].unsettled:
        status = lives.settle_now(task, said, first)
        if status == DONE:
            to_be_compacted(task, said, first)
    return status


@kernel
def join_many_punctuated(task: Task, batch: Batch, said: Punctuations) -> int:
    """Run the batch from where it stands. List n * p + s is stream s of n and cell p."""
    now, streams = task.stand[0], task.asked.shape[0]
    parts = batch.at.shape[0] // streams
    for part in range(now.part, parts):
        now.part = part
        first = streams * part
        while True:
            if compact(task, said) == GROW:
                return GROW
            stream, at, t = earliest(batch, first, streams)
            if now.step == ARRIVED:
                if settle(task, said, first) == FULL:
                    return FULL
                if now.step != ARRIVED:
                    continue
                next_said = said.at[part]
                if next_said < said.end[part] and said.events[next_said, 0] < t:
                    if now.partials > 0:
                        return FULL
                    status = act(task, said, part, first)
                    if status != DONE:
                        return status
                    continue
            if t == NEVER:
                break
            new = element(batch, stream, at)
            if now.step == ARRIVED:
                if now.patience == 0:
                    return FULL
                look_ahead(batch, task, at, first, stream)
                status = arrive(task, said, first, new)
                if status == ASIDE:
                    batch.at[first + stream] += 1
                    continue
                if status != DONE:
                    return status
                now.patience -= 1
            if now.step == SCANNING and search(task, new) == FULL:
                return FULL
            status = keep(task, said, first, new)
            if status != DONE:
                return status
            now.step = ARRIVED
            batch.at[first + stream] += 1
        if finish_part(task, said, first) == FULL:
            return FULL
    now.part = parts
    return DONE
