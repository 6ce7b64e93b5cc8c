"""The join with count windows: x stays joinable until n later tuples of its key, or stream, came.

What counts as later depends on event time, so this join runs only on input that is complete up
to some time, in global time order (`operators.synchronise` sees to that). All tuples of one time
form a group, because ties count for nobody and always join:

    1. append the whole group, 2. expire, 3. let each tuple of the group probe the other side;
       the second stream's tuples see ties, the first stream's do not: each tie is found once.

A list is sorted by time, so its oldest record x is out iff the n-th newest is strictly newer
than x, which is one comparison. Part p holds one key's tuples (list 2p + s for side s); part 0
is the side's one time list, for windows that do not count per key.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import cursor as c
from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.steps import expire, leave, match
from windrow.model import END

#: Window kinds: by time, by count per stream, by count per key.
BY_TIME, PER_STREAM, PER_KEY = range(3)
#: Parts that are none: the other side has no such key; the tuple's own key is null.
ABSENT, KEYLESS = -1, -2
#: Where in a group the kernel is.
APPENDING, EXPIRING, PROBING = range(3)
#: A scan pointer that says: start with the newest.
FRESH_SCAN = -9


@inlined
def list_of(asked: NDArray[np.int64], side: int, part: int) -> int:
    """The list of a side where a part's tuples are; negative if there is none."""
    if asked[c.KIND_ONE + side] != PER_KEY:
        return side
    return 2 * part + side if part > 0 else ABSENT


@inlined
def expire_counted(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    s: ls.ListArrays,
    matched: c.Matched,
    gone: NDArray[np.int64],
    lst: int,
    side: int,
) -> bool:
    """Drop records that n strictly newer ones have outrun. False: the buffer is full."""
    n = asked[c.COUNT_ONE + side]
    while s.meta[lst, ls.NEXT] - s.meta[lst, ls.LOW] > n:
        low = s.meta[lst, ls.LOW]
        ts, _, row, _ = ls.read(s, lst, low)
        nth, _, _, _ = ls.read(s, lst, s.meta[lst, ls.NEXT] - n)
        if nth <= ts:
            cur[c.CHECKS] += 1
            return True
        if asked[c.PRESERVED_ONE + side] and not leave(cur, asked, matched, gone, side, row, ts):
            return False
        ls.drop_oldest(s, lst)
        cur[c.CHECKS] += 1
        cur[c.DROPPED_ONE + side] += 1
    return True


@kernel
def join_counted(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    batch: c.Batch,
    s: ls.ListArrays,
    out: c.Buffers,
) -> int:
    """Run the batch (one part; a fourth column has each tuple's part) from the cursor on."""
    tuples, at, end, matched = batch
    pairs, gone = out
    while at[0] < end[0] or at[1] < end[1]:
        t = tuples[at[0], 0] if at[0] < end[0] else tuples[at[1], 0]
        if at[1] < end[1] and tuples[at[1], 0] < t:
            t = tuples[at[1], 0]
        if cur[c.STEP] == APPENDING:
            for side in range(2):
                stop = at[side]
                while stop < end[side] and tuples[stop, 0] == t:
                    stop += 1
                cur[c.GROUP_END_ONE + side] = stop
                while cur[c.GROUP_AT + side] < stop:
                    k = cur[c.GROUP_AT + side]
                    own = list_of(asked, side, tuples[k, 3])
                    link = ls.UNCHAINED if tuples[k, 3] == KEYLESS else 0
                    if not ls.append(s, own, t, tuples[k, 1], tuples[k, 2], link):
                        return c.GROW
                    cur[c.INSERTED_ONE + side] += 1
                    cur[c.GROUP_AT + side] = k + 1
            cur[c.STEP] = EXPIRING
        if cur[c.STEP] == EXPIRING:
            for side in range(2):
                kind = asked[c.KIND_ONE + side]
                if kind == BY_TIME:
                    if not expire(cur, asked, s, matched, gone, side, side, t):
                        return c.FULL
                elif kind == PER_STREAM:
                    if not expire_counted(cur, asked, s, matched, gone, side, side):
                        return c.FULL
                else:
                    for k in range(at[side], cur[c.GROUP_END_ONE + side]):
                        if not expire_counted(
                            cur, asked, s, matched, gone, list_of(asked, side, tuples[k, 3]), side
                        ):
                            return c.FULL
            cur[c.STEP] = PROBING
            cur[c.SCAN] = FRESH_SCAN
        for side in range(2):
            while at[side] < cur[c.GROUP_END_ONE + side]:
                k = at[side]
                other = list_of(asked, 1 - side, tuples[k, 3])
                if tuples[k, 3] == KEYLESS or other < 0:
                    at[side] += 1
                    continue
                chained = asked[c.KIND_TWO - side] != PER_KEY
                key = tuples[k, 1]
                seq = cur[c.SCAN]
                if seq == FRESH_SCAN:
                    seq = s.meta[other, ls.NEXT] - 1
                    if chained:
                        seq = s.heads[
                            s.meta[other, ls.HEADS_AT] + (key & (s.meta[other, ls.HEADS] - 1))
                        ]
                while seq >= s.meta[other, ls.LOW]:
                    ts, stored_key, found, link = ls.read(s, other, seq)
                    # In a key's own list every record has that key, whatever its hash was.
                    if (
                        (stored_key == key or not chained)
                        and (side == 1 or ts < t)
                        and not match(cur, asked, matched, pairs, side, tuples[k, 2], t, found, ts)
                    ):
                        cur[c.SCAN] = seq
                        return c.FULL
                    cur[c.COMPARISONS] += 1
                    seq = link if chained else seq - 1
                cur[c.SCAN] = FRESH_SCAN
                at[side] += 1
        cur[c.STEP] = APPENDING
        cur[c.GROUP_AT] = at[0]
        cur[c.GROUP_AT + 1] = at[1]
    for side in range(2):
        # The end of the input frees all; before it, time windows follow the other's progress.
        bound = asked[c.AFTER_TWO - side]
        if asked[c.KIND_ONE + side] == BY_TIME:
            if not expire(cur, asked, s, matched, gone, side, side, bound):
                return c.FULL
        elif bound == END:
            for lst in range(side, s.meta.shape[0], 2):
                while s.meta[lst, ls.LOW] < s.meta[lst, ls.NEXT]:
                    ts, _, found, _ = ls.read(s, lst, s.meta[lst, ls.LOW])
                    if asked[c.PRESERVED_ONE + side] and not leave(
                        cur, asked, matched, gone, side, found, ts
                    ):
                        return c.FULL
                    ls.drop_oldest(s, lst)
                    cur[c.DROPPED_ONE + side] += 1
    return c.DONE
