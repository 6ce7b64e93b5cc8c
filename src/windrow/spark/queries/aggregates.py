"""One bucket's aggregates: results and notes in, answers out, live results in a log.

What is durable is, for each aggregate, chunks of the results that some answer to come is over, and
where it stands. Between micro-batches a worker keeps what it has made of them; a worker that has
nothing, or has it under another token than the directory's, makes it again from the chunks. Answers
do not depend on the order in which results came, so both give the same.
"""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.cql import CompiledQuery
from windrow.cql.answers import Aggregation
from windrow.model import BEGINNING, TimeWindow, WindrowError
from windrow.spark.log import blobs
from windrow.spark.log.directory import Store
from windrow.spark.queries.answers import Structs
from windrow.spark.queries.bucket import Sharing
from windrow.spark.queries.control import Asked
from windrow.spark.queries.gathering import TS
from windrow.spark.queries.notes import Note
from windrow.spark.queries.results import AGE, AGGREGATES

#: Raised whenever the meaning of the directory or of a chunk changes.
FORMAT = 1
#: An aggregate with so many chunks gets one in their place.
MOST_CHUNKS = 16
#: Buckets that a worker keeps what it has made of.
MOST_KEPT = 16

_kept: OrderedDict[str, dict[int, Aggregation]] = OrderedDict()


@dataclass
class Aggregate:
    """An aggregate as the directory has it. Chunks: number, and the time after which it is over."""

    asked: Asked
    standing: dict[str, int] | None = None
    chunks: list[tuple[int, int]] = field(default_factory=list)


class AggregateBucket:
    """The aggregates of one bucket, for one micro-batch.

    `number`: which of so many buckets it is. `notes` are the newest of the join's buckets.
    """

    def __init__(self, sharing: Sharing, store: Store, number: int, buckets: int) -> None:
        self.sharing, self.store = sharing, store
        self.number, self.buckets = number, buckets
        self.token = ""
        self.next_number = 0
        self.notes: dict[int, Note] = {}
        self.aggregates: dict[int, Aggregate] = {}
        text = store.directory()
        if text is not None:
            self._read(json.loads(text))
        kept = _kept.pop(self.token, None)
        self.hit = kept is not None
        self.running: dict[int, Aggregation] = kept or {
            id: self._restored(each) for id, each in self.aggregates.items()
        }

    # -- a micro-batch ---------------------------------------------------------------------

    def process(
        self, notes: Sequence[str], parts: Sequence[bytes]
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Take notes and results in; give out the answers that are due, by query."""
        for text in notes:
            note = Note.from_text(text)
            if note.bucket not in self.notes or self.notes[note.bucket].batch < note.batch:
                self.notes[note.bucket] = note
            for asked in note.aggregates:
                # Also one that is over by now: its last results come with its last note.
                if asked.id % self.buckets == self.number and asked.id not in self.aggregates:
                    self.aggregates[asked.id] = Aggregate(asked)
                    self.running[asked.id] = Aggregation(self._query(asked))
        for part in parts:
            self._take(blobs.decode(part))
        for id in sorted(self.running):
            for batch in self.running[id].advance(self._frontier(id)):
                yield id, batch
        self._commit()

    def _take(self, batch: pa.RecordBatch) -> None:
        """Give each aggregate its results."""
        lists = batch.column(AGGREGATES)
        row, ids = pc.list_parent_indices(lists).to_numpy(), pc.list_flatten(lists).to_numpy()
        newest = batch.column(TS).cast(pa.timestamp("us", batch.column(TS).type.tz)).view("int64")
        newest = newest.to_numpy()
        oldest = newest - batch.column(AGE).to_numpy()
        for id in np.unique(ids):
            if id not in self.running:
                continue
            mine = row[ids == id]
            aggregate, query = self.aggregates[id], self.running[id].query
            columns = {
                position: batch.column(f"c_{at}").take(pa.array(mine))
                for at, position in enumerate(self.sharing.positions)
            }
            found = Structs(columns, self.sharing.shape.streams)
            inputs = query.inputs(found.column, len(mine))
            rows = self.running[id].rows(inputs, oldest[mine], newest[mine])
            self.running[id].take(rows)
            self._write(aggregate, query, rows)

    def _awaits(self, id: int) -> bool:
        """May an aggregate get more results?"""
        return any(note.awaits(id) for note in self.notes.values())

    def _frontier(self, id: int) -> int:
        """The time before which an aggregate has all its results, of all of the join's buckets."""
        known = self.notes.values()
        if self._awaits(id) and len(known) < max(note.buckets for note in known):
            return BEGINNING
        return min(note.frontier(id) for note in known)

    def _query(self, asked: Asked) -> CompiledQuery:
        return self.sharing.shape.compiled(asked)

    # -- the log ---------------------------------------------------------------------------

    def _restored(self, aggregate: Aggregate) -> Aggregation:
        query = self._query(aggregate.asked)
        made = Aggregation(query)
        if aggregate.standing is None:
            return made
        parts = [blobs.decode(self.store.read(number)) for number, _ in aggregate.chunks]
        table = pa.Table.from_batches(parts, schema=made.kept).combine_chunks()
        batches = table.to_batches() or [pa.RecordBatch.from_pylist([], schema=made.kept)]
        return Aggregation.resume(query, batches[0], aggregate.standing)

    def _write(self, aggregate: Aggregate, query: CompiledQuery, rows: pa.RecordBatch) -> None:
        """Write results down, until no answer to come is over them."""
        assert isinstance(query.window, TimeWindow)
        if rows.num_rows:
            until = pc.max(rows.column("oldest")).as_py() + query.window.micros
            self.next_number += 1
            self.store.write(self.next_number, blobs.encode(rows).to_pybytes())
            aggregate.chunks.append((self.next_number, until))

    def _commit(self) -> None:
        for id, aggregate in list(self.aggregates.items()):
            self._tidy(aggregate, self.running[id])
            if not self._awaits(id):
                # It was dropped, and has answered for all that it got.
                for number, _ in aggregate.chunks:
                    self.store.remove(number)
                del self.aggregates[id], self.running[id]
        self.token = secrets.token_hex(16)
        self.store.set_directory(self._to_text())
        _kept[self.token] = self.running
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)

    def _tidy(self, aggregate: Aggregate, running: Aggregation) -> None:
        """Forget chunks that are over, and make one of many."""
        aggregate.standing = running.standing()
        many = len(aggregate.chunks) >= MOST_CHUNKS
        gone = [chunk for chunk in aggregate.chunks if many or chunk[1] <= running.passed]
        for chunk in gone:
            self.store.remove(chunk[0])
            aggregate.chunks.remove(chunk)
        if many:
            self._write(aggregate, running.query, running.state())

    def _to_text(self) -> str:
        return json.dumps(
            {
                "format": FORMAT,
                "token": self.token,
                "next": self.next_number,
                "notes": [note.to_text() for _, note in sorted(self.notes.items())],
                "aggregates": [
                    [a.asked.id, a.asked.name, a.asked.sql, a.standing, a.chunks]
                    for a in self.aggregates.values()
                ],
            }
        )

    def _read(self, plain: dict[str, Any]) -> None:
        if plain.get("format") != FORMAT:
            raise WindrowError(
                f"this checkpoint's aggregates have format {plain.get('format')!r}, but this "
                f"version of windrow reads format {FORMAT}; go on with the version that wrote it, "
                "or start from a new checkpoint"
            )
        self.token, self.next_number = plain["token"], plain["next"]
        notes = [Note.from_text(text) for text in plain["notes"]]
        self.notes = {note.bucket: note for note in notes}
        for id, name, sql, standing, chunks in plain["aggregates"]:
            each = Aggregate(Asked(id, name, sql), standing, [(n, until) for n, until in chunks])
            self.aggregates[id] = each
