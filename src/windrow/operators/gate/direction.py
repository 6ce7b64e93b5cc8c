"""Do keys ascend or descend in the long run? (paper 5, footnote 2)

Of a stream with scrambling factor k, any two tuples that are more than k apart are in order. So
once 2k + 2 tuples have come, they are in order one way, and every which way the other; until it is
plain which, all wait.

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

#: Tuples of a stream that must have come before it is asked, and those after which any answer will
#: do: it is not in order either way, or nearly all of its keys are equal.
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
        if self.flip is not None:
            return list(rows)
        self.early = [np.concatenate(each) for each in zip(self.early, rows, strict=True)]
        self.flip = self._found(over)
        if self.flip is None:
            return [each[:0] for each in rows]
        found, self.early = self.early, [each[:0] for each in self.early]
        return found

    def _found(self, over: bool) -> int | None:
        doubtful = []
        for stream, rows in enumerate(self.early):
            count = len(rows)
            enough = max(LEAST, 2 * self.given[stream] + 2)
            if count >= enough and count >= self._asked[stream]:
                self._asked[stream] = count + count // 4
                up, down = (_scrambling(rows[:, WORD] ^ flip) for flip in (0, -1))
                if 2 * min(up, down) + 2 <= count:
                    return 0 if up <= down else -1
            if (over and count) or count >= max(MOST, enough):
                doubtful.append(stream)
        if not doubtful:
            return 0 if over else None
        up, down = (
            sum(_scrambling(self.early[each][:, WORD] ^ flip) for each in doubtful)
            for flip in (0, -1)
        )
        return 0 if up <= down else -1

    def standing(self) -> int | None:
        """What is known."""
        return self.flip

    def handover(self) -> dict[str, NDArray[Any]]:
        """What has come so far."""
        return {f"early_{stream}": rows for stream, rows in enumerate(self.early)}

    def attach(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on with the arrays of `handover`."""
        self.early = [arrays[f"early_{stream}"] for stream in range(len(self.given))]


def _scrambling(words: Numbers) -> int:
    ordering = Ordering(1)
    ordering.observe(np.zeros(len(words), np.int64), words)
    return ordering.scrambling(0)
