"""The set-up of paper 1, section 4.1, and how its figures are measured.

60 seconds of tuples with exponential gaps, windows of 30 seconds on both streams; the first 30
seconds fill the windows, the last 30 are counted and timed. A heartbeat at every border tells
both streams' progress, so inside a batch a tuple expires by its own time, as in the paper.

The join values are spread evenly over the buckets, see `windrow.cost.spread`. The library's own
hash is not used here: it puts 100 values into 100 buckets as chance has it, which leaves about 37
of them empty and blurs the flattening at N = 100 that Figures 5 and 6 are about.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from windrow.bar import Progress
from windrow.cost import calibrate, paper1
from windrow.cost.calibrate import AccessPath, Constants
from windrow.cost.optimizer import cells
from windrow.cost.spread import spread
from windrow.model import BEGINNING, Invalidation
from windrow.operators.arrivals import Arrivals
from windrow.operators.gate import Passed
from windrow.operators.join.window import JoinConfig, WindowJoin
from windrow.operators.retention import within
from windrow.state.join_state import Layout, Structure
from windrow.workload import arrivals, selectivity
from windrow.workload.arrivals import MICROS

PAPER = "Kostowski and Claypool, Analytical and Experimental Evaluation of Stream-Based Join"
STRATEGIES: tuple[Invalidation, ...] = ("probe", "probe-insert", "probe-all", "all", "time-list")

#: A run is repeated for its time until this many seconds have passed, but not more often.
TIMED_SECONDS = 0.3
REPEATS = 5

#: Tuples a second, of A and of B.
Rates = tuple[float, float]


@dataclass(frozen=True)
class Setup:
    """What the streams are like."""

    rates: Rates = (200, 200)
    selectivity: float = 0.01
    window: float = 30
    seconds: float = 60
    seed: int = 1

    @property
    def distinct(self) -> int:
        """Distinct join values: 100 for selectivity 0.01 (section 4.2)."""
        return selectivity(self.selectivity).values

    @property
    def counted(self) -> float:
        """Seconds of stream that are counted and timed."""
        return self.seconds - self.window

    @property
    def live(self) -> int:
        """Tuples of both streams in their windows."""
        return round(sum(self.rates) * self.window)

    def parameters(self) -> dict[str, Any]:
        """What a result says about the set-up."""
        return {
            "seconds of tuples": self.seconds,
            "window of both streams (s)": self.window,
            "counted and timed": f"the last {self.counted:g} s",
            "arrivals": "exponential gaps",
            "seed": self.seed,
        }


@dataclass(frozen=True)
class AtRate:
    """A point of a figure over the rate of A."""

    setup: Setup

    @property
    def rate(self) -> float:
        """The rate of A."""
        return self.setup.rates[0]


def at_rates(progress: Progress, setup: Setup, rates: Sequence[Rates]) -> Iterator[Setup]:
    """The set-up at each of these rates of A and B, a step each."""
    for each in progress.track(rates, label=lambda each: f"{each[0]} tuples/s"):
        yield replace(setup, rates=each)


@dataclass(frozen=True)
class Way:
    """How the join is carried out."""

    structure: Structure
    parts: int
    invalidation: Invalidation

    @property
    def path(self) -> AccessPath:
        """The access path whose constants apply."""
        if self.structure == "time-list":
            return "hash"
        return "nested-loops" if self.parts == 1 else "buckets"


@dataclass(frozen=True)
class Run:
    """What the counted part of a run did, and the least time it took."""

    tuples: int
    comparisons: int
    checks: int
    results: int
    seconds: float

    @property
    def work(self) -> int:
        """Stored tuples looked at, by probes and by invalidation."""
        return self.comparisons + self.checks


#: Windowed nested loops, Figure 2 with its optional last step.
WNL = Way("buckets", 1, "probe-insert")


def whj(buckets: int, invalidation: Invalidation = "probe-insert") -> Way:
    """Windowed hash join, Figure 3; by default with its optional last step."""
    return Way("buckets", buckets, invalidation)


def strategy(invalidation: Invalidation, buckets: int, setup: Setup) -> Way:
    """One of the paper's strategies on its buckets, or our time list as the library sizes it."""
    if invalidation == "time-list":
        return Way("time-list", cells(setup.live, 2), invalidation)
    return whj(buckets, invalidation)


# -- measured --------------------------------------------------------------------------------


def measure(setup: Setup, way: Way, repeats: int = REPEATS) -> Run:
    """Count and time the last part of a run.

    The tuples are prepared and processed in bulk, as in section 4.1: one batch fills the
    windows, one is counted. How they are cut into batches changes no count.
    """
    _compile(way.structure)
    runs = [_run(setup, way)]
    while len(runs) < repeats and sum(run.seconds for run in runs) < TIMED_SECONDS:
        runs.append(_run(setup, way))
    return min(runs, key=lambda run: run.seconds)


def occupancy(setup: Setup, way: Way, stream: int, every: float) -> list[int]:
    """Tuples stored for a stream, stale ones included, after each `every` seconds."""
    join = _join(setup, way)
    borders = np.arange(0, setup.seconds + every / 2, every)
    stored = []
    for start, stop in pairwise(borders.tolist()):
        _feed(join, setup, start, stop)
        stored.append(join.state.live_rows(stream))
    return stored


def _run(setup: Setup, way: Way) -> Run:
    join = _join(setup, way)
    _feed(join, setup, 0, setup.window)
    (comparisons, checks), results = join.looked_at(), join.matches
    seconds = _feed(join, setup, setup.window, setup.seconds)
    return Run(
        tuples=sum(len(side.ts) for side in _batch(setup, setup.window, setup.seconds)),
        comparisons=join.looked_at()[0] - comparisons,
        checks=join.looked_at()[1] - checks,
        results=join.matches - results,
        seconds=seconds,
    )


def _join(setup: Setup, way: Way) -> WindowJoin:
    reach = round(setup.window * MICROS)
    config = JoinConfig("inner", within((reach, reach)), (False, False), way.invalidation)
    return WindowJoin(config, Layout(2, way.structure, way.parts, setup.live)).begin()


def _feed(join: WindowJoin, setup: Setup, start: float, stop: float) -> float:
    """Feed the tuples of [start, stop); returns how long the operator took."""
    batch = _batch(setup, start, stop)
    before = round(start * MICROS) if start > 0 else BEGINNING
    after = round(stop * MICROS)
    started = time.perf_counter()
    for _ in join.process(Passed(batch, [before] * 2, [after] * 2)):
        pass
    return time.perf_counter() - started


def _batch(setup: Setup, start: float, stop: float) -> list[Arrivals]:
    sides = [_stream(setup, side) for side in range(2)]
    borders = [round(start * MICROS), round(stop * MICROS)]
    cuts = [np.searchsorted(side.ts, borders).tolist() for side in sides]
    return [side.part(*cut) for side, cut in zip(sides, cuts, strict=True)]


@lru_cache(maxsize=8)
def _stream(setup: Setup, side: int) -> Arrivals:
    """One stream; its tuples do not depend on the other's rate."""
    for_times, for_values = np.random.default_rng([setup.seed, side]).spawn(2)
    ts = arrivals(setup.rates[side], setup.seconds, seed=for_times)
    values = selectivity(setup.selectivity).draw(len(ts), for_values)
    return Arrivals(ts, spread(values, setup.distinct), np.arange(len(ts)))


@cache
def _compile(structure: Structure) -> None:
    """Let numba do its work before anything is timed."""
    _run(Setup(rates=(20, 20), window=1, seconds=2), Way(structure, 2, "all"))


# -- modelled --------------------------------------------------------------------------------


@cache
def prices() -> dict[AccessPath, Constants]:
    """This machine's constants, measured once in a process."""
    for structure in ("buckets", "time-list"):
        _compile(structure)
    return calibrate.calibrate()


def modelled_comparisons(setup: Setup, N: float) -> float:
    """Equation (2), which for one bucket is Equation (1), as a count of the counted part."""
    T = setup.window
    return paper1.whj_total(*setup.rates, T, T, N, paper1.COMPARISONS) * setup.counted


def modelled_checks(setup: Setup, invalidation: Invalidation, N: float) -> float:
    """Section 3.2's invalidation comparisons of the counted part."""
    return paper1.checks(invalidation, *setup.rates, N) * setup.counted


def modelled_seconds(setup: Setup, way: Way, N: float, results: int) -> float:
    """Equation (1) or (2), with what visiting further buckets and the results add, in seconds."""
    C, T = prices()[way.path], setup.window
    if way.path == "buckets":
        cost = paper1.whj_invalidating(way.invalidation, *setup.rates, T, T, N, C)
    else:
        cost = paper1.whj_total(*setup.rates, T, T, N, C)
    return cost * setup.counted + results * C.result


# -- words and fits ----------------------------------------------------------------------------


def labels(setup: Setup, counted: str = "comparisons") -> tuple[str, str]:
    """What the axes say: of the work counted, and of the time it took."""
    return f"{counted} in {setup.counted:g} s", f"seconds for {setup.counted:g} s of tuples"


def line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Slope and r² of the straight line through the points.

    >>> line([1, 2, 3], [10, 20, 30])
    (10.0, 1.0)
    """
    slope, intercept = np.polyfit(x, y, 1)
    rest = np.asarray(y) - (slope * np.asarray(x) + intercept)
    around = np.asarray(y) - np.mean(y)
    # Points that are all the same have nothing that a line could explain.
    unexplained = float(rest @ rest) / float(around @ around) if around.any() else 1.0
    return round(float(slope), 9), round(1 - unexplained, 9)


def power(x: Sequence[float], y: Sequence[float]) -> float:
    """The power of x that y follows.

    >>> power([1, 10, 100], [500, 50, 5])
    -1.0
    """
    return line(np.log(x).tolist(), np.log(y).tolist())[0]


def deviation(found: Sequence[float], expected: Sequence[float]) -> float:
    """The largest relative distance from what was expected.

    >>> deviation([99, 210], [100, 200])
    0.05
    """
    return round(max(abs(f / e - 1) for f, e in zip(found, expected, strict=True)), 9)
