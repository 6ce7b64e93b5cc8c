"""Results that some query still waits for: Python's side of the chains by arrival.

A batch costs what it finds and what it lets go, not what is owed: rows are put behind those that
are there, and only the chains of arrivals that are asked for are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import owed as kernel
from windrow.kernels.owed import AGE, ARRIVAL, FIRST, LEFT, UPTO
from windrow.model import END
from windrow.state.room import HEAP, Room

__all__ = ["AGE", "ARRIVAL", "FIRST", "LEFT", "UPTO", "Owed"]

Numbers = NDArray[np.int64]

LEAST_ROWS = 64
#: Fewer rows of room than this are kept.
LEAST_SHRUNK = 1 << 14
#: Rows that leave at a time.
BUFFER_ROWS = 1 << 17


class Owed:
    """Rows of `width` numbers: arrival, age, two of its own, and what the row is of.

    >>> owed = Owed(5)
    >>> owed.push(np.array([[12, 1, -1, -1, 100], [12, 3, -1, -1, 101], [13, 0, -1, -1, 102]]), 12)
    >>> (leaving,) = owed.leaving(np.array([12]), np.array([2]), np.array([9]))
    >>> leaving[FIRST].tolist(), len(owed)
    ([100], 3)
    >>> (leaving,) = owed.leaving(np.array([12]), np.array([9]), np.array([9]))
    >>> leaving[FIRST].tolist(), leaving[LEFT].tolist(), len(owed)
    ([100, 101], [2, -1], 1)
    """

    def __init__(self, width: int, room: Room = HEAP) -> None:
        self.room = room
        self.rows = room.empty((LEAST_ROWS, width))
        self.ends = room.empty((LEAST_ROWS, 2))
        self.meta = room.empty((kernel.SCALARS,))
        self.meta[:] = 0
        self._begin_buffer()

    def _begin_buffer(self) -> None:
        self._leaving = np.empty((self.rows.shape[1], BUFFER_ROWS), np.int64)

    def __len__(self) -> int:
        return int(self.meta[kernel.LIVE])

    @property
    def nbytes(self) -> int:
        """The bytes of the rows that are owed."""
        return len(self) * int(self.rows.shape[1]) * self.rows.itemsize

    @property
    def touched(self) -> int:
        """Rows looked at or moved so far."""
        return int(self.meta[kernel.TOUCHED])

    # -- in and out ------------------------------------------------------------------------

    def push(self, rows: Numbers, since: int) -> None:
        """Take rows in, by arrival and then age; none comes any more of arrivals before `since`.

        Of each arrival they are older than what is there of it.
        """
        if not len(rows):
            return
        meta = self.meta
        if not len(self):
            meta[[kernel.USED, kernel.KNOWN]] = 0
            meta[[kernel.BASE, kernel.SINCE, kernel.UNTIL]] = min(since, int(rows[0, ARRIVAL]))
        self._make_room(len(rows))
        self._cover(int(rows[-1, ARRIVAL]) + 1)
        start = int(meta[kernel.USED])
        self.rows[start : start + len(rows)] = rows
        meta[kernel.USED] += len(rows)
        meta[kernel.LIVE] += len(rows)
        kernel.link(self.rows, self.ends, meta, start)

    def before(self, arrival: int) -> Numbers:
        """The arrivals before that one of which rows are owed."""
        base, since, until = self.meta[[kernel.BASE, kernel.SINCE, kernel.UNTIL]]
        owing = self.ends[since - base : max(min(arrival, until), since) - base, 0] >= 0
        found: Numbers = since + np.flatnonzero(owing)
        return found

    def leaving(self, arrivals: Numbers, upto: Numbers, need: Numbers) -> Iterator[Numbers]:
        """Let what is owed of arrivals, which ascend, go to windows up to `upto`.

        Those that `need` no more owe nothing any more. What goes comes column by column, with the
        windows up to which it had left, and does now.
        """
        meta = self.meta
        there = (arrivals >= meta[kernel.SINCE]) & (arrivals < meta[kernel.UNTIL])
        arrivals, upto, need = arrivals[there], upto[there], need[there]
        at = 0
        while at < len(arrivals):
            at = kernel.leave(self.rows, self.ends, meta, arrivals, upto, need, at, self._leaving)
            if meta[kernel.LEAVING]:
                yield self._leaving[:, : meta[kernel.LEAVING]].copy()

    def tidy(self, since: int) -> None:
        """Nothing is owed of the arrivals before `since` any more: give back what that frees."""
        meta = self.meta
        meta[kernel.SINCE] = min(max(since, int(meta[kernel.SINCE])), int(meta[kernel.UNTIL]))
        if 8 * len(self) < len(self.rows) > LEAST_SHRUNK:
            self._move(self.room.empty((max(2 * len(self), LEAST_ROWS), self.rows.shape[1])))
        elif self._wide():
            self._move(self.rows)

    def _wide(self) -> bool:
        """Is there room for far more arrivals than there are?"""
        span = int(self.meta[kernel.UNTIL] - self.meta[kernel.SINCE])
        return 8 * span < len(self.ends) > LEAST_SHRUNK

    def all(self) -> Numbers:
        """The rows that are owed, in the order they came."""
        return self._those_from(0)

    def take_added(self) -> Numbers:
        """The rows that have come since this was last asked, and are owed yet."""
        found = self._those_from(int(self.meta[kernel.KNOWN]))
        self.meta[kernel.KNOWN] = self.meta[kernel.USED]
        return found

    def _those_from(self, start: int) -> Numbers:
        rows = self.rows[start : self.meta[kernel.USED]]
        found: Numbers = rows[rows[:, LEFT] < END]
        return found

    # -- room ------------------------------------------------------------------------------

    def _make_room(self, count: int) -> None:
        """Room for so many rows more."""
        if self.meta[kernel.USED] + count <= len(self.rows):
            return
        # Each row is moved once for every row that has left, or every doubling.
        into = self.rows
        if 2 * (len(self) + count) > len(into):
            into = self.room.empty((4 * (len(self) + count), into.shape[1]))
        self._move(into)

    def _move(self, into: Numbers) -> None:
        """Put the rows that are owed at the front of that array, and link them anew."""
        meta = self.meta
        kernel.move_down(self.rows, meta, into)
        self.rows = into
        base, since, until = meta[[kernel.BASE, kernel.SINCE, kernel.UNTIL]]
        if self._wide():
            self.ends = self.room.empty((max(2 * int(until - since), LEAST_ROWS), 2))
            meta[kernel.BASE] = base = since
        self.ends[: until - base] = kernel.NOTHING
        kernel.link(self.rows, self.ends, meta, 0)

    def _cover(self, until: int) -> None:
        """Let arrivals up to that one have ends."""
        meta = self.meta
        if until <= meta[kernel.UNTIL]:
            return
        base, since, known = meta[[kernel.BASE, kernel.SINCE, kernel.UNTIL]]
        if until - base > len(self.ends):
            into = self.ends
            if 2 * (until - since) > len(into):
                into = self.room.empty((4 * int(until - since), 2))
            into[: known - since] = self.ends[since - base : known - base].copy()
            self.ends, base = into, since
        self.ends[known - base : until - base] = kernel.NOTHING
        meta[kernel.BASE], meta[kernel.UNTIL] = base, until

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self, name: str) -> dict[str, NDArray[Any]]:
        """Every array, under names that begin with this one."""
        return {f"{name}_rows": self.rows, f"{name}_ends": self.ends, f"{name}_meta": self.meta}

    @classmethod
    def attach(cls, arrays: dict[str, NDArray[Any]], name: str, room: Room) -> Owed:
        """Go on with the arrays of `handover`, in place."""
        owed = cls.__new__(cls)
        owed.room = room
        owed.rows, owed.ends = arrays[f"{name}_rows"], arrays[f"{name}_ends"]
        owed.meta = arrays[f"{name}_meta"]
        owed._begin_buffer()
        return owed
