"""Do keys ascend or descend in the long run? (paper 5, footnote 2)

Of a stream with scrambling factor k, any two tuples that are more than k apart are in order. So if
k is given, the first tuple and the one k + 1 later say it. Otherwise the way is taken in which more
than two times the k is there that the stream would have. Until it is known, all wait.

    9 8 7 6 5 4 ..   ascending, its k would be as large as it can be; descending, it is 0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.operators.gate.turns import WIDTH, WORD
from windrow.state.ordering import Ordering

Numbers = NDArray[np.int64]

#: Where k is not given: tuples of a stream that must have come before it is asked, and those after
#: which any answer will do: it is not in order either way, or nearly all of its keys are equal.
LEAST, MOST = 16, 1 << 12


class Direction:
    """What has come so far, until it is known. `given`: scrambling factors, by stream; 0: none.

    flip: what makes ascending words of words: 0, or -1 where they descend; None: not known yet.
    """

    def __init__(self, given: Sequence[int]) -> None:
        self.given = given
        self.flip: int | None = None
        self.early = [np.empty((0, WIDTH), np.int64) for _ in given]
        self._asked = [0 for _ in given]

    def take(self, rows: Sequence[Numbers], over: bool) -> list[Numbers]:
        """Take tuples in, by stream, as they arrived; give out all once it is known.

        `over`: whether nothing more comes, so that it must be known now.
        """
        if self.flip is None:
            self.early = [np.concatenate(each) for each in zip(self.early, rows, strict=True)]
            self.flip = self._found(over)
            rows = [each[:0] for each in rows]
        if self.flip is None or not any(map(len, self.early)):
            return list(rows)
        found = [np.concatenate(each) for each in zip(self.early, rows, strict=True)]
        self.early = [each[:0] for each in rows]
        return found

    def _found(self, over: bool) -> int | None:
        doubtful = []
        for stream, (rows, k) in enumerate(zip(self.early, self.given, strict=True)):
            words, count = rows[:, WORD], len(rows)
            if k and count >= k + 2 and words[0] != words[k + 1]:
                return 0 if words[k + 1] > words[0] else -1
            if not k and count >= max(LEAST, self._asked[stream]):
                self._asked[stream] = count + count // 4
                up, down = _ways(words)
                if 2 * min(up, down) + 2 <= count:
                    return 0 if up <= down else -1
            if (over and count) or count >= max(MOST, k + 2):
                doubtful.append(_ways(words))
        if not doubtful:
            return 0 if over else None
        up, down = map(sum, zip(*doubtful, strict=True))
        return 0 if up <= down else -1

    def handover(self) -> dict[str, NDArray[Any]]:
        """What has come so far."""
        return {f"early_{stream}": rows for stream, rows in enumerate(self.early)}

    def attach(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on with the arrays of `handover`."""
        self.early = [arrays[f"early_{stream}"] for stream in range(len(self.given))]


def _ways(words: Numbers) -> tuple[int, int]:
    """The scrambling factors that it has if keys ascend, and if they descend."""
    found = []
    for flip in (0, -1):
        ordering = Ordering(1)
        ordering.observe(np.zeros(len(words), np.int64), words ^ flip)
        found.append(ordering.scrambling(0))
    return found[0], found[1]
