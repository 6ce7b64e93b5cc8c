"""The kernels' output as rows of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow import duration
from windrow.cql.answers import layout, words
from windrow.cql.answers.arrays import Arrays
from windrow.cql.answers.codes import Codes
from windrow.cql.query import CompiledQuery
from windrow.kernels.answers import numbers
from windrow.model import WindrowError

Ints = NDArray[np.int64]

#: One more than the largest decimal of 38 digits, in halves.
_TOO_LARGE = divmod(10**38, 2**64)


@dataclass(frozen=True)
class Rows:
    """Makes rows of a query's answers."""

    query: CompiledQuery
    measures: Sequence[layout.Measure]
    groups: Codes | None

    def batch(self, arrays: Arrays) -> pa.RecordBatch:
        """The rows of the output: by time, then by the values of GROUP BY, nulls last."""
        count = int(arrays.meta[numbers.ROW])
        ts, group = arrays.output.ts[:count], arrays.output.group[:count]
        keys, order = self._keys(ts, group)
        ts = ts[order]
        made = {
            measure.item: self._measure(at, measure, arrays.output, order, ts)
            for at, measure in enumerate(self.measures)
        }
        columns = [
            made[item] if item.group is None else keys.column(item.group)
            for item in self.query.select
        ]
        columns.append(pa.array(ts).view(pa.timestamp("us")).cast(self.query.time))
        return pa.RecordBatch.from_arrays(columns, schema=self.query.schema)

    def _keys(self, ts: Ints, group: Ints) -> tuple[pa.RecordBatch, Ints]:
        """The values of GROUP BY by row, in the order of the rows, and this order."""
        if self.groups is None:
            return pa.record_batch([], schema=pa.schema([])), np.arange(len(ts))
        codes, which = np.unique(group, return_inverse=True)
        keys = self.groups.take(codes)
        by = [(name, "ascending") for name in keys.schema.names]
        ranked = pc.sort_indices(_sortable(keys), sort_keys=by)
        rank = np.empty(len(codes), np.int64)
        rank[ranked.to_numpy()] = np.arange(len(codes))
        which = which.reshape(-1)
        order = np.lexsort((rank[which], ts))
        return keys.take(pa.array(which[order])), order

    def _measure(
        self, at: int, measure: layout.Measure, output: numbers.Output, order: Ints, ts: Ints
    ) -> pa.Array:
        kind = measure.item.type
        valid = output.valid[order, at]
        found = [output.words[order, measure.out + k] for k in range(measure.outs)]
        if measure.kind in (numbers.ROWS, numbers.COUNT, numbers.DISTINCT):
            return pa.array(found[0])
        if measure.kind == numbers.LEAST:
            return words.decode([~w for w in found] if measure.most else found, valid, kind)
        if measure.kind == numbers.MEAN:
            assert measure.kept is not None
            scale = measure.kept.scale if pa.types.is_decimal(measure.kept) else 0
            return pa.array(output.floats[order, at] / 10.0**scale, mask=~valid)
        if measure.flavor == numbers.FLOATING:
            return pa.array(output.floats[order, at], mask=~valid)
        return self._whole(measure, found, valid, ts)

    def _whole(
        self, measure: layout.Measure, digits: list[Ints], valid: NDArray[np.bool_], ts: Ints
    ) -> pa.Array:
        """Sums of whole numbers and decimals, from digits of 32 bits."""
        kind = measure.item.type
        low = digits[0] | (digits[1] << 32)
        if measure.flavor == numbers.WIDE:
            high = digits[2] | (digits[3] << 32)
            over = _beyond(low.view(np.uint64), high, digits[3])
        elif measure.flavor == numbers.UNSIGNED:
            over = (digits[1] < 0) | (digits[1] >= 2**32)
        else:
            over = (digits[1] < -(2**31)) | (digits[1] >= 2**31)
        if (over & valid).any():
            when = duration.moment(int(ts[np.flatnonzero(over & valid)[0]]))
            raise WindrowError(
                f"query {self.query.name!r}: {measure.item.name} at {when} does not fit {kind}; "
                "sum it as a DOUBLE, or as a DECIMAL with fewer digits before the point"
            )
        if measure.flavor == numbers.WIDE:
            return words.decimals(low, high, valid, kind)
        values = low.view(np.uint64) if measure.flavor == numbers.UNSIGNED else low
        return pa.array(values, kind, mask=~valid)


def _beyond(low: NDArray[np.uint64], high: Ints, top: Ints) -> NDArray[np.bool_]:
    """Which sums have more than 38 digits."""
    wraps = (top < -(2**31)) | (top >= 2**31)
    limit, rest = _TOO_LARGE
    above = (high > limit) | ((high == limit) & (low >= np.uint64(rest)))
    # Below zero by two's complement: -10**38 is (-limit - 1, 2**64 - rest), as rest is not 0.
    floor = np.uint64(2**64 - rest)
    below = (high < -limit - 1) | ((high == -limit - 1) & (low <= floor))
    result: NDArray[np.bool_] = wraps | above | below
    return result


def _sortable(keys: pa.RecordBatch) -> pa.RecordBatch:
    """Arrow sorts no durations; as numbers they are in the same order."""
    arrays = [
        column.cast(pa.int64()) if pa.types.is_duration(column.type) else column
        for column in keys.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=keys.schema.names)
