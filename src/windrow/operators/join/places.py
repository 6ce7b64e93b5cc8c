"""Where rows are among the tuples of their key: how many of those are not later than they.

Known are the rows of an older part, sorted by id, and of a newer one that is put into it from time
to time, when rows that have left the state are forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from windrow.operators.arrivals import Rows

#: So many newer rows are not worth putting into the older part.
FEW = 1024


def _none() -> Rows:
    return np.empty((3, 0), np.int64)


@dataclass
class Places:
    """The tuples of one stream, by row id: id, key number, place."""

    old: Rows = field(default_factory=_none)
    new: Rows = field(default_factory=_none)
    #: By key number, how many tuples had passed before this batch; its keys; the batch by key and
    #: time.
    totals: Rows = field(default_factory=lambda: np.zeros(1, np.int64))
    _passing: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    _times: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    _order: Rows = field(default_factory=lambda: np.empty(0, np.int64))

    def pass_by(self, rows: Rows, ts: Rows, keys: Rows) -> None:
        """A batch passes: no later one has an earlier time."""
        self._settle()
        most = int(keys.max(initial=0)) + 1
        if most > len(self.totals):
            more = np.zeros(max(most, 2 * len(self.totals)) - len(self.totals), np.int64)
            self.totals = np.concatenate([self.totals, more])
        self._passing = keys
        self._times = np.unique(ts)
        self._order = np.sort((keys << 32) + np.searchsorted(self._times, ts))
        found = np.stack([rows, keys, self._not_later(keys, ts)])
        self.new = np.concatenate([self.new, found], axis=1)
        self.new = self.new[:, np.argsort(self.new[0], kind="stable")]

    def _settle(self) -> None:
        """The batch is over."""
        np.add.at(self.totals, self._passing, 1)
        self._passing = self._passing[:0]

    def _not_later(self, keys: Rows, until: Rows) -> Rows:
        """How many tuples of these keys have passed that are not later than these times."""
        first = keys << 32
        upto = first + np.searchsorted(self._times, until, side="right") - 1
        start = np.searchsorted(self._order, first)
        found: Rows = self.totals[keys] + np.searchsorted(self._order, upto, side="right") - start
        return found

    def later(self, rows: Rows, until: Rows) -> Rows:
        """How many tuples of their keys are later than these rows, up to times of this batch."""
        keys, places = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        left = np.ones(len(rows), np.bool_)
        for part in (self.new, self.old):
            if part.shape[1]:
                at = np.minimum(np.searchsorted(part[0], rows), part.shape[1] - 1)
                here = left & (part[0, at] == rows)
                keys[here], places[here] = part[1, at[here]], part[2, at[here]]
                left &= ~here
        return self._not_later(keys, until) - places

    def crowded(self) -> bool:
        """Is it time to forget rows that are gone? A row is looked at a few times in all."""
        return bool(self.new.shape[1] > max(FEW, self.old.shape[1] // 4))

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Only these are still there."""
        both = np.concatenate([self.old, self.new], axis=1)
        both = both[:, np.isin(both[0], rows)]
        self.old, self.new = both[:, np.argsort(both[0], kind="stable")], _none()

    def arrays(self) -> dict[str, Rows]:
        """All that is to outlive the batch, which is over."""
        self._settle()
        return {"old-places": self.old, "new-places": self.new, "passed-by": self.totals}

    @classmethod
    def of(cls, arrays: dict[str, Rows]) -> Places:
        """Go on with those."""
        return cls(arrays["old-places"], arrays["new-places"], arrays["passed-by"])
