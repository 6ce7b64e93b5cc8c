"""Key columns as the join sees them: one 64-bit hash a row, and the columns to check it by.

A single column of at most 64 bits is hashed by a bijection, so equal hashes are equal keys and
nothing needs checking. Whole numbers of every width are the same word for the same number, and so
are floats of both, so two streams' keys may differ in width. Wider or several columns can collide;
their candidates are compared on the columns themselves, so a collision costs time but never yields
a wrong row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow import expressions
from windrow.kernels import hashing
from windrow.model import JoinPlan
from windrow.operators.sizes import Sizes, cuts

#: Digits of a decimal that fit a word of 64 bits.
DIGITS = 18


@dataclass(frozen=True)
class Keys:
    """The keys of one stream's rows, by row number.

    `hashes` has a value for null keys too; `null` says which rows have one (None: no row has).
    """

    hashes: NDArray[np.int64]
    null: NDArray[np.bool_] | None
    columns: tuple[NDArray[np.int64] | pa.Array, ...]

    @property
    def exact(self) -> bool:
        """Are equal hashes equal keys?"""
        return not self.columns or (
            len(self.columns) == 1 and isinstance(self.columns[0], np.ndarray)
        )

    def is_null(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these rows have a null key."""
        return np.zeros(len(rows), np.bool_) if self.null is None else self.null[rows]

    def equal(
        self, rows: NDArray[np.int64], other: Keys, others: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Do these rows' keys equal those rows' keys of the other stream, pair by pair?"""
        verdict = np.ones(len(rows), np.bool_)
        sizes = self._sizes.bounding(rows) + other._sizes.bounding(others)
        for start, stop in cuts(sizes, len(rows)):
            part = slice(start, stop)
            self._judge(rows[part], other, others[part], verdict[part])
        return verdict

    def _judge(
        self,
        rows: NDArray[np.int64],
        other: Keys,
        others: NDArray[np.int64],
        verdict: NDArray[np.bool_],
    ) -> None:
        for mine, its in zip(self.columns, other.columns, strict=True):
            if isinstance(mine, np.ndarray):
                verdict &= mine[rows] == its[others]
            else:
                same = pc.equal(pc.take(mine, pa.array(rows)), pc.take(its, pa.array(others)))
                verdict &= pc.fill_null(same, False).to_numpy(zero_copy_only=False)

    @cached_property
    def _sizes(self) -> Sizes:
        columns = [column for column in self.columns if not isinstance(column, np.ndarray)]
        return Sizes.of_columns(columns, len(self.hashes))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """A type without the encodings that make no difference to equality."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    return kind


def common_type(one: pa.DataType, two: pa.DataType) -> pa.DataType | None:
    """The type in which keys of two types meet without loss; None if there is none.

    Integers meet in the wider one and floats in the wider one, as in Spark. Whole numbers without
    a sign meet in one that has room for both, but 64 bits without a sign only meet their like.

    >>> common_type(pa.int32(), pa.int64()), common_type(pa.uint32(), pa.int8())
    (DataType(int64), DataType(int64))
    >>> common_type(pa.uint64(), pa.int64()), common_type(pa.int32(), pa.float64())
    (None, None)
    """
    one, two = plain_type(one), plain_type(two)
    if one == two:
        return one
    kinds = sorted((one, two), key=lambda kind: kind.bit_width if _is_number(kind) else 0)
    if all(map(pa.types.is_floating, kinds)):
        return kinds[1]
    if not all(map(pa.types.is_integer, kinds)):
        return None
    if len({pa.types.is_signed_integer(kind) for kind in kinds}) == 1:
        return kinds[1]
    unsigned, signed = sorted(kinds, key=pa.types.is_signed_integer)
    if signed.bit_width > unsigned.bit_width:
        return signed
    return {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}.get(unsigned.bit_width)


def meeting_type(one: pa.DataType, two: pa.DataType) -> pa.DataType:
    """To what to cast keys of two types that do not meet by themselves."""
    one, two = plain_type(one), plain_type(two)
    if pa.types.is_floating(one) or pa.types.is_floating(two):
        others = [kind for kind in (one, two) if not pa.types.is_floating(kind)]
        if all(pa.types.is_integer(kind) or pa.types.is_decimal(kind) for kind in others):
            return pa.float64()
    exact = [pa.types.is_integer(kind) or pa.types.is_decimal(kind) for kind in (one, two)]
    if all(exact):
        return expressions.exact_type(one, two)
    return two if pa.types.is_string(two) else one


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def key_types(plan: JoinPlan) -> list[pa.DataType]:
    """The types of a plan's keys, of which each stream's are the same or narrower ones.

    Where all streams have one type, it is the first stream's, with its encoding.
    """
    found = []
    for paths in zip(*(stream.key or () for stream in plan.streams), strict=True):
        kinds = [
            expressions.resolve(stream.schema, path)
            for stream, path in zip(plan.streams, paths, strict=True)
        ]
        alike = len({plain_type(kind) for kind in kinds}) == 1
        found.append(kinds[0] if alike else reduce(_wider, kinds))
    return found


def _wider(one: pa.DataType, two: pa.DataType) -> pa.DataType:
    """Of two types of which it is known that they meet."""
    found = common_type(one, two)
    assert found is not None, (one, two)
    return found


def narrowed(keys: pa.Array, to: pa.DataType) -> pa.Array:
    """Keys in a type that may be too narrow for some; these are null."""
    if pa.types.is_dictionary(keys.type):
        keys = keys.cast(keys.type.value_type)
    if pa.types.is_dictionary(to):
        return narrowed(keys, to.value_type).cast(to)
    if not (_is_number(keys.type) and _is_number(to)) or keys.type == to:
        return keys.cast(to)
    made = keys.cast(to, safe=False)
    back = made.cast(keys.type, safe=False)
    same = pc.equal(back, keys)
    if pa.types.is_floating(to):
        same = pc.or_(same, pc.is_nan(keys))
    return pc.if_else(same, made, pa.scalar(None, to))


def hash_keys(columns: Sequence[pa.Array | pa.ChunkedArray], length: int) -> Keys:
    """Hash the key columns of `length` rows. No columns: every row has the same key."""
    parts = [_normal(column) for column in columns]
    nulls = [part.is_null().to_numpy(zero_copy_only=False) for part in parts if part.null_count]
    null = np.logical_or.reduce(nulls) if nulls else None
    comparable = tuple(_words(part) if _fits_a_word(part.type) else part for part in parts)
    hashes = np.zeros(length, np.int64)
    for number, column in enumerate(comparable):
        one = np.empty(length, np.int64)
        if isinstance(column, np.ndarray):
            hashing.hash_words(column, one)
        else:
            hashing.hash_bytes(*_bytes(column), one)
        if number == 0:
            hashes = one
        else:
            hashing.fold(one, hashes)
    return Keys(hashes, null, comparable)


def _normal(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One contiguous array of a plain type: dictionaries decoded, views and floats made equal."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        column = column.cast(kind)
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        column = column.cast(pa.large_string())
    elif pa.types.is_binary(kind) or pa.types.is_binary_view(kind):
        column = column.cast(pa.large_binary())
    elif pa.types.is_floating(kind):
        # NaN equals NaN and -0.0 equals 0.0, as in Spark: one bit pattern for each.
        column = pc.add(column.cast(pa.float64()), 0.0)
        column = pc.if_else(pc.is_nan(column), float("nan"), column)
    elif pa.types.is_decimal(kind) and kind.precision <= DIGITS:
        # As a whole number: equal hashes are equal keys, and words are in the keys' order.
        column = column.cast(pa.decimal64(kind.precision, kind.scale))
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _fits_a_word(kind: pa.DataType) -> bool:
    if pa.types.is_boolean(kind):
        return True
    word = pa.types.is_primitive(kind) or pa.types.is_decimal(kind)
    return bool(word and kind.bit_width <= 64 and not pa.types.is_interval(kind))


def _words(column: pa.Array) -> NDArray[np.int64]:
    """A column of at most 64 bits as integers that are equal iff the values are."""
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_decimal(kind) or pa.types.is_float64(kind) or pa.types.is_uint64(kind):
        column = column.view(pa.int64())
    elif not pa.types.is_integer(kind):
        column = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    # Null slots hold anything; zero makes them the same everywhere.
    filled = pc.fill_null(column, 0) if column.null_count else column
    return np.ascontiguousarray(filled.to_numpy(zero_copy_only=False), np.int64)


def _bytes(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Offsets and bytes of a column of strings or of wide values."""
    kind = column.type
    data = column.buffers()[-1]
    raw = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        offsets = np.frombuffer(column.buffers()[1], np.int64)
        return offsets[column.offset : column.offset + len(column) + 1], raw
    width = kind.byte_width
    return np.arange(column.offset, column.offset + len(column) + 1, dtype=np.int64) * width, raw
