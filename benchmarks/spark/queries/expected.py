"""How many answers each query has, by DuckDB, and how many there are in a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from benchmarks.spark.queries.workloads import Asked, Query, asked
from benchmarks.spark.settings import Setting

#: By query: answers; and of an aggregate, how many results they are over in all.
Counts = dict[str, tuple[int, int]]

#: Two rows within the largest window are in the same slot of time or in neighbouring ones.
JOINED = """
CREATE TEMP TABLE results AS
WITH a AS (SELECT key, v, epoch_us(ts) AS t, t // $window AS slot FROM read_parquet($a)),
     b AS (SELECT key, v, epoch_us(ts) AS t, t // $window + unnest([-1, 0, 1]) AS slot
           FROM read_parquet($b))
SELECT a, b, least(a.t, b.t) AS oldest, greatest(a.t, b.t) AS newest
FROM a JOIN b USING (key, slot) WHERE abs(a.t - b.t) <= $window
"""
#: Answers at multiples of the slide with a result in the window before them, and one empty one
#: after each stretch; those that both streams have passed.
ANSWERED = """
WITH times AS (
    SELECT unnest(range((newest + {slide} - 1) // {slide} * {slide}, oldest + {window}, {slide}))
    AS t FROM results WHERE {where}
)
SELECT (SELECT count(*) FROM (SELECT t FROM times UNION SELECT t + {slide} FROM times)
        WHERE t < {passed}),
       (SELECT count(*) FROM times WHERE t < {passed})
"""


class Oracle:
    """What the queries over a workload's files have to answer."""

    def __init__(self, setting: Setting, folder: Path) -> None:
        self._setting, self._folder = setting, folder
        self._known: dict[Asked, Counts] = {}

    def counts(self, which: Asked) -> Counts:
        """By query."""
        if which not in self._known:
            with self._results() as (db, passed):
                queries = asked(self._setting, which)
                self._known[which] = {query.name: _count(db, query, passed) for query in queries}
        return self._known[which]

    @contextmanager
    def _results(self) -> Iterator[tuple[duckdb.DuckDBPyConnection, int]]:
        """All results with the largest window, and how far both streams have come."""
        files = {name: str(self._folder / name / "*.parquet") for name in self._setting.names}
        with duckdb.connect() as db:
            db.execute(JOINED, {**files, "window": self._setting.window_seconds * 1_000_000})
            newest = [
                _one(db, f"SELECT max(epoch_us(ts)) FROM read_parquet('{place}')")[0]
                for place in files.values()
            ]
            yield db, min(newest)


def _count(db: duckdb.DuckDBPyConnection, query: Query, passed: int) -> tuple[int, int]:
    where = query.where or "true"
    if query.slide is not None:
        answers, over = _one(
            db,
            ANSWERED.format(window=query.window, slide=query.slide, where=where, passed=passed),
        )
        return answers, over
    found = f"SELECT count(*) FROM results WHERE newest - oldest <= {query.window} AND {where}"
    return _one(db, found)[0], 0


def written(folder: Path) -> int:
    """How many rows a query of its own has written."""
    with duckdb.connect() as db:
        return _one(db, f"SELECT count(*) FROM read_parquet('{folder}/*.parquet')")[0]


def released(folder: Path, queries: Sequence[Query]) -> tuple[Counts, dict[str, float]]:
    """Rows by query among those of a shared join, and when the last of each was written.

    `queries` in the order in which they were added, which is that of their ids. Aggregates are
    not in it.
    """
    sql = (
        "SELECT id, count(*), list(DISTINCT filename) FROM (SELECT unnest(queries) AS id, filename "
        f"FROM read_parquet('{folder}/*.parquet', filename = true)) GROUP BY id"
    )
    with duckdb.connect() as db:
        found = {id: (count, names) for id, count, names in db.execute(sql).fetchall()}
    counts: Counts = {}
    last: dict[str, float] = {}
    for id, query in enumerate(queries):
        if query.slide is None:
            count, names = found.get(id, (0, []))
            counts[query.name] = count, 0
            last[query.name] = max((Path(name).stat().st_mtime for name in names), default=0.0)
    return counts, last


def _one(db: duckdb.DuckDBPyConnection, sql: str) -> tuple[int, ...]:
    row = db.execute(sql).fetchone()
    assert row is not None
    return tuple(int(value or 0) for value in row)
