"""Input that waits for a time, and passes in time order. Paper 4's Sync-Filter, section 4.

A tuple at time t passes once no stream can send one at t or before: once t < the smallest progress.
Equal times leave in the order in which they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.operators.arrivals import Arrivals
from windrow.state.room import HEAP, Room
from windrow.state.runs import Runs

#: What waits of an element: (time, row id, key).
TS, ROW, KEY = range(3)


class Waiting:
    """Elements of each stream that wait for their time."""

    def __init__(self, streams: int, room: Room = HEAP) -> None:
        self.streams = [Runs(3, room) for _ in range(streams)]

    def pass_on(self, arrivals: Sequence[Arrivals], bounds: Sequence[int]) -> list[Arrivals]:
        """Take a batch in; give out all before each stream's bound, in time order."""
        return [
            _pass_on(runs, batch.in_time_order(), bound)
            for runs, batch, bound in zip(self.streams, arrivals, bounds, strict=True)
        ]

    def keep(self, arrivals: Sequence[Arrivals]) -> None:
        """Let these wait too."""
        for runs, batch in zip(self.streams, arrivals, strict=True):
            runs.push(_rows(batch))

    def held(self, stream: int) -> int:
        """How many of a stream wait."""
        return len(self.streams[stream])

    def rows(self, stream: int) -> NDArray[np.int64]:
        """The row ids that wait."""
        return self.streams[stream].all()[:, ROW]

    def arrivals(self) -> list[Arrivals]:
        """All that wait, by stream."""
        return [_arrivals(runs.all()) for runs in self.streams]

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self, name: str) -> dict[str, NDArray[Any]]:
        """Every array, under names that begin with this one."""
        found: dict[str, NDArray[Any]] = {}
        for stream, runs in enumerate(self.streams):
            found |= runs.handover(f"{name}_{stream}")
        return found

    @classmethod
    def attach(
        cls, arrays: dict[str, NDArray[Any]], name: str, streams: int, room: Room
    ) -> Waiting:
        """Go on with the arrays of `handover`, in place."""
        waiting = cls.__new__(cls)
        waiting.streams = [Runs.attach(arrays, f"{name}_{s}", room) for s in range(streams)]
        return waiting


def _pass_on(waiting: Runs, batch: Arrivals, bound: int) -> Arrivals:
    if waiting.due(bound):
        waiting.push(_rows(batch))
        ready = waiting.pop_before(bound)
        return _arrivals(ready)
    # Nothing that waits is due, so what is comes from the batch alone.
    waiting.note(len(waiting) + len(batch.ts))
    cut = int(np.searchsorted(batch.ts, bound, side="left"))
    waiting.push(_rows(batch.part(cut, len(batch.ts))))
    return batch.part(0, cut)


def _rows(batch: Arrivals) -> NDArray[np.int64]:
    return np.stack([batch.ts, batch.row, batch.key], axis=1)


def _arrivals(rows: NDArray[np.int64]) -> Arrivals:
    return Arrivals(*(np.ascontiguousarray(rows[:, column]) for column in (TS, KEY, ROW)))
