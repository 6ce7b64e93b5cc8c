"""What a punctuated join tells beside its results: keys that ended, and what flags have done.

Each step of a kernel first makes sure that there is room for all that it can tell, so that it
never has to stop half way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import cursor as c
from windrow.kernels.jit import inlined

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
