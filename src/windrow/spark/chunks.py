"""A stream's stored rows on Spark: chunks as they arrived, by row id.

Row ids of a stream count up from 0 in each bucket; a chunk holds a stretch of them. Gathering
groups the ids by chunk, takes from each, and puts the rows back in order, so that its cost
follows the rows asked for and not the rows stored.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow import expressions
from windrow.model import Stream
from windrow.operators.keys import hash_keys
from windrow.operators.payload import Rows
from windrow.spark.pack import KEY, KEYLESS, TIME


@dataclass(frozen=True, order=True)
class Chunk:
    """Rows [first, first + rows) of a stream."""

    first: int
    batch: pa.RecordBatch

    @property
    def rows(self) -> int:
        return int(self.batch.num_rows)

    def numbers(self, name: str) -> NDArray[np.int64]:
        """One of pack's columns."""
        values: NDArray[np.int64] = self.batch.column(name).to_numpy()
        return values

    def keyless(self) -> NDArray[np.bool_]:
        """Which rows have a null key."""
        found: NDArray[np.bool_] = self.batch.column(KEYLESS).to_numpy(zero_copy_only=False)
        return found

    @property
    def ts(self) -> NDArray[np.int64]:
        return self.numbers(TIME)

    @property
    def keys(self) -> NDArray[np.int64]:
        return self.numbers(KEY)


class ChunkPayload:
    """The live chunks of one stream, as the operator's payload."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.chunks: list[Chunk] = []
        kinds = [expressions.resolve(stream.schema, name) for name in stream.key or ()]
        self.exact = hash_keys([pa.array([], kind) for kind in kinds], 0).exact
        self._fields = list(stream.schema)

    def add(self, chunk: Chunk) -> None:
        """Chunks come in the order of their row ids, except when a state is rebuilt."""
        insort(self.chunks, chunk, key=lambda c: c.first)

    def drop(self, first: int) -> None:
        """Forget the chunk that begins with this row id."""
        self.chunks = [chunk for chunk in self.chunks if chunk.first != first]

    # -- payload ---------------------------------------------------------------------------

    def null_keys(self, rows: Rows) -> NDArray[np.bool_]:
        """Which of these rows have a null key."""
        found: NDArray[np.bool_] = self.gather(KEYLESS, rows).to_numpy(zero_copy_only=False)
        return found

    def same_keys(self, rows: Rows, other: ChunkPayload, others: Rows) -> NDArray[np.bool_]:
        """Do these rows' keys equal those rows' keys of the other stream, pair by pair?"""
        pairs = np.arange(len(rows))
        mine = hash_keys([self.column(k, rows) for k in self.stream.key or ()], len(rows))
        its = hash_keys([other.column(k, others) for k in other.stream.key or ()], len(rows))
        return mine.equal(pairs, its, pairs)

    def column(self, path: str, rows: Rows) -> pa.Array:
        """A possibly dotted column of these rows."""
        top = next(
            field.name
            for field in self._fields
            if path == field.name or path.startswith(field.name + ".")
        )
        return expressions.extract(
            pa.RecordBatch.from_arrays([self.gather(top, rows)], [top]), path
        )

    def struct(self, rows: Rows | None, length: int, kind: pa.StructType) -> pa.StructArray:
        """These rows as structs of that type; None: as many nulls."""
        if rows is None:
            return pa.nulls(length, kind)
        fields = list(kind)
        arrays = [self.gather(field.name, rows).cast(field.type) for field in fields]
        return pa.StructArray.from_arrays(arrays, fields=fields)

    def gather(self, name: str, rows: Rows) -> pa.Array:
        """One column of these rows, from whichever chunks have them."""
        firsts = np.array([chunk.first for chunk in self.chunks], np.int64)
        of = np.searchsorted(firsts, rows, side="right") - 1
        if not len(rows):
            return (
                self.chunks[0].batch.column(name).slice(0, 0) if self.chunks else self._empty(name)
            )
        if (of == of[0]).all():
            chunk = self.chunks[of[0]]
            return pc.take(chunk.batch.column(name), pa.array(rows - chunk.first))
        order = np.argsort(of, kind="stable")
        numbers, starts = np.unique(of[order], return_index=True)
        parts = []
        for number, start, stop in zip(numbers, starts, [*starts[1:], len(rows)], strict=True):
            chunk = self.chunks[number]
            inside = rows[order[start:stop]] - chunk.first
            parts.append(pc.take(chunk.batch.column(name), pa.array(inside)))
        back = np.empty(len(rows), np.int64)
        back[order] = np.arange(len(rows))
        return pc.take(pa.concat_arrays(parts), pa.array(back))

    def _empty(self, name: str) -> pa.Array:
        kinds = {TIME: pa.int64(), KEY: pa.int64(), KEYLESS: pa.bool_()}
        known = {field.name: field.type for field in self._fields}
        return pa.array([], {**kinds, **known}[name])
