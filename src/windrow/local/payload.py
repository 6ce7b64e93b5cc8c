"""A stream's table as the engine uses it: columns for the join, rows for the result."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow import expressions
from windrow.model import LARGEST_MICROS, Stream, WindrowError
from windrow.operators.admit import Columns
from windrow.operators.keys import hash_keys


class TablePayload:
    """One stream's rows by row number, contiguous so that a gather is one `take` a column."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.table: pa.Table = stream.data
        # A chunked column would be gathered chunk by chunk; whole, it is one `take`.
        self.whole = [_plain(column) for column in self.table.columns]
        self.columns = self._columns()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def _columns(self) -> Columns:
        stream = self.stream
        ts, bad = micros(expressions.extract(self.table, stream.time), stream)
        beats = None
        if stream.beats is not None:
            test = expressions.predicate(stream.beats, stream.name, self.table.schema)
            inputs = {ref: expressions.extract(self.table, ref[1]) for ref in test.columns}
            beats = test.evaluate(inputs, len(self)).to_numpy(zero_copy_only=False)
        keys = [expressions.extract(self.table, name) for name in stream.key or ()]
        return Columns(ts, hash_keys(keys, len(self)), bad, beats)

    @property
    def exact(self) -> bool:
        """Are equal key hashes equal keys?"""
        return self.columns.keys.exact

    def null_keys(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these rows have a null key."""
        return self.columns.keys.is_null(rows)

    def same_keys(
        self, rows: NDArray[np.int64], other: TablePayload, others: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Do these rows' keys equal those rows' keys of the other table, pair by pair?"""
        return self.columns.keys.equal(rows, other.columns.keys, others)

    def column(self, path: str, rows: NDArray[np.int64]) -> pa.Array:
        """A possibly dotted column of the given rows."""
        return gather(_plain(expressions.extract(self.table, path)), rows)

    def struct(self, rows: NDArray[np.int64] | None, length: int) -> pa.StructArray:
        """The given rows as structs; None: as many nulls."""
        fields = list(self.table.schema)
        if rows is None:
            return pa.nulls(length, pa.struct(fields))
        if not fields:
            return pa.array([{}] * length, pa.struct([]))
        return pa.StructArray.from_arrays([gather(c, rows) for c in self.whole], fields=fields)


def gather(column: pa.Array | pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.Array:
    """The values at these rows; row ids are ours, so no bounds are checked."""
    return _plain(pc.take(column, pa.array(rows), boundscheck=False))


def micros(
    column: pa.ChunkedArray, stream: Stream
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """Event times as microseconds, and which of them are missing."""
    unit = column.type.unit
    try:
        column = column.cast(pa.timestamp("us", column.type.tz))
    except pa.ArrowInvalid as error:
        raise WindrowError(
            f"stream {stream.name!r}: times in {stream.time!r} have unit {unit} and do not fit "
            "whole microseconds; round them, for example with pyarrow.compute.floor_temporal"
        ) from error
    values = _plain(column)
    bad = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    ts = pc.fill_null(values.view(pa.int64()), 0) if bad is not None else values.view(pa.int64())
    array: NDArray[np.int64] = ts.to_numpy()
    if len(array) and max(abs(int(array.min())), abs(int(array.max()))) > LARGEST_MICROS:
        raise WindrowError(
            f"stream {stream.name!r}: {stream.time!r} has times more than 73,000 years from 1970; "
            "filter them out first"
        )
    return array, bad


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One contiguous array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
