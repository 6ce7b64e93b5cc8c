"""Joins of three and four streams in process: one operator, and chained ones, against DuckDB.

Streams like the standard workload's (120 s, windows of 30 s), at one match for each row and stream
and at eight, where they are shorter because results grow with the power of the streams. DuckDB
joins the same tables in memory with one thread, on equal keys and every pair's range, Arrow out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import duckdb
import pyarrow as pa

import windrow as wr
from benchmarks.measure import Target, alternately, ratio, show
from windrow import workload
from windrow.api import local_join
from windrow.model import Stream

SECONDS = 30
NAMES = "abcd"
COLUMNS = ("key", "time", "v")


@dataclass(frozen=True)
class Case:
    """So many streams, of so many rows, with so many matches for each row and stream."""

    streams: int
    rows: int
    matches: int
    #: At most so many times DuckDB's time; None where nothing is promised.
    limit: float | None = None

    def tables(self) -> tuple[pa.Table, ...]:
        """A window has a fourth of a stream's rows."""
        per_key = 4 * self.matches
        return workload.standard(self.rows, streams=self.streams, rows_per_key=per_key)

    def __str__(self) -> str:
        many = f"{self.matches} match" + "es" * (self.matches > 1)
        return f"{self.streams} streams of {self.rows:,} rows, {many} for each row and stream"


CASES = (
    Case(3, 1_200_000, 1, limit=1.0),
    Case(4, 600_000, 1),
    Case(3, 40_000, 8),
    Case(4, 10_000, 8),
)


def sql(streams: int) -> str:
    """The plain join: each stream joins all before it on the key and on every pair's range."""
    names = NAMES[:streams]
    columns = [f"{name}.{column} AS {name}_{column}" for name in names for column in COLUMNS]
    text = f"SELECT {', '.join(columns)}, greatest({', '.join(f'{n}.time' for n in names)}) AS ts "
    for at, name in enumerate(names):
        if at == 0:
            text += f"FROM table_{name} AS {name} "
            continue
        conditions = [
            f"{one}.time <= {other}.time + INTERVAL {SECONDS} SECOND"
            for before in names[:at]
            for one, other in ((before, name), (name, before))
        ]
        equal = f"{names[0]}.key = {name}.key"
        text += f"JOIN table_{name} AS {name} ON {' AND '.join([equal, *conditions])} "
    return text


def stream(table: pa.Table, name: str) -> Stream:
    """A table as it joins."""
    return wr.stream(table, name=name, key="key", time="time", window=f"{SECONDS} seconds")


def chained(streams: Sequence[Stream]) -> pa.Table:
    """Binary joins, each on what the one before it has found.

    A found row has the largest time of what is in it, and stays for a window from there. That what
    comes later is within the earlier ones' windows too is left to a condition.
    """
    one, two, *others = streams
    window = f"{SECONDS} seconds"
    found: Any = wr.join(one, two)
    paths = [f"found.{one.name}", f"found.{two.name}"]
    for other in others:
        key = f"{paths[0].removeprefix('found.')}.key"
        before = wr.stream(found, name="found", key=key, time="ts", window=window)
        within = [f"{other.name}.time <= {path}.time + INTERVAL {window}" for path in paths]
        found = wr.join(before, other, condition=" AND ".join(within))
        paths = [f"found.{path}" for path in (*paths, other.name)]
    return found


def run(case: Case) -> None:
    """Measure a case and print it."""
    tables = case.tables()
    names = NAMES[: case.streams]
    streams = [stream(table, name) for table, name in zip(tables, names, strict=True)]
    connection = duckdb.connect(config={"threads": 1})
    for table, name in zip(tables, names, strict=True):
        connection.register(f"table_{name}", table)
    text = sql(case.streams)

    def row_ids() -> None:
        for _ in local_join(wr.plan(*streams)).pieces():
            pass

    whole, peer = "windrow, one operator", "DuckDB, 1 thread, flat columns"
    runs: dict[str, Callable[[], Any]] = {
        whole: lambda: wr.join(*streams),
        "windrow, one operator, row ids out": row_ids,
        "windrow, chained": lambda: chained(streams),
        peer: lambda: connection.sql(text).to_arrow_table(),
    }
    counts = {name: made().num_rows for name, made in runs.items() if made is not row_ids}
    assert len(set(counts.values())) == 1, counts
    times = alternately(runs, warm=1, rounds=5)
    rows = [
        [name, f"{median(taken):.3f} s", f"{ratio(times, name, peer):.2f}x"]
        for name, taken in times.items()
    ]
    targets = []
    if case.limit is not None:
        targets = [Target("join of three streams by DuckDB", ratio(times, whole, peer), case.limit)]
    show(f"{case}, {counts[peer]:,} results", ["", "median", "by DuckDB, flat"], rows, targets)


def main() -> None:
    for case in CASES:
        run(case)


if __name__ == "__main__":
    main()
