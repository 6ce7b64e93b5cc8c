"""Windows of rows over tables, which queries share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from windrow.local.engine import LocalJoin
from windrow.local.payload import TablePayload
from windrow.model import CountWindow, JoinPlan, Schedule, Stream
from windrow.operators.join.ranked import RankedJoin
from windrow.state.join_state import Layout


class LocalRows(LocalJoin):
    """One run over tables, of each key or of each stream. `ranked` knows what is asked for."""

    def __init__(
        self, streams: Sequence[Stream], per: Literal["key", "stream"], schedule: Schedule
    ) -> None:
        counted = [replace(stream, window=CountWindow(1, per)) for stream in streams]
        plan = JoinPlan(streams=tuple(counted), schedule=schedule)
        tables = [TablePayload(stream, plan.now) for stream in counted]
        super().__init__(plan, tables, Layout(len(tables), "counted", 1))

    @property
    def ranked(self) -> RankedJoin:
        """The stage that joins: windows are added to it and dropped from it."""
        assert isinstance(self.join, RankedJoin)
        return self.join
