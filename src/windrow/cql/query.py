"""A compiled query: what it asks of a join's results, in terms that no engine is needed for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.expressions import ColumnRef, Expression
from windrow.model import CountWindow, TimeWindow

#: Gives a column of the results: of the stream at this position, at this path.
Column = Callable[[int, str], pa.Array]
Kind = Literal["time", "rows", "rows per key"]
Function = Literal["count", "sum", "avg", "min", "max"]


class Signature(NamedTuple):
    """What queries must have in common to share a join: streams (by position), kind of window."""

    streams: tuple[int, ...]
    kind: Kind


@dataclass(frozen=True, eq=False)
class Filter:
    """A part of WHERE or ON beside the equality of keys, and the streams that it is about."""

    test: Expression
    streams: frozenset[int]


@dataclass(frozen=True, eq=False)
class Item:
    """A column of the answers.

    `function` is an aggregate of `value`, or of the rows where that is None; without a function it
    is the value itself, which in a query with aggregates is the GROUP BY's value number `group`.
    """

    name: str
    type: pa.DataType
    value: Expression | None
    #: Where the value is a column and nothing else, it is taken as it is.
    column: ColumnRef | None = None
    function: Function | None = None
    distinct: bool = False
    group: int | None = None


@dataclass(frozen=True, eq=False)
class Group:
    """A value that GROUP BY names."""

    value: Expression
    type: pa.DataType


@dataclass(frozen=True, eq=False)
class CompiledQuery:
    """A query over some of the streams of a `ContinuousQueries`."""

    name: str
    sql: str
    #: Positions among all streams, in the order of FROM, and what the query calls them.
    streams: tuple[int, ...]
    aliases: tuple[str, ...]
    #: The names of these streams: columns are by them.
    names: tuple[str, ...]
    window: TimeWindow | CountWindow
    #: Between the times of two answers, in µs. None: whenever there is a new result.
    slide: int | None
    filters: tuple[Filter, ...]
    select: tuple[Item, ...]
    group_by: tuple[Group, ...]
    #: Are its answers aggregates? Otherwise each result is a row of its own.
    aggregated: bool
    #: Of its answers. Those of aggregates end with `ts`.
    schema: pa.Schema
    #: The type of a result's time.
    time: pa.DataType

    @cached_property
    def signature(self) -> Signature:
        """Queries of one signature share a join."""
        kind: Kind = "time"
        if isinstance(self.window, CountWindow):
            kind = "rows per key" if self.window.per == "key" else "rows"
        return Signature(tuple(sorted(self.streams)), kind)

    def reach(self, closed: bool) -> int:
        """The largest age of its results, in µs; of a window of rows the largest rank."""
        if isinstance(self.window, CountWindow):
            return self.window.n - 1
        return self.window.micros if closed else max(self.window.micros - 1, 0)

    def wanted(self) -> set[tuple[int, str]]:
        """The columns that it needs of the rows: (stream, path)."""
        found = {ref for part in self.filters for ref in part.test.columns}
        found |= {ref for value in self._values() for ref in value.columns}
        return {(self._position(name), path) for name, path in found if name}

    def verdict(self, column: Column, length: int) -> NDArray[np.bool_]:
        """Which of `length` results pass its filters."""
        return self.judge(self.filters, column, length)

    def judge(self, parts: Sequence[Filter], column: Column, length: int) -> NDArray[np.bool_]:
        """Which of `length` results, or rows of a stream, pass these filters."""
        verdict = np.ones(length, np.bool_)
        for part in parts:
            held = part.test.evaluate(self._inputs(part.test, column), length)
            verdict &= held.to_numpy(zero_copy_only=False)
        return verdict

    def project(self, column: Column, length: int, ts: pa.Array) -> pa.RecordBatch:
        """The answers of a plain select to results that have passed. `ts`: their times."""
        arrays = [
            self._value(item.value, item.column, item.type, column, length, ts)
            for item in self.select
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def inputs(self, column: Column, length: int) -> pa.RecordBatch:
        """What aggregates need of results that have passed: see `input_schema`."""
        values = [group.value for group in self.group_by]
        values += [item.value for item in self.measures if item.value is not None]
        arrays = [
            self._value(value, None, field.type, column, length, None)
            for value, field in zip(values, self.input_schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.input_schema)

    @cached_property
    def measures(self) -> tuple[Item, ...]:
        """The items that are aggregates."""
        return tuple(item for item in self.select if item.function is not None)

    @cached_property
    def input_schema(self) -> pa.Schema:
        """group_0, ...: the values of GROUP BY; value_0, ...: those of the aggregates."""
        fields = [pa.field(f"group_{at}", group.type) for at, group in enumerate(self.group_by)]
        for at, item in enumerate(self.measures):
            if item.value is not None:
                fields.append(pa.field(f"value_{at}", item.value.type))
        return pa.schema(fields)

    def _values(self) -> list[Expression]:
        found = [item.value for item in self.select if item.value is not None]
        return found + [group.value for group in self.group_by]

    def _position(self, name: str) -> int:
        return self.streams[self.names.index(name)]

    def _inputs(
        self, value: Expression, column: Column, ts: pa.Array | None = None
    ) -> Mapping[ColumnRef, pa.Array]:
        return {
            ref: column(self._position(ref[0]), ref[1]) if ref[0] else ts for ref in value.columns
        }

    def _value(
        self,
        value: Expression | None,
        whole: ColumnRef | None,
        kind: pa.DataType,
        column: Column,
        length: int,
        ts: pa.Array | None,
    ) -> pa.Array:
        assert value is not None
        if whole is not None:
            found = column(self._position(whole[0]), whole[1])
        else:
            found = value.values(self._inputs(value, column, ts), length)
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        return found if found.type == kind else pc.cast(found, kind)
