"""The window join on time lists: invalidate, probe, insert, one tuple at a time.

Paper 1, Figure 3, with paper 3's time list as the state. The state is split into cells by key,
so that a cell fits the cache; a batch is split likewise, and each cell runs its part from start
to end. Inside a part both sides' arrivals are merged in time order; a tuple at time t

    1. invalidates the other list against its own side's progress at t, and its own list
       against the other's (expiry follows the *others'* progress: a side ahead loses nothing),
    2. walks its key's chain in the other list and emits the pairs within both reaches,
    3. is appended to its own list, unless it is past its own reach already.

At the end of a part the new progress frees what is left to free.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import cursor as c
from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined, kernel, prefetch
from windrow.kernels.steps import expire, leave, match

#: How many tuples ahead heads and records are fetched. Without it a state larger than the cache
#: costs a wait for memory at each touch; `benchmarks/state_growth.py` shows what is left of it.
FAR, NEAR = 16, 8
#: Later than any time.
NEVER = 2**63 - 1


@inlined
def look_ahead(
    tuples: NDArray[np.int64],
    at: int,
    end: int,
    s: ls.ListArrays,
    own: int,
    other: int,
) -> None:
    """Fetch what coming tuples of this side will touch: heads first, then the newest s.records."""
    if at + FAR < end:
        key = tuples[at + FAR, 1]
        prefetch(s.heads, s.meta[other, ls.HEADS_AT] + (key & (s.meta[other, ls.HEADS] - 1)))
        prefetch(s.heads, s.meta[own, ls.HEADS_AT] + (key & (s.meta[own, ls.HEADS] - 1)))
    if at + NEAR < end:
        key = tuples[at + NEAR, 1]
        seq = s.heads[s.meta[other, ls.HEADS_AT] + (key & (s.meta[other, ls.HEADS] - 1))]
        if seq >= s.meta[other, ls.LOW]:
            prefetch(s.records, ls.place(s, other, seq))


@kernel
def join_time_lists(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    batch: c.Batch,
    s: ls.ListArrays,
    out: c.Buffers,
) -> int:
    """Run the batch from where the cursor stands. List 2p + s is side s of cell p."""
    tuples, at, end, matched = batch
    pairs, gone = out
    # Semi and anti joins are settled by a tuple's first match: it needs no place afterwards.
    settles = asked[c.MARK] != 0 and asked[c.EMIT] != c.EMIT_PAIRS
    for part in range(cur[c.PART], at.shape[0] // 2):
        cur[c.PART] = part
        one, two = 2 * part, 2 * part + 1
        while True:
            i, k = at[one], at[two]
            # Which side is next is a coin toss, so it is computed and not branched on.
            t_one = tuples[i, 0] if i < end[one] else NEVER
            t_two = tuples[k, 0] if k < end[two] else NEVER
            side = int(t_two < t_one)
            t = min(t_one, t_two)
            if t == NEVER:
                break
            i += side * (k - i)
            own, other = one + side, two - side
            key, row = tuples[i, 1], tuples[i, 2]

            if cur[c.STEP] == c.ARRIVED:
                look_ahead(tuples, i, end[own], s, own, other)
                if not expire(
                    cur, asked, s, matched, gone, other, 1 - side, c.progress_at(asked, side, t)
                ):
                    return c.FULL
                if not expire(
                    cur, asked, s, matched, gone, own, side, c.progress_at(asked, 1 - side, t)
                ):
                    return c.FULL
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
                    if stored_key == key:
                        if t - ts > reach:
                            if ordered:
                                break
                        elif ts - t <= own_reach and not match(
                            cur, asked, matched, pairs, side, row, t, found, ts
                        ):
                            cur[c.SCAN] = seq
                            cur[c.COMPARISONS] += compared - 1
                            return c.FULL
                    seq = link
                cur[c.COMPARISONS] += compared
                cur[c.STEP] = c.STORING

            if t + asked[c.REACH_ONE + side] < c.progress_at(asked, 1 - side, t):
                if asked[c.PRESERVED_ONE + side] and not leave(
                    cur, asked, matched, gone, side, row, t
                ):
                    return c.FULL
            elif not (settles and side == 0 and matched.flags[c.flag_at(asked, matched, 0, row)]):
                if not ls.append(s, own, t, key, row, 0):
                    return c.GROW
                cur[c.INSERTED_ONE + side] += 1
            cur[c.STEP] = c.ARRIVED
            at[own] += 1
        for side in range(2):
            if not expire(
                cur, asked, s, matched, gone, one + side, side, asked[c.AFTER_TWO - side]
            ):
                return c.FULL
    cur[c.PART] = at.shape[0] // 2
    return c.DONE
