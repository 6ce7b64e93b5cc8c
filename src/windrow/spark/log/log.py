"""A bucket's log under way: blobs, chunks of rows and deltas, written and read.

It knows what is durable and nothing of the join. An arena, where there is one, spares reading blobs
back from Spark's state store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.model import JoinPlan
from windrow.operators.columns import Columns, columns_of
from windrow.spark.arena import Arena
from windrow.spark.log import blobs
from windrow.spark.log.chunks import Chunk, ChunkPayload
from windrow.spark.log.directory import NO_STREAM, Delta, Directory, Entry, Store
from windrow.state.room import HEAP, Room

Rows = NDArray[np.int64]


class Log:
    """A plan's log in a store."""

    #: So many small chunks, or deltas, of a kind become one.
    MERGED_AT_ONCE = 8
    #: What is no longer small.
    SMALL_BYTES = 1 << 20

    def __init__(
        self, plan: JoinPlan, directory: Directory, store: Store, arena: Arena | None
    ) -> None:
        self.plan = plan
        self.directory = directory
        self.store = store
        self.arena = arena
        # Pack has left the heartbeats out already.
        self.streams = [replace(stream, beats=None) for stream in plan.streams]
        self.payloads = [ChunkPayload(stream, self.open_blob) for stream in plan.streams]
        for entry in directory.chunks:
            hidden = directory.hidden(entry)
            chunk = Chunk(entry.first, entry.rows, entry.number, hidden=hidden)
            self.payloads[entry.stream].add(chunk)

    @property
    def room(self) -> Room:
        """Where arrays are made that may outlive this process."""
        return self.arena or HEAP

    def clear_arena(self) -> None:
        """What is in it is of no use."""
        if self.arena is not None:
            self.arena.clear()

    # -- blobs -----------------------------------------------------------------------------

    def open_blob(self, number: int) -> pa.RecordBatch:
        """The rows of a blob."""
        kept = None if self.arena is None else self.arena.chunk(number)
        if kept is not None:
            return blobs.decode(kept)
        blob = self.store.read(number)
        if self.arena is not None:
            self.arena.put_chunk(number, blob)
        return blobs.decode(blob)

    def put_blob(self, number: int, blob: bytes) -> None:
        """Keep a blob of rows."""
        self.store.write(number, blob)
        if self.arena is not None:
            self.arena.put_chunk(number, blob)

    def put_rows(self, batch: pa.RecordBatch) -> int:
        """Keep rows in a blob of their own; returns its number."""
        number = self.directory.number()
        self.put_blob(number, blobs.encode(batch).to_pybytes())
        return number

    def drop_blob(self, number: int) -> None:
        """Forget a blob of rows."""
        self.store.remove(number)
        if self.arena is not None:
            self.arena.drop_chunk(number)

    # -- chunks ----------------------------------------------------------------------------

    def keep(self, entry: Entry, blob: bytes) -> None:
        """Put a chunk into the log."""
        self.put_blob(entry.number, blob)
        self.directory.chunks.append(entry)

    def write_rows(self, entry: Entry, batch: pa.RecordBatch) -> None:
        """Log rows as a chunk of its own, which is like this entry but for its number and size."""
        blob = blobs.encode(batch).to_pybytes()
        number = self.directory.number()
        self.keep(replace(entry, number=number, rows=batch.num_rows, bytes=len(blob)), blob)
        self.payloads[entry.stream].add(Chunk(entry.first, batch.num_rows, number, batch))

    def forget(self, gone: list[Entry]) -> None:
        """Remove chunks."""
        self.directory.forget(gone)
        for entry in gone:
            self.drop_blob(entry.number)
            self.payloads[entry.stream].drop(entry.first)

    def rows_of(self, entry: Entry) -> pa.RecordBatch:
        """A chunk's rows."""
        payload = self.payloads[entry.stream]
        chunk = next(chunk for chunk in payload.chunks if chunk.first == entry.first)
        return payload.opened(chunk)

    def columns_of(self, entry: Entry) -> Columns:
        """Their keys, times and marks."""
        return columns_of(self.streams[entry.stream], self.rows_of(entry))

    # -- deltas ----------------------------------------------------------------------------

    def add_delta(
        self, kind: str, stream: int, numbers: Rows, rows: int, newest: int, merged: int = 0
    ) -> None:
        """Write numbers down: so many rows, the newest of which is this row or time."""
        number = self.directory.number()
        self.store.write(number, np.ascontiguousarray(numbers).tobytes())
        self.directory.deltas.append(Delta(number, stream, rows, newest, merged, kind))

    def read(self, delta: Delta) -> Rows:
        """The numbers of a delta, one after the other."""
        return np.frombuffer(self.store.read(delta.number), np.int64)

    def drop_delta(self, delta: Delta) -> None:
        """Forget a delta."""
        self.store.remove(delta.number)
        self.directory.deltas.remove(delta)

    def runs_of_deltas(
        self, kind: str, row_bytes: int = 0
    ) -> Iterator[tuple[int, list[Delta], bool]]:
        """Deltas of no stream that have been merged equally often, eight or more of them.

        With how often that was, and whether there is nothing older. The caller makes one of them;
        what that is depends on the kind. Those that are large by `row_bytes` stay as they are.
        """
        deltas = self.directory.deltas_of(kind, NO_STREAM)
        small = [delta for delta in deltas if delta.rows * row_bytes < self.SMALL_BYTES]
        for level in range(max((delta.merged for delta in small), default=0) + 1):
            run = [delta for delta in small if delta.merged == level]
            if len(run) >= self.MERGED_AT_ONCE:
                yield level, run, run[0] is deltas[0]

    # -- row ids ---------------------------------------------------------------------------

    def add_rows(self, kind: str, stream: int, rows: Rows, merged: int = 0) -> None:
        """Write sorted row ids down, if there are any."""
        if len(rows):
            self.add_delta(kind, stream, rows, len(rows), int(rows[-1]), merged)

    def rows(self, kind: str, stream: int) -> Rows:
        """The row ids that deltas of a kind name."""
        found = [self.read(delta) for delta in self.directory.deltas_of(kind, stream)]
        return np.concatenate([np.empty(0, np.int64), *found])

    def log_rows(self, kind: str, stream: int, rows: Rows) -> None:
        """Write row ids of a stream down, and merge what was written before.

        Only neighbours become one, because they are kept in order. Ids that are in no chunk any
        more are forgotten.
        """
        directory = self.directory
        oldest = directory.oldest_row(stream)
        for delta in [d for d in directory.deltas_of(kind, stream) if d.newest_row < oldest]:
            self.drop_delta(delta)
        self.add_rows(kind, stream, rows[rows >= oldest])
        mine = groupby(directory.deltas_of(kind, stream), key=self._level)
        for (merged, small), deltas in [(level, list(run)) for level, run in mine]:
            if small and len(deltas) >= self.MERGED_AT_ONCE:
                together = np.sort(np.concatenate([self.read(delta) for delta in deltas]))
                for delta in deltas:
                    self.drop_delta(delta)
                self.add_rows(kind, stream, together[together >= oldest], merged + 1)
        directory.deltas.sort(key=lambda delta: -delta.merged)

    def _level(self, delta: Delta) -> tuple[int, bool]:
        """How often it was merged, and whether it is small."""
        return delta.merged, delta.rows * 8 < self.SMALL_BYTES
