"""Matched flags by row id, for the kinds that must know which tuples met a partner.

Row ids of a stream only grow, so its flags are a stretch of bytes from the oldest id that may
still be asked for. Both streams' stretches sit in one array, because the kernels take one.
A second bit says that somebody who writes matches down has done so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.state.join_state import STREAMS
from windrow.state.room import HEAP, Room

MATCHED, NOTED = 1, 2


class Flags:
    """One byte for each row id in [base, base + size) of each stream."""

    def __init__(self, room: Room = HEAP) -> None:
        self.room = room
        self.base = [0] * STREAMS
        self.ends = [0] * STREAMS
        self.size = [0] * STREAMS
        self.bytes = np.zeros(1, np.uint8)

    def start(self, stream: int) -> int:
        """Where a stream's stretch begins."""
        return sum(self.size[:stream])

    def shift(self, stream: int) -> int:
        """What to add to a row id to find its flag."""
        return self.start(stream) - self.base[stream]

    def covers(self, ends: Sequence[int]) -> bool:
        """Make `ends` the first row ids not yet seen; is there a flag for each one below?"""
        self.ends = list(ends)
        return all(end <= b + n for end, b, n in zip(ends, self.base, self.size, strict=True))

    def cover(self, oldest: Sequence[int]) -> None:
        """Make room for every row id seen; those below `oldest` may be forgotten.

        Stretches at least double when they move, so a row is copied a constant number of times.
        """
        base = [max(b, old) for b, old in zip(self.base, oldest, strict=True)]
        size = [2 * (end - b) for end, b in zip(self.ends, base, strict=True)]
        fresh = self.room.empty((sum(size) + 1,), np.uint8)
        fresh[:] = 0
        at = 0
        for stream in range(STREAMS):
            kept = self.stretch(stream)[base[stream] - self.base[stream] :][: size[stream]]
            fresh[at : at + len(kept)] = kept
            at += size[stream]
        self.base, self.size, self.bytes = base, size, fresh

    def stretch(self, stream: int) -> NDArray[np.uint8]:
        """A view of a stream's flags."""
        start = self.start(stream)
        return self.bytes[start : start + self.size[stream]]

    def has(self, stream: int, rows: NDArray[np.int64]) -> bool:
        """Is there a flag for each of these rows?"""
        return bool(((rows >= self.base[stream]) & (rows < self.ends[stream])).all())

    def get(self, stream: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Have these rows met a partner?"""
        found: NDArray[np.bool_] = self.bytes[rows + self.shift(stream)] != 0
        return found

    def set(self, stream: int, rows: NDArray[np.int64]) -> None:
        """They have now."""
        self.bytes[rows + self.shift(stream)] |= MATCHED

    def news(self, stream: int) -> NDArray[np.int64]:
        """The rows that have met a partner since this was last asked. One pass over bytes."""
        stretch = self.stretch(stream)[: self.ends[stream] - self.base[stream]]
        places = np.flatnonzero(stretch == MATCHED)
        stretch[places] |= NOTED
        return places + self.base[stream]

    def snapshot(self) -> dict[str, Any]:
        """The flags in use, as plain data."""
        used = [end - base for end, base in zip(self.ends, self.base, strict=True)]
        stretches = [self.stretch(stream)[: used[stream]].copy() for stream in range(STREAMS)]
        return {"base": np.array(self.base), "stretches": stretches}

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> Flags:
        """The flags a snapshot was taken of."""
        flags = cls()
        stretches = snapshot["stretches"]
        flags.base = [int(base) for base in snapshot["base"]]
        flags.size = [len(stretch) for stretch in stretches]
        flags.ends = [base + size for base, size in zip(flags.base, flags.size, strict=True)]
        flags.bytes = np.concatenate([*stretches, np.zeros(1, np.uint8)])
        return flags
