"""A join of tables that queries share: their windows come and go between batches."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from windrow.local.engine import LocalJoin
from windrow.local.payload import TablePayload
from windrow.model import JoinPlan, Schedule, Stream
from windrow.operators.join.shared import SharedJoin
from windrow.operators.released import Released
from windrow.state.join_state import Layout


class LocalShared(LocalJoin):
    """One run over tables. `windows` is the stage that knows what is asked for."""

    def __init__(
        self, streams: Sequence[Stream], schedule: Schedule = "mqt", nested: bool = False
    ) -> None:
        plan = JoinPlan(streams=tuple(streams), schedule=schedule)
        tables = [TablePayload(stream, plan.now) for stream in streams]
        super().__init__(plan, tables, layout(len(plan.streams), nested))

    @property
    def shared(self) -> SharedJoin:
        """The stage that joins: windows are added to it and dropped from it."""
        assert isinstance(self.join, SharedJoin)
        return self.join

    def served(self, ranges: Sequence[tuple[int, int]]) -> list[Released]:
        """What a batch of rows [start, stop) of each table releases; see `batch`."""
        return [piece for piece in self.batch(ranges) if isinstance(piece, Released)]

    def gathered(self, piece: Released) -> pa.RecordBatch:
        """The rows of a piece: a struct for each stream, and `ts`."""
        return self.record_batch(piece)


def layout(streams: int, nested: bool = False) -> Layout:
    """How its state is laid out: all arrivals have one order, so all tuples are in one part."""
    return Layout(streams, "buckets" if nested else "time-list", 1)
