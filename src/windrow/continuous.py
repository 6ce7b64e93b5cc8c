"""Continuous queries: SQL over streams, of which all with the same streams share one join."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import combinations
from typing import Any, Protocol

import pyarrow as pa

from windrow import checks, duration, layout, meeting
from windrow.cost.calibrate import constants
from windrow.cql import CompiledQuery, compile_query
from windrow.cql.status import Status, named
from windrow.explanation import QueriesExplanation, SharedPrediction
from windrow.local.payload import TablePayload
from windrow.local.queries import LocalQueries
from windrow.model import UNITS, CountWindow, Schedule, Stream, WindrowError
from windrow.planning import Duration


class Service(Protocol):
    """What runs the queries on Spark."""

    def add(self, query: CompiledQuery) -> None: ...
    def drop(self, name: str) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def process_all_available(self) -> None: ...
    def answers(self, name: str, follow: bool = False) -> Any: ...
    def status(self) -> Status: ...


class ContinuousQueries:
    """Standing queries over streams that share one join for each set of streams.

    Parameters
    ----------
    streams: two or more, with a key and without a window: each query says its own.
    schedule: what is served first where work has to wait: "lwo", "swf" or "mqt" (paper 2, section
        3). Answers and their order are the same.
    closed: whether rows exactly a window apart are in a result. Equal times always are.
    budget: how many stored tuples may be scanned for one batch; what is left waits for the next.
        On Spark it is of one bucket and micro-batch. A duration ("0.5 seconds") is turned into a
        number here, by what the cost model says of this machine.
    checkpoint: on Spark, the folder in which all is kept that a restart needs.

    >>> import pyarrow as pa, datetime as dt
    >>> at = lambda s: dt.datetime(2026, 1, 1, 12, 0, s)
    >>> heat = pa.table({"id": [1, 2, 1], "value": [31.0, 20.0, 35.0], "at": [at(0), at(1), at(9)]})
    >>> damp = pa.table({"id": [1, 2], "value": [70.0, 80.0], "at": [at(3), at(4)]})
    >>> import windrow as wr
    >>> queries = wr.ContinuousQueries(
    ...     wr.stream(heat, name="heat", key="id", time="at"),
    ...     wr.stream(damp, name="damp", key="id", time="at"))
    >>> queries.add(
    ...     "SELECT A.id, A.value, B.value FROM heat A, damp B WHERE A.id = B.id AND A.value > 30 "
    ...     "WINDOW 5 s", name="hot")
    >>> queries.run()["hot"].to_pylist()
    [{'id': 1, 'A_value': 31.0, 'B_value': 70.0}]
    """

    def __init__(
        self,
        *streams: Stream,
        schedule: Schedule = "mqt",
        closed: bool = True,
        budget: int | Duration | None = None,
        checkpoint: str | None = None,
    ) -> None:
        self._streams = _streams(streams)
        self._schedule: Schedule = checks.literal(Schedule, schedule, "schedule")
        self._closed = checks.choice(closed, (True, False), "closed")
        self._budget = _scanned(budget)
        self._local: LocalQueries | None = None
        self._service: Service | None = None
        if meeting.one_engine(self._streams):
            if checkpoint is None:
                raise WindrowError(
                    "checkpoint is not given; continuous queries on Spark keep in it what they "
                    "are and how far they have come, so name a folder that all workers can reach"
                )
            from windrow.spark.queries import service

            self._service = service.Service(
                self._streams, self._schedule, self._closed, self._budget, str(checkpoint)
            )
        else:
            if checkpoint is not None:
                raise WindrowError(
                    f"checkpoint is {checkpoint!r}, but queries over tables keep nothing; leave it "
                    "out"
                )
            self._local = LocalQueries(self._streams, self._schedule, self._closed, self._budget)

    def add(self, sql: str, *, name: str) -> None:
        """Let a query run. It gets the results whose last row comes from now on.

        Names are taken for good: a query that was dropped keeps its answers under its own.
        """
        if not isinstance(name, str) or not name.strip():
            raise WindrowError(f"name is {name!r}, expected text that names the query")
        query = compile_query(sql, name, self._streams)
        meeting.streams([self._streams[at] for at in query.streams])
        if self._service is not None:
            self._service.add(query)
            return
        assert self._local is not None
        if name in self._local.queries:
            over = " and was dropped" if self._local.dropped(name) else ""
            raise WindrowError(
                f"there is a query {name!r} already{over}; its answers are under that name, so "
                "choose another"
            )
        self._local.add(query)

    def drop(self, name: str) -> None:
        """Let a query end. Results whose last row has come are still its own."""
        if self._service is not None:
            self._service.drop(name)
            return
        assert self._local is not None
        standing = [each for each in self._local.queries if not self._local.dropped(each)]
        if name not in standing:
            raise WindrowError(
                f"there is no query {name!r} to drop; those that run: {named(standing)}"
            )
        self._local.drop(name)

    def status(self) -> Status:
        """Who shares with whom, from when on answers are complete, suspended work, held results."""
        if self._service is not None:
            return self._service.status()
        assert self._local is not None
        return self._local.status()

    def explained(self) -> QueriesExplanation:
        """What `windrow.explain` says: who shares, and predicted responses by window."""
        joins = []
        for join in self.status().joins:
            running = [query for query in join.queries if not query.dropped]
            asked = [compile_query(query.sql, query.name, self._streams) for query in running]
            if not asked:
                continue
            windows = Counter(
                query.window.micros for query in asked if not isinstance(query.window, CountWindow)
            )
            found = SharedPrediction(join.streams, join.kind, dict(windows))
            if join.kind != "time":
                found = replace(found, windows={0: len(asked)})
            elif self._local is not None:
                by_name = {stream.name: stream for stream in self._streams}
                tables = [TablePayload(by_name[name]) for name in join.streams]
                check = constants()["hash"].scan
                found = replace(found, statistics=layout.statistics(tables), check=check)
            joins.append(found)
        return QueriesExplanation(self._schedule, tuple(joins))

    # -- tables ----------------------------------------------------------------------------

    def run(self, rows: int | None = None) -> dict[str, pa.Table]:
        """Read the tables to their end; each query's answers by its name.

        rows: read so many further rows of each table only, and give the answers so far. Queries can
        be added and dropped between.
        """
        if self._local is None:
            raise WindrowError("run() is for tables; on Spark use start() and answers(name)")
        return self._local.run(checks.count_or_none(rows, "rows"))

    # -- on Spark --------------------------------------------------------------------------

    def start(self) -> None:
        """Start a Spark query for each set of streams, or go on from the checkpoint."""
        self._on_spark("start").start()

    def stop(self) -> None:
        """Stop all Spark queries. The checkpoint has what is needed to go on."""
        self._on_spark("stop").stop()

    def process_all_available(self) -> None:
        """Wait until all that the sources have now is answered."""
        self._on_spark("process_all_available").process_all_available()

    def answers(self, name: str) -> Any:
        """A DataFrame of a query's answers so far."""
        return self._on_spark("answers").answers(name)

    def follow(self, name: str) -> Any:
        """A streaming DataFrame of a query's answers, from the first on."""
        return self._on_spark("follow").answers(name, follow=True)

    def _on_spark(self, asked: str) -> Service:
        if self._service is None:
            raise WindrowError(f"{asked}() is for Spark; over tables use run()")
        return self._service


def _scanned(budget: int | Duration | None) -> int | None:
    """A budget in scanned tuples, of which each is stored, scanned and produces a result."""
    if isinstance(budget, str | timedelta):
        costs = constants()["hash"]
        each = costs.insert + costs.scan + costs.result
        return max(1, round(duration.parse(budget, "budget") / UNITS["second"] / each))
    return checks.count_or_none(budget, "budget")


def _streams(given: Sequence[object]) -> tuple[Stream, ...]:
    """Streams that queries can be about."""
    for stream in given:
        if not isinstance(stream, Stream):
            raise WindrowError(
                f"ContinuousQueries takes streams, but got a {type(stream).__name__}; wrap the "
                "data with windrow.stream(data, name=..., key=..., time=...)"
            )
    chosen = tuple(stream for stream in given if isinstance(stream, Stream))
    if len(chosen) < 2:
        raise WindrowError(f"ContinuousQueries takes two streams or more, but got {len(chosen)}")
    for one, two in combinations(chosen, 2):
        if one.name.lower() == two.name.lower():
            raise WindrowError(
                f"two streams are called {one.name!r} (SQL does not tell case apart); give each "
                "its own name"
            )
    for stream in chosen:
        if stream.window is not None:
            raise WindrowError(
                f"stream {stream.name!r} has a window, but each continuous query says its own, as "
                "in WINDOW 1 min; leave window out"
            )
        if stream.key is None:
            raise WindrowError(
                f"stream {stream.name!r} has no key, but continuous queries join on keys; give key"
            )
        if stream.punctuated:
            raise WindrowError(
                f"stream {stream.name!r} says where keys end (ends= or unique=True), which shared "
                "joins do not heed; leave it out"
            )
    return chosen
