"""The window join of paper 1 on hash buckets: its Figures 2 and 3, with its four invalidations.

Each stream's state is N buckets, every bucket a circular buffer in arrival order; one bucket is
nested loops. A tuple that arrives at time t on one side

    1. invalidates: its bucket on the other side, or all of them (probe-all, all),
    2. scans that bucket, oldest first, and emits the pairs within both reaches,
    3. is inserted into its bucket on its own side,
    4. invalidates again: nothing (probe, probe-all), that bucket (probe-insert), or all of its
       own side's (all, the paper's "optimal").

What a lazy strategy leaves is stale: it holds memory, and each scan of its bucket drops it
before it can match. Preserved sides (outer, anti) are swept at the end of a batch, because
their unmatched rows must leave then whatever the strategy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import cursor as c
from windrow.kernels import lists as ls
from windrow.kernels.jit import kernel
from windrow.kernels.steps import expire, leave, match

#: Which buckets each strategy invalidates beside the probed one.
PROBE, PROBE_INSERT, PROBE_ALL, ALL = range(4)


@kernel
def expire_side(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    s: ls.ListArrays,
    matched: c.Matched,
    gone: NDArray[np.int64],
    side: int,
    bound: int,
) -> bool:
    """Invalidate every bucket of a side. False: the buffer is full; calling again goes on."""
    for lst in range(side, s.meta.shape[0], 2):
        if not expire(cur, asked, s, matched, gone, lst, side, bound):
            return False
    return True


@kernel
def join_buckets(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    batch: c.Batch,
    s: ls.ListArrays,
    out: c.Buffers,
) -> int:
    """Run the batch (one part) from where the cursor stands. List 2b + s is side s of bucket b."""
    tuples, at, end, matched = batch
    pairs, gone = out
    buckets = s.meta.shape[0] // 2
    strategy = asked[c.STRATEGY]
    settles = asked[c.MARK] != 0 and asked[c.EMIT] != c.EMIT_PAIRS
    while True:
        i, k = at[0], at[1]
        if i < end[0] and (k == end[1] or tuples[i, 0] <= tuples[k, 0]):
            side = 0
        elif k < end[1]:
            side = 1
            i = k
        else:
            break
        t, key, row = tuples[i, 0], tuples[i, 1], tuples[i, 2]
        own = 2 * c.bucket_of(key, buckets) + side
        other = own ^ 1

        if cur[c.STEP] == c.ARRIVED:
            bound = c.progress_at(asked, side, t)
            if strategy >= PROBE_ALL:
                if not expire_side(cur, asked, s, matched, gone, 1 - side, bound):
                    return c.FULL
            elif not expire(cur, asked, s, matched, gone, other, 1 - side, bound):
                return c.FULL
            cur[c.SCAN] = s.meta[other, ls.LOW]
            cur[c.STEP] = c.SCANNING

        if cur[c.STEP] == c.SCANNING:
            reach, own_reach = asked[c.REACH_TWO - side], asked[c.REACH_ONE + side]
            first = cur[c.SCAN]
            for seq in range(first, s.meta[other, ls.NEXT]):
                ts, stored_key, found, _ = ls.read(s, other, seq)
                if (
                    stored_key == key
                    and t - ts <= reach
                    and ts - t <= own_reach
                    and not match(cur, asked, matched, pairs, side, row, t, found, ts)
                ):
                    cur[c.SCAN] = seq
                    cur[c.COMPARISONS] += seq - first
                    return c.FULL
            cur[c.COMPARISONS] += s.meta[other, ls.NEXT] - first
            cur[c.STEP] = c.STORING

        bound = c.progress_at(asked, 1 - side, t)
        if cur[c.STEP] == c.STORING:
            if t + asked[c.REACH_ONE + side] < bound:
                if asked[c.PRESERVED_ONE + side] and not leave(
                    cur, asked, matched, gone, side, row, t
                ):
                    return c.FULL
            elif not (settles and side == 0 and matched.flags[c.flag_at(asked, matched, 0, row)]):
                if not ls.append(s, own, t, key, row, 0):
                    return c.GROW
                cur[c.INSERTED_ONE + side] += 1
            cur[c.STEP] = c.CLEANING

        if strategy == ALL:
            if not expire_side(cur, asked, s, matched, gone, side, bound):
                return c.FULL
        elif strategy == PROBE_INSERT and not expire(
            cur, asked, s, matched, gone, own, side, bound
        ):
            return c.FULL
        cur[c.STEP] = c.ARRIVED
        at[side] += 1
    for side in range(2):
        swept = asked[c.PRESERVED_ONE + side] or strategy == ALL
        if swept and not expire_side(cur, asked, s, matched, gone, side, asked[c.AFTER_TWO - side]):
            return c.FULL
    return c.DONE
