"""Paper 2's shared join as plain loops: which arrival scans which window when, and who gets what.

Hammad, Franklin, Aref, Elmagarmid, "Scheduling for shared window joins over data streams",
sections 3.1 to 3.3. Three queries with windows 4, 8 and 12; a11 and b12 join what is older:

    b12  is new               queue of 4                LWO: a11 scans up to 12, then b12 does
    a11  has scanned 4        queue of 8                SWF: b12 scans up to 4, then a11 up to 8
                                                        MQT: a11, if 8 serves more queries a tuple

Everything is kept, nothing is indexed, and every decision is made anew from the whole state. Small
inputs only: a step tries every combination of earlier tuples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal

from windrow.model import WindrowError

Schedule = Literal["lwo", "swf", "mqt"]
SCHEDULES: tuple[Schedule, ...] = ("lwo", "swf", "mqt")

#: Has scanned no window: ages begin at 0.
NOTHING = -1


@dataclass(frozen=True)
class Row:
    """A row of a stream. A row without a key (None) takes no part."""

    stream: int
    ts: int
    row: int
    key: Hashable = ""


@dataclass(frozen=True)
class Result:
    """A result: its last-arriving row's arrival number, its age, its largest time, its row ids."""

    arrival: int
    age: int
    ts: int
    rows: tuple[int, ...]

    @property
    def order(self) -> tuple[int, int, tuple[int, ...]]:
        """Where it stands among a query's results."""
        return self.arrival, self.age, self.rows


@dataclass(frozen=True)
class Step:
    """An arrival scans the combinations with an age in (`above`, `upto`].

    `level`: `upto` is the level-th smallest boundary then. `scanned`: combinations looked at.
    """

    arrival: int
    level: int
    above: int
    upto: int
    scanned: int
    results: tuple[Result, ...]


@dataclass(frozen=True)
class Answer:
    """A result that a query has got, in this step (counted from 0)."""

    result: Result
    step: int


@dataclass
class Query:
    """A query: its window, and the arrivals [added, dropped) whose results it gets."""

    name: str
    reach: int
    added: int
    dropped: float = math.inf

    def holds(self, arrival: int) -> bool:
        """Does it get this arrival's results?"""
        return self.added <= arrival < self.dropped


class NaiveSharedJoin:
    """The join of `streams` streams for all queries, one step at a time.

    `nested`: nested loops look at tuples of every key; hash looks at those of the arrival's key.
    """

    def __init__(self, streams: int, schedule: Schedule, nested: bool = False) -> None:
        if schedule not in SCHEDULES:
            raise WindrowError(f"schedule={schedule!r}: expected one of {', '.join(SCHEDULES)}")
        self.streams = streams
        self.schedule = schedule
        self.nested = nested
        self.queries: dict[str, Query] = {}
        #: What has come, in arrival order. The position is the arrival number.
        self.arrivals: list[Row] = []
        #: For each arrival: up to which age it has to scan, has scanned, has released its results.
        self.last: list[int] = []
        self.reached: list[int] = []
        self.released: list[float] = []
        self.found: list[list[Result]] = []
        self.steps: list[Step] = []
        self.answers: dict[str, list[Answer]] = {}

    # -- what comes ------------------------------------------------------------------------------

    def add(self, name: str, reach: int) -> None:
        """A query more, from the next arrival on. It gets results of an age up to `reach`."""
        if name in self.queries:
            raise WindrowError(f"there is a query {name!r} already; give each its own name")
        self.queries[name] = Query(name, reach, added=len(self.arrivals))
        self.answers[name] = []

    def drop(self, name: str) -> None:
        """A query less, from the next arrival on. What it is owed, it still gets."""
        self.queries[name].dropped = len(self.arrivals)

    def come(self, rows: Iterable[Row]) -> None:
        """A batch comes: it is numbered by time, stream, row id."""
        keyed = [row for row in rows if row.key is not None]
        for row in sorted(keyed, key=lambda row: (row.ts, row.stream, row.row)):
            number = len(self.arrivals)
            self.arrivals.append(row)
            windows = [q.reach for q in self.queries.values() if q.holds(number)]
            self.last.append(max(windows, default=NOTHING))
            self.reached.append(NOTHING)
            self.released.append(NOTHING)
            self.found.append([])

    # -- who is next -----------------------------------------------------------------------------

    def waiting(self) -> list[int]:
        """The arrivals that have not scanned all that they have to, in order."""
        return [n for n in range(len(self.arrivals)) if self.reached[n] < self.last[n]]

    def boundaries(self) -> list[int]:
        """Where a scan stops and the scheduler decides: at the windows, smallest first.

        A dropped window stays one as long as an arrival stands at it, or has to go just so far.
        """
        stops = {query.reach for query in self._active()}
        for number in self.waiting():
            stops |= {self.reached[number], self.last[number]}
        return sorted(stops - {NOTHING})

    def _next(self) -> tuple[int, int] | None:
        """The arrival that is next, and up to where it scans. None: no arrival waits."""
        waiting = self.waiting()
        if not waiting:
            return None
        if self.schedule == "lwo":
            # Section 3.1: one after the other, the whole largest window at once.
            return waiting[0], self.last[waiting[0]]
        if self.schedule == "swf":
            # Section 3.2: the first queue, smallest window first, that is not empty; its head.
            number = min(waiting, key=lambda n: (self.reached[n], n))
        else:
            number = self._most_throughput(waiting)
        return number, min(b for b in self.boundaries() if b > self.reached[number])

    def _most_throughput(self, waiting: Sequence[int]) -> int:
        """Section 3.3: from the largest window's queue to the smallest's, the largest MaxQT.

        A later queue has to beat the ones before it, so of equal ones the larger window is first.
        """
        heads: dict[int, int] = {}
        for number in waiting:
            heads.setdefault(self.reached[number], number)
        best: Fraction | float = -1.0
        chosen = NOTHING
        # How far the queue before has come: no later tuple overtakes an earlier one.
        before = max(self.last)
        for reached in sorted(heads, reverse=True):
            head = heads[reached]
            throughput = self._max_qt(reached, min(before, self.last[head]))
            if throughput > best:
                best, chosen = throughput, head
            before = reached
        return chosen

    def _max_qt(self, reached: int, upto: int) -> Fraction | float:
        """MaxQT(PW(w_i, w_j)): the most queries a unit of scanning, w_i < w_k <= w_j."""
        return max(self._qt(reached, b) for b in self.boundaries() if reached < b <= upto)

    def _qt(self, above: int, upto: int) -> Fraction | float:
        """C_ik / pw_ik. Of n streams, combinations up to w grow as w^(n-1)."""
        served = sum(above < query.reach <= upto for query in self._active())
        power = self.streams - 1
        width = upto**power - max(above, 0) ** power
        if served == 0:
            return Fraction(0)
        return Fraction(served, width) if width else math.inf

    def _active(self) -> list[Query]:
        """The queries that have not been dropped."""
        return [query for query in self.queries.values() if query.dropped == math.inf]

    # -- a step ----------------------------------------------------------------------------------

    def step(self) -> Step | None:
        """One arrival scans one partial window. None: there is nothing to do."""
        decided = self._next()
        if decided is None:
            return None
        number, upto = decided
        above = self.reached[number]
        level = 1 + self.boundaries().index(upto)
        scanned, results = self._scan(number, above, upto)
        self.steps.append(Step(number, level, above, upto, scanned, tuple(results)))
        self.found[number] += results
        self.reached[number] = upto
        self._release(number)
        return self.steps[-1]

    def run(self, budget: int | None = None) -> list[Step]:
        """Go on until all is done, or `budget` combinations have been looked at.

        A budget stops at a window boundary, so the last step may exceed it.
        """
        before, spent = len(self.steps), 0
        while budget is None or spent < budget:
            step = self.step()
            if step is None:
                break
            spent += step.scanned
        return self.steps[before:]

    def _scan(self, number: int, above: int, upto: int) -> tuple[int, list[Result]]:
        """How many combinations there are to look at, and the results among them, in order."""
        new, scanned, results = self.arrivals[number], 0, []
        for others in combinations(self.arrivals[:number], new.stream, self.streams):
            result = result_of(number, [*others, new])
            if not above < result.age <= upto:
                continue
            joins = all(other.key == new.key for other in others)
            scanned += joins or self.nested
            if joins:
                results.append(result)
        return scanned, sorted(results, key=lambda result: result.order)

    # -- who gets what ---------------------------------------------------------------------------

    def _release(self, stepped: int) -> None:
        """After an arrival's step, let go what no earlier result can come before any more."""
        for number in range(len(self.arrivals)):
            if self.reached[number] == NOTHING:
                continue
            # SWF looks at an arrival's results at its own steps only, MQT at every step.
            if number == stepped or self.schedule == "mqt":
                earlier = [self.reached[n] for n in self.waiting() if n < number]
                # An arrival scans a window after all earlier ones have, so its own reach may go.
                upto = max(self.reached[number], min(earlier, default=math.inf))
                self.released[number] = max(self.released[number], upto)
                self._give(number)

    def _give(self, number: int) -> None:
        """To each query that gets this arrival's results, those that it does not have yet."""
        for query in self.queries.values():
            if not query.holds(number) or query.reach > self.released[number]:
                continue
            has = {answer.result for answer in self.answers[query.name]}
            for result in self.found[number]:
                if result.age <= query.reach and result not in has:
                    self.answers[query.name].append(Answer(result, len(self.steps) - 1))


# -- beside the steps ----------------------------------------------------------------------------


def combinations(earlier: Sequence[Row], stream: int, streams: int) -> Iterable[tuple[Row, ...]]:
    """One earlier row of each stream but this one."""
    return product(
        *([row for row in earlier if row.stream == s] for s in range(streams) if s != stream)
    )


def result_of(arrival: int, rows: Sequence[Row]) -> Result:
    """A combination with one row of each stream, as a result."""
    times = [row.ts for row in rows]
    in_order = sorted(rows, key=lambda row: row.stream)
    return Result(arrival, max(times) - min(times), max(times), tuple(row.row for row in in_order))


def isolated(
    arrivals: Sequence[Row], streams: int, reach: int, added: int = 0, dropped: float = math.inf
) -> list[Result]:
    """The law: a query's results and their order, by definition, without steps and other queries.

    `arrivals` in arrival order; the query gets the results of those numbered [added, dropped).
    """
    results = []
    for number, new in enumerate(arrivals):
        if not added <= number < dropped:
            continue
        for others in combinations(arrivals[:number], new.stream, streams):
            result = result_of(number, [*others, new])
            if result.age <= reach and all(other.key == new.key for other in others):
                results.append(result)
    return sorted(results, key=lambda result: result.order)


def timed(
    join: NaiveSharedJoin,
    rows: Sequence[Row],
    arrives: Sequence[float],
    price: Callable[[Step], float],
) -> list[float]:
    """Run rows, given in arrival order, each of which comes at its time on a simulated clock.

    A step moves the clock by its price; with nothing to do the clock moves to the next arrival.
    Returns the clock at the end of each step.
    """
    clock, come, ends = 0.0, 0, []
    while True:
        while come < len(rows) and arrives[come] <= clock:
            join.come([rows[come]])
            come += 1
        step = join.step()
        if step is not None:
            clock += price(step)
            ends.append(clock)
        elif come < len(rows):
            clock = arrives[come]
        else:
            return ends
