"""Runs of a shared join beside the plain loops of `windrow.testing.schedules`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

import windrow as wr
from windrow.local.shared import LocalShared
from windrow.operators.released import Released
from windrow.state.room import HEAP
from windrow.testing.contract import handover
from windrow.testing.schedules import NaiveSharedJoin, Row

FOREVER = 2**62

#: A row: key (None: no key), time.
Element = tuple[int | None, int]


@dataclass
class Batch:
    """Rows of each stream, queries that come and go before them, and what may be scanned."""

    rows: Sequence[Sequence[Element]]
    added: Sequence[tuple[str, int]] = ()
    dropped: Sequence[str] = ()
    budget: int | None = None


@dataclass
class Asked:
    """A query, and what it has got: row ids by stream."""

    reach: int
    added: int
    complete_from: int
    dropped: int = FOREVER
    got: list[tuple[int, ...]] = field(default_factory=list)


class Shared:
    """A shared join over tables that is fed batch by batch, and what its queries get."""

    def __init__(
        self, streams: int, batches: Sequence[Batch], schedule: str, *, nested=False,
        lateness=0, moved=None, keys="int64",
    ) -> None:  # fmt: skip
        self.batches, self.moved = batches, moved
        #: What has come, in the order of arrival: time, key hash, row id, stream.
        self.log: list[tuple[int, ...]] = []
        rows = [[r for batch in batches for r in batch.rows[s]] for s in range(streams)]
        self.streams = [
            wr.stream(table(mine, keys), name=f"s{n}", key="k", time="t",
                      lateness=f"{lateness} microseconds")
            for n, mine in enumerate(rows)
        ]  # fmt: skip
        self.make = lambda: LocalShared(self.streams, schedule, nested)
        self.run = self.make()
        self.queries: dict[str, Asked] = {}
        self.at = [0] * streams

    def feed(self, batch: Batch) -> None:
        """One batch."""
        shared = self.run.shared
        for name, reach in batch.added:
            self.queries[name] = Asked(reach, shared.came, shared.complete_from(reach))
            shared.add(reach)
        for name in batch.dropped:
            self.queries[name].dropped = shared.came
            shared.drop(self.queries[name].reach)
        shared.budget = batch.budget
        stops = [at + len(mine) for at, mine in zip(self.at, batch.rows, strict=True)]
        if shared.levels.needed >= 0:
            self.log += sorted(self.tuples(stops), key=lambda each: (each[0], each[3], each[2]))
        self.take(self.run.served(list(zip(self.at, stops, strict=True))))
        self.at = stops
        if self.moved == "arrays":
            self.run = elsewhere(self.run, self.make())
        elif self.moved == "log":
            self.run = rebuilt(self.run, self.make(), self.log)

    def tuples(self, stops: Sequence[int]) -> Iterable[tuple[int, ...]]:
        """The tuples of the next batch."""
        for stream, stop in enumerate(stops):
            columns = self.run.tables[stream].columns
            for row in range(self.at[stream], stop):
                if columns.keys.null is None or not columns.keys.null[row]:
                    yield int(columns.ts[row]), int(columns.keys.hashes[row]), row, stream

    def take(self, pieces: Iterable[Released]) -> None:
        """Give each query what is released to it."""
        for piece in pieces:
            for query in self.queries.values():
                mine = piece.of(query.reach, query.added, query.dropped)
                ids = [column[mine].tolist() for column in piece.rows]
                query.got += list(zip(*ids, strict=True))

    def finish(self) -> None:
        """Serve what is suspended."""
        while self.run.shared.suspended():
            self.feed(Batch([[] for _ in self.at]))

    def all(self) -> dict[str, list[tuple[int, ...]]]:
        """What each query has got of everything."""
        for batch in self.batches:
            self.feed(batch)
        self.finish()
        assert len(self.run.results) == 0
        return {name: query.got for name, query in self.queries.items()}


def table(rows: Sequence[Element], keys: str = "int64") -> pa.Table:
    """Rows as a stream has them."""
    kind = pa.type_for_alias(keys)
    made = [None if k is None else (f"key {k}" if keys == "string" else k) for k, _ in rows]
    times = pa.array([t for _, t in rows], pa.timestamp("us"))
    return pa.table({"k": pa.array(made, kind), "t": times})


def elsewhere(run: LocalShared, fresh: LocalShared) -> LocalShared:
    """Go on in another process: with a copy of the arrays, and nothing else left."""
    fresh.attach(*handover.elsewhere(run.handover()), HEAP)
    fresh.stand(run.standing())
    for mine, its in zip(fresh.progress, run.progress, strict=True):
        mine.now = its.now
    return fresh


def rebuilt(run: LocalShared, fresh: LocalShared, log: Sequence[tuple[int, ...]]) -> LocalShared:
    """Go on in another process, from what a log has: the input, the standing, what is held."""
    standing = json.loads(json.dumps(run.standing()))
    fresh.begin()
    fresh.stand(standing)
    shared, rows = fresh.shared, np.array(log, np.int64).reshape(-1, 4)
    join = standing["join"]
    for stream, live in enumerate(join["live"]):
        come = rows[: join["begun"]][rows[: join["begun"], 3] == stream]
        stored = come[len(come) - live :]
        shared.state.fill(stream, stored[:, 0], stored[:, 1], stored[:, 2])
    shared.restore(rows[join["first"] :])
    fresh.results.load([run.results.held()])
    for mine, its in zip(fresh.progress, run.progress, strict=True):
        mine.now = its.now
    return fresh


def naive(streams: int, batches: Sequence[Batch], schedule: str) -> NaiveSharedJoin:
    """The same by plain loops, all of it served; no row may be late."""
    join = NaiveSharedJoin(streams, schedule)
    ids = [0] * streams
    for batch in batches:
        for name, reach in batch.added:
            join.add(name, reach)
        for name in batch.dropped:
            join.drop(name)
        rows = []
        for stream, mine in enumerate(batch.rows):
            rows += [Row(stream, t, ids[stream] + n, k) for n, (k, t) in enumerate(mine)]
            ids[stream] += len(mine)
        join.come(rows)
    join.run()
    return join
