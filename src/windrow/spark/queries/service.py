"""Continuous queries on Spark, at the driver: which there are, and what runs for them.

The registry is written before anything is started or asked, so whatever a kill leaves, the next
driver's start brings all joins to what the registry says. Ticks are written where it is seen that a
micro-batch has left work: by a listener as each one ends, and by `process_all_available`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.cql import CompiledQuery
from windrow.cql.status import JoinStatus, QueryStatus, Status, shown_window
from windrow.model import Schedule, Stream, WindrowError
from windrow.spark.queries import engine
from windrow.spark.queries.catalog import Shape
from windrow.spark.queries.control import Asked
from windrow.spark.queries.files import Folder
from windrow.spark.queries.registry import Registered, Registry
from windrow.spark.queries.results import refuse_names
from windrow.spark.queries.sharing import SharedQuery
from windrow.spark.queries.ticking import Ticker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Service:
    """The queries of one checkpoint. `budget`: scanned tuples of a bucket in a micro-batch."""

    def __init__(
        self,
        streams: Sequence[Stream],
        schedule: Schedule,
        closed: bool,
        budget: int | None,
        checkpoint: str,
    ) -> None:
        engine.refuse_batches(streams)
        refuse_names(streams)
        self.streams = tuple(streams)
        self.schedule = schedule
        self.budget = budget
        self.spark = streams[0].data.sparkSession
        bare = [replace(stream, data=None) for stream in streams]
        self.shape = Shape(bare, closed)
        self.folder = Folder(self.spark, checkpoint)
        self.registry = Registry.open(self.folder.inside("registry"), closed)
        self.started = False
        self._joins: dict[int, SharedQuery] = {}
        self._lock = threading.RLock()
        self._ticker = Ticker(self.spark, self._finished)

    # -- queries ---------------------------------------------------------------------------

    def add(self, query: CompiledQuery) -> None:
        """Have a query run from the next micro-batch on."""
        with self._lock:
            found, new = self.registry.add(query.name, query.sql, self._signature(query))
            if self.started and new:
                self._run(found.join)

    def drop(self, name: str) -> None:
        """Let a query get nothing that comes after the next micro-batch has begun."""
        with self._lock:
            found = self.registry.drop(name)
            if self.started:
                self._run(found.join)

    def _signature(self, query: CompiledQuery) -> str:
        """As the registry has it: by names, in the order in which they were first given."""
        positions, kind = query.signature
        names = [self.streams[at].name for at in positions]
        for known in self.registry.now.joins:
            its, *others = json.loads(known)
            if its == kind and set(others) == set(names):
                return known
        return json.dumps([kind, *names])

    def _compiled(self, query: Registered) -> CompiledQuery:
        return self.shape.compiled(Asked(query.id, query.name, query.sql))

    def _join(self, number: int) -> SharedQuery:
        """The join of that number."""
        if number not in self._joins:
            kind, *names = json.loads(self.registry.now.joins[number])
            known = [stream.name for stream in self.streams]
            missing = [name for name in names if name not in known]
            if missing:
                raise WindrowError(
                    f"the queries of this checkpoint join {' and '.join(names)}, but there is no "
                    f"stream {missing[0]!r} now, only {', '.join(known)}; give it again"
                )
            positions = tuple(known.index(name) for name in names)
            plan = engine.plan_of(self.streams, positions, self.schedule, kind)
            folder = self.folder.inside(f"join-{number}")
            self._joins[number] = SharedQuery(self.spark, folder, plan, self.shape, positions)
        return self._joins[number]

    # -- its life --------------------------------------------------------------------------

    def start(self) -> None:
        """Start a Spark query for each signature, or go on from the checkpoint."""
        with self._lock:
            if self.started:
                raise WindrowError("these queries run already; stop them first")
            # All that can be refused is refused before anything runs.
            joins = [self._join(number) for number in range(len(self.registry.now.joins))]
            self._ticker.begin()
            self.started = True
            # A version of its own: this driver may have another budget than the last one.
            self.registry.renew()
            for number in range(len(joins)):
                self._run(number)

    def _run(self, number: int) -> None:
        queries = self.registry.running(number)
        self._join(number).run(self.registry.now.version, queries, self.budget)

    def stop(self) -> None:
        """Stop all Spark queries. The checkpoint has what is needed to go on."""
        with self._lock:
            self.started = False
            self._ticker.end()
            for join in self._joins.values():
                join.stop()

    def process_all_available(self) -> None:
        """Wait until all that the sources have now is answered, suspended work included."""
        if not self.started:
            raise WindrowError("these queries do not run; start them first")
        joins = list(self._joins.values())
        left = True
        while left:
            # Of every join: the last one must not wait until the first has nothing left.
            left = any([join.finish() for join in joins])  # noqa: C419
        for join in joins:
            if join.aggregates is not None:
                join.aggregates.processAllAvailable()

    def _finished(self, query: str) -> None:
        """A micro-batch of a Spark query has ended."""
        for join in list(self._joins.values()):
            if join.join is not None and str(join.join.id) == query:
                join.tick_if_left()

    def status(self) -> Status:
        """Who shares with whom, from when on answers are complete, and what waits."""
        joins = []
        for number, signature in enumerate(self.registry.now.joins):
            kind, *_ = json.loads(signature)
            join, last = self._join(number), self._join(number).last()
            queries = [self._status(query) for query in self.registry.running(number)]
            joins.append(
                JoinStatus(
                    tuple(stream.name for stream in join.plan.streams),
                    kind,
                    tuple(queries),
                    last.suspended if last else 0,
                    last.held if last else 0,
                )
            )
        return Status(tuple(joins))

    def _status(self, query: Registered) -> QueryStatus:
        """What is to be said of a query that runs."""
        since, known = self._join(query.join).complete_from(query.id)
        window = shown_window(self._compiled(query))
        return QueryStatus(query.name, query.sql, window, since, known=known)

    # -- what they have found --------------------------------------------------------------

    def answers(self, name: str, follow: bool = False) -> DataFrame:
        """The answers of a query so far, or as a stream from the first on; also of one dropped."""
        found = self.registry.find(name)
        if found is None:
            names = ", ".join(repr(query.name) for query in self.registry.now.queries) or "none"
            raise WindrowError(f"there is no query {name!r}; there are: {names}")
        return self._join(found.join).answers(self._compiled(found), found.id, follow)
