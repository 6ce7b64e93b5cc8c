"""Values as 64-bit words that compare as the values do, and back.

A decimal takes two words, all else one. NaN is larger than every number and -0.0 is 0.0, as in
comparisons of SQL.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

Ints = NDArray[np.int64]

_SIGN = np.int64(-(2**63))
_REST = np.int64(2**63 - 1)


def fits(kind: pa.DataType) -> bool:
    """Can values of this type be words?"""
    if types.is_decimal(kind):
        return bool(kind.precision <= 38)
    return bool(
        types.is_boolean(kind) or (types.is_primitive(kind) and not types.is_interval(kind))
    )


def count(kind: pa.DataType) -> int:
    """How many words a value takes."""
    return 2 if types.is_decimal(kind) else 1


def encode(array: pa.Array) -> list[Ints]:
    """The words of an array; those of nulls mean nothing."""
    kind = array.type
    if types.is_decimal(kind):
        wide = pa.decimal128(kind.precision, kind.scale)
        array = array if kind == wide else array.cast(wide)
        data = array.buffers()[1]
        raw = np.frombuffer(data, np.int64) if data is not None else np.empty(0, np.int64)
        halves = raw[2 * array.offset : 2 * (array.offset + len(array))].reshape(-1, 2)
        return [halves[:, 1].copy(), halves[:, 0] ^ _SIGN]
    if types.is_floating(kind):
        values = pc.fill_null(pc.add(array.cast(pa.float64()), 0.0), 0.0).to_numpy()
        values = np.where(np.isnan(values), np.nan, values)
        bits = values.view(np.int64)
        return [bits ^ ((bits >> 63) & _REST)]
    if types.is_boolean(kind):
        array = array.cast(pa.int8())
    elif not types.is_integer(kind):
        array = array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    if kind == pa.uint64():
        return [pc.fill_null(array, 0).to_numpy().view(np.int64) ^ _SIGN]
    return [pc.fill_null(array, 0).to_numpy().astype(np.int64)]


def decode(words: list[Ints], valid: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """The array of these words."""
    if types.is_decimal(kind):
        low = words[1] ^ _SIGN
        return decimals(low, words[0], valid, pa.decimal128(kind.precision, kind.scale)).cast(kind)
    word, mask = words[0], ~valid
    if types.is_floating(kind):
        bits = word ^ ((word >> 63) & _REST)
        return pa.array(bits.view(np.float64), pa.float64(), mask=mask).cast(kind, safe=False)
    if kind == pa.uint64():
        return pa.array((word ^ _SIGN).view(np.uint64), kind, mask=mask)
    if types.is_boolean(kind):
        return pa.array(word.astype(np.bool_), kind, mask=mask)
    # What is behind a null may not fit a narrow type.
    word = np.where(valid, word, 0)
    if types.is_integer(kind):
        return pa.array(word, pa.int64(), mask=mask).cast(kind)
    narrow = np.int32 if kind.bit_width == 32 else np.int64
    return pa.array(word.astype(narrow), mask=mask).view(kind)


def decimals(low: Ints, high: Ints, valid: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """128-bit numbers of two halves."""
    data = pa.py_buffer(np.ascontiguousarray(np.stack([low, high], axis=1)))
    bits = pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(kind, len(low), [bits, data])
