"""Results that some query still waits for: rows as they were found, a chain of them by arrival.

No later tuple overtakes an earlier one, but they take turns, window by window, so the results of
one arrival are found in stretches. Rows stay where they were put; what they have is a link:

    rows   12 12 12 | 13 | 12 12 | 14 14 | 13 | ...     the arrival of each
           |_______________^                            NEXT of the first row of a stretch
    ends   12: 0, 4    13: 3, 8    14: 6, 6             where its first and last stretch begin

A window is scanned after the smaller ones, so ages only rise along a chain: what may go is at its
beginning, and to let it go costs what goes. A row that all have had is forgotten when rows are
moved together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import inlined, kernel
from windrow.model import END

Numbers = NDArray[np.int64]

#: Columns of a row; what it is of comes after them. LEFT is the window up to which it has left (-1:
#: none), or END if all have had it.
ARRIVAL, AGE, LEFT, NEXT, FIRST = range(5)
#: In what leaves, the window up to which it does is where NEXT was.
UPTO = NEXT
NOTHING = -1

#: What is known of them: rows there are, those that are owed yet, those that had come when this was
#: last asked; the arrival that `ends` begins with, the first that may owe any, the one after the
#: last; how many rows have left into the buffer, and how many were ever looked at or moved.
USED, LIVE, KNOWN, BASE, SINCE, UNTIL, LEAVING, TOUCHED = range(8)
SCALARS = 8


@kernel
def link(rows: Numbers, ends: Numbers, meta: Numbers, start: int) -> None:
    """Put rows from `start` on, those of an arrival beside each other, behind their arrivals'."""
    for i in range(start, meta[USED]):
        at = rows[i, ARRIVAL] - meta[BASE]
        rows[i, NEXT] = NOTHING
        behind = i > 0 and rows[i - 1, ARRIVAL] == rows[i, ARRIVAL]
        if ends[at, 0] == NOTHING:
            ends[at, 0], ends[at, 1] = i, i
        elif not behind:
            rows[ends[at, 1], NEXT] = i
            ends[at, 1] = i
    meta[TOUCHED] += meta[USED] - start


@kernel
def move_down(rows: Numbers, meta: Numbers, into: Numbers) -> None:
    """Put the rows that are owed at the front of `into`, which may be the same array."""
    used, known = 0, meta[KNOWN]
    for i in range(meta[USED]):
        if i == known:
            meta[KNOWN] = used
        if rows[i, LEFT] != END:
            for column in range(rows.shape[1]):
                into[used, column] = rows[i, column]
            used += 1
    if known >= meta[USED]:
        meta[KNOWN] = used
    meta[TOUCHED] += meta[USED]
    meta[USED] = used


@inlined
def let_go(rows: Numbers, meta: Numbers, i: int, upto: int, out: Numbers) -> None:
    """Copy a row to the buffer, column by column, and note how far it has left."""
    n = meta[LEAVING]
    for column in range(rows.shape[1]):
        out[column, n] = rows[i, column]
    out[UPTO, n] = upto
    rows[i, LEFT] = upto
    meta[LEAVING] = n + 1


@kernel
def leave(
    rows: Numbers,
    ends: Numbers,
    meta: Numbers,
    arrivals: Numbers,
    upto: Numbers,
    need: Numbers,
    at: int,
    out: Numbers,
) -> int:
    """Let the results of arrivals, from `at` on, go to windows up to `upto`.

    An arrival that needs no more owes none any more. Returns where the buffer was full, or how many
    arrivals there are; one that is asked for again gives only what is left of it.
    """
    meta[LEAVING] = 0
    full = False
    while at < arrivals.shape[0] and not full:
        place = arrivals[at] - meta[BASE]
        over = upto[at] >= need[at]
        stretch = ends[place, 0]
        while stretch != NOTHING and not full:
            i, going = stretch, True
            stretch = rows[i, NEXT]
            while going:
                meta[TOUCHED] += 1
                left = rows[i, LEFT]
                within = rows[i, AGE] <= upto[at]
                further = within and left < upto[at]
                full = further and meta[LEAVING] == out.shape[1]
                if not full:
                    if further:
                        let_go(rows, meta, i, upto[at], out)
                    if over:
                        meta[LIVE] -= int(left != END)
                        rows[i, LEFT] = END
                    elif not within:
                        # Nor is what follows.
                        stretch = NOTHING
                    i += 1
                going = not full and (within or over) and i < meta[USED]
                going = going and rows[i, ARRIVAL] == arrivals[at]
        if not full:
            if over:
                ends[place, 0] = NOTHING
            at += 1
    return at
