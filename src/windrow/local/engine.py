"""Runs a plan over Arrow tables: batches of rows in, one result table out.

The tables are fed in pieces of `batch_rows` rows of each (whole by default), as a stream would
bring them. A table that has given its last row has ended: its progress is then infinite.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow import expressions
from windrow.local.payload import Payload
from windrow.model import CountWindow, JoinPlan, Metrics, WindrowError
from windrow.operators.admit import Admitted, admit
from windrow.operators.arrivals import Arrivals, Piece
from windrow.operators.count_join import CountJoin
from windrow.operators.keys import Keys
from windrow.operators.progress import Progress
from windrow.operators.window_join import JoinConfig, Verify, WindowJoin
from windrow.state.directory import SameKey
from windrow.state.join_state import JoinState

#: Where a result table carries its figures.
METADATA_KEY = b"windrow.metrics"


class LocalJoin:
    """One run of a plan."""

    def __init__(self, plan: JoinPlan, payloads: Sequence[Payload], state: JoinState) -> None:
        self.plan = plan
        self.payloads = payloads
        self.names = [stream.name for stream in plan.streams]
        self.progress = [Progress(stream.lateness) for stream in plan.streams]
        self.join = operator(plan, payloads, state)
        zero = dict.fromkeys(self.names, 0)
        self.metrics = Metrics(tuples=dict(zero), late=dict(zero), bad=dict(zero), beats=dict(zero))
        self.schema = output_schema(plan, payloads)

    def run(self) -> pa.Table:
        """The whole answer."""
        batches = [self.record_batch(piece) for piece in self.pieces()]
        table = pa.Table.from_batches(batches, self.schema)
        figures = json.dumps(asdict(self.figures())).encode()
        return table.replace_schema_metadata({METADATA_KEY: figures})

    def pieces(self) -> Iterator[Piece]:
        """Feed the tables, batch by batch."""
        longest = max(len(payload) for payload in self.payloads)
        step = self.plan.batch_rows or max(longest, 1)
        for start in range(0, max(longest, 1), step):
            yield from self.batch([(start, start + step)] * len(self.payloads))

    # -- a batch ---------------------------------------------------------------------------

    def batch(self, ranges: Sequence[tuple[int, int]]) -> Iterator[Piece]:
        """Rows [start, stop) of each table; each must go on where the last batch stopped."""
        before = [progress.now for progress in self.progress]
        admitted = [
            admit(payload.columns, min(start, len(payload)), min(stop, len(payload)), now)
            for payload, (start, stop), now in zip(self.payloads, ranges, before, strict=True)
        ]
        self.metrics.batches += 1
        for stream, part in enumerate(admitted):
            self._note(stream, part)
            self.progress[stream].observe(part.newest, part.newest_beat)
            if ranges[stream][1] >= len(self.payloads[stream]):
                self.progress[stream].end()
            yield from self._aside(stream, part)
        after = [progress.now for progress in self.progress]
        arrivals = [self._arrivals(stream, part) for stream, part in enumerate(admitted)]
        yield from self.join.process(arrivals, before, after)

    def _arrivals(self, stream: int, part: Admitted) -> Arrivals:
        if isinstance(self.join, CountJoin) and self.join.counts_keyless(stream):
            return Arrivals.concatenate([part.tuples, part.keyless])
        return part.tuples

    def _note(self, stream: int, part: Admitted) -> None:
        name = self.names[stream]
        if part.bad and self.plan.bad == "fail":
            raise WindrowError(
                f"stream {name!r}: {part.bad} rows have no time in "
                f"{self.plan.streams[stream].time!r}; fill or filter them, or pass bad='drop'"
            )
        self.metrics.tuples[name] += len(part.tuples.ts) + len(part.keyless.ts)
        self.metrics.late[name] += len(part.late.ts)
        self.metrics.bad[name] += part.bad
        self.metrics.beats[name] += part.beats

    def _aside(self, stream: int, part: Admitted) -> Iterator[Piece]:
        """What goes around the join: late rows that are kept, and null keys of a preserved side."""
        if self.plan.late == "keep" and stream in self.plan.shown and len(part.late.ts):
            yield self._alone("late", stream, part.late)
        if self.plan.preserved[stream] and len(part.keyless.ts):
            self.join.unmatched += len(part.keyless.ts)
            yield self._alone("unmatched", stream, part.keyless)

    def _alone(self, kind: str, stream: int, rows: Arrivals) -> Piece:
        sides: list[NDArray[np.int64] | None] = [None] * len(self.names)
        sides[stream] = rows.row
        return Piece("late" if kind == "late" else "unmatched", tuple(sides), rows.ts)

    # -- results ---------------------------------------------------------------------------

    def record_batch(self, piece: Piece) -> pa.RecordBatch:
        """Gather a piece's rows, one `take` for each column."""
        length = len(piece.ts)
        arrays = [
            self.payloads[stream].struct(piece.rows[stream], length) for stream in self.plan.shown
        ]
        ts = pa.array(piece.ts).view(pa.timestamp("us")).cast(self.schema.field("ts").type)
        arrays.append(ts)
        if self.plan.marked:
            arrays.append(pa.repeat(piece.kind, length))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def figures(self) -> Metrics:
        """The metrics so far."""
        figures, join = self.metrics, self.join
        for stream, name in enumerate(self.names):
            bound = self.progress[1 - stream].now
            reach = self.plan.reaches[stream]
            figures.inserted[name], figures.invalidated[name] = join.stored(stream)
            figures.stale[name] = join.state.stale_rows(stream, reach, bound)
            figures.live_rows[name] = join.state.live_rows(stream)
            figures.live_bytes[name] = join.state.nbytes(stream)
            figures.peak_rows[name] = join.state.peak_rows(stream)
        figures.comparisons, figures.checks = join.work()
        figures.candidates = join.candidates
        figures.matches = join.matches
        figures.unmatched = join.unmatched
        return figures


def operator(plan: JoinPlan, payloads: Sequence[Payload], state: JoinState) -> WindowJoin:
    """The operator that a plan asks for."""
    one, two = plan.preserved
    config = JoinConfig(
        how=plan.how,
        reaches=(plan.reaches[0], plan.reaches[1]),
        preserved=(one, two),
        invalidation=plan.invalidation,
        verify=verifier(plan, payloads),
    )
    windows = [stream.window for stream in plan.streams]
    if not any(isinstance(window, CountWindow) for window in windows):
        return WindowJoin(config, state)
    keys = [payload.columns.keys for payload in payloads]
    same = None if keys[0].exact else [same_key(keys, stream) for stream in range(len(keys))]
    return CountJoin(config, state, windows, [k.is_null for k in keys], same)


def same_key(keys: Sequence[Keys], asking: int) -> SameKey:
    """Compares rows of one stream with rows of any."""

    def same(
        rows: NDArray[np.int64], streams: NDArray[np.int64], standing: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        verdict = np.zeros(len(rows), np.bool_)
        for stream, other in enumerate(keys):
            of = streams == stream
            verdict[of] = keys[asking].equal(rows[of], other, standing[of])
        return verdict

    return same


def verifier(plan: JoinPlan, payloads: Sequence[Payload]) -> Verify | None:
    """Judges candidate pairs where equal hashes do not settle it: wide keys, a condition."""
    one, two = payloads
    exact = one.columns.keys.exact
    condition = None
    if plan.condition is not None:
        schemas = {p.stream.name: p.table.schema for p in payloads}
        condition = expressions.condition(plan.condition, schemas)
    if exact and condition is None:
        return None
    by_name = {one.stream.name: 0, two.stream.name: 1}

    def verify(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
        verdict = np.ones(len(first), np.bool_)
        if not exact:
            verdict = one.columns.keys.equal(first, two.columns.keys, second)
        if condition is not None:
            rows = (first[verdict], second[verdict])
            inputs = {
                ref: payloads[by_name[ref[0]]].column(ref[1], rows[by_name[ref[0]]])
                for ref in condition.columns
            }
            held = condition.evaluate(inputs, len(rows[0])).to_numpy(zero_copy_only=False)
            verdict[verdict] = held
        return verdict

    return verify


def output_schema(plan: JoinPlan, payloads: Sequence[Payload]) -> pa.Schema:
    """One struct per shown stream, `ts`, and `kind` where rows can be other than matches."""
    fields = [
        pa.field(payloads[s].stream.name, pa.struct(list(payloads[s].table.schema)))
        for s in plan.shown
    ]
    time = expressions.extract(payloads[0].table, plan.streams[0].time)
    fields.append(pa.field("ts", pa.timestamp("us", time.type.tz)))
    if plan.marked:
        fields.append(pa.field("kind", pa.string()))
    return pa.schema(fields)
