"""The answers of continuous queries as SQL in DuckDB, in one statement each.

    streams ── join on keys, ages, filters ──> results: expressions, oldest, newest, arrival
                                                  │
                    plain select: in order of arrival, age, row ids
                    aggregates: times T ── LEFT JOIN results in (T - window, T] ── GROUP BY

A question is given in parts, not as a query's text, so that nothing here needs to read one. Its
expressions are DuckDB's SQL over the aliases. This is the answer for input that is not late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.model import Stream
from windrow.testing._inputs import column, connect, plain, read


@dataclass(frozen=True)
class Asked:
    """A continuous query in parts. `window` and `slide` are in µs.

    A plain select has `select`; a query with aggregates has `aggregates`, each a function such as
    `sum`, its argument (None: the rows) and whether of distinct values, and perhaps `groups`.
    """

    streams: tuple[Stream, ...]
    aliases: tuple[str, ...]
    window: int
    slide: int | None = None
    where: str | None = None
    select: tuple[str, ...] = ()
    aggregates: tuple[tuple[str, str | None, bool], ...] = ()
    groups: tuple[str, ...] = ()
    closed: bool = True
    #: In place of `window`: of so many rows, of each key ("key") or of the stream ("stream").
    rows: tuple[int, str] | None = None
    #: How many rows of each stream come in a batch; None: all at once. Of SQL's answer only the
    #: order of plain selects depends on it.
    batch_rows: int | None = None
    #: The batches in which it runs: results whose last row comes in [first, last).
    batches: tuple[int, int] = field(default=(0, 2**62))


def duckdb_select(asked: Asked) -> pa.Table:
    """The answers of a plain select, in their order: columns c0, c1, ..."""
    names = ", ".join(f"c{at}" for at in range(len(asked.select)))
    rows = ", ".join(f"r{at}" for at in _in_order(asked.streams))
    values = [f"{text} AS c{at}" for at, text in enumerate(asked.select)]
    sql = (
        f"WITH {_results(asked, values)} SELECT {names} FROM results "
        f"ORDER BY arrival, newest - oldest, {rows}"
    )
    return _ask(asked, sql)


def duckdb_answers(asked: Asked) -> pa.Table:
    """The answers of aggregates, by time and groups: g0, ..., a0, ..., and the time in µs, `t`."""
    groups = [f"g{at}" for at in range(len(asked.groups))]
    values = [f"{text} AS g{at}" for at, text in enumerate(asked.groups)]
    values += [
        f"{text} AS v{at}" for at, (_, text, _) in enumerate(asked.aggregates) if text is not None
    ]
    own = "".join(f"{name}, " for name in groups)
    times = f"times AS (SELECT DISTINCT {own}newest AS t FROM results)"
    if asked.slide is not None:
        slide, window = asked.slide, asked.window
        # The multiples in [newest, oldest + window): the result is in the interval before each.
        first = f"CAST(ceil(newest::DECIMAL(38, 0) / {slide}) AS BIGINT) * {slide}"
        steps = f"unnest(range({first}, oldest + {window}, {slide}))"
        times = f"full_times AS (SELECT DISTINCT {own}{steps} AS t FROM results)"
        after = "" if groups else f" UNION SELECT t + {slide} FROM full_times"
        times += f", times AS (SELECT {own}t FROM full_times{after})"
    same = "".join(f" AND times.{name} IS NOT DISTINCT FROM results.{name}" for name in groups)
    made = ", ".join(
        [f"times.{name} AS {name}" for name in groups]
        + [_aggregate(at, *each) for at, each in enumerate(asked.aggregates)]
        + ["times.t AS t"]
    )
    by = ", ".join([*(f"times.{name}" for name in groups), "times.t"])
    order = ", ".join(["t", *(f"{name} NULLS LAST" for name in groups)])
    sql = (
        f"WITH {_results(asked, values)}, {times} SELECT {made} FROM times LEFT JOIN results "
        f"ON results.oldest > times.t - {asked.window} AND results.newest <= times.t{same} "
        f"GROUP BY {by} ORDER BY {order}"
    )
    return _ask(asked, sql)


def _aggregate(at: int, function: str, text: str | None, distinct: bool) -> str:
    value = "results.newest" if text is None else f"results.v{at}"
    return f"{function}({'DISTINCT ' if distinct else ''}{value}) AS a{at}"


def _results(asked: Asked, values: Sequence[str]) -> str:
    """The results of the query, as tables of WITH."""
    names = asked.aliases
    first = names[0]
    terms = [
        f"{first}.__k{k} = {other}.__k{k}"
        for other in names[1:]
        for k in range(len(asked.streams[0].key or ()))
    ]
    newest = f"greatest({', '.join(f'{name}.__ts' for name in names)})"
    oldest = f"least({', '.join(f'{name}.__ts' for name in names)})"
    # Ties are results whatever the window is.
    sign = "<=" if asked.closed or asked.window == 0 else "<"
    near = [f"{newest} - {oldest} {sign} {asked.window}"]
    terms += near if asked.rows is None else [_fewer(asked, name, newest) for name in names]
    batch = f"greatest({', '.join(f'{name}.__batch' for name in names)})"
    terms += [f"{batch} >= {asked.batches[0]}", f"{batch} < {asked.batches[1]}"]
    if asked.where is not None:
        terms.append(f"({asked.where})")
    numbers = [f"{name}.__row AS r{at}" for at, name in enumerate(names)]
    arrival = f"greatest({', '.join(f'{name}.__arrival' for name in names)}) AS arrival"
    shown = ", ".join([*values, *numbers, arrival, f"{oldest} AS oldest, {newest} AS newest"])
    return f"results AS (SELECT {shown} FROM {', '.join(names)} WHERE {' AND '.join(terms)})"


def _fewer(asked: Asked, name: str, newest: str) -> str:
    """SQL for: fewer than n tuples of this stream came between its row and the newest one."""
    assert asked.rows is not None
    n, per = asked.rows
    keys = range(len(asked.streams[0].key or ()) if per == "key" else 0)
    same = "".join(f" AND later.__k{k} = {name}.__k{k}" for k in keys)
    return (
        f"(SELECT count(*) FROM {name} AS later WHERE later.__ts > {name}.__ts "
        f"AND later.__ts <= {newest}{same}) < {n}"
    )


def _ask(asked: Asked, sql: str) -> pa.Table:
    with connect() as db:
        for name, table in zip(asked.aliases, _relations(asked), strict=True):
            db.register(name, table)
        return db.sql(sql).to_arrow_table().combine_chunks()


def _relations(asked: Asked) -> list[pa.Table]:
    """The tuples of each stream: their columns, and what the join goes by."""
    parts = []
    for stream in asked.streams:
        rows = read(stream)
        keep = rows.tuples
        size = asked.batch_rows or max(len(stream.data), 1)
        parts.append((keep, rows.times[keep], keep // size))
    order = _in_order(asked.streams)
    # Arrival is in the order of (batch, time, stream, row); what waits for its turn has no batch.
    lists = [
        (batch if asked.rows is None else 0, time, place, row, at)
        for place, at in enumerate(order)
        for row, time, batch in zip(*(each.tolist() for each in parts[at]), strict=True)
    ]
    arrival = {(at, row): number for number, (*_, row, at) in enumerate(sorted(lists))}
    made = []
    for at, (stream, (keep, times, batch)) in enumerate(zip(asked.streams, parts, strict=True)):
        table: pa.Table = stream.data.take(pa.array(keep))
        numbers = np.array([arrival[at, row] for row in keep.tolist()], np.int64)
        for name, values in (
            ("__row", keep), ("__ts", times), ("__batch", batch), ("__arrival", numbers)
        ):  # fmt: skip
            table = table.append_column(name, pa.array(values, pa.int64()))
        for k, path in enumerate(stream.key or ()):
            keys = plain(column(stream, path)).take(pa.array(keep))
            keys = pc.add(keys, 0.0) if pa.types.is_floating(keys.type) else keys
            table = table.append_column(f"__k{k}", keys)
        made.append(table)
    return made


def _in_order(streams: Sequence[Stream]) -> list[int]:
    """The streams in the order in which they were declared, which their names tell."""
    return sorted(range(len(streams)), key=lambda at: streams[at].name)
