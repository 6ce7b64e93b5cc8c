"""Where a query's aggregates have their numbers: words of results, limbs of sums, output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.cql.answers import words
from windrow.cql.query import CompiledQuery, Item
from windrow.kernels.answers import numbers

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
        return Measure(item, numbers.ROWS, numbers.SIGNED, None, 0, 0, out, 1, False)
    kind = item.value.type
    if item.function == "count" and not item.distinct:
        return Measure(item, numbers.COUNT, numbers.SIGNED, pa.bool_(), 0, 0, out, 1, False)
    if item.distinct:
        coded = not words.fits(kind)
        wide = 1 if coded else words.count(kind)
        return Measure(item, numbers.DISTINCT, numbers.SIGNED, kind, column, wide, out, 1, coded)
    wide = words.count(kind)
    if item.function in ("min", "max"):
        return Measure(item, numbers.LEAST, numbers.SIGNED, kind, column, wide, out, 2, False)
    flavor = numbers.SIGNED
    if pa.types.is_floating(kind):
        flavor = numbers.FLOATING
    elif pa.types.is_decimal(kind):
        flavor = numbers.WIDE
    elif kind == pa.uint64():
        flavor = numbers.UNSIGNED
    what = numbers.SUM if item.function == "sum" else numbers.MEAN
    return Measure(item, what, flavor, kind, column, wide, out, 4, False)


def table(asked: list[Measure]) -> Ints:
    """The same, for the kernels. Floating sums have no limbs yet."""
    made = np.zeros((len(asked), 9), np.int64)
    limb = heaps = 0
    for row, measure in zip(made, asked, strict=True):
        row[numbers.KIND], row[numbers.FLAVOR], row[numbers.OUT] = (
            measure.kind,
            measure.flavor,
            measure.out,
        )
        row[numbers.COLUMN] = measure.column
        row[numbers.SECOND] = measure.column + max(measure.words - 1, 0)
        if measure.kind in (numbers.SUM, numbers.MEAN):
            row[numbers.LIMB], row[numbers.LIMBS] = limb, _LIMBS[measure.flavor]
            limb += row[numbers.LIMBS]
        elif measure.kind == numbers.LEAST:
            row[numbers.HEAP] = heaps
            heaps += 1
    return made


_LIMBS = {
    numbers.SIGNED: 2,
    numbers.UNSIGNED: 2,
    numbers.WIDE: 4,
    numbers.FLOATING: numbers.SPECIALS,
}


def widened(table: Ints, limbs: Ints, at: int, bits: NDArray[np.int64]) -> tuple[Ints, Ints]:
    """Table and limbs with room, in floating sum `at`, for doubles of these bits."""
    exponents = (bits >> 52) & 0x7FF
    places = np.maximum(exponents[exponents != 0x7FF] - 1, 0) >> 5
    if not len(places):
        return table, limbs
    low, high = int(places.min()), int(places.max()) + 3
    row = table[at]
    held, base = int(row[numbers.LIMBS]) - numbers.SPECIALS, int(row[numbers.BASE])
    if held:
        low, high = min(low, base), max(high, base + held)
    if (low, high) == (base, base + held):
        return table, limbs
    start = int(row[numbers.LIMB]) + numbers.SPECIALS
    more = high - low - held
    wider = np.zeros((len(limbs), limbs.shape[1] + more), np.int64)
    wider[:, :start] = limbs[:, :start]
    moved = start + (base - low if held else 0)
    wider[:, moved : moved + held] = limbs[:, start : start + held]
    wider[:, start + high - low :] = limbs[:, start + held :]
    table = table.copy()
    summed = (table[:, numbers.KIND] == numbers.SUM) | (table[:, numbers.KIND] == numbers.MEAN)
    table[summed & (table[:, numbers.LIMB] > row[numbers.LIMB]), numbers.LIMB] += more
    table[at, numbers.LIMBS], table[at, numbers.BASE] = numbers.SPECIALS + high - low, low
    return table, wider
