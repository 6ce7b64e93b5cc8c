"""Results of a shared join, and which queries they are released to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from windrow.operators.arrivals import Piece, Rows

NONE: Rows = np.empty(0, np.int64)


@dataclass(frozen=True)
class Released(Piece):
    """Matches in the order of their queries: by arrival, then age, then row ids.

    `arrival` numbers the tuple of each that came last, `age` is its largest less its smallest time.
    They are released to windows above `above`, up to `upto`. `produced` is when each was found, by
    a clock if there was one.
    """

    arrival: Rows = field(default_factory=lambda: NONE)
    age: Rows = field(default_factory=lambda: NONE)
    above: Rows = field(default_factory=lambda: NONE)
    upto: Rows = field(default_factory=lambda: NONE)
    produced: NDArray[np.float64] | None = None

    @classmethod
    def found(
        cls, rows: Rows, times: Rows, arrival: Rows, produced: NDArray[np.float64] | None
    ) -> Self:
        """Results as they are found, with the row ids and times by stream: not released yet."""
        ts = times.max(axis=0)
        age = ts - times.min(axis=0)
        return cls("match", tuple(rows), ts, tuple(times), arrival, age, NONE, NONE, produced)

    def chosen(self, which: slice | Rows | NDArray[np.bool_]) -> Self:
        """Some of them, in that order."""
        return replace(
            self,
            rows=tuple(None if ids is None else ids[which] for ids in self.rows),
            row_ts=tuple(None if ts is None else ts[which] for ts in self.row_ts),
            ts=self.ts[which],
            arrival=self.arrival[which],
            age=self.age[which],
            above=self.above[which],
            upto=self.upto[which],
            produced=None if self.produced is None else self.produced[which],
        )

    def of(self, reach: int, added: int, dropped: int) -> NDArray[np.bool_]:
        """Which of them go to a query with this window, for arrivals in [added, dropped)."""
        released = (self.age <= reach) & (self.above < reach) & (reach <= self.upto)
        mine: NDArray[np.bool_] = released & (self.arrival >= added) & (self.arrival < dropped)
        return mine
