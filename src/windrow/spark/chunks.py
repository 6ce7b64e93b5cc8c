"""A stream's stored rows on Spark: chunks as they arrived, by row id.

Row ids of a stream count up from 0 in each bucket; a chunk holds a stretch of them. Chunks that
are not logged, because all their rows were late, say, leave gaps between stretches, and a chunk
that was merged over a gap says which id each of its rows has (`ROW`). Gathering
groups the ids by chunk, takes from each, and puts the rows back in order, so that its cost
follows the rows asked for and not the rows stored. A chunk is opened when it is first asked for.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow import expressions
from windrow.model import Stream
from windrow.operators.keys import Keys, hash_keys
from windrow.operators.payload import Rows
from windrow.operators.sizes import RowBytes, Sizes, cuts

#: How the names of columns that are added to stored rows begin.
RESERVED = "__windrow_"
#: A column of chunks that were merged over gaps: each row's id, counted from the chunk's first.
ROW = "__windrow_row"

#: The number of a chunk that is in no log, because its rows only pass by.
PASSING = -1

#: Opens a chunk by its number in the log.
Open = Callable[[int], pa.RecordBatch]


@dataclass
class Chunk:
    """So many rows of a stream, from row id `first` on.

    `hidden`: columns that it may have, but that a restart has dropped since.
    """

    first: int
    rows: int
    number: int
    batch: pa.RecordBatch | None = None
    hidden: frozenset[str] = frozenset()


def as_asked(
    batch: pa.RecordBatch, schema: pa.Schema, hidden: frozenset[str] = frozenset()
) -> pa.RecordBatch:
    """A chunk's rows with the columns that are asked for now, and nulls for those it has not.

    A restart may have brought others, or another order of them. What Windrow added stays.
    """
    names = batch.schema.names
    added = [name for name in names if name.startswith(RESERVED)]
    if names == [*schema.names, *added] and not hidden:
        return batch
    arrays = [
        batch.column(field.name)
        if field.name in names and field.name not in hidden
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    arrays += [batch.column(name) for name in added]
    fields = [*schema, *(batch.schema.field(name) for name in added)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def ids_of(batch: pa.RecordBatch, first: int) -> Rows:
    """The row ids of a chunk's rows, in their order."""
    if ROW not in batch.schema.names:
        return np.arange(first, first + batch.num_rows)
    ids: Rows = batch.column(ROW).to_numpy() + first
    return ids


def _places_in(batch: pa.RecordBatch, first: int, ids: Rows) -> pa.Array:
    """Where in a chunk these row ids are."""
    if ROW not in batch.schema.names:
        return pa.array(ids - first)
    return pa.array(np.searchsorted(batch.column(ROW).to_numpy(), ids - first))


@dataclass(frozen=True)
class Places:
    """Where some row ids are: for each chunk that has any, which of its rows; and their order.

    `back` is where each id's row ended up after taking chunk by chunk; None: in order already.
    """

    takes: list[tuple[pa.RecordBatch, pa.Array]]
    back: pa.Array | None

    def column(self, name: str) -> pa.Array:
        """One column of these rows."""
        parts = [pc.take(batch.column(name), rows) for batch, rows in self.takes]
        if self.back is None:
            return parts[0]
        return pc.take(pa.concat_arrays(parts), self.back)

    def sizes(self, names: Sequence[str]) -> RowBytes:
        """The bytes of each of these rows, of some columns."""
        parts = []
        for batch, rows in self.takes:
            sizes = Sizes.of_columns([batch.column(name) for name in names], batch.num_rows)
            parts.append(np.broadcast_to(sizes.of(rows.to_numpy()), len(rows)))
        found: NDArray[np.float64] = np.concatenate(parts)
        return found if self.back is None else found[self.back.to_numpy()]


class ChunkPayload:
    """The live chunks of one stream, as the operator's payload."""

    def __init__(self, stream: Stream, open_chunk: Open) -> None:
        self.stream = stream
        self.chunks: list[Chunk] = []
        self._open = open_chunk
        kinds = [expressions.resolve(stream.schema, name) for name in stream.key or ()]
        self.exact = hash_keys([pa.array([], kind) for kind in kinds], 0).exact
        self._kinds = {field.name: field.type for field in stream.schema}
        #: What was asked for last, and where it is: columns are asked for one after the other.
        self._last: tuple[Rows, Places] | None = None

    def add(self, chunk: Chunk) -> None:
        """Chunks come in the order of their row ids, except when a state is rebuilt."""
        self._last = None
        insort(self.chunks, chunk, key=lambda c: c.first)

    def drop(self, first: int) -> None:
        """Forget the chunk that begins with this row id."""
        self._last = None
        self.chunks = [chunk for chunk in self.chunks if chunk.first != first]

    def drop_passing(self) -> None:
        """Forget the rows that have passed by."""
        self._last = None
        self.chunks = [chunk for chunk in self.chunks if chunk.number != PASSING]

    def opened(self, chunk: Chunk) -> pa.RecordBatch:
        """A chunk's rows."""
        if chunk.batch is None:
            opened = self._open(chunk.number)
            chunk.batch = as_asked(opened, self.stream.schema, chunk.hidden)
        return chunk.batch

    def places(self, rows: Rows) -> Places:
        """Where these rows are."""
        if self._last is not None and self._last[0] is rows:
            return self._last[1]
        found = self._find(rows)
        # A view may be of a buffer that is filled again.
        self._last = (rows, found) if rows.base is None else None
        return found

    def _find(self, rows: Rows) -> Places:
        firsts = np.array([chunk.first for chunk in self.chunks], np.int64)
        of = np.searchsorted(firsts, rows, side="right") - 1
        if len(rows) and (of == of[0]).all():
            chunk = self.chunks[of[0]]
            batch = self.opened(chunk)
            return Places([(batch, _places_in(batch, chunk.first, rows))], None)
        # Sorting numbers of 16 bits is a radix sort.
        order = np.argsort(of.astype(np.uint16) if len(firsts) <= 1 << 16 else of, kind="stable")
        counts = np.bincount(of, minlength=len(firsts))
        ends = np.cumsum(counts)
        sorted_rows = rows[order]
        takes = []
        for number in np.flatnonzero(counts):
            chunk = self.chunks[number]
            inside = sorted_rows[ends[number] - counts[number] : ends[number]]
            batch = self.opened(chunk)
            takes.append((batch, _places_in(batch, chunk.first, inside)))
        back = np.empty(len(rows), np.int64)
        back[order] = np.arange(len(rows))
        return Places(takes, pa.array(back))

    def columns(self, rows: Rows) -> list[pa.Array]:
        """Every column of these rows, in the schema's order."""
        if not len(rows):
            return [pa.array([], kind) for kind in self._kinds.values()]
        places = self.places(rows)
        return [places.column(name) for name in self._kinds]

    # -- payload ---------------------------------------------------------------------------

    def null_keys(self, rows: Rows) -> NDArray[np.bool_]:
        """Which of these rows have a null key."""
        null = np.empty(len(rows), np.bool_)
        for start, stop in cuts(self.sizes(rows, self.stream.key), len(rows)):
            null[start:stop] = self._keys(rows[start:stop]).is_null(np.arange(stop - start))
        return null

    def _keys(self, rows: Rows) -> Keys:
        return hash_keys([self.column(k, rows) for k in self.stream.key or ()], len(rows))

    def same_keys(self, rows: Rows, other: ChunkPayload, others: Rows) -> NDArray[np.bool_]:
        """Do these rows' keys equal those rows' keys of the other stream, pair by pair?"""
        verdict = np.empty(len(rows), np.bool_)
        sizes = self.sizes(rows, self.stream.key) + other.sizes(others, other.stream.key)
        for start, stop in cuts(sizes, len(rows)):
            pairs = np.arange(stop - start)
            mine, its = self._keys(rows[start:stop]), other._keys(others[start:stop])
            verdict[start:stop] = mine.equal(pairs, its, pairs)
        return verdict

    def column(self, path: str, rows: Rows) -> pa.Array:
        """A possibly dotted column of these rows."""
        top = self._top(path)
        values = self.places(rows).column(top) if len(rows) else pa.array([], self._kinds[top])
        return expressions.extract(pa.RecordBatch.from_arrays([values], [top]), path)

    def _top(self, path: str) -> str:
        """The column that a possibly dotted one is in."""
        fields = expressions.trail(self.stream.schema, path)
        assert fields is not None, path
        return str(fields[0].name)

    def sizes(self, rows: Rows, paths: Sequence[str] | None = None) -> RowBytes:
        """The bytes of these rows, of the columns at these paths or of all."""
        names = list(self._kinds) if paths is None else [self._top(path) for path in paths]
        alike = Sizes.of_columns([pa.array([], self._kinds[name]) for name in names], 0)
        if not alike.chains or not len(rows):
            return alike.fixed
        return self.places(rows).sizes(names)

    def struct(self, rows: Rows | None, length: int, kind: pa.StructType) -> pa.StructArray:
        """These rows as structs of that type; None: as many nulls."""
        if rows is None:
            return pa.nulls(length, kind)
        fields = list(kind)
        arrays = [a.cast(f.type) for a, f in zip(self.columns(rows), fields, strict=True)]
        return pa.StructArray.from_arrays(arrays, fields=fields)
