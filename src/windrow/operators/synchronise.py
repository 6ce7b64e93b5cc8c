"""Input that waits until every stream has passed its time: then time order is global and final.

Paper 4's Sync-Filter, section 4, without the filter. A tuple at time t is released once no
stream can send one at t or before: once t < the smallest progress. Equal times leave in the order
in which they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.model import END
from windrow.operators.arrivals import Arrivals
from windrow.state.room import HEAP, Room
from windrow.state.runs import Runs

#: What waits of a tuple: (time, row id, key).
TS, ROW, KEY = range(3)


class Synchronise:
    """Holds tuples of each stream back until they are complete."""

    def __init__(self, streams: int, room: Room = HEAP) -> None:
        self.waiting = [Runs(3, room) for _ in range(streams)]

    def pass_on(self, arrivals: Sequence[Arrivals], bound: int) -> list[Arrivals]:
        """Take a batch in; give out all tuples before `bound`, in time order."""
        return [
            _pass_on(runs, batch.in_time_order(), bound)
            for runs, batch in zip(self.waiting, arrivals, strict=True)
        ]

    def flush(self, arrivals: Sequence[Arrivals]) -> list[Arrivals]:
        """Take a batch in; give out everything."""
        return self.pass_on(arrivals, END)

    def keep(self, arrivals: Sequence[Arrivals]) -> None:
        """Let these wait too."""
        for runs, batch in zip(self.waiting, arrivals, strict=True):
            runs.push(_rows(batch))

    def held(self, stream: int) -> int:
        """How many tuples of a stream wait."""
        return len(self.waiting[stream])

    def rows(self, stream: int) -> NDArray[np.int64]:
        """The row ids that wait."""
        return self.waiting[stream].all()[:, ROW]

    # -- memory that outlives a process ----------------------------------------------------

    def parts(self, name: str) -> dict[str, NDArray[Any]]:
        """Every array, under names that begin with this one."""
        found: dict[str, NDArray[Any]] = {}
        for stream, runs in enumerate(self.waiting):
            found |= runs.parts(f"{name}_{stream}")
        return found

    @classmethod
    def attach(
        cls, arrays: dict[str, NDArray[Any]], name: str, streams: int, room: Room
    ) -> Synchronise:
        """Go on with the arrays of `parts`, in place."""
        sync = cls.__new__(cls)
        sync.waiting = [Runs.attach(arrays, f"{name}_{s}", room) for s in range(streams)]
        return sync

    # -- snapshot --------------------------------------------------------------------------

    def snapshot(self) -> list[dict[str, Any]]:
        """What waits, as plain data."""
        held = [runs.all() for runs in self.waiting]
        return [{"ts": rows[:, TS], "key": rows[:, KEY], "row": rows[:, ROW]} for rows in held]

    @classmethod
    def restore(cls, snapshot: list[dict[str, Any]]) -> Synchronise:
        """What a snapshot was taken of."""
        sync = cls(len(snapshot))
        sync.keep([Arrivals(held["ts"], held["key"], held["row"]) for held in snapshot])
        return sync


def _pass_on(waiting: Runs, batch: Arrivals, bound: int) -> Arrivals:
    if waiting.due(bound):
        waiting.push(_rows(batch))
        ready = waiting.pop_before(bound)
        return Arrivals(*(np.ascontiguousarray(ready[:, column]) for column in (TS, KEY, ROW)))
    # Nothing that waits is due, so what is comes from the batch alone.
    waiting.note(len(waiting) + len(batch.ts))
    cut = int(np.searchsorted(batch.ts, bound, side="left"))
    waiting.push(_rows(batch.part(cut, len(batch.ts))))
    return batch.part(0, cut)


def _rows(batch: Arrivals) -> NDArray[np.int64]:
    return np.stack([batch.ts, batch.row, batch.key], axis=1)
