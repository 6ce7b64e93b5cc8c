"""One signature at the driver: its folder, its Spark queries, and what is left to do.

folder/control      what the join is asked
folder/results      what it has found, by query
folder/checkpoint   Spark's, of the join
folder/aggregates   the second query's results and checkpoint, once there is an aggregate
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from windrow.cql import CompiledQuery
from windrow.model import BEGINNING, BatchMetrics, JoinPlan
from windrow.spark.metrics import book
from windrow.spark.queries import answers, control, engine, since
from windrow.spark.queries.bucket import Sharing
from windrow.spark.queries.catalog import Shape
from windrow.spark.queries.control import Asked, Control
from windrow.spark.queries.files import Folder
from windrow.spark.queries.registry import Registered

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from windrow.spark.queries.since import Times

AGGREGATES = "aggregates"


@dataclass
class SharedQuery:
    """A join that queries share, and the aggregates over it."""

    spark: SparkSession
    folder: Folder
    plan: JoinPlan
    shape: Shape
    positions: tuple[int, ...]
    since: Accumulator[Times] | None = None
    join: StreamingQuery | None = None
    aggregates: StreamingQuery | None = None
    #: The listener and `process_all_available` may both see that some is left.
    _ticking: threading.Lock = field(default_factory=threading.Lock)
    _ticked: tuple[str, int] | None = None

    # -- its life --------------------------------------------------------------------------

    def run(self, version: int, queries: Sequence[Registered], budget: int | None) -> None:
        """Run these queries from now on. The first call starts the join."""
        asked = tuple(Asked(query.id, query.name, query.sql) for query in queries)
        control.send(self.folder.inside(engine.CONTROL), Control(version, asked, budget))
        if self.join is None:
            sharing = Sharing(self.shape, self.positions)
            self.since = since.accumulator(self.spark)
            rows = engine.joined(self.plan, sharing, self.since, self.folder)
            self.join = engine.written(rows, self.folder)
        if self.aggregates is None and any(self.shape.compiled(a).aggregated for a in asked):
            self.aggregate()

    def aggregate(self) -> None:
        """Start the second query."""
        answers = engine.aggregated(self.plan, Sharing(self.shape, self.positions), self.folder)
        self.aggregates = engine.written(answers, self.folder.inside(AGGREGATES))

    def stop(self) -> None:
        """Stop both."""
        for query in (self.join, self.aggregates):
            if query is not None:
                query.stop()
        self.join = self.aggregates = None

    # -- what is left to do ----------------------------------------------------------------

    def last(self) -> BatchMetrics | None:
        """The figures of the last micro-batch that has finished in this run."""
        found = [] if self.join is None else book.finished(self.join)
        return found[-1] if found else None

    def complete_from(self, id: int) -> tuple[datetime | None, bool]:
        """The `ts` from which on a query has all its answers (None: from the first); is it known?

        It is once a bucket has said so in this run.
        """
        found = None if self.since is None else self.since.value.get(id)
        return book.moment(BEGINNING if found is None else found, True), found is not None

    def tick_if_left(self) -> bool:
        """Start another micro-batch if the last one has left work. Has it?"""
        with self._ticking:
            last = self.last()
            if self.join is None or last is None or not last.suspended:
                return False
            left = str(self.join.runId), last.batch
            if left != self._ticked:
                self._ticked = left
                control.tick(self.folder.inside(engine.CONTROL), *left)
            return True

    def finish(self) -> bool:
        """Wait until all that is there now has been read. Is more to be done after that?"""
        if self.join is None:
            return False
        self.join.processAllAvailable()
        return self.tick_if_left()

    # -- what it has found -----------------------------------------------------------------

    def answers(self, query: CompiledQuery, id: int, follow: bool) -> DataFrame:
        """A query's answers so far, or as a stream from the first on."""
        reader = self.spark.readStream if follow else self.spark.read
        if query.aggregated:
            folder = self.folder.inside(AGGREGATES, engine.RESULTS)
            folder.inside(engine.SINK_LOG).make()
            found = reader.schema(answers.ANSWERS).parquet(folder.place)
            return answers.aggregated(found, query, id)
        folder = self.folder.inside(engine.RESULTS)
        folder.inside(engine.SINK_LOG).make()
        schema = engine.results_of(self.plan).final()
        return answers.plain(
            reader.schema(schema).parquet(folder.place), query, id, self.shape.streams
        )
