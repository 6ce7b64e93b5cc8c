"""A stream's table as the engine uses it: columns for the join, rows for the result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow import expressions
from windrow.model import Stream
from windrow.operators.columns import columns_of, plain
from windrow.operators.sizes import RowBytes, Sizes

#: Offsets of 32 bits reach as far as this byte.
OFFSETS_END = 2**31 - 1


class TablePayload:
    """One stream's rows by row number, contiguous so that a gather is one `take` a column."""

    def __init__(self, stream: Stream, now: int | None = None) -> None:
        self.stream = stream
        self.table: pa.Table = stream.data
        # A chunked column would be gathered chunk by chunk; whole, it is one `take`.
        self.whole = [plain(gatherable(column)) for column in self.table.columns]
        self.columns = columns_of(stream, self.table, now)
        self._extracted: dict[str, pa.Array] = {}
        self._sizes: dict[tuple[str, ...] | None, Sizes] = {}

    def __len__(self) -> int:
        return int(self.table.num_rows)

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
        return gather(self._column(path), rows)

    def _column(self, path: str) -> pa.Array:
        if path not in self._extracted:
            self._extracted[path] = plain(gatherable(expressions.extract(self.table, path)))
        return self._extracted[path]

    def sizes(self, rows: NDArray[np.int64], paths: Sequence[str] | None = None) -> RowBytes:
        """The bytes of these rows, of the columns at these paths or of all."""
        asked = None if paths is None else tuple(paths)
        if asked not in self._sizes:
            columns = self.whole if asked is None else [self._column(path) for path in asked]
            self._sizes[asked] = Sizes.of_columns(columns, len(self))
        return self._sizes[asked].bounding(rows)

    def struct(
        self, rows: NDArray[np.int64] | None, length: int, kind: pa.StructType
    ) -> pa.StructArray:
        """The given rows as structs of that type; None: as many nulls."""
        if rows is None:
            return pa.nulls(length, kind)
        fields = list(kind)
        arrays = [
            gather(column, rows).cast(field.type)
            for column, field in zip(self.whole, fields, strict=True)
        ]
        return pa.StructArray.from_arrays(arrays, fields=fields)


def gatherable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values in a type that Arrow can make whole and gather.

    It has no `take` for views, and offsets of 32 bits end at 2 GiB.
    """
    long = column.num_chunks > 1 and column.nbytes > OFFSETS_END
    kind = _gatherable(column.type, long)
    return column if kind == column.type else column.cast(kind)


def _gatherable(kind: pa.DataType, long: bool) -> pa.DataType:
    if pa.types.is_string_view(kind) or (long and pa.types.is_string(kind)):
        return pa.large_string()
    if pa.types.is_binary_view(kind) or (long and pa.types.is_binary(kind)):
        return pa.large_binary()
    if long and (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return pa.large_list(_with_type(kind.value_field, _gatherable(kind.value_type, long)))
    if long and pa.types.is_struct(kind):
        return pa.struct([_with_type(field, _gatherable(field.type, long)) for field in kind])
    return kind


def _with_type(field: pa.Field, kind: pa.DataType) -> pa.Field:
    return pa.field(field.name, kind, field.nullable)


def gather(column: pa.Array | pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.Array:
    """The values at these rows; row ids are ours, so no bounds are checked."""
    return plain(pc.take(column, pa.array(rows), boundscheck=False))
