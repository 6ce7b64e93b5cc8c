"""The output buffer of a shared join: results that some of their queries may not have yet.

A tuple's results go to a query when all results of earlier tuples have gone to it (paper 2, section
3.2), so each query gets what it would get if it ran alone, in the same order: by arrival of the
tuple that came last, then by age, then by row ids. The join knows how far each arrival's results
may go; here they wait, and leave as soon as they may.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from windrow.model import JoinPlan
from windrow.operators.arrivals import Piece, Rows
from windrow.operators.released import Released
from windrow.operators.results.plain import Plain
from windrow.operators.stage import Figures, Handover
from windrow.state.room import HEAP, Room
from windrow.state.runs import in_order

#: What is held of a result: its arrival, its age, the row ids and times of all streams, the window
#: up to which it has left (-1: none), when it was found, and whether a log does not have it yet.
ARRIVAL, AGE, FIRST = range(3)
LEFT, PRODUCED, NEW = -3, -2, -1
FURTHER = 3


@runtime_checkable
class Releases(Protocol):
    """What is asked of the join."""

    def released(self, arrivals: Rows) -> tuple[Rows, Rows]:
        """Windows up to which an arrival's results may go, and up to which they have to."""


class Release(Plain):
    """Results of a shared join, out in the order of each of their queries."""

    def __init__(self, plan: JoinPlan, join: Releases) -> None:
        super().__init__(plan)
        self.streams = len(plan.streams)
        self.join = join
        self.width = FIRST + 2 * self.streams + FURTHER

    def begin(self, room: Room = HEAP) -> Self:
        """Start with nothing held."""
        self.held = np.empty((0, self.width), np.int64)
        self.peak = 0
        self._begin_batch()
        return self

    def _begin_batch(self) -> None:
        #: Of the batch at hand: results that are not among `held` yet, and how many.
        self.fresh: list[NDArray[np.int64]] = []
        self.many = 0

    def __len__(self) -> int:
        return len(self.held)

    # -- a batch ---------------------------------------------------------------------------

    def take(self, piece: Piece) -> Iterator[Any]:
        """Take results in; those of tuples that are done leave at once."""
        assert isinstance(piece, Released)
        rows = np.empty((len(piece), self.width), np.int64)
        rows[:, ARRIVAL], rows[:, AGE] = piece.arrival, piece.age
        for at, column in enumerate((*piece.rows, *piece.row_ts)):
            assert column is not None
            rows[:, FIRST + at] = column
        rows[:, LEFT] = -1
        rows[:, PRODUCED] = 0 if piece.produced is None else piece.produced.view(np.int64)
        rows[:, NEW] = 1
        self.fresh.append(rows)
        self.many += len(rows)
        if self.many >= len(self.held):
            # Not before: each merge moves all that is held.
            self._merge()
            upto, need = self.join.released(self.held[:, ARRIVAL])
            waits = upto < need
            done = int(waits.argmax()) if waits.any() else len(self.held)
            leaving, self.held = self.held[:done], self.held[done:]
            yield from self._leave(leaving, upto[:done])
        self.peak = max(self.peak, len(self.held) + self.many)

    def finish(self) -> Iterator[Any]:
        """The batch has been joined: let go what may, and keep what some query still waits for."""
        self._merge()
        if len(self.held):
            upto, need = self.join.released(self.held[:, ARRIVAL])
            further = (upto > self.held[:, LEFT]) & (upto >= self.held[:, AGE])
            yield from self._leave(self.held[further], upto[further])
            self.held[further, LEFT] = upto[further]
            waits = upto < need
            if not waits.all():
                self.held = self.held[waits]

    def _merge(self) -> None:
        """Put what this batch has found so far among what is held."""
        if self.fresh:
            self.held = in_order(np.concatenate([self.held, *self.fresh]))
            self._begin_batch()

    def _leave(self, rows: NDArray[np.int64], upto: Rows) -> Iterator[Released]:
        if len(rows):
            columns = np.ascontiguousarray(rows.T)
            times = columns[FIRST + self.streams : FIRST + 2 * self.streams]
            yield Released(
                "match",
                tuple(columns[FIRST : FIRST + self.streams]),
                times.max(axis=0),
                tuple(times),
                columns[ARRIVAL],
                columns[AGE],
                columns[LEFT],
                upto,
                columns[PRODUCED].view(np.float64),
            )

    # -- memory that outlives a process ----------------------------------------------------

    def row_ids(self, stream: int) -> Rows:
        """The row ids of a stream that results here have."""
        found: Rows = self.held[:, FIRST + stream]
        return found

    def handover(self) -> Handover:
        """The results that are held."""
        return {"held": self.held}, {}

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with those of `handover`."""
        self.held, self.peak = arrays["held"], len(arrays["held"])
        self._begin_batch()

    # -- for the log -----------------------------------------------------------------------

    @property
    def written(self) -> int:
        """How many numbers of a result are written down: its arrival is the first."""
        return self.width - FURTHER

    def take_added(self) -> NDArray[np.int64]:
        """What has come to be held since this was last asked, and still is."""
        added = self.held[self.held[:, NEW] == 1, : self.written]
        self.held[:, NEW] = 0
        return added

    def load(self, parts: Sequence[NDArray[np.int64]]) -> None:
        """Results that were written down; those that all have had are not taken."""
        rows = np.concatenate([np.empty((0, self.written), np.int64), *parts])
        upto, need = self.join.released(rows[:, ARRIVAL])
        left = np.where(upto >= rows[:, AGE], upto, -1)
        nothing = np.zeros(len(rows), np.int64)
        held = np.column_stack([rows, left, nothing, nothing])
        self.held = in_order(held[upto < need])
        self.peak = len(self.held)

    def figures(self) -> Figures:
        """What is held."""
        held = len(self.held)
        return {}, {"held": held, "held_bytes": self.held.nbytes, "peak_held": self.peak}

    def forget_peaks(self) -> None:
        """Let the high-water mark begin anew."""
        self.peak = len(self.held)
