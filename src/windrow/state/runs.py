"""Rows that wait until their time has come: Python's side of the heap of runs.

Input that waits for the slowest stream (Sync-Filter) and results that wait for the trigger
(Filter-Order) are the same thing here: pushed batch by batch, popped in order up to a time. A
batch costs what it pushes and pops, and a look at each earlier batch that has rows left, not at
the rows that wait.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import runs as kernel
from windrow.state.room import HEAP, Room

Numbers = NDArray[np.int64]

LEAST_ROWS = 64
LEAST_RUNS = 8
#: Fewer rows of room than this are kept.
LEAST_SHRUNK = 1 << 14


class Runs:
    """Rows of `width` numbers, the first of them the time.

    >>> waiting = Runs(2)
    >>> waiting.push(np.array([[7, 0], [5, 1]]))
    >>> waiting.push(np.array([[6, 2], [7, 3]]))
    >>> waiting.pop_before(7).tolist(), len(waiting)
    ([[5, 1], [6, 2]], 2)
    """

    def __init__(self, width: int, room: Room = HEAP) -> None:
        self.room = room
        self.rows = room.empty((LEAST_ROWS, width))
        self.heap = room.empty((LEAST_RUNS, 2))
        self.meta = room.empty((kernel.SCALARS,))
        self.meta[:] = 0

    def __len__(self) -> int:
        return int(self.meta[kernel.LIVE])

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return int(self.rows.shape[1])

    @property
    def nbytes(self) -> int:
        """The bytes of the rows that wait."""
        return len(self) * self.width * self.rows.itemsize

    @property
    def peak(self) -> int:
        """The most rows that ever waited."""
        return int(self.meta[kernel.PEAK])

    def push(self, rows: Numbers) -> None:
        """Take rows in, in any order; the array is used up."""
        self.push_sorted(in_order(rows))

    def push_sorted(self, rows: Numbers) -> None:
        """Take rows in that are in order."""
        if not len(rows):
            return
        self._make_room(len(rows))
        meta = self.meta
        start = int(meta[kernel.USED])
        end = start + len(rows)
        self.rows[start:end] = rows
        kernel.push_run(self.rows, self.heap, meta, start, end)
        meta[kernel.USED] = end
        meta[kernel.LIVE] += len(rows)
        self.note(len(self))

    def forget_peak(self) -> None:
        """Let the high-water mark begin anew."""
        self.meta[kernel.PEAK] = len(self)

    def note(self, rows: int) -> None:
        """So many rows waited, if only for a moment."""
        self.meta[kernel.PEAK] = max(self.peak, rows)

    def due(self, bound: int) -> bool:
        """Does any row have a time before `bound`?"""
        return bool(self.meta[kernel.COUNT] and self.rows[self.heap[0, 0], 0] < bound)

    def pop_before(self, bound: int) -> Numbers:
        """Take out all rows with a time before `bound`, in order."""
        count = kernel.count_before(self.rows, self.heap, self.meta, bound)
        out = np.empty((count, self.width), np.int64)
        if count:
            kernel.pop_before(self.rows, self.heap, self.meta, bound, out)
        if not self.meta[kernel.COUNT]:
            self.meta[kernel.USED] = 0
        if len(self.rows) > LEAST_SHRUNK and 8 * len(self) < len(self.rows):
            self._move(self.room.empty((max(2 * len(self), LEAST_ROWS), self.width)))
        return out

    def all(self) -> Numbers:
        """The rows that wait, run by run."""
        spans = self.heap[: self.meta[kernel.COUNT]]
        parts = [self.rows[start:end] for start, end in spans[np.argsort(spans[:, 0])]]
        return np.concatenate([np.empty((0, self.width), np.int64), *parts])

    def _make_room(self, count: int) -> None:
        """Room for so many rows, in one more run."""
        meta = self.meta
        runs = int(meta[kernel.COUNT])
        if runs == len(self.heap):
            larger = self.room.empty((2 * runs, 2))
            larger[:runs] = self.heap
            self.heap = larger
        if meta[kernel.USED] + count <= len(self.rows):
            return
        # Each row is moved once for every row that has left, or every doubling.
        into = self.rows
        if 2 * (len(self) + count) > len(into):
            into = self.room.empty((4 * (len(self) + count), self.width))
        self._move(into)

    def _move(self, into: Numbers) -> None:
        """Put the runs one after the other at the front of that array."""
        order = np.argsort(self.heap[: self.meta[kernel.COUNT], 0])
        self.meta[kernel.USED] = kernel.move_down(self.rows, self.heap, order, into)
        self.rows = into

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self, name: str) -> dict[str, NDArray[Any]]:
        """Every array, under names that begin with this one."""
        return {f"{name}_rows": self.rows, f"{name}_heap": self.heap, f"{name}_meta": self.meta}

    @classmethod
    def attach(cls, arrays: dict[str, NDArray[Any]], name: str, room: Room) -> Runs:
        """Go on with the arrays of `handover`, in place."""
        runs = cls.__new__(cls)
        runs.room = room
        runs.rows, runs.heap = arrays[f"{name}_rows"], arrays[f"{name}_heap"]
        runs.meta = arrays[f"{name}_meta"]
        return runs


def in_order(rows: Numbers) -> Numbers:
    """The rows sorted, by all their numbers from left to right; the array itself is used up.

    A merge sort that begins with the ascending stretches there are. What comes in is mostly a few
    long ones, one for each cell of a join.
    """
    if len(rows) < 2:
        return rows
    bounds = np.empty(len(rows) + 2, np.int64)
    count = kernel.find_runs(rows, bounds)
    target = np.empty_like(rows) if count > 1 else rows
    while count > 1:
        count = kernel.merge_runs(rows, target, bounds, count)
        rows, target = target, rows
    return rows
