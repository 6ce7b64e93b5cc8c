"""Where a query's aggregates have their numbers: words of results, limbs of sums, output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.cql.answers import words
from windrow.cql.query import CompiledQuery, Item
from windrow.kernels.answers import numbers as n

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Measure:
    """An aggregate: what is kept of its argument, and as what."""

    item: Item
    kind: int
    flavor: int
    #: The type of what is kept; None: nothing is.
    kept: pa.DataType | None
    #: Its words: the first column and how many.
    column: int
    words: int
    #: Its first column of the output, and how many.
    out: int
    outs: int
    #: Are its values words only by way of codes?
    coded: bool

    @property
    def most(self) -> bool:
        """Is it MAX? Then words are turned over, so that the heap has the largest at its root."""
        return self.item.function == "max"


def measures(query: CompiledQuery) -> list[Measure]:
    """The aggregates of a query, one column after the other."""
    found: list[Measure] = []
    column = out = 0
    for item in query.measures:
        made = _measure(item, column, out)
        column, out = column + made.words, out + made.outs
        found.append(made)
    return found


def _measure(item: Item, column: int, out: int) -> Measure:
    if item.value is None:
        return Measure(item, n.ROWS, n.SIGNED, None, 0, 0, out, 1, False)
    kind = item.value.type
    if item.function == "count" and not item.distinct:
        return Measure(item, n.COUNT, n.SIGNED, pa.bool_(), 0, 0, out, 1, False)
    if item.distinct:
        coded = not words.fits(kind)
        wide = 1 if coded else words.count(kind)
        return Measure(item, n.DISTINCT, n.SIGNED, kind, column, wide, out, 1, coded)
    wide = words.count(kind)
    if item.function in ("min", "max"):
        return Measure(item, n.LEAST, n.SIGNED, kind, column, wide, out, 2, False)
    flavor = n.SIGNED
    if pa.types.is_floating(kind):
        flavor = n.FLOATING
    elif pa.types.is_decimal(kind):
        flavor = n.WIDE
    elif kind == pa.uint64():
        flavor = n.UNSIGNED
    what = n.SUM if item.function == "sum" else n.MEAN
    return Measure(item, what, flavor, kind, column, wide, out, 4, False)


def table(asked: list[Measure]) -> Ints:
    """The same, for the kernels. Floating sums have no limbs yet."""
    made = np.zeros((len(asked), 9), np.int64)
    limb = heaps = 0
    for row, measure in zip(made, asked, strict=True):
        row[n.KIND], row[n.FLAVOR], row[n.OUT] = measure.kind, measure.flavor, measure.out
        row[n.COLUMN] = measure.column
        row[n.SECOND] = measure.column + max(measure.words - 1, 0)
        if measure.kind in (n.SUM, n.MEAN):
            row[n.LIMB], row[n.LIMBS] = limb, _LIMBS[measure.flavor]
            limb += row[n.LIMBS]
        elif measure.kind == n.LEAST:
            row[n.HEAP] = heaps
            heaps += 1
    return made


_LIMBS = {n.SIGNED: 2, n.UNSIGNED: 2, n.WIDE: 4, n.FLOATING: n.SPECIALS}


def widened(table: Ints, limbs: Ints, at: int, bits: NDArray[np.int64]) -> tuple[Ints, Ints]:
    """Table and limbs with room, in floating sum `at`, for doubles of these bits."""
    exponents = (bits >> 52) & 0x7FF
    places = np.maximum(exponents[exponents != 0x7FF] - 1, 0) >> 5
    if not len(places):
        return table, limbs
    low, high = int(places.min()), int(places.max()) + 3
    row = table[at]
    held, base = int(row[n.LIMBS]) - n.SPECIALS, int(row[n.BASE])
    if held:
        low, high = min(low, base), max(high, base + held)
    if (low, high) == (base, base + held):
        return table, limbs
    start = int(row[n.LIMB]) + n.SPECIALS
    more = high - low - held
    wider = np.zeros((len(limbs), limbs.shape[1] + more), np.int64)
    wider[:, :start] = limbs[:, :start]
    moved = start + (base - low if held else 0)
    wider[:, moved : moved + held] = limbs[:, start : start + held]
    wider[:, start + high - low :] = limbs[:, start + held :]
    table = table.copy()
    summed = (table[:, n.KIND] == n.SUM) | (table[:, n.KIND] == n.MEAN)
    table[summed & (table[:, n.LIMB] > row[n.LIMB]), n.LIMB] += more
    table[at, n.LIMBS], table[at, n.BASE] = n.SPECIALS + high - low, low
    return table, wider
