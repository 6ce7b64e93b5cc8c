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

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import cursor as c
from windrow.kernels import ends as e
from windrow.kernels import inodes as i_
from windrow.kernels import lists as ls
from windrow.kernels import purge
from windrow.kernels.jit import kernel
from windrow.kernels.steps import leave, match
from windrow.kernels.time_list import NEVER, look_ahead

#: Steps of a punctuated join beside those of `cursor`: a list of tuples, or of I-Nodes, is being
#: compacted.
COMPACTING, COMPACTING_FLAGS = 4, 5


@kernel
def join_punctuated(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    batch: c.Batch,
    punctuations: e.Punctuations,
    s: ls.ListArrays,
    n: ls.ListArrays,
    buffers: c.Buffers,
    out: e.Ends,
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
                if not purge.compact(s, cur[c.COMPACTED], cur[c.COMPACTED_TO]):
                    return c.GROW
                cur[c.STEP] = c.ARRIVED
            elif cur[c.STEP] == COMPACTING_FLAGS:
                if not purge.compact(n, cur[c.COMPACTED], cur[c.COMPACTED_TO]):
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
                    status = purge.act(
                        cur, asked, s, n, matched, gone, out, one + by, two - by,
                        events[said, 0], events[said, 1], events[said, 2], by,
                    )  # fmt: skip
                    if status != c.DONE:
                        return status
                    cur[c.ACTED_ONE + by] += 1
                    punctuations.at[part] = said + 1
                    for lst in range(one, one + 2):
                        # One list at a time: what is left for later is found by then.
                        if purge.too_empty(s, lst):
                            cur[c.COMPACTED], cur[c.COMPACTED_TO] = lst, s.meta[lst, ls.NEXT]
                            cur[c.STEP] = COMPACTING
                        elif purge.too_empty(n, lst):
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
                if purge.due(cur, s, other, bound - asked[c.REACH_TWO - side]) and not purge.expire(
                    cur, asked, s, n, matched, gone, out, other, 1 - side, bound
                ):
                    return c.FULL
                bound = c.progress_at(asked, 1 - side, t)
                if purge.due(cur, s, own, bound - asked[c.REACH_ONE + side]) and not purge.expire(
                    cur, asked, s, n, matched, gone, out, own, side, bound
                ):
                    return c.FULL
                if not e.has_room(cur, out):
                    return c.FULL
                mine = i_.find(n, own, key, t, span, i_.FOREVER)
                if mine >= 0:
                    _, _, value, _ = ls.read(n, own, mine)
                    e.touch(cur, asked, out, side, row, side, value >> i_.FLAG_BITS, e.VIOLATED)
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
                        e.touch(
                            cur, asked, out, side, row, 1 - side, value >> i_.FLAG_BITS, e.REMOVED
                        )
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
                last = NEVER
                if cur[c.MET_NODE] >= 0:
                    # Its life ends there: what is stored after that is of the key's next one.
                    ended, _, _, _ = ls.read(n, other, cur[c.MET_NODE])
                    last = ended + span
                seq = cur[c.SCAN]
                compared = 0
                while seq >= low:
                    compared += 1
                    ts, stored_key, found, link = ls.read(s, other, seq)
                    if stored_key == key and found != i_.EMPTY:
                        if t - ts > reach:
                            if ordered:
                                break
                        elif (
                            ts - t <= own_reach
                            and ts <= last
                            and not match(
                                cur, asked, matched, pairs, side, row, t, found & ~i_.RING, ts
                            )
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
                if not e.has_room(cur, out):
                    return c.FULL
                if asked[c.PRESERVED_ONE + side] and not leave(
                    cur, asked, matched, gone, side, row, t
                ):
                    return c.FULL
                if its >= 0:
                    _, _, value, _ = ls.read(n, other, its)
                    e.touch(cur, asked, out, side, row, 1 - side, value >> i_.FLAG_BITS, e.REMOVED)
                    cur[c.DISCARDED_ONE + side] += 1
            elif settles and side == 0 and matched.flags[c.flag_at(asked, matched, 0, row)]:
                if not e.has_room(cur, out):
                    return c.FULL
                e.touch(cur, asked, out, side, row, side, row, e.REMOVED)
            else:
                if not ls.append(s, own, t, key, row, 0):
                    return c.GROW
                cur[c.INSERTED_ONE + side] += 1
            cur[c.STEP] = c.ARRIVED
            at[own] += 1
        for side in range(2):
            if not purge.expire(
                cur, asked, s, n, matched, gone, out, one + side, side, asked[c.AFTER_TWO - side]
            ):
                return c.FULL
        for side in range(2):
            if not purge.expire_flags(cur, asked, s, n, matched, gone, out, one + side, side):
                return c.FULL
    cur[c.PART] = at.shape[0] // 2
    return c.DONE
