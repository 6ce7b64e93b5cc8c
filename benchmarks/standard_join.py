"""The standard workload in process: the whole join, and its kernel alone, against DuckDB.

2 x 1.2 M rows (long key of 300,000 values, timestamp, double), 120 s, window 30 s on both sides.
DuckDB runs the same range join over the same tables in memory with one thread, Arrow out.
"""

from __future__ import annotations

from statistics import median

import duckdb

import windrow as wr
from benchmarks.measure import Target, alternately, ratio, show
from windrow import workload
from windrow.api import local_join

SQL = """
    SELECT {'key': a.key, 'time': a.time, 'v': a.v} AS a,
           {'key': b.key, 'time': b.time, 'v': b.v} AS b,
           greatest(a.time, b.time) AS ts
    FROM one AS a JOIN two AS b
      ON a.key = b.key
     AND a.time <= b.time + INTERVAL 30 SECOND AND b.time <= a.time + INTERVAL 30 SECOND
"""
FLAT_SQL = """
    SELECT a.key AS a_key, a.time AS a_time, a.v AS a_v, b.key AS b_key, b.time AS b_time,
           b.v AS b_v, greatest(a.time, b.time) AS ts
    FROM one AS a JOIN two AS b
      ON a.key = b.key
     AND a.time <= b.time + INTERVAL 30 SECOND AND b.time <= a.time + INTERVAL 30 SECOND
"""


def main() -> None:
    one, two = workload.standard()
    a = wr.stream(one, name="a", key="key", time="time", window="30 seconds")
    b = wr.stream(two, name="b", key="key", time="time", window="30 seconds")
    connection = duckdb.connect(config={"threads": 1})
    connection.register("one", one)
    connection.register("two", two)

    def kernel() -> None:
        for _ in local_join(wr.plan(a, b)).pieces():
            pass

    runs = {
        "windrow, Arrow out": lambda: wr.join(a, b),
        "windrow, row ids out": kernel,
        "DuckDB, 1 thread, flat columns": lambda: connection.sql(FLAT_SQL).to_arrow_table(),
        "DuckDB, 1 thread, structs": lambda: connection.sql(SQL).to_arrow_table(),
    }
    results = wr.join(a, b).num_rows
    assert results == connection.sql(FLAT_SQL).to_arrow_table().num_rows
    times = alternately(runs)
    peer = "DuckDB, 1 thread, flat columns"
    rows = [[n, f"{median(t):.3f} s", f"{ratio(times, n, peer):.2f}x"] for n, t in times.items()]
    show(
        f"Standard workload, {results:,} results",
        ["", "median", "by DuckDB, flat"],
        rows,
        [
            Target("in-process join by DuckDB", ratio(times, "windrow, Arrow out", peer), 1.0),
            Target("kernel alone by DuckDB", ratio(times, "windrow, row ids out", peer), 0.7),
        ],
    )


if __name__ == "__main__":
    main()
