"""The output buffer of a shared join: results that some of their queries may not have yet.

A tuple's results go to a query when all results of earlier tuples have gone to it (paper 2, section
3.2), so each query gets what it would get if it ran alone, in the same order: by arrival of the
tuple that came last, then by age, then by row ids. The join knows how far each arrival's results
may go; here they wait, and leave as soon as they may.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from windrow.model import END, JoinPlan
from windrow.operators.arrivals import Piece, Rows
from windrow.operators.released import Released
from windrow.operators.results.plain import Plain
from windrow.operators.stage import Figures, Handover
from windrow.state.owed import AGE, ARRIVAL, FIRST, LEFT, UPTO, Owed
from windrow.state.room import HEAP, Room
from windrow.state.runs import in_order


class Releases(Protocol):
    """What is asked of the join."""

    @property
    def under_way_from(self) -> int:
        """The first arrival that has not scanned all it needs; all before it are done."""

    def moved(self) -> Rows:
        """The arrivals that are not done whose results may go further since the batch began."""

    def released(self, arrivals: Rows) -> tuple[Rows, Rows]:
        """Windows up to which an arrival's results may go, and up to which they have to."""


class Release(Plain):
    """Results of a shared join, out in the order of each of their queries.

    Of a result it holds its arrival, its age, how far it has left, the row ids and times of all
    streams, and when it was found.
    """

    def __init__(self, plan: JoinPlan, join: Releases) -> None:
        super().__init__(plan)
        self.streams = len(plan.streams)
        self.join = join
        self.width = FIRST + 2 * self.streams + 1

    def begin(self, room: Room = HEAP) -> Self:
        """Start with nothing held."""
        self.owed = Owed(self.width, room)
        self.peak = 0
        return self

    def __len__(self) -> int:
        return len(self.owed)

    # -- a batch ---------------------------------------------------------------------------

    def take(self, piece: Piece) -> Iterator[Any]:
        """Take results in; those of tuples that are done leave at once."""
        assert isinstance(piece, Released)
        done = self.join.under_way_from
        if not len(self.owed) and _goes_on(piece, done):
            everywhere = np.full(len(piece), -1), np.full(len(piece), END)
            yield replace(piece, above=everywhere[0], upto=everywhere[1])
            return
        rows = in_order(self._rows(piece))
        after = int(np.searchsorted(rows[:, ARRIVAL], done))
        if len(self.owed.before(done)):
            # What was found before of the same tuples goes with it.
            self.owed.push(rows, done)
            yield from self._settle(done)
        else:
            self.owed.push(rows[after:], done)
            if after:
                leaving = rows[:after].T.copy()
                leaving[UPTO] = END
                yield self._released(leaving)
        self.peak = max(self.peak, len(self.owed))

    def _rows(self, piece: Released) -> NDArray[np.int64]:
        rows = np.empty((len(piece), self.width), np.int64)
        rows[:, ARRIVAL], rows[:, AGE] = piece.arrival, piece.age
        rows[:, [LEFT, UPTO]] = -1
        for at, column in enumerate((*piece.rows, *piece.row_ts)):
            assert column is not None
            rows[:, FIRST + at] = column
        rows[:, -1] = 0 if piece.produced is None else piece.produced.view(np.int64)
        return rows

    def finish(self) -> Iterator[Any]:
        """The batch has been joined: let go what may, and keep what some query still waits for."""
        done = self.join.under_way_from
        yield from self._settle(done)
        moved = self.join.moved()
        yield from map(self._released, self.owed.leaving(moved, *self.join.released(moved)))
        self.owed.tidy(done)

    def _settle(self, done: int) -> Iterator[Released]:
        """Let all results of the tuples before that one go everywhere."""
        before = self.owed.before(done)
        end = np.full(len(before), END)
        yield from map(self._released, self.owed.leaving(before, end, end))

    def _released(self, columns: NDArray[np.int64]) -> Released:
        times = columns[FIRST + self.streams : FIRST + 2 * self.streams]
        return Released(
            "match",
            tuple(columns[FIRST : FIRST + self.streams]),
            times.max(axis=0),
            tuple(times),
            columns[ARRIVAL],
            columns[AGE],
            columns[LEFT],
            columns[UPTO],
            columns[-1].view(np.float64),
        )

    # -- memory that outlives a process ----------------------------------------------------

    def row_ids(self, stream: int) -> Rows:
        """The row ids of a stream that results here have."""
        found: Rows = self.owed.all()[:, FIRST + stream]
        return found

    def handover(self) -> Handover:
        """The results that are held."""
        return self.owed.handover("held"), {}

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with those of `handover`."""
        self.owed = Owed.attach(arrays, "held", room)
        self.peak = len(self.owed)

    # -- for the log -----------------------------------------------------------------------

    @property
    def written(self) -> int:
        """How many numbers of a result are written down: its arrival is the first."""
        return 2 + 2 * self.streams

    def held(self) -> NDArray[np.int64]:
        """All that is held, as it is written down."""
        return in_order(self._written(self.owed.all()))

    def take_added(self) -> NDArray[np.int64]:
        """What has come to be held since this was last asked, and still is."""
        return in_order(self._written(self.owed.take_added()))

    def _written(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.column_stack([rows[:, ARRIVAL], rows[:, AGE], rows[:, FIRST:-1]])

    def load(self, parts: Sequence[NDArray[np.int64]]) -> None:
        """Results that were written down; those that all have had are not taken."""
        found = in_order(np.concatenate([np.empty((0, self.written), np.int64), *parts]))
        upto, need = self.join.released(found[:, 0])
        rows = np.zeros((len(found), self.width), np.int64)
        rows[:, ARRIVAL], rows[:, AGE], rows[:, FIRST:-1] = found[:, 0], found[:, 1], found[:, 2:]
        rows[:, LEFT] = np.where(upto >= rows[:, AGE], upto, -1)
        self.owed.push(rows[upto < need], self.join.under_way_from)
        self.owed.take_added()
        self.peak = len(self.owed)

    def figures(self) -> Figures:
        """What is held."""
        return {}, {
            "held": len(self.owed),
            "held_bytes": self.owed.nbytes,
            "peak_held": self.peak,
        }

    def forget_peaks(self) -> None:
        """Let the high-water mark begin anew."""
        self.peak = len(self.owed)


def _goes_on(piece: Released, done: int) -> bool:
    """Are its results all of tuples before that one, and in order without being sorted?

    So they are where tuples are served one after the other, but for those of equal ages.
    """
    arrival, age = piece.arrival, piece.age
    if not len(piece) or arrival[-1] >= done:
        return False
    later, older = arrival[1:] > arrival[:-1], age[1:] > age[:-1]
    return bool((later | ((arrival[1:] == arrival[:-1]) & older)).all())
