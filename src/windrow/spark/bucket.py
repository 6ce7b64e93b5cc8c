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
from windrow.operators.stage import Handover
from windrow.spark import silence
from windrow.spark.arena import Arena
from windrow.spark.log import blobs, question, ranges, repair, writing
from windrow.spark.log.chunks import PASSING, Chunk
from windrow.spark.log.directory import Change, Directory, Store
from windrow.spark.log.keepers import Keepers
from windrow.spark.log.log import Log
from windrow.spark.log.stored import layout
from windrow.spark.log.tuples import Arrived

#: Raised whenever the meaning of the state's arrays changes.
LAYOUT = 6


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


class BucketJoin:
    """The join of one bucket, for one micro-batch.

    `hit`: was the state in the arena? None: there was none yet. `built`: when the query's join
    was put together (µs); silence before that is down-time.
    """

    def __init__(self, log: Log, finite: bool = False, built: int = 0) -> None:
        self.plan = log.plan
        self.log = log
        self.finite = finite
        self.built = built
        self.hit: bool | None = None
        self.streams = range(len(log.streams))
        self.pipeline = Pipeline(
            log.plan, log.payloads, layout(log.plan), logged=not finite, open_blob=log.open_blob
        )
        self.keepers = Keepers(log, self.pipeline)

    @classmethod
    def once(cls, plan: JoinPlan, buckets: int, store: Store) -> BucketJoin:
        """A bucket of a batch query, which is done when its input is."""
        join = cls(Log(plan, _new(plan, buckets), store, None), finite=True)
        join.pipeline.begin()
        return join

    @classmethod
    def open(
        cls,
        plan: JoinPlan,
        buckets: int,
        store: Store,
        arena: Arena | None = None,
        built: int = 0,
        kept: Directory | None = None,
        back_to: repair.Times = (),
    ) -> BucketJoin:
        """The bucket as its directory says: from the arena, rebuilt from the log, or new.

        `kept` is the directory, if the caller has read it already; `back_to`: see `repair`.
        """
        back_to = back_to or [None] * len(plan.streams)
        kept = kept or Directory.of_store(store)
        if kept is None:
            if arena is not None:
                arena.clear()
            join = cls(Log(plan, _new(plan, buckets), store, arena), built=built)
            join.log.directory.repaired = list(back_to)
            join.pipeline.begin(join.log.room)
            return join
        asked = question.question(plan)
        question.check(kept, buckets, asked)
        question.adopt(kept, asked)
        found = None if arena is None else arena.open(kept.token)
        join = cls(Log(plan, kept, store, arena), built=built)
        changed = repair.apply(join.log, back_to)
        if found is not None and (changed or found[1].get("layout") != meaning(plan)):
            join.log.clear_arena()
            found = None
        join.hit = found is not None
        join._go_on(found)
        if kept.reaches != list(plan.reaches):
            # What was dropped stays dropped, whatever the windows are from now on.
            kept.changes.append(Change(kept.batch, kept.reaches, list(kept.progress)))
            kept.reaches = list(plan.reaches)
        return join

    def _go_on(self, found: Handover | None) -> None:
        """Take up where the directory says, with the stages' arrays or from the log."""
        kept, pipeline = self.log.directory, self.pipeline
        for progress, now in zip(pipeline.progress, kept.progress, strict=True):
            progress.now = now
        if found is not None:
            pipeline.attach(*found, self.log.room)
            pipeline.stand(kept.standing)
            self.keepers.attached()
        else:
            pipeline.begin(self.log.room)
            pipeline.stand(kept.standing)
            self.keepers.restore()

    # -- a micro-batch ---------------------------------------------------------------------

    def process(self, packed: Sequence[Packed]) -> Iterator[Result | pa.RecordBatch]:
        """Join a micro-batch and make it durable; results come while it runs.

        They are pieces, or finished batches of finals.
        """
        directory = self.log.directory
        directory.batch += 1
        # Two attempts at a micro-batch may both reach the state store, each on its own host. They
        # must number chunks and rows alike, or one's directory would name the other's blobs.
        packed = sorted(packed, key=lambda row: (row.side, row.place))
        before = [progress.now for progress in self.pipeline.progress]
        arrived = [self._take_in(stream, packed) for stream in self.streams]
        if any(stream.ranged for stream in self.plan.streams):
            ranges.to_keys(self.log, arrived, self._made_here, self.finite)
        admitted = [self._admit(s, arrived[s], packed, before[s]) for s in self.streams]
        ended = [self.finite] * len(self.streams)
        yield from self.pipeline.bounded(self.pipeline.feed(admitted, ended, self._idle(packed)))
        for payload in self.log.payloads:
            payload.drop_passing()
        if not self.finite:
            self._commit(arrived, before)

    def _commit(self, arrived: Sequence[Sequence[Arrived]], before: Sequence[int]) -> None:
        """Write the micro-batch down, and leave the stages' arrays for the next worker."""
        log, pipeline, directory = self.log, self.pipeline, self.log.directory
        directory.progress = [progress.now for progress in pipeline.progress]
        writing.write(log, pipeline, self.keepers, arrived, before)
        directory.live = [pipeline.join.state.live_rows(stream) for stream in self.streams]
        directory.standing = pipeline.standing()
        directory.token = secrets.token_hex(16)
        log.store.set_directory(directory.to_text())
        if log.arena is not None:
            arrays, facts = pipeline.handover()
            log.arena.commit(directory.token, arrays, {**facts, "layout": meaning(self.plan)})

    def _take_in(self, stream: int, packed: Sequence[Packed]) -> list[Arrived]:
        """Make chunks of the blobs and give their rows ids."""
        return [
            self._arrive(stream, blobs.decode(row.blob), row.blob)
            for row in packed
            if row.side == stream and row.blob is not None
        ]

    def _made_here(self, stream: int, rows: pa.Table) -> Arrived:
        """Rows that were made here, as if they had come."""
        (batch,) = rows.combine_chunks().to_batches()
        return self._arrive(stream, batch, blobs.encode(batch).to_pybytes())

    def _arrive(self, stream: int, batch: pa.RecordBatch, blob: bytes) -> Arrived:
        directory = self.log.directory
        chunk = Chunk(directory.next_rows[stream], batch.num_rows, directory.number(), batch)
        directory.next_rows[stream] += chunk.rows
        self.log.payloads[stream].add(chunk)
        return Arrived(chunk, blob, columns_of(self.log.streams[stream], batch))

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
            mute=_shifted(part.mute, first),
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
        first = self.log.directory.next_rows[side]
        start = first
        for row in mine:
            if row.bad_rows is not None:
                batch = blobs.decode(row.bad_rows)
                self.log.payloads[side].add(Chunk(first, batch.num_rows, PASSING, batch))
                first += batch.num_rows
        ids = np.arange(start, first)
        return Arrivals(np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64), ids)

    def _idle(self, packed: Sequence[Packed]) -> list[bool]:
        """Which streams have been silent for so long that they hold the others back no more."""
        directory = self.log.directory
        now = max((row.now for row in packed if row.now is not None), default=None)
        if now is None:
            return [False] * len(self.streams)
        heard = [any(row.side == side for row in packed) for side in self.streams]
        silence.listen(directory, now, self.built, heard)
        return [
            stream.idle is not None and directory.silence[side] >= stream.idle
            for side, stream in enumerate(self.plan.streams)
        ]


def _new(plan: JoinPlan, buckets: int) -> Directory:
    return Directory.new(buckets, question.question(plan), list(plan.reaches))


def meaning(plan: JoinPlan) -> list[object]:
    """What the arrays in an arena mean: another structure or version cannot use them."""
    laid = layout(plan)
    return [LAYOUT, laid.streams, laid.structure, laid.parts, laid.nodes]


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
    for name in ("ends", "ranges", "mute"):
        found = [getattr(part, name) for part in parts]
        filled = [
            np.zeros(len(part.ts), np.bool_) if mine is None else mine
            for part, mine in zip(parts, found, strict=True)
        ]
        marks.append(np.concatenate(filled) if any(m is not None for m in found) else None)
    keys = Keys(hashes, null if null.any() else None, ())
    return Columns(ts, keys, ends=marks[0], ranges=marks[1], mute=marks[2])


def _shifted(arrivals: Arrivals, first: int) -> Arrivals:
    return Arrivals(arrivals.ts, arrivals.key, arrivals.row + first)
