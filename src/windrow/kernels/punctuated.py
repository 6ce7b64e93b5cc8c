"""The window join with punctuations (PWJoin): paper 3, sections 4.2 to 4.4, on time lists.

A tuple of A at time t, as in `time_list`, with A's and B's I-Nodes asked on the way:

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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import cursor as c
from windrow.kernels import inodes as i_
from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.steps import leave, match
from windrow.kernels.time_list import NEVER, look_ahead

#: Steps of a punctuated join beside those of `cursor`: a list of tuples, or of I-Nodes, is being
#: compacted.
COMPACTING, COMPACTING_FLAGS = 4, 5
#: A list shorter than this is not worth compacting.
LEAST_COMPACTED = 64
#: Ends that one step can cause, most of them lives of one key that wait for the same tuple. More
#: of those would come when their flags expire.
MOST_ENDS, MOST_ORPHANS, MOST_TOUCHED = 8, 6, 12

#: Why a key has ended: punctuated on both sides, early, or its flag's time is over while the
#: other stream may still send it (no promise to anybody: only what is held for the key can go).
MET, EARLY, LAPSED = range(3)
#: What is told: a flag kept a row out or threw it out, the row broke a promise, or its key was
#: taken for equal; or a flag itself is new, changed or gone.
REMOVED, VIOLATED, ASKED, FLAGGED, UNFLAGGED = range(5)


class Punctuations(NamedTuple):
    """Punctuations that act in a batch: (time, key, row id, side), each part's in time order."""

    events: NDArray[np.int64]
    at: NDArray[np.int64]
    end: NDArray[np.int64]


class Ends(NamedTuple):
    """Where keys that ended go, and what flags touched.

    ends: (row id of the punctuation, its side, time, why); no result of the key is later.
    touched: (what, side, row id, then side and row id of the punctuation; or, of a flag, its
        time, its key and the flag).
    """

    ends: NDArray[np.int64]
    touched: NDArray[np.int64]


@inlined
def end_key(cur: NDArray[np.int64], out: Ends, row: int, side: int, ts: int, why: int) -> None:
    """Report the end of a key. The caller has made sure that there is room."""
    k = cur[c.ENDS]
    out.ends[0, k], out.ends[1, k], out.ends[2, k], out.ends[3, k] = row, side, ts, why
    cur[c.ENDS] = k + 1
    if why != LAPSED:
        cur[c.ENDED] += 1
    if why == EARLY:
        cur[c.EARLY] += 1


@inlined
def touch(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    out: Ends,
    side: int,
    row: int,
    by_side: int,
    by_row: int,
    what: int,
) -> None:
    """Tell what a flag did to a row, where that is asked for. There must be room."""
    if asked[c.TELL]:
        k = cur[c.TOUCHED]
        out.touched[0, k], out.touched[1, k], out.touched[2, k] = what, side, row
        out.touched[3, k], out.touched[4, k] = by_side, by_row
        cur[c.TOUCHED] = k + 1


@inlined
def tell_flag(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    out: Ends,
    what: int,
    side: int,
    row: int,
    t: int,
    key: int,
    flag: int,
) -> None:
    """Tell what became of a flag, where that is asked for. There must be room."""
    if asked[c.TELL]:
        k = cur[c.TOUCHED]
        out.touched[0, k], out.touched[1, k], out.touched[2, k] = what, side, row
        out.touched[3, k], out.touched[4, k], out.touched[5, k] = t, key, flag
        cur[c.TOUCHED] = k + 1


@inlined
def has_room(cur: NDArray[np.int64], out: Ends) -> bool:
    """Is there room for what one record can cause?"""
    return (
        cur[c.ENDS] + MOST_ENDS <= out.ends.shape[1]
        and cur[c.TOUCHED] + MOST_TOUCHED <= out.touched.shape[1]
    )


@kernel
def end_orphans(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    s: ls.ListArrays,
    n: ls.ListArrays,
    out: Ends,
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
    while seq >= low and count < MOST_ORPHANS:
        t, its, value, link = ls.read(n, lst, seq)
        if (
            its == key
            and value != i_.EMPTY
            and value & i_.FLAG_MASK == i_.PUNCTUATED
            and i_.newest(s, lst, key, t + asked[c.SPAN]) < 0
        ):
            row = value >> i_.FLAG_BITS
            latest = max(t, min(t + asked[c.REACH_ONE + side], min(bound, asked[c.SEEN])))
            end_key(cur, out, row, side, latest, EARLY)
            ls.set_row(n, lst, seq, (row << i_.FLAG_BITS) | i_.PROPAGATED)
            tell_flag(cur, asked, out, FLAGGED, side, row, t, key, i_.PROPAGATED)
            count += 1
        seq = link


@kernel
def expire(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    s: ls.ListArrays,
    n: ls.ListArrays,
    matched: NDArray[np.uint8],
    gone: NDArray[np.int64],
    out: Ends,
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
            continue
        if ts + reach >= bound:
            cur[c.CHECKS] += 1
            return True
        if not has_room(cur, out):
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
def due(s: ls.ListArrays, lst: int, bound_reach: int) -> bool:
    """Is there anything to drop at the old end? `bound_reach`: the bound less the reach."""
    result = False
    if s.meta[lst, ls.LOW] < s.meta[lst, ls.NEXT]:
        ts, _, row, _ = ls.read(s, lst, s.meta[lst, ls.LOW])
        result = ts < bound_reach or row == i_.EMPTY
    return result


@kernel
def expel(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    s: ls.ListArrays,
    matched: NDArray[np.uint8],
    gone: NDArray[np.int64],
    out: Ends,
    lst: int,
    side: int,
    key: int,
    latest: int,
    by_side: int,
    by_row: int,
) -> bool:
    """Empty a list's records of a key up to a time; preserved rows leave. False: no room.

    Called again, it finds only what it has not emptied yet.
    """
    counter = c.PURGED_ONE if by_side != side else c.DROPPED_ONE
    low = s.meta[lst, ls.LOW]
    seq = s.heads[s.meta[lst, ls.HEADS_AT] + (key & (s.meta[lst, ls.HEADS] - 1))]
    while seq >= low:
        ts, its, found, link = ls.read(s, lst, seq)
        if its == key and found != i_.EMPTY and ts <= latest:
            if not has_room(cur, out):
                return False
            row = found & ~i_.RING
            if asked[c.PRESERVED_ONE + side] and not leave(
                cur, asked, matched, gone, side, row, ts
            ):
                return False
            touch(cur, asked, out, side, row, by_side, by_row, REMOVED)
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
    matched: NDArray[np.uint8],
    gone: NDArray[np.int64],
    out: Ends,
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
            if not expel(cur, asked, s, matched, gone, out, lst, side, key, t + span, side, row):
                return False
            if not has_room(cur, out):
                return False
            early = asked[c.EARLY_ONE_SIDE + side] != 0
            latest = t + (max(0, asked[c.REACH_ONE + side]) if early else span)
            latest = max(t, min(latest, asked[c.SEEN]))
            end_key(cur, out, row, side, latest, EARLY if early else LAPSED)
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
    matched: NDArray[np.uint8],
    gone: NDArray[np.int64],
    out: Ends,
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
    # Purge: the other's tuples of the key meet nobody any more.
    if not expel(cur, asked, s, matched, gone, out, other, 1 - side, key, t + span, side, row):
        return c.FULL
    if not has_room(cur, out):
        return c.FULL
    met = i_.find(n, other, key, t, span, span)
    if met >= 0:
        its_t, _, value, _ = ls.read(n, other, met)
        its_row = value >> i_.FLAG_BITS
        touch(cur, asked, out, 1 - side, its_row, side, row, ASKED)
        if value & i_.FLAG_MASK == i_.PUNCTUATED:
            end_key(cur, out, row, side, max(t, its_t), MET)
        i_.remove(n, other, met)
        tell_flag(cur, asked, out, UNFLAGGED, 1 - side, its_row, its_t, key, 0)
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
            tell_flag(cur, asked, out, UNFLAGGED, side, its_row, its_t, key, 0)
            tell_flag(cur, asked, out, FLAGGED, side, row, t, key, flag)
        touch(cur, asked, out, side, its_row, side, row, ASKED)
        return c.DONE
    last = i_.newest(s, own, key, t + span)
    flag = i_.PROPAGATED if last < 0 and asked[c.EARLY_ONE_SIDE + side] else i_.PUNCTUATED
    if not ls.append(n, own, t, key, (row << i_.FLAG_BITS) | flag, 0):
        return c.GROW
    tell_flag(cur, asked, out, FLAGGED, side, row, t, key, flag)
    if flag == i_.PROPAGATED:
        other_passed = c.progress_at(asked, 1 - side, t)
        latest = min(t + asked[c.REACH_ONE + side], min(other_passed, asked[c.SEEN]))
        latest = max(t, latest)
        end_key(cur, out, row, side, latest, EARLY)
    elif last >= 0:
        _, _, found, _ = ls.read(s, own, last)
        touch(cur, asked, out, side, found & ~i_.RING, side, row, ASKED)
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


@kernel
def join_punctuated(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    batch: c.Batch,
    punctuations: Punctuations,
    s: ls.ListArrays,
    n: ls.ListArrays,
    buffers: c.Buffers,
    out: Ends,
) -> int:
    """Run the batch from where the cursor stands. List 2p + s is side s of cell p."""
    tuples, at, end, matched = batch
    pairs, gone = buffers
    events = punctuations.events
    span = asked[c.SPAN]
    settles = asked[c.MARK] != 0 and asked[c.EMIT] != c.EMIT_PAIRS
    for part in range(cur[c.PART], at.shape[0] // 2):
        cur[c.PART] = part
        one, two = 2 * part, 2 * part + 1
        while True:
            if cur[c.STEP] == COMPACTING:
                if not compact(s, cur[c.COMPACTED], cur[c.COMPACTED_TO]):
                    return c.GROW
                cur[c.STEP] = c.ARRIVED
            elif cur[c.STEP] == COMPACTING_FLAGS:
                if not compact(n, cur[c.COMPACTED], cur[c.COMPACTED_TO]):
                    return c.GROW
                cur[c.STEP] = c.ARRIVED
            i, k = at[one], at[two]
            t_one = tuples[i, 0] if i < end[one] else NEVER
            t_two = tuples[k, 0] if k < end[two] else NEVER
            side = int(t_two < t_one)
            t = min(t_one, t_two)

            if cur[c.STEP] == c.ARRIVED:
                said = punctuations.at[part]
                if said < punctuations.end[part] and events[said, 0] < t:
                    by = events[said, 3]
                    status = act(
                        cur, asked, s, n, matched, gone, out, one + by, two - by,
                        events[said, 0], events[said, 1], events[said, 2], by,
                    )  # fmt: skip
                    if status != c.DONE:
                        return status
                    cur[c.ACTED_ONE + by] += 1
                    punctuations.at[part] = said + 1
                    lst = two - by
                    if too_empty(s, lst):
                        cur[c.COMPACTED], cur[c.COMPACTED_TO] = lst, s.meta[lst, ls.NEXT]
                        cur[c.STEP] = COMPACTING
                    elif too_empty(n, lst):
                        cur[c.COMPACTED], cur[c.COMPACTED_TO] = lst, n.meta[lst, ls.NEXT]
                        cur[c.STEP] = COMPACTING_FLAGS
                    continue
            if t == NEVER:
                break
            i += side * (k - i)
            own, other = one + side, two - side
            key, row = tuples[i, 1], tuples[i, 2]

            if cur[c.STEP] == c.ARRIVED:
                look_ahead(tuples, i, end[own], s, own, other)
                bound = c.progress_at(asked, side, t)
                if due(s, other, bound - asked[c.REACH_TWO - side]) and not expire(
                    cur, asked, s, n, matched, gone, out, other, 1 - side, bound
                ):
                    return c.FULL
                bound = c.progress_at(asked, 1 - side, t)
                if due(s, own, bound - asked[c.REACH_ONE + side]) and not expire(
                    cur, asked, s, n, matched, gone, out, own, side, bound
                ):
                    return c.FULL
                if not has_room(cur, out):
                    return c.FULL
                mine = i_.find(n, own, key, t, span, i_.FOREVER)
                if mine >= 0:
                    _, _, value, _ = ls.read(n, own, mine)
                    touch(cur, asked, out, side, row, side, value >> i_.FLAG_BITS, VIOLATED)
                    cur[c.VIOLATIONS_ONE + side] += 1
                    at[own] += 1
                    continue
                its = i_.find(n, other, key, t, span, i_.FOREVER)
                if its >= 0:
                    _, _, value, _ = ls.read(n, other, its)
                    if value & i_.FLAG_MASK == i_.PROPAGATED:
                        if asked[c.PRESERVED_ONE + side] and not leave(
                            cur, asked, matched, gone, side, row, t
                        ):
                            return c.FULL
                        touch(cur, asked, out, side, row, 1 - side, value >> i_.FLAG_BITS, REMOVED)
                        cur[c.SKIPPED_ONE + side] += 1
                        at[own] += 1
                        continue
                cur[c.MET_NODE] = its
                cur[c.SCAN] = s.heads[
                    s.meta[other, ls.HEADS_AT] + (key & (s.meta[other, ls.HEADS] - 1))
                ]
                cur[c.STEP] = c.SCANNING

            if cur[c.STEP] == c.SCANNING:
                low = s.meta[other, ls.LOW]
                ordered = low >= s.meta[other, ls.DISORDER]
                reach, own_reach = asked[c.REACH_TWO - side], asked[c.REACH_ONE + side]
                seq = cur[c.SCAN]
                compared = 0
                while seq >= low:
                    compared += 1
                    ts, stored_key, found, link = ls.read(s, other, seq)
                    if stored_key == key and found != i_.EMPTY:
                        if t - ts > reach:
                            if ordered:
                                break
                        elif ts - t <= own_reach and not match(
                            cur, asked, matched, pairs, side, row, t, found & ~i_.RING, ts
                        ):
                            cur[c.SCAN] = seq
                            cur[c.COMPARISONS] += compared - 1
                            return c.FULL
                    seq = link
                cur[c.COMPARISONS] += compared
                cur[c.STEP] = c.STORING

            its = cur[c.MET_NODE]
            past = t + asked[c.REACH_ONE + side] < c.progress_at(asked, 1 - side, t)
            if its >= 0 or past:
                if not has_room(cur, out):
                    return c.FULL
                if asked[c.PRESERVED_ONE + side] and not leave(
                    cur, asked, matched, gone, side, row, t
                ):
                    return c.FULL
                if its >= 0:
                    _, _, value, _ = ls.read(n, other, its)
                    touch(cur, asked, out, side, row, 1 - side, value >> i_.FLAG_BITS, REMOVED)
                    cur[c.DISCARDED_ONE + side] += 1
            elif settles and side == 0 and matched[row + asked[c.FLAGS_ONE]]:
                if not has_room(cur, out):
                    return c.FULL
                touch(cur, asked, out, side, row, side, row, REMOVED)
            else:
                if not ls.append(s, own, t, key, row, 0):
                    return c.GROW
                cur[c.INSERTED_ONE + side] += 1
            cur[c.STEP] = c.ARRIVED
            at[own] += 1
        for side in range(2):
            if not expire(
                cur, asked, s, n, matched, gone, out, one + side, side, asked[c.AFTER_TWO - side]
            ):
                return c.FULL
        for side in range(2):
            if not expire_flags(cur, asked, s, n, matched, gone, out, one + side, side):
                return c.FULL
    cur[c.PART] = at.shape[0] // 2
    return c.DONE
