"""Continuous queries over tables: one shared join for each signature, fed batch by batch.

tables --batch--> shared join of a signature --pieces--> each query: of its window? of its life?
                                                         passes its filters?
                     plain select: a row each  <--------------+
                     aggregates: Aggregation, told how far its results are complete
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.cql import CompiledQuery, Signature
from windrow.cql.answers import Aggregation
from windrow.cql.judged import Judged
from windrow.cql.status import JoinStatus, QueryStatus, Status, shown_window
from windrow.local.engine import LocalJoin
from windrow.local.rows import LocalRows
from windrow.local.shared import LocalShared
from windrow.model import BEGINNING, END, Schedule, Stream
from windrow.operators.admit import admit
from windrow.operators.join.ranked import RankedJoin
from windrow.operators.join.shared import SharedJoin
from windrow.operators.released import Released


@dataclass
class Running:
    """A query of a join: it gets the results of arrivals [added, dropped)."""

    query: CompiledQuery
    reach: int
    added: int
    complete_from: int
    dropped: int = END
    batches: list[pa.RecordBatch] = field(default_factory=list)
    aggregation: Aggregation | None = None

    def take(self, released: NDArray[np.bool_], judged: Judged) -> None:
        """Take what is released to it of a piece, if it passes the filters."""
        if not released.any():
            return
        mine = np.flatnonzero(released & judged.verdict(self.query))
        if not len(mine):
            return
        column, piece = judged.of(mine), judged.piece
        ts = piece.ts[mine]
        if self.aggregation is not None:
            assert isinstance(piece, Released)
            inputs = self.query.inputs(column, len(mine))
            self.aggregation.add(inputs, ts - piece.age[mine], ts)
        else:
            times = pa.array(ts).view(pa.timestamp("us")).cast(self.query.time)
            self.batches.append(self.query.project(column, len(mine), times))

    def advance(self, progress: int) -> None:
        """All results before this time have come."""
        if self.aggregation is not None:
            self.batches += self.aggregation.advance(progress)

    def answers(self) -> pa.Table:
        """What it has answered so far."""
        return pa.Table.from_batches(self.batches, self.query.schema)

    def status(self) -> QueryStatus:
        """What is to be said of it."""
        since = moment(self.complete_from)
        return QueryStatus(
            self.query.name, self.query.sql, shown_window(self.query), since, self.dropped != END
        )


def moment(micros: int) -> datetime | None:
    """A time as a user sees it: None for the beginning, and the last there is for the end."""
    if micros == BEGINNING:
        return None
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return (datetime.min if micros < 0 else datetime.max).replace(tzinfo=UTC)


class SignatureJoin:
    """The join that the queries of one signature share. `at`: how many rows have been read."""

    def __init__(
        self,
        signature: Signature,
        streams: Sequence[Stream],
        schedule: Schedule,
        budget: int | None,
        at: int,
    ) -> None:
        self.signature = signature
        self.budget = budget
        self.queries: list[Running] = []
        mine = [streams[position] for position in signature.streams]
        self.join: LocalJoin
        self.shared: SharedJoin | RankedJoin
        if signature.kind == "time":
            by_time = self.join = LocalShared(mine, schedule)
            self.shared = by_time.shared
            newest = catch_up(self.join, at)
            if newest is not None:
                self.shared.complete = newest + 1
        else:
            by_rank = LocalRows(mine, "stream" if signature.kind == "rows" else "key", schedule)
            self.join, self.shared = by_rank, by_rank.ranked
            newest = catch_up(self.join, at)
            if newest is not None:
                by_rank.ranked.catch_up(newest)

    def add(self, query: CompiledQuery, reach: int) -> Running:
        """Have a query get the results of the arrivals from here on."""
        aggregation = Aggregation(query) if query.aggregated else None
        since = self.shared.complete_from(reach)
        made = Running(query, reach, self.shared.came, since, aggregation=aggregation)
        self.shared.add(reach)
        self.queries.append(made)
        return made

    def drop(self, running: Running) -> None:
        """Let a query get none of the arrivals from here on."""
        running.dropped = self.shared.came
        self.shared.drop(running.reach)

    def feed(self, start: int, stop: int) -> None:
        """Rows [start, stop) of each table."""
        self.shared.budget = self.budget
        ranges = [(min(start, len(t)), min(stop, len(t))) for t in self.join.tables]
        for piece in self.join.bounded(self.join.batch(ranges)):
            assert isinstance(piece, Released)
            judged = Judged(piece, self.join.payloads, self.signature.streams)
            released: dict[tuple[int, int, int], NDArray[np.bool_]] = {}
            for each in self.queries:
                life = each.reach, each.added, each.dropped
                if life not in released:
                    released[life] = piece.of(*life)
                each.take(released[life], judged)
        progress = min(each.now for each in self.join.progress)
        for running in self.queries:
            running.advance(min(progress, self.shared.waits_from(running.reach)))

    def left(self) -> int:
        """How many arrivals are suspended."""
        return self.shared.suspended()

    def status(self) -> JoinStatus:
        """What is to be said of it."""
        done = self.shared.under_way_from
        return JoinStatus(
            tuple(stream.name for stream in self.join.plan.streams),
            self.signature.kind,
            tuple(each.status() for each in self.queries if each.dropped > done),
            self.left(),
            len(self.join.results),
        )


def catch_up(join: LocalJoin, at: int) -> int | None:
    """Let a join know how far its streams had come in `at` rows of each; the largest time of all.

    What was read before it began is no part of it, but says what is late.
    """
    newest = None
    for table, progress in zip(join.tables, join.progress, strict=True):
        seen = admit(table.columns, 0, min(at, len(table)), BEGINNING)
        progress.observe(seen.newest, seen.newest_beat)
        if at and at >= len(table):
            progress.end()
        if seen.newest is not None:
            newest = seen.newest if newest is None else max(newest, seen.newest)
    return newest


class LocalQueries:
    """The queries over some tables, and how far these have been read."""

    def __init__(
        self, streams: Sequence[Stream], schedule: Schedule, closed: bool, budget: int | None
    ) -> None:
        self.streams = tuple(streams)
        self.schedule: Schedule = schedule
        self.closed = closed
        self.budget = budget
        self.at = 0
        self.queries: dict[str, tuple[SignatureJoin, Running]] = {}
        self.joins: dict[Signature, SignatureJoin] = {}

    def add(self, query: CompiledQuery) -> None:
        """Have a query get the results of the rows that are read from here on."""
        found = query.signature
        if found not in self.joins:
            self.joins[found] = SignatureJoin(
                found, self.streams, self.schedule, self.budget, self.at
            )
        join = self.joins[found]
        self.queries[query.name] = join, join.add(query, query.reach(self.closed))

    def drop(self, name: str) -> None:
        """Let a query get no result of rows that are read from here on."""
        join, running = self.queries[name]
        join.drop(running)

    def dropped(self, name: str) -> bool:
        """Has a query been dropped?"""
        return self.queries[name][1].dropped != END

    def run(self, rows: int | None) -> dict[str, pa.Table]:
        """Read so many rows of each table (None: all that are left); the answers so far."""
        longest = max(len(stream.data) for stream in self.streams)
        stop = max(longest, self.at, 1) if rows is None else self.at + rows
        for join in self.joins.values():
            join.feed(self.at, stop)
        self.at = stop
        if stop >= longest:
            # The input has ended: what a budget has left is finished, budget by budget.
            for join in self.joins.values():
                while join.left():
                    join.feed(stop, stop)
        return {name: running.answers() for name, (_, running) in self.queries.items()}

    def status(self) -> Status:
        """Who shares with whom, from when on answers are complete, and what waits."""
        return Status(tuple(join.status() for join in self.joins.values()))
