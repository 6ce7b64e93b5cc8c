"""What both oracles read from a stream and how both write an answer.

The reading and the writing is all they have in common. What joins with what is said twice: as
SQL in `duckdb_oracle`, as loops in `naive`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import sqlglot

from windrow.model import How, Stream, WindrowError

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

#: The kinds that more than two streams can be joined with: the first against all others.
MANY_HOWS: tuple[How, ...] = ("inner", "left", "semi", "anti")
#: How many of a unit make a second.
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@dataclass(frozen=True)
class Rows:
    """A stream's rows told apart: `times` in µs, and what each row is.

    A row is a tuple, a heartbeat (`beats` holds on it), a punctuation (`ends` does), or bad (no
    time, or one too far ahead). Bad comes first: a heartbeat without a time says nothing. Then
    punctuations.
    """

    times: Ints
    bad: Flags
    beats: Flags
    ends: Flags

    @property
    def tuples(self) -> Ints:
        """The row numbers of the tuples."""
        return np.flatnonzero(~self.bad & ~self.beats & ~self.ends).astype(np.int64)


def read(stream: Stream, now: int | None = None) -> Rows:
    """Tell the rows of a stream apart. `now`: the clock that `max_ahead` is about, in µs."""
    times, bad = _micros(column(stream, stream.time), stream)
    if now is not None and stream.max_ahead is not None:
        bad = bad | (times > now + stream.max_ahead)
    ends = _marked(stream, stream.ends) & ~bad
    return Rows(times, bad, _marked(stream, stream.beats) & ~bad & ~ends, ends)


def column(stream: Stream, name: str) -> pa.ChunkedArray:
    """A column by name; `geo.city` is the field `city` of the struct `geo`, null if that is."""
    table: pa.Table = stream.data
    if name in table.column_names:
        return table.column(name)
    first, *rest = name.split(".")
    if first not in table.column_names:
        raise WindrowError(f"stream {stream.name!r}: no column {name!r} in {table.column_names}")
    return pc.struct_field(table.column(first), rest) if rest else table.column(first)


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Key values as types that neither DuckDB nor Python rounds: times become integers."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return plain(values.cast(kind.value_type))
    if isinstance(kind, pa.BaseExtensionType):
        return plain(values.cast(kind.storage_type))
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return values.cast(pa.int64() if kind.bit_width == 64 else pa.int32())
    if pa.types.is_float16(kind):
        return values.cast(pa.float32())
    if pa.types.is_decimal256(kind):
        return values.cast(pa.string())
    return values


def named_columns(sql: str, tables: Sequence[str] = ()) -> set[tuple[str, str]]:
    """The columns that SQL text names, lower case, as (table, column).

    `tables` are the names a column may be qualified with; without any, the table is "".
    Fields of structs need no mention: `imp.geo.city` names the column `geo` of `imp`.
    """
    known = {name.lower() for name in tables}
    found = set()
    for node in sqlglot.parse_one(sql, dialect="duckdb").find_all(sqlglot.exp.Column):
        parts = [part.name.lower() for part in node.parts]
        if known and parts[0] in known and len(parts) > 1:
            found.add((parts[0], parts[1]))
        elif not known:
            found.add(("", parts[0]))
    return found


def connect() -> duckdb.DuckDBPyConnection:
    """A connection to a DuckDB of our own: in memory, one thread."""
    return _database().cursor()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    # Kept: opening one takes longer than a small join.
    return duckdb.connect(":memory:", config={"threads": 1})


def check(streams: Sequence[Stream], how: str, between: tuple[int, int] | None) -> None:
    """Refuse what has no answer, in the words of `windrow.join`."""
    if how not in get_args(How):
        raise WindrowError(f"how={how!r}: expected one of {', '.join(get_args(How))}")
    if len(streams) < 2:
        raise WindrowError(f"{len(streams)} streams: a join takes at least two")
    if len(streams) > 2 and how in ("right", "full"):
        raise WindrowError(
            f"how={how!r} of {len(streams)} streams: more than two are joined with "
            f"{', '.join(MANY_HOWS)}; put the stream whose rows are all kept first, with 'left'"
        )
    if len(streams) > 2 and between is not None:
        raise WindrowError(
            f"between={between} of {len(streams)} streams: bounds are for two; give windows"
        )
    names = [s.name for s in streams]
    if len(set(names)) < len(names):
        raise WindrowError(f"stream names {names}: each needs a name of its own")
    if len({None if s.key is None else len(s.key) for s in streams}) > 1:
        raise WindrowError(f"keys {[s.key for s in streams]}: expected the same number of columns")
    if between is not None:
        if between[0] > between[1]:
            raise WindrowError(f"between={between}: the first bound is above the second")
        if any(s.window is not None for s in streams):
            raise WindrowError(f"between={between} together with windows: give one of the two")


def answer(
    streams: Sequence[Stream],
    numbers: Sequence[Iterable[int | None] | pa.Array],
    ts: Iterable[int | None] | pa.Array,
    kinds: Iterable[str] | None = None,
) -> pa.Table:
    """The result table: per stream the rows of these numbers (None: a null struct), `ts`, `kind`.

    Rows are gathered from the input itself, so a payload keeps its type, whatever it is.
    """
    columns: dict[str, Any] = {}
    for stream, taken in zip(streams, numbers, strict=True):
        table: pa.Table = stream.data
        parts = [_whole(c) for c in table.columns]
        structs = pa.StructArray.from_arrays(parts, fields=list(table.schema))
        columns[stream.name] = structs.take(pa.array(taken, pa.int64()))
    # The instant is the same in every zone; the first stream's zone is the one shown.
    zone = column(streams[0], streams[0].time).type.tz
    columns["ts"] = pa.array(ts, pa.int64()).cast(pa.timestamp("us", zone))
    if kinds is not None:
        columns["kind"] = pa.array(kinds, pa.string())
    return pa.table(columns)


def _micros(values: pa.ChunkedArray, stream: Stream) -> tuple[Ints, Flags]:
    if not pa.types.is_timestamp(values.type):
        raise WindrowError(
            f"stream {stream.name!r}: time column {stream.time!r} is {values.type}, "
            "expected a timestamp"
        )
    bad = np.asarray(_whole(values.is_null()).to_numpy(zero_copy_only=False), np.bool_)
    whole = _whole(values.cast(pa.int64()).fill_null(0)).to_numpy(zero_copy_only=False)
    times = np.asarray(whole, np.int64)
    per_second = PER_SECOND[values.type.unit]
    if per_second > 1_000_000:
        return times // 1_000, bad  # rounds down, before 1970 too
    return times * (1_000_000 // per_second), bad


def _marked(stream: Stream, predicate: str | None) -> Flags:
    """The rows on which a predicate holds, by DuckDB's word."""
    table: pa.Table = stream.data
    flags = np.zeros(table.num_rows, np.bool_)
    if predicate is None:
        return flags
    wanted = {name for _, name in named_columns(predicate)}
    seen = table.select([c for c in table.column_names if c.lower() in wanted])
    seen = seen.append_column("__row", pa.array(np.arange(table.num_rows), pa.int64()))
    with connect() as db:
        db.register("__rows", seen)
        found = db.sql(f"SELECT __row FROM __rows WHERE ({predicate})").to_arrow_table()
    flags[found.column("__row").to_numpy()] = True
    return flags


def _whole(values: pa.ChunkedArray) -> pa.Array:
    """One array of a chunked one."""
    if isinstance(values, pa.ChunkedArray):
        return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
    return values
