"""What finals are made of: partial rows, their store, and the types of it all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow import expressions
from windrow.model import Final, JoinPlan
from windrow.operators.keys import key_types

#: How each function's partial results are computed, and how they are put together.
PARTS: dict[str, tuple[tuple[str, str], ...]] = {
    "count": (("count", "sum"),),
    "sum": (("sum", "sum"),),
    "min": (("min", "min"),),
    "max": (("max", "max"),),
    "avg": (("sum", "sum"), ("count", "sum")),
}
#: Columns of a partial row beside the key's and the aggregates'.
LATEST, FIRST, HASH, OWNER = "latest", "first", "hash", "owner"


class PartialRows:
    """Partial rows by number, in the batches they came in. `open_blob` fetches one."""

    def __init__(
        self, schema: pa.Schema, open_blob: Callable[[int], pa.RecordBatch] | None = None
    ) -> None:
        self.schema = schema
        self.firsts: list[int] = []
        self.batches: list[pa.RecordBatch | int] = []
        self.open = open_blob

    def add(self, first: int, batch: pa.RecordBatch | int) -> None:
        """Rows from `first` on: a batch, or the number to open it by."""
        self.firsts.append(first)
        self.batches.append(batch)

    def forget(self, oldest: int) -> None:
        """Drop the batches that have only older rows."""
        gone = max(int(np.searchsorted(self.firsts, oldest, side="right")) - 1, 0)
        self.firsts, self.batches = self.firsts[gone:], self.batches[gone:]

    def first_rows(self, next_row: int) -> int:
        """How many rows the first batch has, given the number of the next row to come."""
        ends = [*self.firsts[1:2], next_row]
        return ends[0] - self.firsts[0] if self.firsts else 0

    def _batch(self, at: int) -> pa.RecordBatch:
        batch = self.batches[at]
        if isinstance(batch, int):
            assert self.open is not None
            batch = self.batches[at] = self.open(batch)
        return batch

    def take(self, rows: NDArray[np.int64]) -> pa.Table:
        """These rows, in this order."""
        if not len(rows):
            return self.schema.empty_table()
        firsts = np.array(self.firsts)
        of = np.searchsorted(firsts, rows, side="right") - 1
        order = np.argsort(of, kind="stable")
        parts = []
        for number in np.unique(of):
            inside = rows[of == number] - firsts[number]
            parts.append(self._batch(number).take(pa.array(inside)))
        back = np.empty(len(rows), np.int64)
        back[order] = np.arange(len(rows))
        return pa.Table.from_batches(parts).take(pa.array(back))


def lives_of(
    hashes: NDArray[np.int64],
    ts: NDArray[np.int64],
    ended: NDArray[np.int64],
    until: NDArray[np.int64],
) -> NDArray[np.int64]:
    """By row, how many of the ends of its key are before it: which life of the key it is of.

    >>> key, other = 7, 8
    >>> lives_of(np.array([7, 7, 7, 8]), np.array([5, 10, 11, 11]), np.array([7]), np.array([10]))
    array([0, 0, 1, 0])
    """
    lives = np.zeros(len(hashes), np.int64)
    if not len(ended):
        return lives
    keys = np.unique(ended)
    code = np.minimum(np.searchsorted(keys, hashes), len(keys) - 1)
    known = keys[code] == hashes
    rank = np.unique(np.concatenate([until, ts]), return_inverse=True)[1].reshape(-1)
    width = len(rank) + 1
    ends = np.sort(np.searchsorted(keys, ended) * width + rank[: len(until)])
    mine = code * width + rank[len(until) :]
    lives[known] = np.searchsorted(ends, mine[known], side="left") - np.searchsorted(
        ends, code[known] * width, side="left"
    )
    return lives


def gaps_of(hashes: NDArray[np.int64], ts: NDArray[np.int64], span: int) -> NDArray[np.int64]:
    """By row, a number that grows wherever two results of a key are more than a span apart.

    >>> gaps_of(np.array([7, 7, 8, 7]), np.array([30, 5, 99, 10]), 10)
    array([1, 0, 2, 0])
    """
    order = np.lexsort((ts, hashes))
    apart = np.diff(ts[order]) > span
    numbers = np.empty(len(ts), np.int64)
    numbers[order] = np.concatenate([[0], np.cumsum(apart)])[: len(ts)]
    return numbers


def gaps_to_newest(
    hashes: NDArray[np.int64], ts: NDArray[np.int64], span: int
) -> NDArray[np.int64]:
    """By row, how many such gaps there are between it and the newest of its key.

    >>> gaps_to_newest(np.array([7, 7, 8, 7]), np.array([30, 5, 99, 10]), 10)
    array([0, 1, 0, 1])
    """
    gaps = gaps_of(hashes, ts, span)
    order = np.lexsort((ts, hashes))
    last = np.append(np.diff(hashes[order]) != 0, True)
    newest = gaps[order][last][np.cumsum(last) - last]
    found = np.empty(len(ts), np.int64)
    found[order] = newest - gaps[order]
    return found


#: A column and an Arrow aggregate of it, and what the result is called.
Asked = tuple[str, str, str]


def aggregated(finals: Sequence[Final], results: pa.Table, by: list[str]) -> pa.Table:
    """A partial row for each group of results."""
    asked: list[Asked] = [(LATEST, "max", LATEST), (LATEST, "min", FIRST)]
    for at, final in enumerate(finals):
        value = f"value_{at}"
        column = value if value in results.column_names else HASH
        for part, (function, _) in enumerate(PARTS[final.function]):
            asked.append((column, function, f"part_{at}_{part}"))
    return _grouped(results, by, asked)


def together(finals: Sequence[Final], partials: pa.Table, by: list[str]) -> pa.Table:
    """One partial row for each group of them."""
    asked: list[Asked] = [(LATEST, "max", LATEST), (FIRST, "min", FIRST)]
    for at, final in enumerate(finals):
        for part, (_, function) in enumerate(PARTS[final.function]):
            asked.append((f"part_{at}_{part}", function, f"part_{at}_{part}"))
    return _grouped(partials, by, asked)


def _grouped(rows: pa.Table, by: list[str], asked: Sequence[Asked]) -> pa.Table:
    """The groups' columns, then the aggregates under their names."""
    wanted = [(column, function) for column, function, _ in asked]
    grouped = rows.group_by(by, use_threads=False).aggregate(wanted)
    # The same aggregate of the same column twice has one name; both are the same values. And Arrow
    # may put the groups' columns on either side.
    order = [*by, *(f"{column}_{function}" for column, function in wanted)]
    arrays = [grouped.column(grouped.column_names.index(name)) for name in order]
    return pa.Table.from_arrays(arrays, names=[*by, *(name for _, _, name in asked)])


def value_of(table: pa.Table, at: int, final: Final) -> pa.ChunkedArray:
    first = table.column(f"part_{at}_0")
    if final.function != "avg":
        return first
    counted = table.column(f"part_{at}_1")
    some = pc.if_else(pc.equal(counted, 0), None, counted)
    return pc.divide(first.cast(pa.float64()), some.cast(pa.float64()))


def key_names(plan: JoinPlan) -> list[str]:
    """What the key columns of a final row are called: as the first stream calls them."""
    first = plan.streams[0]
    trails = [expressions.trail(first.schema, path) for path in first.key or ()]
    return [fields[-1].name for fields in trails if fields]


def final_schema(plan: JoinPlan) -> pa.Schema:
    """Key columns in the widest of their types, the aggregates, `ts`: the key's latest result."""
    first = plan.streams[0]
    kinds = key_types(plan)
    fields = [pa.field(n, plain_key(k)) for n, k in zip(key_names(plan), kinds, strict=True)]
    fields += [pa.field(final.name, result_type(plan, final)) for final in plan.finals]
    time = expressions.resolve(first.schema, first.time)
    fields.append(pa.field("ts", pa.timestamp("us", time.tz if time is not None else None)))
    return pa.schema(fields)


def plain_key(kind: pa.DataType | None) -> pa.DataType | None:
    """A key's type without its encoding."""
    if kind is not None and pa.types.is_dictionary(kind):
        kind = kind.value_type
    if kind is not None and pa.types.is_string_view(kind):
        return pa.string()
    if kind is not None and pa.types.is_binary_view(kind):
        return pa.binary()
    return kind


def partial_schema(plan: JoinPlan) -> pa.Schema:
    """What a stored partial row is made of."""
    count = len(plan.streams[0].key or ())
    fields = [pa.field(f"key_{at}", final_schema(plan).field(at).type) for at in range(count)]
    fields += [pa.field(name, pa.int64()) for name in (HASH, LATEST, FIRST)]
    for at, final in enumerate(plan.finals):
        for part, (function, _) in enumerate(PARTS[final.function]):
            fields.append(pa.field(f"part_{at}_{part}", _part_type(plan, final, function)))
    return pa.schema(fields)


def _part_type(plan: JoinPlan, final: Final, function: str) -> pa.DataType:
    """The type of a partial aggregate: whatever Arrow makes of the column's."""
    if function == "count":
        return pa.int64()
    assert final.stream is not None
    assert final.column is not None
    kind = expressions.resolve(plan.streams[final.stream].schema, final.column)
    nothing = pa.table({"by": pa.array([], pa.int8()), "value": pa.array([], kind)})
    made = nothing.group_by("by", use_threads=False).aggregate([("value", function)])
    found: pa.DataType = made.schema.field(f"value_{function}").type
    return found


def result_type(plan: JoinPlan, final: Final) -> pa.DataType:
    """The type of an aggregate; Arrow's own error where it has none for the column's type."""
    if final.function == "avg":
        _part_type(plan, final, "sum")
        return pa.float64()
    return _part_type(plan, final, final.function)
