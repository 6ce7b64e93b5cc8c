"""The real operator, tuple by tuple in the order of arrival: what each arrival makes it do.

The library lets a row go once its time is *before* TS_trigger, because its streams may repeat a
time; paper 4's streams never do, and it lets go at TS_trigger itself. Strictly increasing times
are told by heartbeats ("nothing before this time"), so a tuple of S at time t arrives as

    1. a heartbeat of S at t: held rows before t leave, and tuples of T that waited for S are
       joined, one step each, by raising the heartbeat to just after each of them in turn,
    2. the tuple itself, with a heartbeat a microsecond later.

Rows that only wait for the trigger thus leave before the tuple that moves it is probed, as in
Figure 4. A tuple is done once it has been joined and the trigger has passed its time: "completely
processed", with its results out (section 4.1).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windrow.experiments.paper4.server import Clock, Seconds, Work, finished
from windrow.local.payload import TablePayload
from windrow.model import JoinPlan, WindrowError
from windrow.operators.admit import Admitted
from windrow.operators.arrivals import Arrivals, Piece
from windrow.operators.pipeline import Pipeline
from windrow.operators.results import Hold
from windrow.state.join_state import Layout
from windrow.workload.arrivals import MICROS

Times = NDArray[np.int64]

#: The step of a tuple that was not done when the streams stopped.
NEVER = -1
#: Columns of `Trace.results`.
STEP, TS, ROW_S, ROW_T = range(4)


#: The paper's joins have two.
STREAMS = 2


@dataclass(frozen=True)
class Trace:
    """What the operator did, step by step; seconds count from the first arrival.

    `at` is when a step's arrival came, `waits` whether input waits after it (Sync-Filter).
    `arrived` and `done` say for each stream's tuples when they came, and the step they were done
    in. `results` has a row (step it left in, time, row of S, row of T) for each result.
    """

    at: Seconds
    work: Work
    waits: NDArray[np.bool_]
    arrived: tuple[Seconds, ...]
    done: tuple[NDArray[np.int64], ...]
    results: NDArray[np.int64]
    switches: int

    def responses(self, clock: Clock) -> tuple[Seconds, ...]:
        """By stream, each tuple's seconds from arrival until it was done; NaN: never."""
        over = finished(self.at, clock.service(self.work))
        return tuple(
            np.where(step == NEVER, np.nan, over[step] - arrived)
            for step, arrived in zip(self.done, self.arrived, strict=True)
        )


def trace(plan: JoinPlan, clock: Clock, arrived: Sequence[Times] | None = None) -> Trace:
    """Run the plan's tables through the operator. `arrived` (µs): when, if not at their times."""
    driver = _Driver(plan, clock)
    when = list(driver.ts if arrived is None else arrived)
    for name, ts, came in zip(driver.pipeline.names, driver.ts, when, strict=True):
        if (np.diff(ts) <= 0).any() or (np.diff(came) < 0).any():
            raise WindrowError(
                f"stream {name!r} is not in order; give strictly increasing times that arrive "
                "in turn, as paper 4's streams do"
            )
    sides = np.repeat(np.arange(STREAMS), [len(ts) for ts in driver.ts])
    rows = np.concatenate([np.arange(len(ts)) for ts in driver.ts])
    order = np.lexsort((np.concatenate(driver.ts), np.concatenate(when)))
    for side, row in zip(sides[order].tolist(), rows[order].tolist(), strict=True):
        driver.arrive(side, row, int(when[side][row]))
    first = min((int(came[0]) for came in when if len(came)), default=0)
    return driver.trace([(came - first) / MICROS for came in when], first)


class _Driver:
    """A pipeline that is fed one arrival at a time, and what has become of the tuples so far."""

    def __init__(self, plan: JoinPlan, clock: Clock) -> None:
        payloads = [TablePayload(stream) for stream in plan.streams]
        # One bucket is nested loops: a probe compares with all that its window holds, which is
        # what c|w|λ counts.
        self.pipeline: Pipeline = Pipeline(
            plan,
            payloads,
            Layout(STREAMS, "buckets"),
            clock=lambda: clock.reading(self.pipeline.join),
        )
        if not isinstance(self.pipeline.results, Hold):
            raise WindrowError("this plan has order='none'; give one of the three approaches")
        self.pipeline.begin()
        self.gate, self.hold = self.pipeline.gate, self.pipeline.results
        self.ts = [payload.columns.ts for payload in payloads]
        self.keys = [payload.columns.keys.hashes for payload in payloads]
        #: Tuples by stream that have arrived, been joined, been done: first to last, in turn.
        self.fed, self.joined, self.finished = [0] * STREAMS, [0] * STREAMS, [0] * STREAMS
        self.done = [np.full(len(ts), NEVER) for ts in self.ts]
        self.steps: list[tuple[int, int, int, float, bool]] = []
        self.results: list[NDArray[np.int64]] = []

    def arrive(self, side: int, row: int, at: int) -> None:
        """A tuple comes."""
        t, other = int(self.ts[side][row]), 1 - side
        waiting = self.ts[other][self.joined[other] : self.fed[other]]
        for beat in [*(waiting[waiting < t] + 1).tolist(), t]:
            if self._would_pass(min(beat, self.pipeline.progress[other].now)):
                self._feed(side, _admitted(beat=beat), at)
        self.fed[side] += 1
        own = slice(row, row + 1)
        came = Arrivals(self.ts[side][own], self.keys[side][own], np.arange(row, row + 1))
        self._feed(side, _admitted(came, newest=t, beat=t + 1), at)

    def _would_pass(self, trigger: int) -> bool:
        """Is there a tuple that this trigger would pass? If not, a heartbeat changes nothing."""
        return any(
            over < fed and ts[over] < trigger
            for ts, fed, over in zip(self.ts, self.fed, self.finished, strict=True)
        )

    def _feed(self, side: int, part: Admitted, at: int) -> None:
        """One step, and what it has changed."""
        step, join = len(self.steps), self.pipeline.join
        compared, joined = join.looked_at()[0], sum(self.joined)
        parts = [part if stream == side else NOTHING for stream in range(STREAMS)]
        begun = time.perf_counter()
        left = list(self.pipeline.feed(parts, [False] * STREAMS))
        seconds = time.perf_counter() - begun
        for piece in left:
            assert isinstance(piece, Piece)
            rows = [column for column in piece.rows if column is not None]
            self.results.append(np.stack([np.full(len(piece.ts), step), piece.ts, *rows], axis=1))
        for stream in range(STREAMS):
            self.joined[stream] = self.fed[stream] - self.gate.tuples.held(stream)
            passed = int(np.searchsorted(self.ts[stream], self.hold.left_before))
            now = max(self.finished[stream], min(self.joined[stream], passed))
            self.done[stream][self.finished[stream] : now] = step
            self.finished[stream] = now
        compared, joined = join.looked_at()[0] - compared, sum(self.joined) - joined
        self.steps.append((at, compared, joined, seconds, self.gate.synchronised))

    def trace(self, arrived: Sequence[Seconds], first: int) -> Trace:
        """All of it."""
        at, compared, joined, seconds, waits = (
            np.array(column) for column in zip(*self.steps, strict=True)
        )
        return Trace(
            at=(at - first) / MICROS,
            work=Work(compared, joined, seconds),
            waits=waits,
            arrived=tuple(arrived),
            done=tuple(self.done),
            results=np.concatenate([np.empty((0, ROW_T + 1), np.int64), *self.results]),
            switches=self.gate.switches,
        )


def _admitted(
    tuples: Arrivals | None = None, newest: int | None = None, beat: int | None = None
) -> Admitted:
    """A batch of at most a tuple and a heartbeat."""
    none = Arrivals.empty()
    return Admitted(
        tuples=none if tuples is None else tuples,
        keyless=none,
        late=none,
        ends=none,
        bad=0,
        beats=int(beat is not None),
        newest=newest,
        newest_beat=beat,
    )


NOTHING = _admitted()
