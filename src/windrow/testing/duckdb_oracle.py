"""The answer of a join as one SQL range join in DuckDB.

    imp (row, ts, key, struct) ──┐
                                 ├── SELECT ... JOIN ... ON key AND time AND condition ── row pairs
    clk (row, ts, key, struct) ──┘                                                           │
                                              Arrow `take` on the inputs as they came  <─────┘

DuckDB sees row numbers, times as int64 µs, keys, and the columns the condition names; nothing
else, so no payload type of its own can show in the answer. Arrival order, batches and lateness
are nothing to SQL: this is the answer for input that is not late.

Of more than two streams, the first is joined with the inner join of all others:
a LEFT JOIN (b JOIN c ON each two in time) ON a and b, a and c in time AND condition.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from windrow.model import CountWindow, How, Stream, TimeWindow
from windrow.testing._inputs import answer, check, column, connect, named_columns, plain, read

JOINS = {
    "inner": "JOIN",
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "semi": "SEMI JOIN",
    "anti": "ANTI JOIN",
}
NEVER = 2**63 - 1


def duckdb_join(
    *streams: Stream,
    how: How = "inner",
    condition: str | None = None,
    between: tuple[int, int] | None = None,
    closed: bool = True,
) -> pa.Table:
    """Join finite streams (`Stream.data` is a table), exactly, in `ts` order.

    Parameters
    ----------
    streams
        Two or more. `between` takes two.
    how
        inner, left, semi or anti, of the first stream and the join of all others; of two streams
        right and full as well.
    condition
        SQL over the structs, such as `"imp.price < clk.bid"`.
    between
        Bounds (lo, hi) in µs on `ts_second - ts_first`, in place of windows.
    closed
        Does a tuple still join at exactly its window's end?

    Examples
    --------
    >>> from windrow.model import TimeWindow
    >>> from windrow.testing import table
    >>> def stream(name, micros, text):
    ...     data = table(text, t=pa.timestamp("us"))
    ...     return Stream(data, data.schema, name, ("k",), "t", TimeWindow(micros))
    >>> imp = stream("imp", 5, '''
    ...     k  t
    ...     x  10
    ...     x  20
    ... ''')
    >>> clk = stream("clk", 0, '''
    ...     k  t
    ...     x  15
    ...     x  26
    ... ''')
    >>> duckdb_join(imp, clk).num_rows, duckdb_join(imp, clk, closed=False).num_rows
    (1, 0)
    """
    check(streams, how, between)
    shown = streams[:1] if how in ("semi", "anti") else streams
    names = [f"__s{i}" for i in range(len(streams))]
    ids = ", ".join(f"{n}.row AS r{i}" for i, n in enumerate(names[: len(shown)]))
    ts = f"greatest({', '.join(f'{n}.ts' for n in names[: len(shown)])})"
    ctes = ", ".join(
        f"{n} AS (SELECT *, {_gone(s)} AS gone FROM {n}_rows)"
        for n, s in zip(names, streams, strict=True)
    )
    sql = (
        f"WITH {ctes} SELECT {ids}, {ts} AS ts "
        f"FROM {_joins(names, streams, how, condition, between, closed)} "
        f"ORDER BY ts, {', '.join(f'r{i}' for i in range(len(shown)))}"
    )
    with connect() as db:
        for n, s in zip(names, streams, strict=True):
            db.register(f"{n}_rows", _relation(s, streams, condition))
        found = db.sql(sql).to_arrow_table().combine_chunks()
    numbers = [found.column(f"r{i}").combine_chunks() for i in range(len(shown))]
    return answer(shown, numbers, found.column("ts").combine_chunks())


def _relation(stream: Stream, streams: Sequence[Stream], condition: str | None) -> pa.Table:
    """What DuckDB sees of a stream's tuples: row, ts, k0, k1, ... and the condition's columns."""
    rows = read(stream)
    tuples = rows.tuples
    columns = {"row": pa.array(tuples, pa.int64()), "ts": pa.array(rows.times[tuples], pa.int64())}
    for i, name in enumerate(stream.key or ()):
        values = plain(column(stream, name)).take(columns["row"])
        # Adding 0.0 turns -0.0 into 0.0, so that no index of DuckDB's can tell them apart.
        columns[f"k{i}"] = pc.add(values, 0.0) if pa.types.is_floating(values.type) else values
    if condition is not None:
        wanted = named_columns(condition, [s.name for s in streams])
        table: pa.Table = stream.data
        taken = [c for c in table.column_names if (stream.name.lower(), c.lower()) in wanted]
        if taken:
            parts = [table.column(c).take(columns["row"]).combine_chunks() for c in taken]
            columns[stream.name] = pa.StructArray.from_arrays(parts, names=taken)
    return pa.table(columns)


def _gone(stream: Stream) -> str:
    """SQL for the time from which a tuple of a count window is no longer joinable.

    The frame holds the tuples after this one; the n-th of them, in time order, closes it.
    Tuples at this one's own time are not after it, and so are not counted.
    """
    if not isinstance(stream.window, CountWindow):
        return f"{NEVER}"
    keys = [f"k{i}" for i in range(len(stream.key or ()))] if stream.window.per == "key" else []
    partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
    return (
        f"coalesce(nth_value(ts, {stream.window.n}) OVER ({partition}ORDER BY ts "
        f"RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING), {NEVER})"
    )


def _joins(
    names: Sequence[str],
    streams: Sequence[Stream],
    how: How,
    condition: str | None,
    between: tuple[int, int] | None,
    closed: bool,
) -> str:
    """The FROM clause: the first stream, joined with the inner join of all others."""

    def both(i: int, j: int) -> list[str]:
        a, b = names[i], names[j]
        terms = [f"{a}.k{k} = {b}.k{k}" for k in range(len(streams[i].key or ()))]
        if between is not None:
            return [
                *terms,
                f"{b}.ts >= {a}.ts + ({between[0]})",
                f"{b}.ts <= {a}.ts + ({between[1]})",
            ]
        return terms + _stays(a, b, streams[i], closed) + _stays(b, a, streams[j], closed)

    others = names[1]
    for j in range(2, len(streams)):
        terms = [term for i in range(1, j) for term in both(i, j)]
        others += f" JOIN {names[j]} ON {' AND '.join(terms) or 'TRUE'}"
    if len(streams) > 2:
        others = f"({others})"
    terms = [term for j in range(1, len(streams)) for term in both(0, j)]
    if condition is not None:
        terms.append(f"({condition})")
    return f"{names[0]} {JOINS[how]} {others} ON {' AND '.join(terms) or 'TRUE'}"


def _stays(x: str, y: str, stream: Stream, closed: bool) -> list[str]:
    """SQL for: x is still joinable at y's time (true as well where y is the earlier one)."""
    if isinstance(stream.window, CountWindow):
        return [f"{y}.ts < {x}.gone"]
    if isinstance(stream.window, TimeWindow):
        # Ties join whatever the window is, so an open window of 0 is a closed one.
        sign = "<=" if closed or stream.window.micros == 0 else "<"
        return [f"{y}.ts {sign} {x}.ts + {stream.window.micros}"]
    return []
