"""How many tuples a stream is ahead of others, from a few marks along its way.

    tuple   1 .. 64 .. 128 .. 192 .. 200        marks of (tuple, largest key up to it)
    key     5    70     131    198    207       the others are at <131>: 200 - 128 = 72 ahead

Marks that the others have reached are forgotten. If those that are left become too many, every
second one is, so the count is exact to one part in a few hundred.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Marks, at most.
MOST = 1 << 10


class Trail:
    """Marks of one stream.

    >>> trail = Trail()
    >>> trail.follow(np.array([1, 3, 3, 8]), reached=3)
    >>> trail.ahead
    1
    """

    def __init__(self) -> None:
        self.marks = np.empty((0, 2), np.int64)
        self.count = 0
        self.stride = 1

    def follow(self, tops: NDArray[np.int64], reached: int) -> None:
        """More tuples, by the largest key up to each; the others have reached that key."""
        places = np.arange(self.count + 1, self.count + 1 + len(tops))
        self.count += len(tops)
        chosen = places % self.stride == 0
        marks = np.concatenate([self.marks, np.stack([places[chosen], tops[chosen]], axis=1)])
        marks = marks[np.searchsorted(marks[:, 1], reached, side="right") :]
        while len(marks) > MOST:
            self.stride *= 2
            marks = marks[marks[:, 0] % self.stride == 0]
        if not len(marks):
            self.stride = 1
        self.marks = marks

    @property
    def ahead(self) -> int:
        """How many tuples are above what the others have reached."""
        return self.count - int(self.marks[0, 0]) + 1 if len(self.marks) else 0

    def facts(self) -> tuple[int, int]:
        """What is known beside the marks."""
        return self.count, self.stride

    def attach(self, marks: NDArray[np.int64], facts: Any) -> None:
        """Go on from there."""
        self.marks = marks
        self.count, self.stride = facts
