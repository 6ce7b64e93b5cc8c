"""Matched flags by row id, for the kinds that must know which tuples met a partner.

Row ids of a stream only grow, so its flags are a stretch of bytes from the oldest id on that may
still be asked for. A few rows may be far older than the rest (of a rare key under a count window,
in a bucket that a lazy strategy has not touched, of a key that is never punctuated). They would
hold a byte for each row since, so they are *pinned*: named one by one, beside the stretch.

    row ids  3  7  ...............  40 41 42 43 44 45 ..
            pinned  (forgotten)     the stretch, from its base on

All flags sit in one array, because the kernels take one: those of pinned rows, then the
streams' stretches. A second bit says that the log already has the match.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.task import Matched
from windrow.operators.stage import Handover
from windrow.state.room import HEAP, Room

MATCHED, NOTED = 1, 2
#: A stretch may have so many ids, and so many for each row in it that is kept; others are pinned.
LEAST_STRETCH, IDS_PER_ROW = 1024, 8


class Flags:
    """One byte for each row id in [base, base + size) of each stream, and for each pinned row."""

    def __init__(self, streams: int, room: Room = HEAP) -> None:
        self.streams = streams
        self.room = room
        self.base = [0] * streams
        self.ends = [0] * streams
        self.size = [0] * streams
        self.bytes = np.zeros(1, np.uint8)
        #: streams * row id + stream of each pinned row, ascending.
        self.pinned = np.empty(0, np.int64)

    @property
    def matched(self) -> Matched:
        """What a kernel takes."""
        return Matched(self.bytes, self.pinned)

    def start(self, stream: int) -> int:
        """Where a stream's stretch begins."""
        return len(self.pinned) + sum(self.size[:stream])

    def shift(self, stream: int) -> int:
        """What to add to a row id to find its flag in the stretch."""
        return self.start(stream) - self.base[stream]

    def covers(self, ends: Sequence[int]) -> bool:
        """Make `ends` the first row ids not yet seen; is there a flag for each one below?"""
        self.ends = list(ends)
        return all(end <= b + n for end, b, n in zip(ends, self.base, self.size, strict=True))

    def cover(self, oldest: Sequence[int]) -> None:
        """Make room for every row id seen; those below `oldest` may be forgotten."""
        pinned = [self.pinned_rows(stream) for stream in range(self.streams)]
        left = [rows[rows >= old] for rows, old in zip(pinned, oldest, strict=True)]
        self._move([max(b, old) for b, old in zip(self.base, oldest, strict=True)], left)

    def cover_only(self, kept: Sequence[NDArray[np.int64]]) -> None:
        """Make room for these row ids, in any order, and for those to come; forget all others."""
        base, pinned = [], []
        for rows, end in zip(kept, self.ends, strict=True):
            rows = distinct(rows)
            allowed = LEAST_STRETCH + IDS_PER_ROW * np.arange(len(rows), 0, -1)
            dense = np.flatnonzero(end - rows <= allowed)
            first = int(dense[0]) if len(dense) else len(rows)
            # Rows that wait may have ids from `end` on; their flags begin when they come.
            base.append(min(int(rows[first]), end) if first < len(rows) else end)
            pinned.append(rows[:first])
        self._move(base, pinned)

    def _move(self, base: list[int], pinned: Sequence[NDArray[np.int64]]) -> None:
        """Copy the flags to a new array with these stretches and pinned rows.

        Stretches at least double, and have room for as many rows as are pinned, so that what is
        copied and sorted is a constant number of times the rows that come.
        """
        size = [2 * (end - b) + len(p) for end, b, p in zip(self.ends, base, pinned, strict=True)]
        codes = np.sort(np.concatenate([self.streams * rows + s for s, rows in enumerate(pinned)]))
        fresh = self.room.empty((len(codes) + sum(size) + 1,), np.uint8)
        fresh[:] = 0
        for stream in range(self.streams):
            mine = codes % self.streams == stream
            fresh[: len(codes)][mine] = self._bytes_of(stream, codes[mine] // self.streams)
        at = len(codes)
        for stream in range(self.streams):
            # A row that was pinned is in the new stretch, if its base has moved back.
            back = self.pinned_rows(stream)
            back = back[back >= base[stream]]
            fresh[at + back - base[stream]] = self._bytes_of(stream, back)
            first = max(base[stream], self.base[stream])
            known = self.stretch(stream)[first - self.base[stream] :]
            known = known[: max(self.ends[stream] - first, 0)]
            fresh[at + first - base[stream] :][: len(known)] = known
            at += size[stream]
        self.base, self.size, self.bytes, self.pinned = base, size, fresh, codes

    def stretch(self, stream: int) -> NDArray[np.uint8]:
        """A view of a stream's flags, without the pinned rows'."""
        start = self.start(stream)
        return self.bytes[start : start + self.size[stream]]

    def pinned_rows(self, stream: int) -> NDArray[np.int64]:
        """The row ids of a stream that are older than its stretch, ascending."""
        rows: NDArray[np.int64] = self.pinned[self.pinned % self.streams == stream] // self.streams
        return rows

    def _places(self, stream: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        places = rows + self.shift(stream)
        old = rows < self.base[stream]
        if old.any():
            places[old] = np.searchsorted(self.pinned, self.streams * rows[old] + stream)
        return places

    def _bytes_of(self, stream: int, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The flags of rows as they are; 0 for those that have none yet."""
        found = np.zeros(len(rows), np.uint8)
        known = rows < self.base[stream] + self.size[stream]
        found[known] = self.bytes[self._places(stream, rows[known])]
        return found

    def get(self, stream: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Have these rows met a partner?"""
        found: NDArray[np.bool_] = self.bytes[self._places(stream, rows)] != 0
        return found

    def set(self, stream: int, rows: NDArray[np.int64]) -> None:
        """Note that these rows have met a partner."""
        self.bytes[self._places(stream, rows)] |= MATCHED

    def news(self, stream: int) -> NDArray[np.int64]:
        """The rows that have met a partner since this was last asked. One pass over bytes."""
        stretch = self.stretch(stream)[: self.ends[stream] - self.base[stream]]
        places = np.flatnonzero(stretch == MATCHED)
        stretch[places] |= NOTED
        old = np.flatnonzero(self.bytes[: len(self.pinned)] == MATCHED)
        old = old[self.pinned[old] % self.streams == stream]
        self.bytes[old] |= NOTED
        return np.concatenate([self.pinned[old] // self.streams, places + self.base[stream]])

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self) -> Handover:
        """The arrays as they are, and what they mean."""
        facts = {"base": self.base, "ends": self.ends, "size": self.size}
        return {"flags": self.bytes, "pinned": self.pinned}, facts

    @classmethod
    def attach(cls, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> Flags:
        """Go on with the arrays of `handover`, in place."""
        flags = cls(len(facts["base"]), room)
        flags.base, flags.ends, flags.size = (list(facts[n]) for n in ("base", "ends", "size"))
        flags.bytes, flags.pinned = arrays["flags"], arrays["pinned"]
        return flags


def distinct(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each once, ascending. They are nearly in order, so sorting them costs less than hashing."""
    if bool((rows[1:] > rows[:-1]).all()):
        return rows
    rows = np.sort(rows)
    found: NDArray[np.int64] = rows[np.diff(rows, prepend=-1) != 0]
    return found
