"""The steps that every join kernel is made of: expire, leave, match.

Each returns False when its output buffer is full, with nothing done for that record, so that
the kernel can stop and take the same step again later.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import cursor as c
from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined


@inlined
def expire(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    s: ls.ListArrays,
    matched: c.Matched,
    gone: NDArray[np.int64],
    lst: int,
    side: int,
    bound: int,
) -> bool:
    """Drop from a list what `bound` has passed; preserved rows go to `gone`. False: it is full."""
    reach = asked[c.REACH_ONE + side]
    preserved = asked[c.PRESERVED_ONE + side]
    while s.meta[lst, ls.LOW] < s.meta[lst, ls.NEXT]:
        ts, _, row, _ = ls.read(s, lst, s.meta[lst, ls.LOW])
        if ts + reach >= bound:
            cur[c.CHECKS] += 1
            return True
        if preserved and not leave(cur, asked, matched, gone, side, row, ts):
            return False
        ls.drop_oldest(s, lst)
        cur[c.CHECKS] += 1
        cur[c.DROPPED_ONE + side] += 1
    return True


@inlined
def leave(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    matched: c.Matched,
    gone: NDArray[np.int64],
    side: int,
    row: int,
    ts: int,
) -> bool:
    """Report a row that nothing can match any more, unless something did. False: no room."""
    if matched.flags[c.flag_at(asked, matched, side, row)]:
        return True
    n = cur[c.GONE]
    if n == gone.shape[1]:
        return False
    gone[0, n], gone[1, n], gone[2, n] = row, ts, side
    cur[c.GONE] = n + 1
    return True


@inlined
def match(
    cur: NDArray[np.int64],
    asked: NDArray[np.int64],
    matched: c.Matched,
    pairs: NDArray[np.int64],
    side: int,
    row: int,
    t: int,
    found: int,
    ts: int,
) -> bool:
    """Report that `row` of `side`, arriving, meets the stored row `found`. False: no room."""
    emit, marks = asked[c.EMIT], asked[c.MARK]
    own = its = 0
    if marks:
        own = c.flag_at(asked, matched, side, row)
        its = c.flag_at(asked, matched, 1 - side, found)
    if emit == c.EMIT_PAIRS or (
        emit == c.EMIT_FIRST and not matched.flags[own if side == 0 else its]
    ):
        n = cur[c.PAIRS]
        if n == pairs.shape[1]:
            return False
        pairs[side, n], pairs[1 - side, n] = row, found
        pairs[2 + side, n], pairs[3 - side, n] = t, ts
        cur[c.PAIRS] = n + 1
    if marks:
        # The other bits are the operator's.
        matched.flags[own] |= 1
        matched.flags[its] |= 1
    return True
