"""Punctuations about lists and ranges of keys, as one punctuation for each key.

Paper 3, section 3.1: other patterns can be modelled by single values. So an array of keys becomes
as many rows, and a range [key, ends_to) of whole numbers or days the rows in it; a range of other
keys becomes a row for each key in it that the streams have. A tuple has one key, so its array must
have one element.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow import expressions
from windrow.model import JoinPlan, Stream, WindrowError
from windrow.operators.columns import Columns, columns_of, marked, plain
from windrow.operators.ranges import FROM, Seen, keys_in_ranges

#: Keys that the ranges of one table may have in all.
MOST_KEYS = 50_000_000


def one_key_a_row(table: pa.Table, name: str, key: str, ends: str, ends_to: str | None) -> pa.Table:
    """The table with a scalar key in place of arrays and ranges."""
    said = marked(ends, name, table)
    column = table.column(key)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
        if (lengths[~said] > 1).any():
            raise WindrowError(
                f"stream {name!r}: a tuple has {int(lengths[~said].max())} keys in {key!r}; only "
                "punctuations may have several"
            )
        values, starts = pc.list_flatten(column), np.cumsum(lengths) - lengths
        inside = _counted(np.maximum(lengths, 1))
        at = np.repeat(starts, np.maximum(lengths, 1)) + inside
        empty = np.repeat(lengths == 0, np.maximum(lengths, 1))
        taken = pa.array(np.where(empty, 0, at), mask=empty)
        keys = values.take(taken) if len(values) else pa.nulls(len(at), column.type.value_type)
        return _with_keys(table, key, np.maximum(lengths, 1), keys)
    assert ends_to is not None
    until = expressions.extract(table, ends_to)
    until = until.combine_chunks() if isinstance(until, pa.ChunkedArray) else until
    whole = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
    try:
        first = pc.fill_null(column.cast(whole), 0).to_numpy().astype(np.int64)
        last = pc.fill_null(until.cast(whole), 0).to_numpy().astype(np.int64)
    except pa.ArrowInvalid as error:
        raise WindrowError(
            f"stream {name!r}: ranges from {key!r} to {ends_to!r} need numbers below 2**63"
        ) from error
    known = ~(column.is_null().to_numpy(False) | until.is_null().to_numpy(False))
    ranged = said & known
    # In floating point first: a difference of two of them may not fit 64 bits.
    keys_in_all = float(np.sum((last.astype(float) - first.astype(float))[ranged & (last > first)]))
    if keys_in_all > MOST_KEYS:
        raise WindrowError(
            f"stream {name!r}: the ranges from {key!r} to {ends_to!r} have {keys_in_all:,.0f} "
            f"keys, more than {MOST_KEYS:,}; make them smaller"
        )
    counts = np.where(ranged & (last > first), last - first, 1)
    # A range with nothing in it ends no key, but its row still tells the time.
    none = np.repeat((ranged & (last <= first)) | column.is_null().to_numpy(False), counts)
    keys = np.repeat(first, counts) + _counted(counts)
    return _with_keys(table, key, counts, pa.array(keys, whole, mask=none).cast(column.type))


def ranges_to_keys(plan: JoinPlan) -> tuple[Stream, ...]:
    """The streams with a row for each key that their ranges end, right after the range's own."""
    columns = [columns_of(stream, stream.data, plan.now) for stream in plan.streams]
    there = [each.are_tuples() for each in columns]
    keys = pa.concat_arrays(
        [
            plain(expressions.extract(stream.data, (stream.key or ("",))[0]))
            .cast(_key_type(plan.streams[0]))
            .filter(pa.array(mine))
            for stream, mine in zip(plan.streams, there, strict=True)
        ]
    )
    times = [each.ts[mine] for each, mine in zip(columns, there, strict=True)]
    seen = Seen(keys, np.concatenate(times))
    return tuple(
        replace(stream, data=_expanded(stream, each, seen, plan.span)) if stream.ranged else stream
        for stream, each in zip(plan.streams, columns, strict=True)
    )


def _key_type(stream: Stream) -> pa.DataType:
    kind = stream.schema.field((stream.key or ("",))[0]).type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _expanded(stream: Stream, columns: Columns, seen: Seen, span: int) -> pa.Table:
    assert columns.ranges is not None
    places = np.flatnonzero(columns.ranges)
    rows = keys_in_ranges(
        stream, stream.data.take(pa.array(places)), columns.ts[places], seen, span
    )
    whole = pa.concat_tables([stream.data, rows.drop_columns(FROM)])
    # Each after the row of its range; a stable sort keeps the rows themselves in their places.
    at = np.concatenate([np.arange(len(stream.data)), places[rows.column(FROM).to_numpy()]])
    return whole.take(pa.array(np.argsort(at, kind="stable")))


def _counted(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, ... for each of the rows that a row becomes."""
    starts: NDArray[np.int64] = np.repeat(np.cumsum(counts) - counts, counts)
    return np.arange(int(counts.sum())) - starts


def _with_keys(table: pa.Table, key: str, counts: NDArray[np.int64], keys: pa.Array) -> pa.Table:
    rows = table.take(pa.array(np.repeat(np.arange(table.num_rows), counts)))
    at = table.schema.get_field_index(key)
    return rows.set_column(at, pa.field(key, keys.type), keys)
