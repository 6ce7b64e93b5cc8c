"""Punctuations about ranges of keys that cannot be counted through: text, floats, decimals, times.

Such a range [lo, hi) at time t becomes a punctuation for each key in it that any stream has sent
within a span of t. No other key has a tuple that it could speak of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.model import Stream
from windrow.operators.columns import plain

Numbers = NDArray[np.int64]

#: Beside rows made of ranges: which range each is of.
FROM = "__windrow_range"


@dataclass(frozen=True)
class Seen:
    """Keys that streams have sent, and when: a row for each tuple."""

    keys: pa.Array
    ts: Numbers


def within(lows: pa.Array, highs: pa.Array, ts: Numbers, seen: Seen, span: int) -> Pairs:
    """Which keys are in which ranges, each key once a range: (range, a row of `seen`).

    Keys are compared as Arrow sorts them: text by its bytes, NaN last, 0.0 and -0.0 alike.
    """
    mine, low, high = _ranks([seen.keys, lows, highs])
    keyed = np.flatnonzero(~seen.keys.is_null().to_numpy(zero_copy_only=False))
    order = keyed[np.lexsort((seen.ts[keyed], mine[keyed]))]
    # One entry for each key: its rows are order[start:stop], in time order.
    keys, start = np.unique(mine[order], return_index=True)
    stop = np.append(start[1:], len(order))
    known = ~(lows.is_null().to_numpy(False) | highs.is_null().to_numpy(False))
    first = np.searchsorted(keys, low)
    count = np.where(known, np.maximum(np.searchsorted(keys, high) - first, 0), 0)
    ranges = np.repeat(np.arange(len(ts)), count)
    at = np.repeat(first - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
    # Of each key, the first row that is not too old: is it too young?
    near = _first_from(seen.ts[order], start[at], stop[at], ts[ranges] - span)
    there = near < stop[at]
    there[there] = seen.ts[order[near[there]]] <= ts[ranges[there]] + span
    return Pairs(ranges[there], order[near[there]])


def keys_in_ranges(
    stream: Stream, ranges: pa.Table, ts: Numbers, seen: Seen, span: int
) -> pa.Table:
    """A row for each key in each of these rows' ranges: the row itself, with the key and no end.

    A column more says of which row it is.
    """
    key, until = (stream.key or ("",))[0], stream.ends_to or ""
    kind = seen.keys.type
    lows, highs = (plain(ranges.column(name)).cast(kind) for name in (key, until))
    found = within(lows, highs, ts, seen, span)
    rows = ranges.take(pa.array(found.ranges))
    for name, values in (
        (key, seen.keys.take(pa.array(found.rows)).cast(ranges.schema.field(key).type)),
        (until, pa.nulls(len(rows), ranges.schema.field(until).type)),
    ):
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, ranges.schema.field(at), values)
    return rows.append_column(FROM, pa.array(found.ranges))


@dataclass(frozen=True)
class Pairs:
    """Ranges, and rows that have a key in them."""

    ranges: Numbers
    rows: Numbers


def _ranks(columns: list[pa.Array]) -> list[Numbers]:
    """Places in the common order of all values; equal values have equal places."""
    together = pa.concat_arrays(columns)
    ranks = pc.rank(together, sort_keys="ascending", tiebreaker="min").to_numpy().astype(np.int64)
    return np.split(ranks, np.cumsum([len(column) for column in columns])[:-1])


def _first_from(ts: Numbers, start: Numbers, stop: Numbers, least: Numbers) -> Numbers:
    """In each sorted stretch [start, stop), the first place with at least that time."""
    low, high = start.copy(), stop.copy()
    while (low < high).any():
        middle = (low + high) // 2
        open_ = low < high
        earlier = np.zeros(len(low), np.bool_)
        earlier[open_] = ts[middle[open_]] < least[open_]
        low = np.where(open_ & earlier, middle + 1, low)
        high = np.where(open_ & ~earlier, middle, high)
    return low
