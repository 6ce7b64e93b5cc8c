"""What punctuations do to the lists: purge, expiry with rings and flags, compaction.

The order is always the same: rows leave first, then their key ends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import cursor as c
from windrow.kernels import ends as e
from windrow.kernels import inodes as i_
from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.steps import leave

#: Later than any time; and, negated, earlier.
NEVER = 2**63 - 1

#: A list shorter than this is not worth compacting.
LEAST_COMPACTED = 64


@kernel
def end_orphans(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    s: ls.ListArrays,
    n: ls.ListArrays,
    out: e.Ends,
    lst: int,
    side: int,
    key: int,
    bound: int,
) -> None:
    """Propagate the flags of a key that have no stored tuple left (early propagation).

    `bound`: the largest time that any of the key's results can have, if the flag's own time
    plus the reach is later.
    """
    if asked[c.EARLY_ONE_SIDE + side] == 0:
        return
    low = n.meta[lst, ls.LOW]
    seq = n.heads[n.meta[lst, ls.HEADS_AT] + (key & (n.meta[lst, ls.HEADS] - 1))]
    count = 0
    while seq >= low and count < e.MOST_ORPHANS:
        t, its, value, link = ls.read(n, lst, seq)
        if (
            its == key
            and value != i_.EMPTY
            and value & i_.FLAG_MASK == i_.PUNCTUATED
            and i_.newest(s, lst, key, t + asked[c.SPAN]) < 0
        ):
            row = value >> i_.FLAG_BITS
            latest = max(t, min(t + asked[c.REACH_ONE + side], min(bound, asked[c.SEEN])))
            e.end_key(cur, out, row, side, latest, e.EARLY)
            ls.set_row(n, lst, seq, (row << i_.FLAG_BITS) | i_.PROPAGATED)
            e.tell_flag(cur, asked, out, e.FLAGGED, side, row, t, key, i_.PROPAGATED)
            count += 1
        seq = link


@kernel
def expire(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    s: ls.ListArrays,
    n: ls.ListArrays,
    matched: c.Matched,
    gone: NDArray[np.int64],
    out: e.Ends,
    lst: int,
    side: int,
    bound: int,
) -> bool:
    """Drop from a list what `bound` has passed, and what is empty. False: a buffer is full."""
    reach = asked[c.REACH_ONE + side]
    preserved = asked[c.PRESERVED_ONE + side]
    while s.meta[lst, ls.LOW] < s.meta[lst, ls.NEXT]:
        low = s.meta[lst, ls.LOW]
        ts, key, row, _ = ls.read(s, lst, low)
        if row == i_.EMPTY:
            ls.drop_oldest(s, lst)
            s.meta[lst, ls.DEAD] -= 1
            cur[c.CHECKS] += 1
            continue
        if ts + reach >= bound:
            cur[c.CHECKS] += 1
            return True
        if not e.has_room(cur, out):
            return False
        if preserved and not leave(cur, asked, matched, gone, side, row & ~i_.RING, ts):
            return False
        latest = ts + reach if low >= s.meta[lst, ls.DISORDER] else bound - 1
        ls.drop_oldest(s, lst)
        cur[c.CHECKS] += 1
        cur[c.DROPPED_ONE + side] += 1
        if row & i_.RING:
            end_orphans(cur, asked, s, n, out, lst, side, key, latest)
    return True


@inlined
def due(cur: NDArray[np.int64], s: ls.ListArrays, lst: int, bound_reach: int) -> bool:
    """Is there anything to drop at the old end? `bound_reach`: the bound less the reach.

    A look that finds nothing is a check; one that finds something is counted by `expire`.
    """
    result = False
    if s.meta[lst, ls.LOW] < s.meta[lst, ls.NEXT]:
        ts, _, row, _ = ls.read(s, lst, s.meta[lst, ls.LOW])
        result = ts < bound_reach or row == i_.EMPTY
        cur[c.CHECKS] += int(not result)
    return result


@kernel
def expel(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    s: ls.ListArrays,
    matched: c.Matched,
    gone: NDArray[np.int64],
    out: e.Ends,
    lst: int,
    side: int,
    key: int,
    after: int,
    latest: int,
    by_side: int,
    by_row: int,
    what: int,
) -> bool:
    """Empty a list's records of a key after a time, up to another. False: no room.

    `what`: REMOVED, then preserved rows leave; or VIOLATED, then they are dropped and counted.
    Called again, it finds only what it has not emptied yet.
    """
    counter = c.PURGED_ONE if by_side != side or what == e.VIOLATED else c.DROPPED_ONE
    low = s.meta[lst, ls.LOW]
    seq = s.heads[s.meta[lst, ls.HEADS_AT] + (key & (s.meta[lst, ls.HEADS] - 1))]
    while seq >= low:
        ts, its, found, link = ls.read(s, lst, seq)
        if its == key and found != i_.EMPTY and after < ts <= latest:
            if not e.has_room(cur, out):
                return False
            row = found & ~i_.RING
            if what == e.VIOLATED:
                cur[c.VIOLATIONS_ONE + side] += 1
            elif asked[c.PRESERVED_ONE + side] and not leave(
                cur, asked, matched, gone, side, row, ts
            ):
                return False
            e.touch(cur, asked, out, side, row, by_side, by_row, what)
            ls.set_row(s, lst, seq, i_.EMPTY)
            s.meta[lst, ls.DEAD] += 1
            cur[counter + side] += 1
        seq = link
    return True


@kernel
def expire_flags(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    s: ls.ListArrays,
    n: ls.ListArrays,
    matched: c.Matched,
    gone: NDArray[np.int64],
    out: e.Ends,
    lst: int,
    side: int,
) -> bool:
    """Drop the flags whose life both streams have passed. False: a buffer is full."""
    passed = min(asked[c.AFTER_ONE], asked[c.AFTER_TWO])
    span = asked[c.SPAN]
    while n.meta[lst, ls.LOW] < n.meta[lst, ls.NEXT]:
        t, key, value, _ = ls.read(n, lst, n.meta[lst, ls.LOW])
        if value == i_.EMPTY:
            n.meta[lst, ls.DEAD] -= 1
        elif t + span >= passed:
            return True
        elif value & i_.FLAG_MASK == i_.PUNCTUATED:
            row = value >> i_.FLAG_BITS
            # Its tuples have expired as well, though in a list out of order they may wait behind
            # others. A key must not end before its rows have left.
            if not expel(
                cur, asked, s, matched, gone, out, lst, side,
                key, -NEVER, t + span, side, row, e.REMOVED,
            ):  # fmt: skip
                return False
            if not e.has_room(cur, out):
                return False
            early = asked[c.EARLY_ONE_SIDE + side] != 0
            latest = t + (max(0, asked[c.REACH_ONE + side]) if early else span)
            latest = max(t, min(latest, asked[c.SEEN]))
            e.end_key(cur, out, row, side, latest, e.EARLY if early else e.LAPSED)
        ls.drop_oldest(n, lst)
    return True


@kernel
def compact(s: ls.ListArrays, lst: int, stop: int) -> bool:
    """Append what is left before `stop` anew, in its order, so that the empty records go.

    False: make room, and call again before anything else.
    """
    while s.meta[lst, ls.LOW] < stop:
        ts, key, row, _ = ls.read(s, lst, s.meta[lst, ls.LOW])
        if row == i_.EMPTY:
            s.meta[lst, ls.DEAD] -= 1
        elif not ls.append(s, lst, ts, key, row, 0):
            return False
        ls.drop_oldest(s, lst)
    return True


@inlined
def too_empty(s: ls.ListArrays, lst: int) -> bool:
    """Is half of a list empty, and is that worth the work?"""
    dead = s.meta[lst, ls.DEAD]
    return dead >= LEAST_COMPACTED and 2 * dead > s.meta[lst, ls.NEXT] - s.meta[lst, ls.LOW]


@kernel
def act(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    s: ls.ListArrays,
    n: ls.ListArrays,
    matched: c.Matched,
    gone: NDArray[np.int64],
    out: e.Ends,
    own: int,
    other: int,
    t: int,
    key: int,
    row: int,
    side: int,
) -> int:
    """A punctuation acts. FULL or GROW: call again; what is done is not done twice."""
    span = asked[c.SPAN]
    passed = c.progress_at(asked, side, t)
    met = i_.find(n, other, key, t, span, span)
    its_t = t
    if met >= 0:
        its_t, _, _, _ = ls.read(n, other, met)
    # Purge: the other's tuples of the key meet nothing any more. If the other has ended the key
    # before, what it sent a span after that is of the next life, and stays.
    if not expel(
        cur, asked, s, matched, gone, out, other, 1 - side,
        key, -NEVER, min(t, its_t) + span, side, row, e.REMOVED,
    ):  # fmt: skip
        return c.FULL
    # Tuples of its own that came before the promise which they break: now it is known.
    if not expel(
        cur, asked, s, matched, gone, out, own, side, key, t, t + span, side, row, e.VIOLATED
    ):
        return c.FULL
    if not e.has_room(cur, out):
        return c.FULL
    if met >= 0:
        _, _, value, _ = ls.read(n, other, met)
        its_row = value >> i_.FLAG_BITS
        e.touch(cur, asked, out, 1 - side, its_row, side, row, e.ASKED)
        if value & i_.FLAG_MASK == i_.PUNCTUATED:
            e.end_key(cur, out, row, side, max(t, its_t), e.MET)
        i_.remove(n, other, met)
        e.tell_flag(cur, asked, out, e.UNFLAGGED, 1 - side, its_row, its_t, key, 0)
    if n.meta[other, ls.LOW] < n.meta[other, ls.NEXT]:
        # Flags of another life of the key may have lost their last tuple as well.
        end_orphans(cur, asked, s, n, out, other, 1 - side, key, max(t, passed))
    if met >= 0:
        return c.DONE
    mine = i_.find(n, own, key, t, span, span)
    if mine >= 0:
        # Said twice: the later one holds. It takes the earlier one's place in the log as well.
        its_t, _, value, _ = ls.read(n, own, mine)
        its_row, flag = value >> i_.FLAG_BITS, value & i_.FLAG_MASK
        if t > its_t:
            if not ls.append(n, own, t, key, (row << i_.FLAG_BITS) | flag, 0):
                return c.GROW
            i_.remove(n, own, mine)
            e.tell_flag(cur, asked, out, e.UNFLAGGED, side, its_row, its_t, key, 0)
            e.tell_flag(cur, asked, out, e.FLAGGED, side, row, t, key, flag)
        e.touch(cur, asked, out, side, its_row, side, row, e.ASKED)
        return c.DONE
    last = i_.newest(s, own, key, t + span)
    flag = i_.PROPAGATED if last < 0 and asked[c.EARLY_ONE_SIDE + side] else i_.PUNCTUATED
    if not ls.append(n, own, t, key, (row << i_.FLAG_BITS) | flag, 0):
        return c.GROW
    e.tell_flag(cur, asked, out, e.FLAGGED, side, row, t, key, flag)
    if flag == i_.PROPAGATED:
        other_passed = c.progress_at(asked, 1 - side, t)
        latest = min(t + asked[c.REACH_ONE + side], min(other_passed, asked[c.SEEN]))
        latest = max(t, latest)
        e.end_key(cur, out, row, side, latest, e.EARLY)
    elif last >= 0:
        _, _, found, _ = ls.read(s, own, last)
        e.touch(cur, asked, out, side, found & ~i_.RING, side, row, e.ASKED)
        ls.set_row(s, own, last, found | i_.RING)
    return c.DONE


@kernel
def mark_rings(s: ls.ListArrays, n: ls.ListArrays, span: int) -> None:
    """Mark the last tuple of each punctuated key, in a state that was filled from outside."""
    for lst in range(n.meta.shape[0]):
        for seq in range(n.meta[lst, ls.LOW], n.meta[lst, ls.NEXT]):
            t, key, value, _ = ls.read(n, lst, seq)
            if value != i_.EMPTY and value & i_.FLAG_MASK == i_.PUNCTUATED:
                last = i_.newest(s, lst, key, t + span)
                if last >= 0:
                    _, _, row, _ = ls.read(s, lst, last)
                    ls.set_row(s, lst, last, row | i_.RING)
