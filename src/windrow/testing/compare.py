"""Results as multisets of rows: two results are the same if they hold the same rows as often.

A table's order, chunks and physical types (string or large_string, timestamp[us] or [ns], one
zone or another) are not part of an answer; its column names and its values are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.testing._inputs import PER_SECOND

Row = tuple[tuple[str, Hashable], ...]


class Instant(int):
    """Nanoseconds since 1970, shown as a time."""

    def __repr__(self) -> str:
        micros, nanos = divmod(self, 1_000)
        try:
            text = (datetime(1970, 1, 1) + timedelta(microseconds=micros)).isoformat(" ")
        except OverflowError:
            return f"{int(self)} ns"
        return f"{text}+{nanos}ns" if nanos else text


def rows(table: pa.Table) -> Counter[Row]:
    """The rows of a table and how often each occurs, as plain hashable values.

    A row is a tuple of (column, value) pairs, and so is a struct. NaN equals NaN.

    Examples
    --------
    >>> rows(pa.table({"v": [1, 2, 1]}))
    Counter({(('v', 1),): 2, (('v', 2),): 1})
    """
    columns = [_values(column) for column in table.columns]
    names = table.column_names
    return Counter(tuple(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def assert_same_rows(actual: pa.Table, expected: pa.Table, show: int = 5) -> None:
    """Fail unless both tables have the same column names and the same rows as often.

    The message counts the rows that are missing and that are too many, and shows the first few.

    Examples
    --------
    >>> assert_same_rows(pa.table({"v": [1, 2, 3, 3]}), pa.table({"v": [2, 1, 3, 4]}))
    Traceback (most recent call last):
    AssertionError: 4 rows, expected 4: 1 missing, 1 too many
    missing:
      v=4
    too many:
      v=3
    """
    __tracebackhide__ = True
    if actual.column_names != expected.column_names:
        raise AssertionError(f"columns {actual.column_names}, expected {expected.column_names}")
    got, wanted = rows(actual), rows(expected)
    missing, extra = wanted - got, got - wanted
    if not missing and not extra:
        return
    lines = [
        f"{actual.num_rows} rows, expected {expected.num_rows}: "
        f"{missing.total()} missing, {extra.total()} too many"
    ]
    for title, found in (("missing", missing), ("too many", extra)):
        if found:
            lines.append(f"{title}:")
            lines += [f"  {_shown(row, n)}" for row, n in islice(found.items(), show)]
        if len(found) > show:
            lines.append(f"  ... and {len(found) - show} more")
    raise AssertionError("\n".join(lines))


def _shown(row: Row, times: int) -> str:
    text = "  ".join(f"{name}={_text(value)}" for name, value in row)
    return text if times == 1 else f"{text}  ({times} times)"


def _text(value: Hashable) -> str:
    if isinstance(value, Struct):
        return "{" + ", ".join(f"{name}: {_text(part)}" for name, part in value) + "}"
    return "null" if value is None else repr(value)


class Struct(tuple[tuple[str, Hashable], ...]):
    """A struct's (field, value) pairs."""


def _values(column: pa.ChunkedArray | pa.Array) -> list[Hashable]:
    """A column as hashable Python values, type by type."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in _values(chunk)]
    if pa.types.is_dictionary(kind):
        return _values(array.dictionary_decode())
    if isinstance(kind, pa.BaseExtensionType):
        return _values(array.storage)
    if pa.types.is_struct(kind):
        return _structs(array)
    if pa.types.is_map(kind):
        # A map has no order of its own.
        return [None if m is None else frozenset(Counter(m).items()) for m in _lists(array)]
    if pa.types.is_nested(kind) and not pa.types.is_union(kind):
        return list(_lists(array))
    if pa.types.is_floating(kind):
        return ["NaN" if v is not None and math.isnan(v) else v for v in array.to_pylist()]
    if pa.types.is_timestamp(kind):
        scale = 1_000_000_000 // PER_SECOND[kind.unit]
        whole = array.cast(pa.int64()).to_pylist()
        return [None if v is None else Instant(v * scale) for v in whole]
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        # As exact numbers: Python's own times stop at µs.
        scale = 1_000_000_000 // PER_SECOND[kind.unit]
        whole = array.cast(pa.int64() if kind.bit_width == 64 else pa.int32()).to_pylist()
        return [None if v is None else v * scale for v in whole]
    plain: list[Hashable] = array.to_pylist()
    return plain


def _structs(array: pa.StructArray) -> list[Hashable]:
    names = [field.name for field in array.type]
    if not names:
        return [None if missing else Struct() for missing in array.is_null().to_pylist()]
    fields = [_values(pc.struct_field(array, i)) for i in range(len(names))]
    return [
        None if missing else Struct(zip(names, values, strict=True))
        for missing, values in zip(
            array.is_null().to_pylist(), zip(*fields, strict=True), strict=True
        )
    ]


def _lists(array: Any) -> Sequence[tuple[Hashable, ...] | None]:
    """Lists of any layout, and maps as lists of (key, value) structs."""
    if pa.types.is_map(array.type):
        array = array.cast(pa.list_(pa.struct(list(_entry_fields(array.type)))))
    lengths = pc.list_value_length(array).to_pylist()
    items = iter(_values(array.drop_null().flatten()))
    return [None if n is None else tuple(islice(items, n)) for n in lengths]


def _entry_fields(kind: pa.MapType) -> Sequence[pa.Field]:
    return [pa.field("key", kind.key_type, nullable=False), pa.field("value", kind.item_type)]
