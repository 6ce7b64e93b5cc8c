"""Rows that wait in time order: sorted runs, and a heap of the runs by their first rows.

Paper 4's hold buffer is a min-heap of results. What a batch brings is nearly in order already, so
here the heap is one of runs: a batch is merged into one sorted run (`merge_runs`), and a pop
copies from the run whose next row is the smallest, as far as it stays the smallest. A row then
costs what a run's step in the heap costs, and in the usual case, one run, a plain copy.

A row is some numbers, its time first; rows compare by all of them from left to right, so no two
are equal where one of the numbers is a row id. The heap holds (first row, end) of each run in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import inlined, kernel

Numbers = NDArray[np.int64]

#: What is known of a set of runs: how many there are, where the next one goes, rows that wait,
#: and the most that ever did.
COUNT, USED, LIVE, PEAK = range(4)
SCALARS = 4
#: How far back in a run a row is put rather than beginning another.
NEAR = 8


@inlined
def precedes(one: Numbers, i: int, two: Numbers, j: int) -> bool:
    """Does row i of one come before row j of the other? Times mostly settle it."""
    mine, its = one[i, 0], two[j, 0]
    if mine == its:
        column = 1
        while column < one.shape[1] - 1 and one[i, column] == two[j, column]:
            column += 1
        mine, its = one[i, column], two[j, column]
    result: bool = mine < its
    return result


@inlined
def copy_row(source: Numbers, i: int, target: Numbers, j: int) -> None:
    """One row."""
    for column in range(source.shape[1]):
        target[j, column] = source[i, column]


# -- sorting -----------------------------------------------------------------------------------


@inlined
def swap_rows(rows: Numbers, i: int, j: int) -> None:
    """Swap two rows."""
    for column in range(rows.shape[1]):
        kept = rows[i, column]
        rows[i, column] = rows[j, column]
        rows[j, column] = kept


@kernel
def find_runs(rows: Numbers, bounds: Numbers) -> int:
    """Where ascending stretches begin, and the end after the last; returns how many there are.

    A row that belongs a few places back among those of its time is put there, and ends no stretch:
    the matches of one tuple have one time, and come newest partner first.
    """
    count = 0
    bounds[0] = 0
    for i in range(1, rows.shape[0]):
        at = i
        if rows[i, 0] == rows[i - 1, 0]:
            while at > bounds[count] and i - at < NEAR and precedes(rows, at, rows, at - 1):
                swap_rows(rows, at, at - 1)
                at -= 1
        # If it is not near enough, what was passed on the way comes after it, and is in order.
        if at > bounds[count] and precedes(rows, at, rows, at - 1):
            count += 1
            bounds[count] = at
    bounds[count + 1] = rows.shape[0]
    return count + 1


@kernel
def merge_runs(source: Numbers, target: Numbers, bounds: Numbers, count: int) -> int:
    """Merge each run with its neighbour, from one array to the other; returns how many are left."""
    left = 0
    for run in range(0, count, 2):
        a, a_end = bounds[run], bounds[run + 1]
        b = a_end
        b_end = bounds[run + 2] if run + 1 < count else a_end
        w = a
        while a < a_end and b < b_end:
            # Arithmetic in place of a branch: which one is next cannot be foreseen.
            second = int(precedes(source, b, source, a))
            copy_row(source, a + second * (b - a), target, w)
            a += 1 - second
            b += second
            w += 1
        while a < a_end:
            copy_row(source, a, target, w)
            a += 1
            w += 1
        while b < b_end:
            copy_row(source, b, target, w)
            b += 1
            w += 1
        bounds[left] = bounds[run]
        left += 1
    bounds[left] = source.shape[0]
    return left


# -- the heap ----------------------------------------------------------------------------------


@inlined
def sink(rows: Numbers, heap: Numbers, count: int, at: int) -> None:
    """Let a run down to where its first row belongs."""
    moving = True
    while moving:
        child = 2 * at + 1
        if child + 1 < count and precedes(rows, heap[child + 1, 0], rows, heap[child, 0]):
            child += 1
        moving = child < count and precedes(rows, heap[child, 0], rows, heap[at, 0])
        if moving:
            swap_rows(heap, at, child)
            at = child


@kernel
def push_run(rows: Numbers, heap: Numbers, meta: Numbers, start: int, end: int) -> None:
    """Put rows [start, end), sorted, into the heap. There must be room for one more run."""
    at = meta[COUNT]
    meta[COUNT] += 1
    heap[at, 0], heap[at, 1] = start, end
    while at > 0 and precedes(rows, heap[at, 0], rows, heap[(at - 1) // 2, 0]):
        above = (at - 1) // 2
        swap_rows(heap, at, above)
        at = above


@kernel
def count_before(rows: Numbers, heap: Numbers, meta: Numbers, bound: int) -> int:
    """How many rows have a time before `bound`."""
    total = 0
    if meta[COUNT] and rows[heap[0, 0], 0] < bound:
        for run in range(meta[COUNT]):
            low, high = heap[run, 0], heap[run, 1]
            while low < high:
                middle = (low + high) // 2
                if rows[middle, 0] < bound:
                    low = middle + 1
                else:
                    high = middle
            total += low - heap[run, 0]
    return total


@kernel
def pop_before(rows: Numbers, heap: Numbers, meta: Numbers, bound: int, out: Numbers) -> None:
    """Move the rows with a time before `bound` to `out`, in order; it has room for them."""
    count = meta[COUNT]
    k = 0
    while count > 0 and rows[heap[0, 0], 0] < bound:
        at, end = heap[0, 0], heap[0, 1]
        next_run = 1
        if count > 2 and precedes(rows, heap[2, 0], rows, heap[1, 0]):
            next_run = 2
        alone = count == 1
        other = at if alone else heap[next_run, 0]
        going = True
        while going:
            copy_row(rows, at, out, k)
            k += 1
            at += 1
            going = at < end and rows[at, 0] < bound and (alone or precedes(rows, at, rows, other))
        if at < end:
            heap[0, 0] = at
        else:
            count -= 1
            heap[0, 0], heap[0, 1] = heap[count, 0], heap[count, 1]
        sink(rows, heap, count, 0)
    meta[COUNT] = count
    meta[LIVE] -= k


@kernel
def move_down(rows: Numbers, heap: Numbers, order: Numbers, into: Numbers) -> int:
    """Put the runs one after the other at the front of `into`, which may be the same array.

    `order`: the runs by where they are. Returns where the last one ends.
    """
    w = 0
    for place in range(order.shape[0]):
        run = order[place]
        start, end = heap[run, 0], heap[run, 1]
        heap[run, 0] = w
        for i in range(start, end):
            copy_row(rows, i, into, w)
            w += 1
        heap[run, 1] = w
    return w
