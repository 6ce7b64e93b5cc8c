"""The windows of a shared join: what queries ask for, and how far arrivals have come with it.

A window is a *level* as long as a query has it, or a tuple that came before the last of them was
dropped still has to scan it or the next larger one. Paper 2, sections 3.2 and 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Levels:
    """Levels, the smallest window first, and the marks of arrivals that have scanned each.

    `streams` is how many are joined: a window of twice the size has 2**(streams - 1) times the
    combinations.

    >>> windows = Levels(2)
    >>> for reach in (20, 30, 60):
    ...     windows.add(reach, 0)
    >>> windows.levels.tolist(), float(windows.max_qt()[0, 2])
    ([20, 30, 60], 0.06666666666666667)
    """

    def __init__(self, streams: int) -> None:
        self.streams = streams
        self.levels = np.empty(0, np.int64)
        self.marks = np.empty(0, np.int64)
        #: How many queries have each window, and when the last one of those that none has was
        #: dropped, as the number of the arrival that would have been next.
        self.queries: dict[int, int] = {}
        self.dropped: dict[int, int] = {}
        #: Until windows or queries change.
        self._max_qt: NDArray[np.float64] | None = None
        self.begin_batch()

    def begin_batch(self) -> None:
        """From here on the marks are moved, where they are."""
        self._before, self._after = self.marks.copy(), self.marks

    def moved(self, came: int) -> NDArray[np.int64]:
        """Of so many arrivals, those that marks have passed in this batch, or come to.

        Those that have scanned all are not among them.
        """
        first, none = self.passed(came), np.empty(0, np.int64)
        stretches = [
            np.arange(max(start, first), min(stop + 1, came))
            for start, stop in zip(self._before.tolist(), self._after.tolist(), strict=True)
            if start < stop
        ]
        return np.unique(np.concatenate([none, *stretches]))

    def add(self, reach: int, came: int) -> None:
        """A query more has this window, from arrival number `came` on."""
        self.queries[reach] = self.queries.get(reach, 0) + 1
        self.dropped.pop(reach, None)
        self._max_qt = None
        at = int(np.searchsorted(self.levels, reach))
        if at < len(self.levels) and self.levels[at] == reach:
            return
        # Who has scanned the next larger one has scanned this, too. Earlier tuples need none that
        # is larger than all, and pass it where they pass the last one.
        following = min(at, len(self.marks) - 1)
        mark = int(self.marks[following]) if len(self.marks) else came
        self.levels = np.insert(self.levels, at, reach)
        self.marks = np.insert(self.marks, at, mark)

    def drop(self, reach: int, came: int) -> None:
        """A query less has this window, from arrival number `came` on."""
        self._max_qt = None
        self.queries[reach] -= 1
        if not self.queries[reach]:
            del self.queries[reach]
            self.dropped[reach] = came

    def tidy(self) -> None:
        """Forget the windows that no query has and no tuple is on its way to."""
        for reach, came in list(self.dropped.items()):
            at = int(np.searchsorted(self.levels, reach))
            following = min(at + 1, len(self.levels) - 1)
            if self.marks[following] >= came:
                self.levels = np.delete(self.levels, at)
                self.marks = np.delete(self.marks, at)
                del self.dropped[reach]
                self._max_qt = None

    @property
    def needed(self) -> int:
        """The largest window that a query has now; -1 if there is none."""
        return max(self.queries, default=-1)

    def passed(self, came: int) -> int:
        """The first arrival that has not scanned all it needs, of so many."""
        return int(self.marks[-1]) if len(self.marks) else came

    def max_qt(self) -> NDArray[np.float64]:
        """MaxQT(PW(w_i, w_j)) by i and j: the most queries served for the tuples to be scanned."""
        if self._max_qt is None:
            self._max_qt = self._most_queries()
        return self._max_qt

    def _most_queries(self) -> NDArray[np.float64]:
        """The matrix, by exact numbers: of equal ratios, none is larger by accident."""
        sizes, served = [0], [0]
        for reach in self.levels.tolist():
            sizes.append(reach ** (self.streams - 1))
            served.append(served[-1] + self.queries.get(reach, 0))
        found = np.zeros((len(sizes), len(sizes)))
        for i in range(len(sizes)):
            best = 0.0
            for k in range(i + 1, len(sizes)):
                queries, width = served[k] - served[i], sizes[k] - sizes[i]
                if queries:
                    best = max(best, queries / width if width else np.inf)
                found[i, k] = best
        return found

    # -- between two processes ---------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """All of it, as plain data."""
        return {
            "levels": self.levels.tolist(),
            "marks": self.marks.tolist(),
            "queries": [list(each) for each in self.queries.items()],
            "dropped": [list(each) for each in self.dropped.items()],
        }

    def take(self, facts: dict[str, Sequence[Any]]) -> None:
        """Go on from there."""
        self.levels = np.array(facts["levels"], np.int64)
        self.marks = np.array(facts["marks"], np.int64)
        self.queries = {int(reach): int(count) for reach, count in facts["queries"]}
        self.dropped = {int(reach): int(came) for reach, came in facts["dropped"]}
        self._max_qt = None
