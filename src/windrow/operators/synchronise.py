"""Input that waits until every stream has passed its time: then time order is global and final.

Paper 4's Sync-Filter, section 4, without the filter. A tuple at time t is released once no
stream can send one at t or before: once t < the smallest progress. What waits is kept in the
chunks it came in, each sorted, so a batch costs what arrives and what leaves, not what waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windrow.model import BEGINNING
from windrow.operators.arrivals import Arrivals


class Synchronise:
    """Holds tuples of each stream back until they are complete."""

    def __init__(self, streams: int) -> None:
        self.waiting: list[list[Arrivals]] = [[] for _ in range(streams)]
        self.released = BEGINNING

    def pass_on(self, arrivals: Sequence[Arrivals], bound: int) -> list[Arrivals]:
        """Take a batch in; give out all tuples before `bound`, in time order."""
        for chunks, batch in zip(self.waiting, arrivals, strict=True):
            if len(batch.ts):
                chunks.append(batch.in_time_order())
        if bound == self.released:
            return [Arrivals.empty() for _ in arrivals]
        self.released = bound
        return [self._release(stream, bound) for stream in range(len(self.waiting))]

    def _release(self, stream: int, bound: int) -> Arrivals:
        ready, waiting = [], []
        for chunk in self.waiting[stream]:
            cut = int(np.searchsorted(chunk.ts, bound, side="left"))
            if cut:
                ready.append(chunk.part(0, cut))
            if cut < len(chunk.ts):
                waiting.append(chunk.part(cut, len(chunk.ts)))
        self.waiting[stream] = waiting
        return Arrivals.concatenate(ready).in_time_order()

    def held(self, stream: int) -> int:
        """How many tuples of a stream wait."""
        return sum(len(chunk.ts) for chunk in self.waiting[stream])

    def snapshot(self) -> list[dict[str, Any]]:
        """What waits, as plain data."""
        held = [Arrivals.concatenate(chunks) for chunks in self.waiting]
        return [{"ts": a.ts, "key": a.key, "row": a.row} for a in held]

    @classmethod
    def restore(cls, snapshot: list[dict[str, Any]]) -> Synchronise:
        """What a snapshot was taken of."""
        sync = cls(len(snapshot))
        for chunks, held in zip(sync.waiting, snapshot, strict=True):
            waiting = Arrivals(held["ts"], held["key"], held["row"])
            if len(waiting.ts):
                chunks.append(waiting.in_time_order())
        return sync
