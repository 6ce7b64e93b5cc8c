"""The lives of a key among many streams: what an end takes with it, and when it is told.

`purge` has the same for two streams. Ends of a key at most a span apart are of one life, and its
first end borders it: no result has tuples from both sides of that time plus the span. Of a life

    all streams have ended it               it is over: all its tuples go, and so do its flags
    all but one have                        that one's tuples go: each other's have been all
    one has that holds none of it           it is over: no result has a tuple of that stream

    a   1@3    END@4  .  .  .  .  .  .       1@3 stays: b may send more
    b      1@4    .   .  END@6 .  1@4 goes   b holds none any more: it is over, though c has not
    c          1@5    .  .  .  .  .  .       ended it; 1@3 and 1@5 go, and c's next ones are skipped

The third is told as an early end only of a stream whose punctuations propagate early; in a left or
anti join that is the first, and it holds none either once the key is over.
"""

from __future__ import annotations

from windrow.kernels import ends, forsake, inodes
from windrow.kernels import lists as ls
from windrow.kernels.ends import Punctuations, has_room
from windrow.kernels.forsake import alone, dropped, has_partner, leave_early
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.purge import expel, say_again
from windrow.kernels.steps import expire
from windrow.kernels.task import (
    DONE,
    FULL,
    GROW,
    NEVER,
    RUNG,
    Element,
    Task,
    passed_at,
)


@kernel
def border_of(task: Task, nodes: ls.ListArrays, first: int, key: int, t: int) -> int:
    """The largest time of a tuple in the life of a key that ends at t."""
    span, least = task.rules[0].span, t
    for stream in range(task.asked.shape[0]):
        seq = inodes.find(nodes, first + stream, key, t - span, t + span)
        if seq >= 0:
            its_t, _, _, _ = ls.read(nodes, first + stream, seq)
            least = min(least, its_t)
    return least + span


@kernel
def is_told(task: Task, nodes: ls.ListArrays, first: int, key: int, t: int) -> bool:
    """Has the end of this life been told early?"""
    span, told = task.rules[0].span, False
    for stream in range(task.asked.shape[0]):
        seq = inodes.find(nodes, first + stream, key, t - span, t + span)
        if seq >= 0 and task.asked[stream].early:
            _, _, value, _ = ls.read(nodes, first + stream, seq)
            told |= inodes.flag_of(value) == inodes.PROPAGATED
    return told


@kernel
def propagate(task: Task, said: Punctuations, first: int, by: Element, seq: int) -> int:
    """A flag's stream holds none: all tuples of this life of its key go. FULL: call again."""
    nodes = said.nodes
    border = border_of(task, nodes, first, by.key, by.t)
    for stream in range(task.asked.shape[0]):
        lst = first + stream
        if expel(task, said, lst, stream, -NEVER, border, by, ends.REMOVED) == FULL:
            return FULL
    if not has_room(task, said):
        return FULL
    if task.asked[by.stream].early and not is_told(task, nodes, first, by.key, by.t):
        latest = min(by.t + max(0, task.asked[by.stream].reach), task.rules[0].seen)
        ends.end_key(task, said, by.stream, by.row, max(by.t, latest), ends.EARLY)
    ls.set_row(nodes, first + by.stream, seq, inodes.value_of(by.row, inodes.PROPAGATED))
    ends.tell_flag(task, said, ends.FLAGGED, by, inodes.PROPAGATED)
    return DONE


@kernel
def forsake_ended(task: Task, said: Punctuations, first: int, key: int, now: int) -> int:
    """Let rows of s1 go for which a stream that has ended their key has none. FULL: call again.

    The batch is at time `now`.
    """
    nodes, s, span = said.nodes, task.lists, task.rules[0].span
    for other in range(1, task.asked.shape[0]):
        lst = first + other
        passed = passed_at(task, other, now)
        seq = ls.newest(nodes, lst, key)
        while seq >= 0:
            seq, ended, _, following, _ = ls.probe(nodes, lst, key, -NEVER, NEVER, seq)
            at = ls.newest(s, first, key) if seq >= 0 else -1
            while at >= 0:
                at, ts, row, link, _ = ls.probe(s, first, key, -NEVER, ended + span, at)
                if at >= 0:
                    mine = Element(0, ts, key, row)
                    there = not alone(task, mine) or has_partner(task, mine, lst, other, passed)
                    if not there and not leave_early(task, first, at, mine):
                        return FULL
                    at = link
            if seq >= 0:
                seq = following
    return DONE


@kernel
def settle(task: Task, said: Punctuations, first: int, key: int, now: int) -> int:
    """Propagate a key's flags whose streams hold none of it; ring the others'. FULL: call again."""
    nodes, span, changed = said.nodes, task.rules[0].span, True
    if task.rules[0].forsake and forsake_ended(task, said, first, key, now) == FULL:
        return FULL
    while changed:
        changed = False
        for stream in range(task.asked.shape[0]):
            lst = first + stream
            seq = ls.newest(nodes, lst, key)
            while seq >= 0:
                seq, t, value, link, _ = ls.probe(nodes, lst, key, -NEVER, NEVER, seq)
                if seq >= 0 and inodes.flag_of(value) == inodes.PUNCTUATED:
                    last = inodes.last_stored(task.lists, lst, key, t + span)
                    if last >= 0:
                        _, _, row, _ = ls.read(task.lists, lst, last)
                        ls.set_row(task.lists, lst, last, row | ls.RING)
                    else:
                        by = Element(stream, t, key, inodes.row_of(value))
                        if propagate(task, said, first, by, seq) == FULL:
                            return FULL
                        changed = True
                if seq >= 0:
                    seq = link
    return DONE


@inlined
def unsettle(task: Task, key: int, now: int) -> None:
    """Have a key's flags looked at before anything else. The batch is at time `now`."""
    task.stand[0].unsettled, task.stand[0].rung_key, task.stand[0].rung_at = 1, key, now


@inlined
def settle_now(task: Task, said: Punctuations, first: int) -> int:
    """Look at the flags of the key for which that was asked. FULL: call again."""
    now, status = task.stand[0], DONE
    if now.unsettled:
        status = settle(task, said, first, now.rung_key, now.rung_at)
        now.unsettled = int(status != DONE)
    return status


@kernel
def drop_asking(task: Task, said: Punctuations, first: int, stream: int, now: int) -> int:
    """Expire the list of a stream that is not s1, whose rows it could have met are asked about.

    FULL: call again. RUNG: see to the flags of the key that is named, and call again.
    """
    s, lst = task.lists, first + stream
    keep_from = passed_at(task, stream, now) - task.asked[stream].reach
    while s.meta[lst, ls.LOW] < s.meta[lst, ls.NEXT]:
        low = s.meta[lst, ls.LOW]
        ts, key, row, _ = ls.read(s, lst, low)
        task.work[0].checks += 1
        ended = False
        if row == ls.EMPTY:
            s.meta[lst, ls.DEAD] -= 1
        elif ts >= keep_from:
            return DONE
        else:
            status = dropped(task, first, stream, low, now)
            if status != DONE:
                return status
            task.counted[stream].dropped += 1
            ended = inodes.find(said.nodes, lst, key, -NEVER, NEVER) >= 0
        ls.drop_oldest(s, lst)
        if ended:
            task.stand[0].rung_key = key
            return RUNG
    return DONE


@kernel
def expire_rung(task: Task, said: Punctuations, first: int, stream: int, now: int) -> int:
    """Drop from a stream's list what all others have passed; see to keys of which it was the last.

    The batch is at time `now`. FULL: call again, once `settle_now` is done.
    """
    asking = stream > 0 and task.rules[0].forsake != 0
    keep_from = passed_at(task, stream, now) - task.asked[stream].reach
    status = RUNG
    while status == RUNG:
        if asking:
            status = drop_asking(task, said, first, stream, now)
        else:
            status = expire(task, first + stream, stream, keep_from)
        if status == RUNG:
            unsettle(task, task.stand[0].rung_key, now)
            if settle_now(task, said, first) == FULL:
                status = FULL
    return status


@kernel
def look_at(task: Task, said: Punctuations, first: int) -> int:
    """Look at the rows of s1 whose reach a stream has passed after a batch. FULL: call again."""
    status = RUNG
    while status == RUNG:
        status = forsake.look_at(task, first, NEVER)
        if status == RUNG:
            unsettle(task, task.stand[0].rung_key, NEVER)
            if settle_now(task, said, first) == FULL:
                status = FULL
    return status


@kernel
def expire_flags(task: Task, said: Punctuations, first: int, stream: int) -> int:
    """Drop the flags whose life all streams have passed. FULL: call again."""
    nodes, lst, span = said.nodes, first + stream, task.rules[0].span
    passed = NEVER
    for other in range(task.asked.shape[0]):
        passed = min(passed, task.asked[other].after)
    while nodes.meta[lst, ls.LOW] < nodes.meta[lst, ls.NEXT]:
        t, key, value, _ = ls.read(nodes, lst, nodes.meta[lst, ls.LOW])
        if value == ls.EMPTY:
            nodes.meta[lst, ls.DEAD] -= 1
        elif t + span >= passed:
            return DONE
        elif inodes.flag_of(value) == inodes.PUNCTUATED:
            # Its tuples have expired as well, though in a list out of order they may wait behind
            # others. A key must not end before its rows have left.
            by = Element(stream, t, key, inodes.row_of(value))
            if expel(task, said, lst, stream, -NEVER, t + span, by, ends.REMOVED) == FULL:
                return FULL
            unsettle(task, key, NEVER)
            if settle_now(task, said, first) == FULL:
                return FULL
        ls.drop_oldest(nodes, lst)
    return DONE


@kernel
def act(task: Task, said: Punctuations, first: int, by: Element) -> int:
    """A punctuation acts on the lists of its part, from `first` on.

    FULL or GROW: call again; what is done is not done twice.
    """
    t, key, nodes, span = by.t, by.key, said.nodes, task.rules[0].span
    # Tuples of its own that came before the promise which they break: now it is known.
    own = first + by.stream
    if expel(task, said, own, by.stream, t, t + span, by, ends.VIOLATED) == FULL:
        return FULL
    missing, absent, border = 0, -1, t + span
    for stream in range(task.asked.shape[0]):
        if stream != by.stream:
            met = inodes.find(nodes, first + stream, key, t - span, t + span)
            if met < 0:
                missing, absent = missing + 1, stream
            else:
                its_t, _, _, _ = ls.read(nodes, first + stream, met)
                border = min(border, its_t + span)
    for stream in range(task.asked.shape[0]):
        lst = first + stream
        gone = missing == 0 or (missing == 1 and stream == absent)
        if gone and expel(task, said, lst, stream, -NEVER, border, by, ends.REMOVED) == FULL:
            return FULL
    if not has_room(task, said):
        return FULL
    mine = inodes.find(nodes, own, key, t - span, t + span)
    status = DONE
    if missing == 0:
        meet(task, said, first, by)
    elif mine >= 0:
        status = say_again(task, said, own, mine, by)
    elif ls.append(nodes, own, t, key, inodes.value_of(by.row, inodes.PUNCTUATED), 0):
        ends.tell_flag(task, said, ends.FLAGGED, by, inodes.PUNCTUATED)
        for stream in range(task.asked.shape[0]):
            met = inodes.find(nodes, first + stream, key, t - span, t + span)
            if stream != by.stream and met >= 0:
                its_t, _, value, _ = ls.read(nodes, first + stream, met)
                its = Element(stream, its_t, key, inodes.row_of(value))
                ends.touch(task, said, ends.ASKED, its, by.stream, by.row)
    else:
        status = GROW
    return status


@inlined
def meet(task: Task, said: Punctuations, first: int, by: Element) -> None:
    """All other streams have punctuated the key before: it ends, and their I-Nodes go."""
    nodes, span = said.nodes, task.rules[0].span
    told, latest = is_told(task, nodes, first, by.key, by.t), by.t
    for stream in range(task.asked.shape[0]):
        lst = first + stream
        met = inodes.find(nodes, lst, by.key, by.t - span, by.t + span)
        if met >= 0:
            its_t, _, value, _ = ls.read(nodes, lst, met)
            its = Element(stream, its_t, by.key, inodes.row_of(value))
            ends.touch(task, said, ends.ASKED, its, by.stream, by.row)
            ls.empty(nodes, lst, met)
            ends.tell_flag(task, said, ends.UNFLAGGED, its, 0)
            latest = max(latest, its_t)
    if not told:
        ends.end_key(task, said, by.stream, by.row, latest, ends.MET)
