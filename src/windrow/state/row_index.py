"""An index of numbered rows by key and time: rows of a key are taken out up to a time.

row   7  8  9 10            take a up to 12:05: rows 7 and 9; what is emptied goes
key   a  b  a  a            once it is the oldest
time  12:01 12:02 12:04 12:09
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import contents
from windrow.kernels import lists as ls
from windrow.state.lists import Lists
from windrow.state.room import HEAP, Room

Numbers = NDArray[np.int64]


class RowIndex:
    """A chained list of (time, key, row)."""

    def __init__(self, room: Room = HEAP, expected: int = 0) -> None:
        self.lists = Lists(1, bits=6, chained=1, expected=expected, room=room)

    def __len__(self) -> int:
        return int(self.lists.live()[0] - self.lists.meta[0, ls.DEAD])

    @property
    def room(self) -> Room:
        """Where its arrays are made."""
        return self.lists.room

    def append(self, ts: Numbers, keys: Numbers, rows: Numbers) -> None:
        """Add rows, whose numbers only grow."""
        records = np.zeros((len(rows), ls.COLUMNS), np.int64)
        records[:, ls.TS], records[:, ls.KEY], records[:, ls.ROW] = ts, keys, rows
        self.lists.append(0, records)

    def take_up_to(self, keys: Numbers, until: Numbers) -> tuple[Numbers, Numbers]:
        """Take each key's rows that are not later than its time; places of the keys, and rows."""
        owners, rows = np.empty(len(self), np.int64), np.empty(len(self), np.int64)
        found = contents.take_up_to(self.lists.arrays(), 0, keys, until, owners, rows)
        return owners[:found], rows[:found]

    def rows(self) -> Numbers:
        """The rows that are left, oldest first."""
        rows = self.lists.live_records(0)[:, ls.ROW]
        left: Numbers = rows[rows != ls.EMPTY]
        return left

    def oldest(self) -> int | None:
        """The smallest row that is left; None: there is none."""
        if not self.lists.live()[0]:
            return None
        return contents.oldest_row(self.lists.arrays(), 0)

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self) -> dict[str, NDArray[Any]]:
        """The arrays as they are."""
        return self.lists.handover()

    @classmethod
    def attach(cls, arrays: dict[str, NDArray[Any]], room: Room) -> RowIndex:
        """Go on with the arrays of `handover`, in place."""
        index = cls.__new__(cls)
        index.lists = Lists.attach(arrays, 1, room)
        return index
