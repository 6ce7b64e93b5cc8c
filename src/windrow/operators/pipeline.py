"""A join from admitted batches to result rows: what every engine runs.

admitted --> progress --> gate --> join --> results --> Arrow
                |                             |
                +--- late, bad -------------------------> around it all
                +--- null keys, mute tuples of a preserved stream --> around the join
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow import expressions
from windrow.model import JoinPlan, Metrics
from windrow.operators import figures
from windrow.operators.admit import Admitted
from windrow.operators.arrivals import Arrivals, Mixture, Piece, Result, Rows
from windrow.operators.build import Join, join_of
from windrow.operators.gate import Gate, gate_of
from windrow.operators.keys import narrowed
from windrow.operators.payload import Payload
from windrow.operators.progress import Progress, of_the_others
from windrow.operators.results import results_of
from windrow.operators.results.partials import final_schema
from windrow.operators.sizes import RowBytes, cuts
from windrow.operators.stage import Handover, Stage
from windrow.state.join_state import Layout
from windrow.state.room import HEAP, Room, allocated


class Pipeline:
    """A plan under way: progress, stages and figures, over rows that payloads keep.

    `logged`: whether there is a log, which wants to know what changes. A pipeline begins with
    `begin` or goes on with `attach`.
    """

    def __init__(
        self,
        plan: JoinPlan,
        payloads: Sequence[Payload],
        layout: Layout,
        logged: bool = False,
        clock: Callable[[], float] = time.perf_counter,
        open_blob: Callable[[int], pa.RecordBatch] | None = None,
    ) -> None:
        self.plan = plan
        self.payloads = payloads
        self.names = [stream.name for stream in plan.streams]
        self.progress = [Progress(stream.lateness) for stream in plan.streams]
        self.gate = gate_of(plan, clock, payloads)
        # A stage that knew the pipeline would keep all its rows until garbage is collected.
        self.join = join_of(plan, payloads, layout, logged, self.gate.rows)
        promised = partial(_promised, self.gate, self.join)
        self.results = results_of(plan, payloads, promised, logged, open_blob, self.join)
        self.stages: dict[str, Stage] = {
            "gate": self.gate,
            "join": self.join,
            "results": self.results,
        }
        self.schema = output_schema(plan)
        zero = dict.fromkeys(self.names, 0)
        self.metrics: Metrics = Metrics(
            tuples=dict(zero), late=dict(zero), bad=dict(zero), beats=dict(zero)
        )

    # -- its life --------------------------------------------------------------------------

    def begin(self, room: Room = HEAP) -> None:
        """Start with nothing."""
        for stage in self.stages.values():
            stage.begin(room)

    def handover(self) -> Handover:
        """All stages' arrays, and what else must be known with them."""
        arrays: dict[str, NDArray[Any]] = {}
        facts = {}
        for name, stage in self.stages.items():
            mine, facts[name] = stage.handover()
            arrays |= {f"{name}-{each}": array for each, array in mine.items()}
        return arrays, facts

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `handover`, in place."""
        for name, stage in self.stages.items():
            prefix = f"{name}-"
            mine = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            stage.attach(mine, facts[name], room)

    def standing(self) -> dict[str, Any]:
        """What a log needs beside rows and deltas, by stage."""
        return {name: stage.standing() for name, stage in self.stages.items()}

    def stand(self, standing: dict[str, Any]) -> None:
        """Take a standing over."""
        for name, stage in self.stages.items():
            stage.stand(standing[name])

    # -- a batch ---------------------------------------------------------------------------

    def feed(
        self, admitted: Sequence[Admitted], ended: Sequence[bool], idle: Sequence[bool] = ()
    ) -> Iterator[Result | pa.RecordBatch]:
        """Join a batch. `admitted` was sorted out by the progress before it.

        `idle`: which streams have been silent for so long that they follow the others. Results come
        while it runs, as pieces or as finished batches of finals.
        """
        self.metrics.batches += 1
        for stream, part in enumerate(admitted):
            self._note(stream, part)
            self.progress[stream].observe(part.newest, part.newest_beat)
            if ended[stream]:
                self.progress[stream].end()
        self._follow(idle)
        after = [progress.now for progress in self.progress]
        self.results.expect(after)
        for stream, part in enumerate(admitted):
            yield from self._aside(stream, part)
        tuples = [self.arrivals(stream, part) for stream, part in enumerate(admitted)]
        passed = self.gate.pass_on(tuples, [part.ends for part in admitted], after)
        with self.gate.measuring(passed, self.join.state):
            for piece in self.join.process(passed):
                yield from self.results.take(piece)
        yield from self.results.finish()

    def _follow(self, idle: Sequence[bool]) -> None:
        """Raise idle streams to the slowest of the others."""
        if any(idle) and not all(idle):
            pairs = list(zip(self.progress, idle, strict=True))
            slowest = min(progress.now for progress, silent in pairs if not silent)
            for progress, silent in pairs:
                if silent:
                    progress.observe(beat=slowest)

    def arrivals(self, stream: int, part: Admitted) -> Arrivals:
        """The tuples of a batch that the join wants."""
        wanted = [part.tuples]
        if self.join.counts_keyless(stream):
            wanted.append(part.keyless)
        if self.join.counts_mute(stream):
            wanted.append(part.mute)
        return Arrivals.concatenate([each for each in wanted if len(each.ts)])

    def _note(self, stream: int, part: Admitted) -> None:
        name = self.names[stream]
        self.metrics.tuples[name] += sum(
            len(each.ts) for each in (part.tuples, part.keyless, part.mute)
        )
        self.metrics.late[name] += len(part.late.ts)
        self.metrics.bad[name] += part.bad
        self.metrics.beats[name] += part.beats

    def _aside(self, stream: int, part: Admitted) -> Iterator[Result]:
        """What goes around: rows that are only kept, and those that match nothing and leave."""
        streams = len(self.names)
        if self.plan.late == "keep" and stream in self.plan.shown and len(part.late.ts):
            yield Piece.alone("late", streams, stream, part.late.row, part.late.ts)
        if self.plan.bad_of(stream) == "keep" and len(part.bad_rows.ts):
            yield Piece.alone("bad", streams, stream, part.bad_rows.row, part.bad_rows.ts)
        for alone in (part.keyless, part.mute):
            if self.plan.preserved[stream] and len(alone.ts):
                self.join.unmatched += len(alone.ts)
                yield from self.results.take(
                    Piece.alone("unmatched", streams, stream, alone.row, alone.ts)
                )

    # -- results ---------------------------------------------------------------------------

    def bounded(
        self, results: Iterator[Result | pa.RecordBatch]
    ) -> Iterator[Result | pa.RecordBatch]:
        """Results in parts that are not too large to be gathered.

        None has more than `PIECE_BYTES`, but for one of a single row.
        """
        for result in results:
            if isinstance(result, pa.RecordBatch):
                yield result
            else:
                for start, stop in cuts(self._sizes(result), len(result)):
                    whole = stop - start == len(result)
                    yield result if whole else result.part(start, stop)

    def _sizes(self, piece: Result) -> RowBytes:
        """The bytes of a piece's rows once they are gathered."""
        if isinstance(piece, Mixture):
            parts = [np.broadcast_to(self._sizes(part), len(part)) for part in piece.pieces]
            mixed: NDArray[np.float64] = np.concatenate(parts)[piece.places]
            return mixed
        total: RowBytes = 8.0
        for stream, rows in enumerate(piece.rows):
            if rows is not None and piece.kind == "end":
                keys = self.plan.streams[stream].key
                total = total + len(self.plan.shown) * self.payloads[stream].sizes(rows, keys)
            elif rows is not None and stream in self.plan.shown:
                total = total + self.payloads[stream].sizes(rows)
        return total

    def record_batches(
        self, results: Iterator[Result | pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        """The same, as rows."""
        for result in self.bounded(results):
            yield result if isinstance(result, pa.RecordBatch) else self.record_batch(result)

    def record_batch(self, piece: Result) -> pa.RecordBatch:
        """Gather a piece's rows, one `take` for each column."""
        if isinstance(piece, Mixture):
            parts = pa.Table.from_batches([self.record_batch(part) for part in piece.pieces])
            (mixed,) = parts.combine_chunks().take(pa.array(piece.places)).to_batches()
            return mixed
        length = len(piece.ts)
        arrays = [
            self.ended(stream, piece, self.schema.field(at).type)
            if piece.kind == "end"
            else self.payloads[stream].struct(
                piece.rows[stream], length, self.schema.field(at).type
            )
            for at, stream in enumerate(self.plan.shown)
        ]
        ts = piece.times().view(pa.timestamp("us")).cast(self.schema.field("ts").type)
        arrays.append(ts)
        if self.plan.marked:
            arrays.append(pa.repeat(piece.kind, length))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def ended(self, stream: int, piece: Piece, kind: pa.StructType) -> pa.StructArray:
        """A stream's structs for keys that ended: the key, wherever it was said, and nulls."""
        said = next(s for s, rows in enumerate(piece.rows) if rows is not None)
        rows = piece.rows[said]
        assert rows is not None
        payload, streams = self.payloads[said], self.plan.streams
        paths = zip(streams[stream].key or (), streams[said].key or (), strict=True)
        values = {
            tuple(field.name for field in expressions.trail(streams[stream].schema, its) or ()): (
                payload.column(mine, rows)
            )
            for its, mine in paths
        }
        return nested(values, kind, len(rows))

    # -- figures ---------------------------------------------------------------------------

    def figures(self) -> Metrics:
        """The metrics so far."""
        return figures.metrics(self)

    def stale(self) -> list[int]:
        """Tuples of each stream that could be gone: input that waits still needs its partners."""
        reaches, joined = self.plan.reaches, self.gate.joined
        return [
            self.join.state.stale_rows(stream, reach, of_the_others(joined, stream))
            for stream, reach in enumerate(reaches)
        ]

    def allocated(self) -> int:
        """The bytes of all stages' arrays, used or not."""
        return allocated(self.handover()[0])


def _promised(gate: Gate, join: Join, before: int) -> list[tuple[Rows, Rows]]:
    """By stream, rows and times of the punctuations before a time that act, or that wait."""
    found = []
    for stream, waiting in enumerate(gate.ends.arrivals()):
        rows, ts = join.promised(stream, before)
        rows, ts = np.concatenate([rows, waiting.row]), np.concatenate([ts, waiting.ts])
        found.append((rows[ts < before], ts[ts < before]))
    return found


def output_schema(plan: JoinPlan) -> pa.Schema:
    """One struct per shown stream, `ts`, and `kind` where rows can be other than matches."""
    if plan.finals:
        return final_schema(plan)
    fields = [pa.field(plan.streams[s].name, _struct_type(plan, s)) for s in plan.shown]
    first = plan.streams[0]
    time = expressions.resolve(first.schema, first.time)
    fields.append(pa.field("ts", pa.timestamp("us", time.tz if time is not None else None)))
    if plan.marked:
        fields.append(pa.field("kind", pa.string()))
    return pa.schema(fields)


def _struct_type(plan: JoinPlan, stream: int) -> pa.DataType:
    """A stream's columns. Where the struct may be null, so may they: Parquet takes nothing else.

    An end has nothing but its key.
    """
    alone = [plan.marked or plan.preserved[other] for other in plan.shown if other != stream]
    fields = list(plan.streams[stream].schema)
    if any(alone) or plan.punctuate:
        fields = [field.with_nullable(True) for field in fields]
    return pa.struct(fields)


def nested(
    values: dict[tuple[str, ...], pa.Array], kind: pa.StructType, length: int
) -> pa.StructArray:
    """Structs of that type with these columns, by the names down to them; all others are null.

    A key of the other stream that the column is too narrow for is null as well.
    """
    arrays = []
    for field in kind:
        inner = {path[1:]: value for path, value in values.items() if path[0] == field.name}
        if () in inner:
            arrays.append(narrowed(inner[()], field.type))
        elif inner:
            arrays.append(nested(inner, field.type, length))
        else:
            arrays.append(pa.nulls(length, field.type))
    return pa.StructArray.from_arrays(arrays, fields=list(kind))
