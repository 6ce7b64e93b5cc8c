"""The library's shared join behind a simulated clock: how long results take to reach each query.

    stored                        measured
    one window, served at once    each arrival comes at its time; a step moves the clock by what it
                                  scanned and produced (`windrow.kernels.sharing`)

Loading is "fast forwarded", as in paper 2's section 5: the streams reach back to the largest
window, and the clock begins after that. A result is of a query's stream once it has been found and
its arrival's results have been released up to the query's window. What is summed up here is small
beside that: a step finds results of one arrival in one partial window, and either all of them wait
for a release or none does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windrow.local.shared import layout
from windrow.model import BEGINNING, Schedule
from windrow.operators.arrivals import Arrivals
from windrow.operators.gate import Passed
from windrow.operators.join.shared import Clock, SharedConfig, SharedJoin
from windrow.operators.released import Released
from windrow.operators.stage import Handover
from windrow.state.room import HEAP
from windrow.workload.arrivals import MICROS

Ints = NDArray[np.int64]
Seconds = NDArray[np.float64]

STREAMS = 2


@dataclass(frozen=True)
class Prices:
    """Seconds that work takes: a stored tuple looked at, a result produced and routed."""

    scan: float
    produce: float

    def times(self, factor: float) -> Prices:
        """So many times as much for each."""
        return Prices(factor * self.scan, factor * self.produce)


@dataclass(frozen=True, eq=False)
class Input:
    """Arrivals of both streams by time, then stream; those from `first` on are measured."""

    ts: Ints
    stream: Ints
    key: Ints
    first: int

    @property
    def arrives(self) -> Seconds:
        """When each measured arrival comes, from the first one on."""
        return np.asarray(self.ts[self.first :] - self.ts[self.first], np.float64) / MICROS

    def passed(self, start: int, stop: int, since: int) -> Passed:
        """Arrivals [start, stop) as a batch; before it the streams had come to `since`."""
        after = int(self.ts[stop - 1]) if stop else since
        return Passed(self._tuples(start, stop), [since] * STREAMS, [after] * STREAMS)

    def _tuples(self, start: int, stop: int) -> list[Arrivals]:
        rows = np.arange(start, stop)
        of = [rows[self.stream[start:stop] == stream] for stream in range(STREAMS)]
        return [Arrivals(self.ts[mine], self.key[mine], mine) for mine in of]


@dataclass(frozen=True)
class Loaded:
    """A join in which all that comes before the measured arrivals is stored."""

    input: Input
    largest: int
    nested: bool
    handover: Handover
    standing: dict[str, object]


@dataclass(frozen=True)
class Response:
    """By window, smallest first: seconds from a result's arrival to its query, and how many.

    `waiting` is the most arrivals that had come and not scanned all, `held` the most results that
    some query did not have yet, `work` the seconds of service, `seconds` the clock at the end.
    """

    means: tuple[float, ...]
    most: tuple[float, ...]
    counts: tuple[int, ...]
    waiting: int
    held: int
    work: float
    seconds: float


def loaded(given: Input, largest: int, nested: bool = False) -> Loaded:
    """Store what comes before the measured arrivals, as a join with one window does."""
    join = SharedJoin(SharedConfig(STREAMS, "lwo"), layout(STREAMS, nested)).begin()
    join.add(largest)
    for _ in join.process(given.passed(0, given.first, BEGINNING)):
        pass
    return Loaded(given, largest, nested, join.handover(), join.standing())


def serve(
    start: Loaded, queries: Mapping[int, int], schedule: Schedule, prices: Prices
) -> Response:
    """Run the measured arrivals; `queries` says how many ask for each window (µs)."""
    given = start.input
    join = standing(start, queries, schedule)
    join.clock = Clock(given.arrives, prices.scan, prices.produce)
    sums = Sums(sorted(queries), len(given.ts) - given.first)
    looked = join.looked_at()[0]
    since = int(given.ts[given.first - 1]) if given.first else BEGINNING
    for piece in join.process(given.passed(given.first, len(given.ts), since)):
        sums.take(piece, given.first)
    looked = join.looked_at()[0] - looked
    work = prices.scan * looked + prices.produce * int(sums.counts.sum())
    let_go = sums.let_go(join.events, given.first)
    means, most, counts = sums.responses(given.arrives, let_go)
    return Response(
        means=tuple(means),
        most=tuple(most),
        counts=tuple(counts),
        waiting=sums.waiting(given.arrives),
        held=sums.held(let_go),
        work=work,
        seconds=join.clock.now,
    )


def standing(start: Loaded, queries: Mapping[int, int], schedule: Schedule) -> SharedJoin:
    """A join that goes on from a loaded one, with these queries."""
    arrays, facts = start.handover
    join = SharedJoin(SharedConfig(STREAMS, schedule), layout(STREAMS, start.nested))
    join.attach({name: array.copy() for name, array in arrays.items()}, facts, HEAP)
    join.stand(start.standing)
    for reach, count in queries.items():
        for _ in range(count):
            join.add(reach)
    # It was loaded for one query with the largest window.
    join.drop(start.largest)
    return join


class Sums:
    """Of each arrival and partial window: how many results, and when they were found."""

    def __init__(self, windows: Sequence[int], arrivals: int) -> None:
        self.windows = np.array(windows, np.int64)
        shape = (arrivals, len(windows))
        self.counts = np.zeros(shape, np.int64)
        self.found = np.zeros(shape)
        self.first = np.full(shape, np.inf)
        self.last = np.zeros(shape)

    def take(self, piece: Released, first: int) -> None:
        """Results of some steps; arrivals are numbered from `first`."""
        assert piece.produced is not None
        window = np.searchsorted(self.windows, piece.age)
        cell = (piece.arrival - first) * len(self.windows) + window
        # An arrival's results come step by step, and of one step by time.
        begins = np.flatnonzero(np.diff(cell, prepend=-1))
        cell = cell[begins]
        ends = np.append(begins[1:], len(piece.produced)) - 1
        np.add.at(self.counts.ravel(), cell, ends - begins + 1)
        np.add.at(self.found.ravel(), cell, np.add.reduceat(piece.produced, begins))
        np.minimum.at(self.first.ravel(), cell, piece.produced[begins])
        np.maximum.at(self.last.ravel(), cell, piece.produced[ends])

    def let_go(self, events: Sequence[tuple[Ints, Ints, Seconds]], first: int) -> Seconds:
        """When each arrival's results were released up to each window."""
        found = np.full(self.counts.shape, np.inf)
        for arrivals, reaches, clock in events:
            upto = np.searchsorted(self.windows, reaches, side="right") - 1
            np.minimum.at(found, (arrivals - first, upto), clock)
        # What is released to a window is released to the smaller ones.
        return np.asarray(np.minimum.accumulate(found[:, ::-1], axis=1)[:, ::-1])

    def responses(
        self, arrives: Seconds, let_go: Seconds
    ) -> tuple[list[float], list[float], list[int]]:
        """By window: mean and largest response time, and results."""
        means, most, counts = [], [], []
        for window in range(len(self.windows)):
            mine = self.counts[:, : window + 1]
            released = let_go[:, window : window + 1]
            # All of a cell's results wait for the release, or none does.
            waits = released > self.first[:, : window + 1]
            left = np.where(waits, np.where(mine > 0, released, 0), 0) * mine
            left += np.where(waits, 0, self.found[:, : window + 1])
            count = int(mine.sum())
            came = float(arrives @ mine.sum(axis=1))
            means.append((float(left.sum()) - came) / max(count, 1))
            last = np.where(waits, released, self.last[:, : window + 1]) - arrives[:, None]
            most.append(float(last[mine > 0].max(initial=0)))
            counts.append(count)
        return means, most, counts

    def waiting(self, arrives: Seconds) -> int:
        """The most arrivals that had come and were not done: no later one is done earlier."""
        # A tuple that finds nothing is done when the one before is, but for its own scan.
        done = np.maximum.accumulate(np.maximum(self.last.max(axis=1), arrives))
        return int((np.arange(1, len(arrives) + 1) - np.searchsorted(done, arrives)).max())

    def held(self, let_go: Seconds) -> int:
        """The most results that the query with the largest window did not have yet."""
        released = np.broadcast_to(let_go[:, -1:], self.counts.shape)
        waits = (released > self.last) & (self.counts > 0)
        came, left, many = self.last[waits], released[waits], self.counts[waits]
        order = np.argsort(np.concatenate([came, left]), kind="stable")
        change = np.concatenate([many, -many])[order]
        return int(np.cumsum(change).max(initial=0))
