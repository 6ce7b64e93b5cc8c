"""Runs a plan over Arrow tables: batches of rows in, one result table out.

The tables are fed in pieces of `batch_rows` rows of each (whole by default), as a stream would
bring them. A table that has given its last row has ended: its progress is then infinite.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

import pyarrow as pa

from windrow.local.payload import TablePayload
from windrow.model import JoinPlan
from windrow.operators.admit import admit
from windrow.operators.arrivals import Result
from windrow.operators.columns import refuse_bad
from windrow.operators.pipeline import Pipeline
from windrow.state.join_state import Layout

#: Where a result table carries its figures.
METADATA_KEY = b"windrow.metrics"


class LocalJoin(Pipeline):
    """One run of a plan over tables."""

    def __init__(
        self,
        plan: JoinPlan,
        tables: Sequence[TablePayload],
        layout: Layout,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(plan, tables, layout, clock=clock)
        if plan.bad == "fail":
            for table in tables:
                refuse_bad(table.stream, table.columns)
        self.tables = tables
        #: The streams that a user has been warned of.
        self._warned: set[str] = set()
        self.begin()

    def run(self) -> pa.Table:
        """The whole answer."""
        table = pa.Table.from_batches(list(self.record_batches(self.pieces())), self.schema)
        figures = json.dumps(asdict(self.figures())).encode()
        return table.replace_schema_metadata({METADATA_KEY: figures})

    def pieces(self) -> Iterator[Result | pa.RecordBatch]:
        """Feed the tables, batch by batch."""
        longest = max(len(table) for table in self.tables)
        step = self.plan.batch_rows or max(longest, 1)
        for start in range(0, max(longest, 1), step):
            yield from self.batch([(start, start + step)] * len(self.tables))

    def batch(self, ranges: Sequence[tuple[int, int]]) -> Iterator[Result | pa.RecordBatch]:
        """Rows [start, stop) of each table; each must go on where the last batch stopped."""
        admitted = [
            admit(table.columns, min(start, len(table)), min(stop, len(table)), progress.now)
            for table, (start, stop), progress in zip(
                self.tables, ranges, self.progress, strict=True
            )
        ]
        ended = [stop >= len(table) for table, (_, stop) in zip(self.tables, ranges, strict=True)]
        yield from self.feed(admitted, ended)
        for name, text in self.join.notices().items():
            if name not in self._warned:
                self._warned.add(name)
                warnings.warn(text, UserWarning, stacklevel=2)
