"""Numbers for values of any type: groups by their keys, texts that are counted once.

A value keeps its code while live results have it. Equal hashes are compared on the values, so two
of them are never taken for one; null equals null here, NaN equals NaN, and -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.kernels import codes as kernels
from windrow.operators.keys import hash_keys

Ints = NDArray[np.int64]

#: A store with fewer rows than this is not worth writing anew.
LEAST = 1024


class Codes:
    """Codes of rows of some columns."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._table = np.zeros(64, np.int64)
        self._keys, self._free = np.zeros(32, np.int64), np.zeros(32, np.int64)
        self._meta = np.zeros(kernels.SCALARS, np.int64)
        #: By code: how many rows have it, and where its values are stored (-1: nowhere yet).
        self._held, self._at = np.zeros(32, np.int64), np.full(32, -1, np.int64)
        #: Batches of values, each at least twice as long as the one after it.
        self._stored: list[pa.RecordBatch] = []

    def __len__(self) -> int:
        """How many codes are in use."""
        return int(self._meta[kernels.USED])

    @property
    def size(self) -> int:
        """Codes are below this."""
        return len(self._held)

    def hold(self, arrays: Sequence[pa.Array], length: int) -> Ints:
        """The codes of rows; each row holds its code until it is released."""
        rows = pa.RecordBatch.from_arrays([_plain(array) for array in arrays], schema=self.schema)
        hashes = hash_keys([_filled(column) for column in rows.columns], length).hashes
        found = np.empty(length, np.int64)
        open_, skips = np.arange(length), np.zeros(length, np.int64)
        while len(open_):
            codes = self._find(hashes[open_], skips[open_])
            self._store(rows, open_, codes)
            right = self._same(rows, open_, codes)
            found[open_[right]] = codes[right]
            open_ = open_[~right]
            skips[open_] += 1
        np.add.at(self._held, found, 1)
        return found

    def release(self, codes: Ints) -> None:
        """Rows are gone; a code that no row has any more is free."""
        np.subtract.at(self._held, codes, 1)
        gone = np.unique(codes)
        gone = gone[self._held[gone] == 0]
        kernels.forget(self._table, self._keys, self._free, self._meta, gone)
        self._at[gone] = -1
        stored = sum(batch.num_rows for batch in self._stored)
        if stored > max(LEAST, 2 * len(self)):
            live = np.flatnonzero(self._at >= 0)
            self._stored = [self.take(live)]
            self._at[live] = np.arange(len(live))

    def take(self, codes: Ints) -> pa.RecordBatch:
        """The values of codes that are held."""
        table = pa.Table.from_batches(self._stored, self.schema).take(pa.array(self._at[codes]))
        arrays = [column.combine_chunks() for column in table.columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _find(self, hashes: Ints, skips: Ints) -> Ints:
        found = np.empty(len(hashes), np.int64)
        done = 0
        while done < len(hashes):
            done = kernels.find_or_add(
                self._table, self._keys, self._free, self._meta, hashes, skips, found, done
            )
            if done < len(hashes):
                self._grow()
        return found

    def _grow(self) -> None:
        table = np.zeros(2 * len(self._table), np.int64)
        kernels.fill_table(self._table, table, self._keys)
        self._table = table
        more = len(self._keys)
        self._keys = np.concatenate([self._keys, np.zeros(more, np.int64)])
        self._free = np.concatenate([self._free, np.zeros(more, np.int64)])
        self._held = np.concatenate([self._held, np.zeros(more, np.int64)])
        self._at = np.concatenate([self._at, np.full(more, -1, np.int64)])

    def _store(self, rows: pa.RecordBatch, places: Ints, codes: Ints) -> None:
        """Keep the values of codes that are new."""
        fresh = np.flatnonzero(self._at[codes] < 0)
        if not len(fresh):
            return
        # The first row of a new code is the one whose values are kept.
        new, first = np.unique(codes[fresh], return_index=True)
        before = sum(batch.num_rows for batch in self._stored)
        self._at[new] = before + np.arange(len(new))
        self._stored.append(rows.take(pa.array(places[fresh[first]])))
        while len(self._stored) > 1 and (self._stored[-2].num_rows < 2 * self._stored[-1].num_rows):
            last = pa.Table.from_batches(self._stored[-2:]).combine_chunks()
            self._stored[-2:] = last.to_batches()

    def _same(self, rows: pa.RecordBatch, places: Ints, codes: Ints) -> NDArray[np.bool_]:
        """Are these rows what their codes stand for?"""
        verdict = np.ones(len(places), np.bool_)
        known = self.take(codes)
        for mine, its in zip(rows.take(pa.array(places)).columns, known.columns, strict=True):
            same = pc.fill_null(pc.equal(mine, its), False)
            if pa.types.is_floating(mine.type):
                nan = pc.and_(pc.is_nan(mine), pc.is_nan(its))
                same = pc.or_(same, pc.fill_null(nan, False))
            same = pc.or_(same, pc.and_(mine.is_null(), its.is_null()))
            verdict &= same.to_numpy(zero_copy_only=False)
        return verdict


def _plain(array: pa.Array) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _filled(column: pa.Array) -> pa.Array:
    """With one value in place of nulls, whatever the array has there, so that they hash alike."""
    kind = column.type
    if not column.null_count:
        return column
    if pa.types.is_decimal(kind):
        return pc.fill_null(column, pa.scalar(Decimal(0), kind))
    if pa.types.is_fixed_size_binary(kind):
        return pc.fill_null(column, pa.scalar(bytes(kind.byte_width), kind))
    if pa.types.is_primitive(kind):
        # `hash_keys` does it.
        return column
    empty = b"" if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else ""
    return pc.fill_null(column, pa.scalar(empty, kind))
