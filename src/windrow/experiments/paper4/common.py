"""The set-up of paper 4, section 7, and how its figures are measured.

Two streams with exponential gaps, S the slower one, joined by nested loops so that a probe
compares with all that the other's window holds. The average response time is that of all input
tuples, "the average time to completely process an input tuple" (section 7.1); the few that were
still waiting when the streams stopped are left out, and are the same few in all approaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from math import sqrt
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from windrow import api, planning
from windrow.cost import paper4
from windrow.experiments.paper4.driver import ROW_S, ROW_T, TS, Times, Trace, trace
from windrow.experiments.paper4.server import Clock, Seconds, WorkClock
from windrow.model import JoinPlan, Order, TimeWindow
from windrow.workload import arrivals, selectivity
from windrow.workload.arrivals import MICROS
from windrow.workload.tables import timestamps

PAPER = (
    "Hammad, Aref and Elmagarmid, "
    "Optimizing In-Order Execution of Continuous Queries over Streamed Sensor Data"
)
#: The slow stream and the fast one.
NAMES = ("s", "t")
SLOW, FAST = range(2)

Approach = Literal["Sync-Filter", "Filter-Order", "Adaptive"]
ORDERS: dict[Approach, Order] = {
    "Sync-Filter": "sync-filter",
    "Filter-Order": "filter-order",
    "Adaptive": "adaptive",
}

#: Loads c|w|λ_1λ_2 up to which one server keeps up well, and from which on it cannot: the two
#: streams bring as much work each, and Equation (1) counts one of them.
WELL, OVERLOAD = 0.4, 0.5
#: Sums of prices and rates are not exact.
CLOSE = 1e-9


@dataclass(frozen=True)
class Setup:
    """What the streams are like. `rates` in tuples a second; `even` gaps are the analysis's."""

    rates: tuple[float, float] = (1, 10)
    window: float = 60
    seconds: float = 1200
    alpha: float = 0.3
    selectivity: float = 0.01
    even: bool = False
    seed: int = 1

    def load(self, c: float) -> float:
        """c|w|λ_1λ_2."""
        return paper4.load(*self.rates, self.window, c)

    def cost(self, load: float) -> float:
        """The c of a load."""
        return paper4.switch_cost(*self.rates, self.window, load)

    @property
    def chance(self) -> float:
        """Two standard errors of the fast stream's mean wait, as a share of it.

        The mean wait in n gaps g is Σg² / 2Σg; for exponential gaps its variance is 2/n, relative
        to its square.
        """
        return 2 * sqrt(2 / (self.rates[SLOW] * self.seconds))

    def parameters(self) -> dict[str, Any]:
        """What a result says about the set-up."""
        return {
            "window of both streams (s)": self.window,
            "seconds of tuples": self.seconds,
            "gaps": "even" if self.even else "exponential",
            "alpha": self.alpha,
            "selectivity": self.selectivity,
            "join": "nested loops, one server",
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Results:
    """How many results there were, whether in the order of their times, and a digest of them."""

    count: int
    ordered: bool
    digest: str


@dataclass(frozen=True)
class Response:
    """How long tuples took from arrival until they were done, and what the run was like.

    Means in seconds, of all tuples, by stream, and of those that arrived in each half of the run.
    From the first full window on: `work` is what the server had to do, in seconds a second, and
    `overlapped` the share of tuples joined while results wait (Filter-Order).
    """

    mean: float
    streams: tuple[float, float]
    halves: tuple[float, float]
    work: float
    overlapped: float
    switches: int
    results: Results


# -- measured --------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def measure(setup: Setup, approach: Approach, clock: Clock) -> Response:
    """Run an approach over the set-up's streams, timed by a clock."""
    # Only the adaptive approach decides by the clock.
    return response(
        traced(setup, approach, clock if approach == "Adaptive" else None), setup, clock
    )


@lru_cache(maxsize=4)
def traced(setup: Setup, approach: Approach, clock: Clock | None = None) -> Trace:
    """What the operator does, step by step."""
    _compile()
    return trace(plan(setup, approach), clock or WorkClock())


@cache
def _compile() -> None:
    """Let numba do its work before anything is timed."""
    small = Setup(window=1, seconds=4)
    for approach in ORDERS:
        trace(plan(small, approach), WorkClock())


def response(steps: Trace, setup: Setup, clock: Clock) -> Response:
    """Averages of a run."""
    found = steps.responses(clock)
    both, came = np.concatenate(found), np.concatenate(steps.arrived)
    early = came < setup.seconds / 2
    full = steps.at >= setup.window
    joined = steps.work.joined * full
    return Response(
        mean=_mean(both),
        streams=(_mean(found[SLOW]), _mean(found[FAST])),
        halves=(_mean(both[early]), _mean(both[~early])),
        work=float(clock.service(steps.work) @ full) / (setup.seconds - setup.window),
        overlapped=float(joined @ ~steps.waits) / max(int(joined.sum()), 1),
        switches=steps.switches,
        results=results(steps),
    )


def steady(setup: Setup, approach: Approach, clock: Clock) -> float:
    """The fast stream's mean from the first full window on, for streams with even gaps."""
    steps = traced(setup, approach)
    return _mean(steps.responses(clock)[FAST][steps.arrived[FAST] >= setup.window])


def _mean(seconds: Seconds) -> float:
    """Of the tuples that were done."""
    return float(np.nanmean(seconds)) if np.isfinite(seconds).any() else float("nan")


def plan(setup: Setup, approach: Approach) -> JoinPlan:
    """The join over the set-up's streams."""
    streams = [
        api.stream(
            table(setup, side),
            name=name,
            key="key",
            time="time",
            window=TimeWindow(round(setup.window * MICROS)),
        )
        for side, name in enumerate(NAMES)
    ]
    return planning.plan(
        *streams, order=ORDERS[approach], algorithm="nested-loops", alpha=setup.alpha
    )


@lru_cache(maxsize=8)
def table(setup: Setup, side: int) -> pa.Table:
    """One stream; its tuples do not depend on the other's rate."""
    for_times, for_keys = np.random.default_rng([setup.seed, side]).spawn(2)
    if setup.even:
        # A fast tuple comes right after each slow one, as in section 4.1's count of the waits.
        ts = (
            np.arange(0, setup.seconds * MICROS, MICROS / setup.rates[side]).astype(np.int64) + side
        )
    else:
        ts = strictly(arrivals(setup.rates[side], setup.seconds, seed=for_times))
    keys = selectivity(setup.selectivity).draw(len(ts), for_keys)
    return pa.table({"key": keys, "time": timestamps(ts)})


def strictly(ts: Times) -> Times:
    """Times in order, moved by the microseconds that it takes to have no two alike.

    >>> strictly(np.array([3, 7, 7, 7, 8, 20])).tolist()
    [3, 7, 8, 9, 10, 20]
    """
    index = np.arange(len(ts))
    found: Times = np.maximum.accumulate(ts - index) + index
    return found


def results(steps: Trace) -> Results:
    """The results of a run, without when they left."""
    rows = np.ascontiguousarray(steps.results[:, [TS, ROW_S, ROW_T]])
    ordered = bool((np.diff(rows[:, 0]) >= 0).all())
    return Results(len(rows), ordered, sha256(rows.tobytes()).hexdigest())


# -- points of a curve -------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """The three approaches at one place of a curve: the same streams, the same c."""

    setup: Setup
    c: float
    sync: Response
    order: Response
    adaptive: Response

    @property
    def load(self) -> float:
        """c|w|λ_1λ_2."""
        return self.setup.load(self.c)

    @property
    def improvement(self) -> float:
        """What Filter-Order saves of Sync-Filter's response time: I_Rel, measured."""
        return 1 - self.order.mean / self.sync.mean

    @property
    def adapted(self) -> float:
        """What Adaptive saves."""
        return 1 - self.adaptive.mean / self.sync.mean

    @property
    def predicted(self) -> float:
        """I_Rel by Equation (7)."""
        return paper4.improvement(*self.setup.rates, self.setup.window, self.c)


def point(setup: Setup, c: float) -> Point:
    """Measure the three approaches on the work clock."""
    clock = WorkClock(c)
    sync, order, adaptive = (measure(setup, approach, clock) for approach in ORDERS)
    return Point(setup, c, sync, order, adaptive)


def well(points: Sequence[Point]) -> list[Point]:
    """Those at which one server keeps up well."""
    return [p for p in points if p.load <= WELL + CLOSE]


def percents(values: Sequence[float]) -> str:
    """Shares in a row.

    >>> percents([0.003, 0.25])
    '0.3 / 25 %'
    """
    return " / ".join(f"{100 * value:.2g}" for value in values) + " %"
