"""Results that wait until nothing can come before them: paper 4's hold buffer, section 5.

A result at time t is released once t < TS_trigger: not at its own time, as in the paper, because
streams here may repeat their last time. All results of one time therefore leave together, and
their order among themselves depends on the input alone: matches first, then unmatched rows, then
ends; and by the row ids of the streams, first to last, a missing row before all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from windrow.model import BEGINNING, JoinPlan
from windrow.operators.arrivals import Kind, Mixture, Piece, Result
from windrow.operators.results.plain import Plain, reaches_output
from windrow.operators.results.trigger import trigger
from windrow.operators.stage import Figures, Handover
from windrow.state.room import HEAP, Room
from windrow.state.runs import Runs, in_order

Rows = NDArray[np.int64]

#: What is held of a result: (time, kind, row id of each stream), with -1 where there is none.
TS, KIND, FIRST = range(3)
KINDS: tuple[Kind, ...] = ("match", "unmatched", "end")
UNMATCHED = 1
NO_ROW = -1
#: Rows that leave in one piece.
PIECE_ROWS = 1 << 17


class Hold(Plain):
    """Results of a join, out in the order of their times.

    `logged`: whether there is a log, which wants to know what comes to be held.
    """

    def __init__(self, plan: JoinPlan, logged: bool = False) -> None:
        super().__init__(plan)
        self.logged = logged
        #: Are results of several kinds?
        self.mixed = plan.punctuate or (any(plan.preserved) and plan.how != "anti")

    def begin(self, room: Room = HEAP) -> Self:
        """Start with nothing held."""
        self.runs = Runs(width(len(self.plan.streams)), room)
        #: Everything before this time has left.
        self.left_before: int = BEGINNING
        self._trigger = BEGINNING
        self._new: list[Rows] = []
        #: What has come to be held, for the log.
        self._added: list[Rows] = []
        return self

    def __len__(self) -> int:
        return len(self.runs)

    # -- a batch ---------------------------------------------------------------------------

    def expect(self, after: Sequence[int]) -> None:
        """A batch begins; its progress is known."""
        self._trigger = trigger(self.plan, after)

    def take(self, piece: Piece) -> Iterator[Result]:
        """Take results in; none leaves before the batch has been joined."""
        if len(piece.ts) and reaches_output(piece, self.plan):
            rows = np.empty((len(piece.ts), self.runs.width), np.int64)
            rows[:, TS] = piece.ts
            rows[:, KIND] = KINDS.index(piece.kind)
            if piece.kind == "end":
                # A key that ends late has no result after what has left, so its end may say so.
                np.maximum(rows[:, TS], self.left_before, out=rows[:, TS])
            for stream, ids in enumerate(piece.rows):
                rows[:, FIRST + stream] = NO_ROW if ids is None else ids
            self._new.append(rows)
        yield from ()

    def finish(self) -> Iterator[Result]:
        """Give out all results before the trigger, in order."""
        self.left_before = max(self.left_before, self._trigger)
        new, self._new = self._new, []
        rows = in_order(np.concatenate(new)) if new else np.empty((0, self.runs.width), np.int64)
        self.runs.note(len(self.runs) + len(rows))
        cut = int(np.searchsorted(rows[:, TS], self.left_before, side="left"))
        if self.logged:
            self._added.append(rows[cut:])
        if self.runs.due(self.left_before):
            self.runs.push_sorted(rows)
            yield from self._pieces(self.runs.pop_before(self.left_before))
            return
        # Nothing that waited is due, so what is was found in this batch.
        self.runs.push_sorted(rows[cut:])
        yield from self._pieces(rows[:cut])

    def _pieces(self, rows: Rows) -> Iterator[Result]:
        for start in range(0, len(rows), PIECE_ROWS):
            part = rows[start : start + PIECE_ROWS]
            yield result(part) if self.mixed else _piece(part)

    # -- for the log -----------------------------------------------------------------------

    def load(self, rows: Iterable[Rows]) -> None:
        """Results that were written down; those that have left since are not taken."""
        for part in rows:
            self.runs.push(part[part[:, TS] >= self.left_before])

    def alone(self, stream: int) -> Rows:
        """The rows of a stream that are held unmatched."""
        held = self.runs.all()
        found: Rows = held[held[:, KIND] == UNMATCHED, FIRST + stream]
        return found

    def take_added(self) -> Rows:
        """What has come to be held since this was last asked, without what has left."""
        parts, self._added = self._added, []
        added = np.concatenate([np.empty((0, self.runs.width), np.int64), *parts])
        found: Rows = added[added[:, TS] >= self.left_before]
        return found

    def renumber(self, kept: Sequence[Rows]) -> Rows:
        """All that is held, sorted, under the new ids of its rows: their places in `kept`.

        Sorted, because it lies in runs, which are other runs after it was made again from a log.
        """
        rows = in_order(self.runs.all())
        for stream, mine in enumerate(kept):
            column = rows[:, FIRST + stream]
            there = column != NO_ROW
            column[there] = np.searchsorted(mine, column[there])
        return rows

    def row_ids(self, stream: int) -> Rows:
        """The row ids of a stream that results here have."""
        ids = self.runs.all()[:, FIRST + stream]
        found: Rows = ids[ids != NO_ROW]
        return found

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self) -> Handover:
        """The arrays as they are, and what else must be known."""
        return self.runs.handover("hold"), {}

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `handover`, in place."""
        self.begin()
        self.runs = Runs.attach(arrays, "hold", room)

    def figures(self) -> Figures:
        """What is held."""
        runs = self.runs
        return {}, {"held": len(runs), "held_bytes": runs.nbytes, "peak_held": runs.peak}

    def forget_peaks(self) -> None:
        """Let the high-water mark begin anew."""
        self.runs.forget_peak()

    def standing(self) -> dict[str, Any]:
        """What has left."""
        return {"released": self.left_before}

    def stand(self, standing: dict[str, Any]) -> None:
        """Go on from what has left."""
        self.left_before = standing["released"]


def width(streams: int) -> int:
    """Numbers that are held of a result."""
    return FIRST + streams


def times(rows: Rows) -> Rows:
    """The times of held results."""
    return rows[:, TS]


def with_rows(rows: Rows, stream: int, ids: Rows) -> NDArray[np.bool_]:
    """Which held results have one of these rows of a stream."""
    return np.isin(rows[:, FIRST + stream], ids)


def result(rows: Rows) -> Result:
    """Rows of one kind as a piece; of several as a mixture, in their order."""
    sort = rows[:, KIND].copy()
    for stream in range(rows.shape[1] - FIRST):
        sort = 2 * sort + (rows[:, FIRST + stream] != NO_ROW)
    if (sort == sort[0]).all():
        return _piece(rows)
    order = np.argsort(sort, kind="stable")
    places = np.empty(len(rows), np.int64)
    places[order] = np.arange(len(rows))
    _, starts = np.unique(sort[order], return_index=True)
    parts = np.split(rows[order], starts[1:])
    return Mixture(tuple(_piece(part) for part in parts), places)


def _piece(rows: Rows) -> Piece:
    streams = range(FIRST, rows.shape[1])
    ids = tuple(
        None if rows[0, column] == NO_ROW else np.ascontiguousarray(rows[:, column])
        for column in streams
    )
    return Piece(KINDS[int(rows[0, KIND])], ids, np.ascontiguousarray(rows[:, TS]))
