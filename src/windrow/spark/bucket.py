"""One bucket's join on Spark, without Spark: packed rows in, result batches out, state in a log.

    packed rows --> chunks --> admit --> pipeline --> result batches
                      |                     |
                     log <-- matched rows --+

A bucket that finds no cached state under its directory's token rebuilds it from the log: chunks in
the order they came, each batch in time order, then expiry by today's progress. That is the order
in which they were stored, so the rebuilt lists drop what the lost ones had dropped, and no
unmatched row leaves twice.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels import lists as ls
from windrow.model import JoinPlan
from windrow.operators.admit import Admitted, admit
from windrow.operators.arrivals import Arrivals, Piece
from windrow.operators.columns import Columns
from windrow.operators.keys import Keys
from windrow.operators.pipeline import Pipeline
from windrow.spark import blobs
from windrow.spark.chunks import Chunk, ChunkPayload
from windrow.spark.log import Delta, Directory, Entry, Store, check_question, expired_chunks
from windrow.state.join_state import STREAMS, JoinState

#: Cells of a bucket's state: a bucket has a part of the keys already, so fewer than in process.
CELLS = 16


@dataclass(frozen=True)
class Packed:
    """A row of pack's, as it reaches a bucket."""

    side: int
    blob: bytes | None
    newest: int | None
    newest_beat: int | None
    bad: int
    beats: int


class BucketJoin:
    """The join of one bucket, between micro-batches."""

    def __init__(self, plan: JoinPlan, buckets: int, finite: bool = False) -> None:
        self.plan = plan
        self.finite = finite
        self.payloads = [ChunkPayload(stream) for stream in plan.streams]
        self.pipeline = Pipeline(plan, self.payloads, JoinState("time-list", CELLS))
        self.directory = Directory(buckets, question(plan))
        if plan.how != "inner":
            self.pipeline.join.matched_log = []

    # -- opening ---------------------------------------------------------------------------

    @classmethod
    def open(
        cls, plan: JoinPlan, buckets: int, store: Store, cache: dict[str, BucketJoin], finite: bool
    ) -> BucketJoin:
        """The bucket as its directory says: cached, rebuilt from the log, or new."""
        text = store.directory()
        if text is None:
            return cls(plan, buckets, finite)
        kept = Directory.from_text(text)
        check_question(kept, buckets, question(plan))
        # Taken out: a task that fails half-way must not leave a changed state under this token.
        cached = cache.pop(kept.token, None)
        if cached is not None:
            return cached
        join = cls(plan, buckets, finite)
        join.rebuild(kept, store)
        return join

    def rebuild(self, kept: Directory, store: Store) -> None:
        """Make the state again from the log."""
        self.directory = kept
        join = self.pipeline.join
        for progress, now in zip(self.pipeline.progress, kept.progress, strict=True):
            progress.now = now
        for entry in kept.chunks:
            chunk = Chunk(entry.first, blobs.decode(store.read(entry.number)))
            self.payloads[entry.stream].add(chunk)
        if join.config.flagged:
            join.flags.covers(kept.next_rows)
            oldest = [
                min((e.first for e in kept.chunks if e.stream == s), default=kept.next_rows[s])
                for s in range(STREAMS)
            ]
            join.flags.cover(oldest)
            for delta in kept.deltas:
                rows = np.frombuffer(store.read(delta.number), np.int64)
                join.flags.set(delta.stream, rows[rows >= oldest[delta.stream]])
        for stream in range(STREAMS):
            self._restore_stream(stream)

    def _restore_stream(self, stream: int) -> None:
        """Append what was stored, in the order it was; drop what has expired since."""
        reach = self.plan.reaches[stream]
        stored = []
        entries = [entry for entry in self.directory.chunks if entry.stream == stream]
        chunks = {chunk.first: chunk for chunk in self.payloads[stream].chunks}
        for _, batch in groupby(entries, key=lambda entry: entry.batch):
            parts = [_stored_records(entry, chunks[entry.first], reach) for entry in batch]
            records = np.concatenate(parts)
            stored.append(records[np.argsort(records[:, ls.TS], kind="stable")])
        if not stored:
            return
        records = np.concatenate(stored)
        lists = self.pipeline.join.state.lists
        cells = cell_of(records[:, ls.KEY])
        bound = self.directory.progress[1 - stream]
        for cell in range(CELLS):
            lists.append(STREAMS * cell + stream, records[cells == cell])
            lists.drop_expired(STREAMS * cell + stream, reach, bound)

    # -- a micro-batch ---------------------------------------------------------------------

    def process(self, packed: Sequence[Packed], store: Store) -> Iterator[pa.RecordBatch]:
        """Join a micro-batch and make it durable; results come while it runs."""
        directory = self.directory
        directory.batch += 1
        before = [progress.now for progress in self.pipeline.progress]
        arrived = [self._take_in(side, packed) for side in range(STREAMS)]
        admitted = [
            self._admit(side, [chunk for chunk, _ in arrived[side]], packed, before[side])
            for side in range(STREAMS)
        ]
        for piece in self.pipeline.feed(admitted, [self.finite] * STREAMS):
            yield self.record_batch(piece)
        if not self.finite:
            after = [progress.now for progress in self.pipeline.progress]
            self._make_durable(arrived, before, after, store)

    def record_batch(self, piece: Piece) -> pa.RecordBatch:
        """A piece of results as Arrow rows."""
        return self.pipeline.record_batch(piece)

    def _take_in(self, side: int, packed: Sequence[Packed]) -> list[tuple[Chunk, bytes]]:
        """Make chunks of the blobs and give their rows ids."""
        arrived = []
        for row in packed:
            if row.side == side and row.blob is not None:
                chunk = Chunk(self.directory.next_rows[side], blobs.decode(row.blob))
                self.directory.next_rows[side] += chunk.rows
                self.payloads[side].add(chunk)
                arrived.append((chunk, row.blob))
        return arrived

    def _admit(
        self, side: int, chunks: Sequence[Chunk], packed: Sequence[Packed], before: int
    ) -> Admitted:
        """Sort the new rows out; progress moves by what all buckets' packed rows say."""
        none = np.empty(0, np.int64)
        ts = np.concatenate([none, *(chunk.ts for chunk in chunks)])
        hashes = np.concatenate([none, *(chunk.keys for chunk in chunks)])
        null = np.concatenate([none.astype(np.bool_), *(chunk.keyless() for chunk in chunks)])
        keys = Keys(hashes, null if null.any() else None, ())
        first = chunks[0].first if chunks else 0
        part = admit(Columns(ts, keys), 0, len(ts), before)
        mine = [row for row in packed if row.side == side]
        return replace(
            part,
            tuples=_shifted(part.tuples, first),
            keyless=_shifted(part.keyless, first),
            late=_shifted(part.late, first),
            bad=sum(row.bad for row in mine),
            beats=sum(row.beats for row in mine),
            newest=max((row.newest for row in mine if row.newest is not None), default=None),
            newest_beat=max(
                (row.newest_beat for row in mine if row.newest_beat is not None), default=None
            ),
        )

    # -- durability ------------------------------------------------------------------------

    def _make_durable(
        self,
        arrived: Sequence[Sequence[tuple[Chunk, bytes]]],
        before: Sequence[int],
        after: Sequence[int],
        store: Store,
    ) -> None:
        """Append this batch's chunks and matches to the log, remove what it freed."""
        directory = self.directory
        directory.progress = list(after)
        for side in range(STREAMS):
            for chunk, blob in arrived[side]:
                entry = Entry(
                    directory.number(), side, chunk.first, chunk.rows, directory.batch,
                    int(chunk.ts.max()), before[side], before[1 - side], after[1 - side],
                )  # fmt: skip
                store.write(entry.number, blob)
                directory.chunks.append(entry)
            self._forget(side, store)
            self._log_matches(side, store)
        self.directory.token = secrets.token_hex(16)
        store.set_directory(directory.to_text())

    def _forget(self, side: int, store: Store) -> None:
        """Remove the chunks that have no stored tuple left."""
        directory = self.directory
        mine = [entry for entry in directory.chunks if entry.stream == side]
        gone = mine[: expired_chunks(mine, self.plan.reaches, directory.progress)]
        for entry in gone:
            store.remove(entry.number)
            self.payloads[side].drop(entry.first)
        numbers = {entry.number for entry in gone}
        directory.chunks = [e for e in directory.chunks if e.number not in numbers]

    def _log_matches(self, side: int, store: Store) -> None:
        """Write down which rows were matched, where that decides what leaves later."""
        log = self.pipeline.join.matched_log
        if log is None:
            return
        directory = self.directory
        oldest = min(
            (e.first for e in directory.chunks if e.stream == side),
            default=directory.next_rows[side],
        )
        for delta in [d for d in directory.deltas if d.stream == side and d.newest_row < oldest]:
            store.remove(delta.number)
            directory.deltas.remove(delta)
        found = [rows[side] for rows in log]
        if side == STREAMS - 1:
            log.clear()
        if not found or not (self.plan.preserved[side] or (self.plan.how == "semi" and side == 0)):
            return
        rows = np.unique(np.concatenate(found))
        rows = rows[rows >= oldest]
        if len(rows):
            delta = Delta(directory.number(), side, len(rows), int(rows[-1]))
            store.write(delta.number, rows.tobytes())
            directory.deltas.append(delta)

    def keep(self, cache: dict[str, BucketJoin]) -> None:
        """Leave the state where the next micro-batch may find it."""
        cache[self.directory.token] = self


def question(plan: JoinPlan) -> dict[str, object]:
    """What must stay the same for stored tuples to be of use."""
    return {
        "kind": plan.how,
        "keys": [None if s.key is None else list(s.key) for s in plan.streams],
        "times": [s.time for s in plan.streams],
        "streams": [s.name for s in plan.streams],
    }


def cell_of(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The cell of each key, as the kernels place it."""
    return (((keys >> 32) & 0xFFFFFFFF) * CELLS) >> 32


def _stored_records(entry: Entry, chunk: Chunk, reach: int) -> NDArray[np.int64]:
    """The rows of a chunk that were stored when it came: in time, with a key, not yet past."""
    ts, keys = chunk.ts, chunk.keys
    progress = np.maximum(entry.other_before, np.minimum(ts, entry.other_after))
    stored = (ts >= entry.own_before) & ~chunk.keyless() & (ts + reach >= progress)
    records = np.zeros((int(stored.sum()), ls.COLUMNS), np.int64)
    records[:, ls.TS] = ts[stored]
    records[:, ls.KEY] = keys[stored]
    records[:, ls.ROW] = np.flatnonzero(stored) + entry.first
    return records


def _shifted(arrivals: Arrivals, first: int) -> Arrivals:
    return Arrivals(arrivals.ts, arrivals.key, arrivals.row + first)
