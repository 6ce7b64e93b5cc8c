"""One bucket's join on Spark, without Spark: packed rows in, result pieces out, state in a log.

    packed rows --> chunks --> admit --> pipeline --> pieces of results
                      |                     |
                     log <-- matched rows --+

Between micro-batches the state is in the arena, if this host has it under the directory's token;
otherwise it is rebuilt from the log.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from windrow.model import JoinPlan
from windrow.operators.admit import Admitted, admit
from windrow.operators.arrivals import Arrivals, Result
from windrow.operators.columns import Columns, columns_of
from windrow.operators.keys import Keys
from windrow.operators.pipeline import Pipeline
from windrow.spark import blobs, durable, question, ranges, rebuild, repair, silence
from windrow.spark.arena import Arena
from windrow.spark.chunks import PASSING, Chunk, ChunkPayload
from windrow.spark.log import Change, Directory, Store
from windrow.state.join_state import STREAMS, JoinState, Structure
from windrow.state.punctuated_state import PunctuatedState
from windrow.state.room import HEAP, Room

#: Raised whenever the meaning of the state's arrays changes.
LAYOUT = 4


@dataclass(frozen=True)
class Packed:
    """A row of pack's, as it reaches a bucket. `place` orders the blobs of a stream."""

    side: int
    blob: bytes | None
    newest: int | None
    newest_beat: int | None
    bad: int
    beats: int
    now: int | None = None
    place: int = 0
    bad_rows: bytes | None = None


@dataclass(frozen=True)
class Arrived:
    """A chunk of this micro-batch, with the blob it came in."""

    chunk: Chunk
    blob: bytes
    columns: Columns


class BucketJoin:
    """The join of one bucket, for one micro-batch.

    `hit`: was the state in the arena? None: there was none yet. `built`: when the query's join
    was put together (µs); silence before that is down-time.
    """

    def __init__(
        self,
        plan: JoinPlan,
        buckets: int,
        store: Store,
        arena: Arena | None = None,
        finite: bool = False,
        built: int = 0,
    ) -> None:
        self.plan = plan
        self.store = store
        self.arena = arena
        self.finite = finite
        self.built = built
        self.hit: bool | None = None
        # Pack has left the heartbeats out already.
        self.streams = [replace(stream, beats=None) for stream in plan.streams]
        self.payloads = [ChunkPayload(stream, self.open_blob) for stream in plan.streams]
        self.directory = Directory(buckets, question.question(plan), list(plan.reaches))
        # On the heap: small, and replaced by what the arena has or by `restart`.
        self.pipeline = Pipeline(plan, self.payloads, self._state(HEAP), told=not finite)
        if self.pipeline.finals is not None:
            self.pipeline.finals.store.open = self.open_blob

    @property
    def counted(self) -> bool:
        """Does a window count rows?"""
        return self.plan.counted

    def empty_state(self) -> JoinState:
        """A state with nothing in it, made in the arena."""
        return self._state(self.arena or HEAP)

    def _state(self, room: Room) -> JoinState:
        structure, parts = self._structure()
        if self.plan.punctuated:
            return PunctuatedState(parts, room=room)
        return JoinState(structure, parts, room=room)

    def _layout(self) -> list[object]:
        """What the arrays in the arena mean: another structure or version cannot use them."""
        return [LAYOUT, *self._structure(), self.plan.punctuated]

    def _structure(self) -> tuple[Structure, int]:
        return rebuild.structure(self.plan, self.counted)

    @classmethod
    def open(
        cls,
        plan: JoinPlan,
        buckets: int,
        store: Store,
        arena: Arena | None = None,
        built: int = 0,
        kept: Directory | None = None,
        back_to: repair.Times = (None,) * STREAMS,
    ) -> BucketJoin:
        """The bucket as its directory says: from the arena, rebuilt from the log, or new.

        `kept` is the directory, if the caller has read it already; `back_to`: see `repair`.
        """
        kept = kept or Directory.of_store(store)
        if kept is None:
            if arena is not None:
                arena.clear()
            fresh = cls(plan, buckets, store, arena, built=built)
            fresh.directory.repaired = list(back_to)
            fresh.pipeline.restart(fresh.empty_state())
            if fresh.pipeline.finals is not None:
                fresh.pipeline.finals.begin(arena or HEAP)
            if fresh.pipeline.order is not None:
                fresh.pipeline.order.begin(arena or HEAP)
            return fresh
        asked = question.question(plan)
        question.check(kept, buckets, asked)
        question.adopt(kept, asked)
        found = None if arena is None else arena.open(kept.token)
        join = cls(plan, buckets, store, arena, built=built)
        join.directory = kept
        for entry in kept.chunks:
            chunk = Chunk(entry.first, entry.rows, entry.number, hidden=kept.hidden(entry))
            join.payloads[entry.stream].add(chunk)
        changed = repair.apply(join, back_to)
        for progress, now in zip(join.pipeline.progress, kept.progress, strict=True):
            progress.now = now
        if found is not None and (changed or found[1].get("layout") != join._layout()):
            assert arena is not None
            arena.clear()
            found = None
        join.hit = found is not None
        if found is not None and arena is not None:
            join.pipeline.join.attach(*found, arena)
            if join.pipeline.finals is not None:
                join.pipeline.finals.attach(*found, arena, kept.partials)
            if join.pipeline.order is not None and kept.order is not None:
                join.pipeline.order.attach(*found, arena)
                join.pipeline.order.restore(kept.order)
        else:
            join.pipeline.restart(join.empty_state())
            if join.pipeline.finals is not None:
                join.pipeline.finals.begin(arena or HEAP)
            if join.pipeline.order is not None and kept.order is not None:
                join.pipeline.order.begin(arena or HEAP)
                join.pipeline.order.restore(kept.order)
            rebuild.from_log(join)
        if kept.reaches != list(plan.reaches):
            # What was dropped stays dropped, whatever the windows are from now on.
            kept.changes.append(Change(kept.batch, kept.reaches, list(kept.progress)))
            kept.reaches = list(plan.reaches)
        return join

    def open_blob(self, number: int) -> pa.RecordBatch:
        kept = None if self.arena is None else self.arena.chunk(number)
        if kept is not None:
            return blobs.decode(kept)
        blob = self.store.read(number)
        if self.arena is not None:
            self.arena.put_chunk(number, blob)
        return blobs.decode(blob)

    # -- a micro-batch ---------------------------------------------------------------------

    def process(self, packed: Sequence[Packed]) -> Iterator[Result | pa.RecordBatch]:
        """Join a micro-batch and make it durable; results come while it runs.

        They are pieces, or finished batches of finals.
        """
        directory = self.directory
        directory.batch += 1
        # Two attempts at a micro-batch may both reach the state store, each on its own host. They
        # must number chunks and rows alike, or one's directory would name the other's blobs.
        packed = sorted(packed, key=lambda row: (row.side, row.place))
        before = [progress.now for progress in self.pipeline.progress]
        arrived = [self._take_in(side, packed) for side in range(STREAMS)]
        if any(stream.ranged for stream in self.plan.streams):
            ranges.to_keys(self, arrived)
        admitted = [
            self._admit(side, arrived[side], packed, before[side]) for side in range(STREAMS)
        ]
        idle = self._idle(packed)
        pieces = self.pipeline.feed(admitted, [self.finite] * STREAMS, idle)
        yield from self.pipeline.results(pieces)
        for payload in self.payloads:
            payload.drop_passing()
        if self.finite:
            return
        directory.progress = [progress.now for progress in self.pipeline.progress]
        durable.write(self, arrived, before)
        directory.live = [self.pipeline.join.state.live_rows(side) for side in range(STREAMS)]
        if self.pipeline.order is not None:
            directory.order = self.pipeline.order.snapshot()
        directory.token = secrets.token_hex(16)
        self.store.set_directory(directory.to_text())
        if self.arena is not None:
            arrays, facts = self.pipeline.parts()
            self.arena.commit(directory.token, arrays, {**facts, "layout": self._layout()})

    def _take_in(self, side: int, packed: Sequence[Packed]) -> list[Arrived]:
        """Make chunks of the blobs and give their rows ids."""
        arrived: list[Arrived] = []
        for row in packed:
            if row.side == side and row.blob is not None:
                arrived.append(self._arrive(side, blobs.decode(row.blob), row.blob))
        return arrived

    def take_in(self, side: int, rows: pa.Table, arrived: list[Arrived]) -> None:
        """Add rows that were made here to those that have come."""
        (batch,) = rows.combine_chunks().to_batches()
        arrived.append(self._arrive(side, batch, blobs.encode(batch).to_pybytes()))

    def _arrive(self, side: int, batch: pa.RecordBatch, blob: bytes) -> Arrived:
        number = self.directory.number()
        chunk = Chunk(self.directory.next_rows[side], batch.num_rows, number, batch)
        self.directory.next_rows[side] += chunk.rows
        self.payloads[side].add(chunk)
        return Arrived(chunk, blob, columns_of(self.streams[side], batch))

    def _admit(
        self, side: int, arrived: Sequence[Arrived], packed: Sequence[Packed], before: int
    ) -> Admitted:
        """Sort the new rows out; progress moves by what all buckets' packed rows say."""
        columns = _together([part.columns for part in arrived])
        part = admit(columns, 0, len(columns.ts), before)
        first = arrived[0].chunk.first if arrived else 0
        mine = [row for row in packed if row.side == side]
        return replace(
            part,
            tuples=_shifted(part.tuples, first),
            keyless=_shifted(part.keyless, first),
            late=_shifted(part.late, first),
            ends=_shifted(part.ends, first),
            bad=sum(row.bad for row in mine),
            bad_rows=self._pass_by(side, mine),
            beats=sum(row.beats for row in mine),
            newest=max((row.newest for row in mine if row.newest is not None), default=None),
            newest_beat=max(
                (row.newest_beat for row in mine if row.newest_beat is not None), default=None
            ),
        )

    def _pass_by(self, side: int, mine: Sequence[Packed]) -> Arrivals:
        """The bad rows, which are at hand until this micro-batch is done and then forgotten.

        Their row ids are beyond those of all others, which they leave as they are.
        """
        first = self.directory.next_rows[side]
        start = first
        for row in mine:
            if row.bad_rows is not None:
                batch = blobs.decode(row.bad_rows)
                self.payloads[side].add(Chunk(first, batch.num_rows, PASSING, batch))
                first += batch.num_rows
        ids = np.arange(start, first)
        return Arrivals(np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64), ids)

    def _idle(self, packed: Sequence[Packed]) -> list[bool]:
        """Which streams have been silent for so long that they hold the others back no more."""
        directory = self.directory
        now = max((row.now for row in packed if row.now is not None), default=None)
        if now is None:
            return [False] * STREAMS
        heard = [any(row.side == side for row in packed) for side in range(STREAMS)]
        silence.listen(directory, now, self.built, heard)
        return [
            stream.idle is not None and directory.silence[side] >= stream.idle
            for side, stream in enumerate(self.plan.streams)
        ]


def _together(parts: Sequence[Columns]) -> Columns:
    """The columns of several chunks, one after the other."""
    if len(parts) == 1:
        return parts[0]
    none = np.empty(0, np.int64)
    nulls = [part.keys.is_null(np.arange(len(part.ts))) for part in parts]
    null = np.concatenate([none.astype(np.bool_), *nulls])
    hashes = np.concatenate([none, *(part.keys.hashes for part in parts)])
    ts = np.concatenate([none, *(part.ts for part in parts)])
    marks = []
    for found in ([part.ends for part in parts], [part.ranges for part in parts]):
        filled = [
            np.zeros(len(part.ts), np.bool_) if mine is None else mine
            for part, mine in zip(parts, found, strict=True)
        ]
        marks.append(np.concatenate(filled) if any(m is not None for m in found) else None)
    keys = Keys(hashes, null if null.any() else None, ())
    return Columns(ts, keys, ends=marks[0], ranges=marks[1])


def _shifted(arrivals: Arrivals, first: int) -> Arrivals:
    return Arrivals(arrivals.ts, arrivals.key, arrivals.row + first)
