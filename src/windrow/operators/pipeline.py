"""A join from admitted batches to result rows: what every engine runs.

admitted --> progress --> around the join: late, bad, keyless --> operator --> pieces --> Arrow
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow import expressions
from windrow.kernels import cursor as c
from windrow.model import JoinPlan, Metrics
from windrow.operators import figures
from windrow.operators.admit import Admitted
from windrow.operators.arrivals import Arrivals, Mixture, Piece, Result
from windrow.operators.build import operator
from windrow.operators.count_join import CountJoin
from windrow.operators.finals import Finals
from windrow.operators.in_order import InOrder
from windrow.operators.keys import narrowed
from windrow.operators.partials import final_schema
from windrow.operators.payload import Payload
from windrow.operators.progress import Progress
from windrow.operators.punctuated_join import PunctuatedJoin
from windrow.operators.sizes import RowBytes, bounded, cuts
from windrow.operators.window_join import WindowJoin
from windrow.state.join_state import JoinState
from windrow.state.room import allocated


class Pipeline:
    """A plan under way: progress, operator and figures, over rows that payloads keep."""

    def __init__(
        self,
        plan: JoinPlan,
        payloads: Sequence[Payload],
        state: JoinState,
        told: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.plan = plan
        self.payloads = payloads
        self.told = told
        self.names = [stream.name for stream in plan.streams]
        self.progress = [Progress(stream.lateness) for stream in plan.streams]
        self.join: WindowJoin = operator(plan, payloads, state, told)
        self.finals: Finals | None = Finals(plan, payloads, told) if plan.finals else None
        self.order: InOrder | None = InOrder(plan, told=told, clock=clock) if plan.ordered else None
        self.schema = output_schema(plan)
        zero = dict.fromkeys(self.names, 0)
        self.metrics: Metrics = Metrics(
            tuples=dict(zero), late=dict(zero), bad=dict(zero), beats=dict(zero)
        )

    # -- a batch ---------------------------------------------------------------------------

    def feed(
        self, admitted: Sequence[Admitted], ended: Sequence[bool], idle: Sequence[bool] = ()
    ) -> Iterator[Result]:
        """Join a batch. `admitted` was sorted out by the progress before it.

        `idle`: which streams have been silent for so long that they follow the others.
        """
        before = [progress.now for progress in self.progress]
        self.metrics.batches += 1
        for stream, part in enumerate(admitted):
            self._note(stream, part)
            self.progress[stream].observe(part.newest, part.newest_beat)
            if ended[stream]:
                self.progress[stream].end()
            yield from self._aside(stream, part)
        self._follow(idle)
        after = [progress.now for progress in self.progress]
        arrivals = [self.arrivals(stream, part) for stream, part in enumerate(admitted)]
        if self.order is not None:
            ends = [part.ends for part in admitted]
            yield from self.order.process(self.join, arrivals, ends, after)
            return
        if isinstance(self.join, PunctuatedJoin):
            self.join.announce([self._said(s, part) for s, part in enumerate(admitted)])
        if self.finals is not None:
            self.finals.settled = self._settled()
        yield from self.join.process(arrivals, before, after)
        if self.finals is not None:
            self.finals.merge_if_many(self._promises())

    def _settled(self) -> int:
        """A punctuation that is yet to come speaks of a time from its stream's progress on."""
        streams = zip(self.plan.streams, self.progress, strict=True)
        return min(now.now for stream, now in streams if stream.punctuated) + self.plan.span

    def _promises(self) -> PunctuatedJoin:
        """Only keys that are punctuated have finals."""
        assert isinstance(self.join, PunctuatedJoin)
        return self.join

    def merge_finals(self) -> None:
        """Let partial rows that belong together become one now."""
        if self.finals is not None:
            self.finals.merge(self._promises())

    def _said(self, stream: int, part: Admitted) -> Arrivals:
        """The punctuations of a batch. Where keys are unique, every tuple is one."""
        if self.plan.streams[stream].unique:
            return Arrivals.concatenate([part.ends, part.tuples])
        return part.ends

    def _follow(self, idle: Sequence[bool]) -> None:
        """Raise idle streams to the slowest of the others."""
        if any(idle) and not all(idle):
            pairs = list(zip(self.progress, idle, strict=True))
            slowest = min(progress.now for progress, silent in pairs if not silent)
            for progress, silent in pairs:
                if silent:
                    progress.observe(beat=slowest)

    def parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """What is kept between two batches: its arrays as they are, and what else must be known."""
        arrays, facts = self.join.parts()
        for beside in (self.finals, self.order):
            if beside is not None:
                more, further = beside.parts()
                arrays, facts = {**arrays, **more}, {**facts, **further}
        return arrays, facts

    def allocated(self) -> int:
        """The bytes of these arrays, used or not."""
        return allocated(self.parts()[0])

    def restart(self, state: JoinState) -> None:
        """Begin again with an empty state; progress and figures stay."""
        before, self.join = self.join, operator(self.plan, self.payloads, state, self.told)
        self.join.matches, self.join.unmatched = before.matches, before.unmatched
        self.join.candidates = before.candidates
        self.join.cursor[c.COUNTED] = before.cursor[c.COUNTED]

    def arrivals(self, stream: int, part: Admitted) -> Arrivals:
        """The tuples of a batch that the operator wants."""
        if isinstance(self.join, CountJoin) and self.join.counts_keyless(stream):
            return Arrivals.concatenate([part.tuples, part.keyless])
        return part.tuples

    def _note(self, stream: int, part: Admitted) -> None:
        name = self.names[stream]
        self.metrics.tuples[name] += len(part.tuples.ts) + len(part.keyless.ts)
        self.metrics.late[name] += len(part.late.ts)
        self.metrics.bad[name] += part.bad
        self.metrics.beats[name] += part.beats

    def _aside(self, stream: int, part: Admitted) -> Iterator[Piece]:
        """What goes around the join: rows that are only kept, and null keys of a preserved side."""
        if self.plan.late == "keep" and stream in self.plan.shown and len(part.late.ts):
            yield self._alone("late", stream, part.late)
        if self.plan.bad_of(stream) == "keep" and len(part.bad_rows.ts):
            yield self._alone("bad", stream, part.bad_rows)
        if self.plan.preserved[stream] and len(part.keyless.ts):
            self.join.unmatched += len(part.keyless.ts)
            alone = self._alone("unmatched", stream, part.keyless)
            if self.order is None:
                yield alone
            else:
                self.order.keep(alone)

    def _alone(
        self, kind: Literal["late", "bad", "unmatched"], stream: int, rows: Arrivals
    ) -> Piece:
        sides: list[NDArray[np.int64] | None] = [None] * len(self.names)
        sides[stream] = rows.row
        return Piece(kind, tuple(sides), rows.ts)

    # -- results ---------------------------------------------------------------------------

    def results(self, pieces: Iterator[Result]) -> Iterator[Result | pa.RecordBatch]:
        """What leaves the join: pieces, with ends where they are asked for; or finals alone.

        None has more than `PIECE_BYTES`, but for one of a single row.
        """
        for piece in pieces:
            if isinstance(piece, Mixture):
                yield from self._bounded(piece)
            elif self.finals is not None:
                final = self.finals.absorb(piece, self._promises())
                if final is not None:
                    yield from bounded([final])
            elif piece.kind != "lapse" and (piece.kind != "end" or self.plan.punctuate):
                yield from self._bounded(piece)

    def _bounded(self, piece: Result) -> Iterator[Result]:
        """The piece in parts that are not too large to be gathered."""
        for start, stop in cuts(self._sizes(piece), len(piece)):
            yield piece if stop - start == len(piece) else piece.part(start, stop)

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

    def record_batches(self, pieces: Iterator[Result]) -> Iterator[pa.RecordBatch]:
        """The same, as rows."""
        for result in self.results(pieces):
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

    def figures(self) -> Metrics:
        """The metrics so far."""
        return figures.metrics(self)

    def joined(self, stream: int) -> int:
        """How far a stream has been joined: input that waits still needs what is stored for it."""
        if self.order is not None:
            return self.order.joined[stream]
        return self.progress[stream].now


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
