"""What a join kernel is told, and where it stands: arrays that outlive one call.

A kernel runs until its input is used up, an output buffer is full or a state must grow, and
says so by its return value. Called again with the same arrays, it goes on where it stopped,
in the middle of a scan if need be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import inlined, kernel

#: Return values. FULL: empty the buffers and call again. GROW: give the state room first.
DONE, FULL, GROW = range(3)

#: Where the kernel stands: the part of the batch, the step within a tuple, the scan pointer.
PART, STEP, SCAN = range(3)
#: How full the buffers are, and the work counted so far.
PAIRS, GONE, COMPARISONS, CHECKS, INSERTED_ONE, INSERTED_TWO, DROPPED_ONE, DROPPED_TWO = range(
    3, 11
)
#: The count join's group of equal times: how far it is appended, and where it ends, by side.
GROUP_AT, GROUP_AT_TWO, GROUP_END_ONE, GROUP_END_TWO = range(11, 15)
#: With punctuations: how full their buffers are, which list is being compacted and up to where,
#: and the I-Node of the other side that an arriving tuple has met.
ENDS, TOUCHED, COMPACTED, COMPACTED_TO, MET_NODE = 15, 16, 17, 18, 31
#: And the work counted: tuples purged, discarded on the fly, skipped unprocessed, violating, by
#: side; punctuations that acted, by side; keys that ended, and those of them that ended early.
PURGED_ONE, PURGED_TWO, DISCARDED_ONE, DISCARDED_TWO, SKIPPED_ONE, SKIPPED_TWO = range(19, 25)
VIOLATIONS_ONE, VIOLATIONS_TWO, ACTED_ONE, ACTED_TWO, ENDED, EARLY = range(25, 31)
CURSOR_SCALARS = 32
#: Those that only count.
COUNTED = slice(PURGED_ONE, EARLY + 1)

#: Steps within one tuple; a resumed kernel skips those that are done.
ARRIVED, SCANNING, STORING, CLEANING = range(4)

#: What the kernel is asked: how far tuples of each side reach, progress before and after the
#: batch, which unmatched rows are wanted, what to emit and mark, and what to add to a row id
#: to find its matched flag; `flag_at` has it for rows from the base on.
REACH_ONE, REACH_TWO, BEFORE_ONE, BEFORE_TWO, AFTER_ONE, AFTER_TWO = range(6)
PRESERVED_ONE, PRESERVED_TWO, EMIT, MARK, FLAGS_ONE, FLAGS_TWO = range(6, 12)
#: Paper 1's invalidation strategy; the count join's window kinds and sizes.
STRATEGY, KIND_ONE, KIND_TWO, COUNT_ONE, COUNT_TWO = range(12, 17)
#: With punctuations: how long a flag lives after its time, whose punctuations propagate early,
#: whether to tell what each flag touched, and a time that no tuple so far is after.
SPAN, EARLY_ONE_SIDE, EARLY_TWO_SIDE, TELL, SEEN = range(17, 22)
#: The first row id of each side whose matched flag is in a stretch; older ones are pinned.
BASE_ONE, BASE_TWO = range(22, 24)
ASKED_SCALARS = 24

#: EMIT: every candidate pair, only the first match of each tuple of the first stream, or none.
EMIT_PAIRS, EMIT_FIRST, EMIT_NOTHING = range(3)


class Matched(NamedTuple):
    """Matched flags: first those of the pinned rows, then a stretch of row ids for each side.

    `pinned` has 2 * row id + side of each pinned row, ascending.

        flags    [ 3 7 | 40 41 42 .. | 90 91 .. ]      pinned   [2 * 3 + 1, 2 * 7 + 0]
    """

    flags: NDArray[np.uint8]
    pinned: NDArray[np.int64]


class Batch(NamedTuple):
    """A batch as the kernel takes it: parts, each with one slice per side, in time order.

    `tuples` holds (time, key, row id); part p has side s in tuples[at[2p + s] : end[2p + s]].
    """

    tuples: NDArray[np.int64]
    at: NDArray[np.int64]
    end: NDArray[np.int64]
    matched: Matched


class Buffers(NamedTuple):
    """Where results go: pairs (row, row, time, time) and rows that left (row, time, side)."""

    pairs: NDArray[np.int64]
    gone: NDArray[np.int64]


@inlined
def bucket_of(key: int, buckets: int) -> int:
    """Spread keys over any number of buckets by their upper half: a product, not a modulo."""
    return (((key >> 32) & 0xFFFFFFFF) * buckets) >> 32


@inlined
def progress_at(asked: NDArray[np.int64], side: int, t: int) -> int:
    """A side's progress while the batch is at time t: never ahead of either."""
    return max(asked[BEFORE_ONE + side], min(t, asked[AFTER_ONE + side]))


@kernel
def pinned_at(pinned: NDArray[np.int64], code: int) -> int:
    """The place of a pinned row: a binary search, which a few old rows pay for."""
    low, high = 0, pinned.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if pinned[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def flag_at(asked: NDArray[np.int64], matched: Matched, side: int, row: int) -> int:
    """Where the matched flag of a row is."""
    at = row + asked[FLAGS_ONE + side]
    if row < asked[BASE_ONE + side]:
        at = pinned_at(matched.pinned, 2 * row + side)
    return at


@kernel
def count_parts(keys: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """How many keys fall into each part."""
    for i in range(keys.shape[0]):
        counts[bucket_of(keys[i], counts.shape[0])] += 1


@kernel
def scatter_parts(
    ts: NDArray[np.int64],
    keys: NDArray[np.int64],
    rows: NDArray[np.int64],
    places: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Write (time, key, row id) to its part's next place, keeping the order."""
    for i in range(keys.shape[0]):
        part = bucket_of(keys[i], places.shape[0])
        place = places[part]
        places[part] = place + 1
        out[place, 0] = ts[i]
        out[place, 1] = keys[i]
        out[place, 2] = rows[i]
