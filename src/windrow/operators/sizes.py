"""How many bytes rows have, so that what is gathered at once stays bounded.

Results repeat rows: 400 tuples of 20 kB that meet 400 others are 8 MB of input and 3 GB of output.
So whatever gathers rows does it in stretches of at most `PIECE_BYTES`. What a row has is read off
the columns' offsets, two lookups a column, so that one wide row among narrow ones counts as itself:

    row 7 of a list of strings --> its first and last string --> their first and last byte
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.arrivals import Rows

#: What is gathered at once, in bytes, unless a single row has more.
PIECE_BYTES = 64 << 20
#: A payload whose widest row has no more is not looked at row by row: a drain's pieces stay small.
NARROW = 256

#: Row numbers, or offsets of 32 or 64 bits.
Offsets = NDArray[np.integer[Any]]
#: Bytes of each of some rows; one number where it bounds them all.
RowBytes = float | NDArray[np.float64]


@dataclass(frozen=True)
class Chain:
    """Offsets that lead from rows to their items, and from those to theirs; and an item's bytes."""

    offsets: tuple[Offsets, ...]
    unit: float

    def sizes(self, rows: Rows) -> NDArray[np.float64]:
        """The bytes that some rows have here."""
        start: Offsets = rows
        stop: Offsets = rows + 1
        for offsets in self.offsets:
            start, stop = offsets[start], offsets[stop]
        return np.asarray((stop - start) * self.unit, np.float64)

    def widest(self, length: int) -> float:
        """The most that a row has."""
        bounds: Offsets = np.arange(length + 1)
        for offsets in self.offsets:
            bounds = offsets[bounds]
        return float(np.diff(bounds).max(initial=0) * self.unit)


@dataclass(frozen=True)
class Sizes:
    """The bytes of the rows of some columns: what all have, and what each has in chains."""

    length: int
    fixed: float
    chains: tuple[Chain, ...]

    @classmethod
    def of_columns(cls, columns: Iterable[pa.Array], length: int) -> Sizes:
        """Those of several columns together."""
        parts = [_sizes(column) for column in columns]
        chains = tuple(chain for part in parts for chain in part.chains)
        return cls(length, sum(part.fixed for part in parts), chains)

    @cached_property
    def widest(self) -> float:
        """No row has more."""
        return self.fixed + sum(chain.widest(self.length) for chain in self.chains)

    def of(self, rows: Rows) -> RowBytes:
        """The bytes of some rows."""
        if not self.chains:
            return self.fixed
        found = np.full(len(rows), self.fixed)
        for chain in self.chains:
            found += chain.sizes(rows)
        return found

    def bounding(self, rows: Rows) -> RowBytes:
        """The same, but one number if all rows of the columns are narrow."""
        return self.widest if self.widest <= NARROW else self.of(rows)


def cuts(sizes: RowBytes, length: int) -> Iterator[tuple[int, int]]:
    """Stretches [start, stop) of so many rows, of at most `PIECE_BYTES` each or of one row.

    >>> list(cuts(np.array([10.0, 20.0, PIECE_BYTES, 30.0]), 4))
    [(0, 2), (2, 3), (3, 4)]
    >>> list(cuts(PIECE_BYTES / 2, 5))
    [(0, 2), (2, 4), (4, 5)]
    """
    if not isinstance(sizes, np.ndarray):
        step = max(1, int(PIECE_BYTES // max(sizes, 1)))
        for start in range(0, length, step):
            yield start, min(start + step, length)
        return
    ends = np.cumsum(sizes)
    start, before = 0, 0.0
    while start < length:
        stop = max(start + 1, int(np.searchsorted(ends, before + PIECE_BYTES, side="right")))
        yield start, stop
        start, before = stop, float(ends[stop - 1])


def bounded(batches: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of some batches in batches of at most `PIECE_BYTES`."""
    sizes = [
        Sizes.of_columns(batch.columns, batch.num_rows).bounding(np.arange(batch.num_rows))
        for batch in batches
    ]
    each = [np.broadcast_to(s, b.num_rows) for s, b in zip(sizes, batches, strict=True)]
    table = pa.Table.from_batches(batches)
    for start, stop in cuts(np.concatenate(each), table.num_rows):
        (batch,) = table.slice(start, stop - start).combine_chunks().to_batches()
        yield batch


# -- by type -----------------------------------------------------------------------------------


def _sizes(column: pa.Array) -> Sizes:
    """The bytes of the rows of one column, one bit of each for its validity."""
    kind, length = column.type, len(column)
    if isinstance(column, pa.ExtensionArray):
        return _sizes(column.storage)
    if isinstance(column, pa.StructArray):
        return Sizes.of_columns([column.field(at) for at in range(kind.num_fields)], length)
    if isinstance(column, pa.DictionaryArray):
        return Sizes(length, kind.index_type.bit_width / 8, ())
    if isinstance(column, pa.FixedSizeListArray):
        bounds = np.arange(column.offset, column.offset + length + 1) * kind.list_size
        return _inside(bounds, column.values, 0)
    if isinstance(column, pa.ListArray | pa.LargeListArray):
        wide = isinstance(column, pa.LargeListArray)
        return _inside(_offsets(column, wide), column.values, 8 if wide else 4)
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return Sizes(length, 8 + 1 / 8, (Chain((_offsets(column, True),), 1),))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return Sizes(length, 4 + 1 / 8, (Chain((_offsets(column, False),), 1),))
    try:
        return Sizes(length, (kind.bit_width + 1) / 8, ())
    except ValueError:
        # Of a type without a width and without offsets, the average row is all that is known.
        return Sizes(length, column.nbytes / max(length, 1), ())


def _inside(offsets: Offsets, values: pa.Array, fixed: int) -> Sizes:
    """The bytes of lists: what their items have, found through the lists' offsets."""
    items = _sizes(values)
    chains = [Chain((offsets, *chain.offsets), chain.unit) for chain in items.chains]
    if items.fixed:
        chains.append(Chain((offsets,), items.fixed))
    return Sizes(len(offsets) - 1, fixed + 1 / 8, tuple(chains))


def _offsets(column: pa.Array, wide: bool) -> Offsets:
    kind: type[np.int64 | np.int32] = np.int64 if wide else np.int32
    buffer = column.buffers()[1]
    if buffer is None or not buffer.size:
        return np.zeros(len(column) + 1, np.int64)
    found: Offsets = np.frombuffer(buffer, kind)
    return found[column.offset : column.offset + len(column) + 1]
