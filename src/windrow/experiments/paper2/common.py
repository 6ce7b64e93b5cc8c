"""The set-up of paper 2, section 5, and how its figures are measured.

Two streams of 100 tuples a second, seven queries whose windows are those of Table 1, hash join,
selectivity 0.002; 100,000 tuples are measured after the join has been loaded. All schedules get
the same arrivals, ten times with other seeds. Where the paper averages over the windows, each
window counts once.

**The unit cost.** The paper gives no time for looking at a stored tuple. All figures here use
one, `UNIT`, and a result costs `PRODUCE` of them. It was fitted once, so that LWO's average of
Figure 7 at bursts of five is about `FITTED` s. (That is a curve's point, which the paper's text
does not give. The text has four seconds and less than one for SWF's and MQT's largest windows at
that place, and LWO's average is near MQT's largest window.) `PRODUCE` is the ratio at which the
paper's two rates, 100 tuples a second with hash and 15 with nested loops, load the server alike: a
hash probe looks at 120 stored tuples with ten minutes of them and selectivity 0.002, all of which
are results, a nested loop at 9,000 for 18 results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from windrow.experiments.frame import Panel, measured
from windrow.experiments.paper2 import driver
from windrow.experiments.paper2.driver import Input, Loaded, Prices, Response
from windrow.model import Schedule
from windrow.workload import bursts, selectivity
from windrow.workload.arrivals import MICROS
from windrow.workload.bursts import LONGEST

PAPER = (
    "Hammad, Franklin, Aref and Elmagarmid, Scheduling for Shared Window Joins over Data Streams"
)

#: Table 1, seconds.
WINDOWS: Mapping[str, tuple[float, ...]] = {
    "Uniform": (1, 100, 200, 300, 400, 500, 600),
    "Mostly-Small": (1, 5, 15, 30, 60, 300, 600),
    "Mostly-Large": (1, 60, 300, 420, 510, 570, 600),
    "Small-Large": (1, 5, 15, 300, 510, 570, 600),
}
SCHEDULES: Mapping[Schedule, str] = {"lwo": "LWO", "swf": "SWF", "mqt": "MQT"}

#: Seconds to look at a stored tuple; what a result costs in looks; the average it was fitted to.
UNIT, PRODUCE, FITTED = 3e-6, 10, 1.0
PRICES = Prices(UNIT, PRODUCE * UNIT)


@dataclass(frozen=True)
class Setup:
    """What the streams and the queries are like. `windows` in seconds, `rate` in tuples a second.

    `burst` is the expected size; `queries` ask for each window; `measured` tuples in all come after
    `since` seconds, or after the largest window.
    """

    windows: tuple[float, ...] = WINDOWS["Small-Large"]
    queries: tuple[int, ...] = ()
    rate: float = 100
    burst: float = 1
    measured: int = 100_000
    selectivity: float = 0.002
    nested: bool = False
    prices: Prices = field(default=PRICES)
    seeds: int = 10
    longest: float = LONGEST
    since: float | None = None

    @property
    def start(self) -> float:
        """Seconds from which on arrivals are measured."""
        return self.windows[-1] if self.since is None else self.since

    @property
    def asked(self) -> dict[int, int]:
        """Queries by window, µs."""
        counts = self.queries or (1,) * len(self.windows)
        return {round(w * MICROS): n for w, n in zip(self.windows, counts, strict=True)}

    def parameters(self) -> dict[str, Any]:
        """What a result says about the set-up."""
        return {
            "rate of each stream (tuples/s)": self.rate,
            "tuples measured": self.measured,
            "selectivity": self.selectivity,
            "join": "nested loops" if self.nested else "hash",
            "seconds to look at a stored tuple": self.prices.scan,
            "seconds to produce a result": self.prices.produce,
            "longest burst (tuples)": self.longest,
            "seeds": self.seeds,
        }


@dataclass(frozen=True)
class Found:
    """What a schedule does with a set-up: averages over the seeds, by window, smallest first.

    `means` and `most` are response times in seconds, `waiting` and `held` the largest of any seed,
    `busy` the share of its time that the server worked. `runs` has each seed's.
    """

    means: tuple[float, ...]
    most: tuple[float, ...]
    counts: tuple[int, ...]
    waiting: int
    held: int
    busy: float
    runs: tuple[Response, ...]

    @property
    def mean(self) -> float:
        """Over all windows, each once."""
        return float(np.mean(self.means))

    def weighted(self, queries: Sequence[int]) -> float:
        """Over all queries."""
        return float(np.average(self.means, weights=queries))

    @property
    def error(self) -> float:
        """The standard error of `mean`, from the seeds; NaN if there is one only."""
        means = [float(np.mean(run.means)) for run in self.runs]
        if len(means) < 2:
            return float("nan")
        return float(np.std(means, ddof=1) / np.sqrt(len(means)))


Three = Mapping[Schedule, Found]


def all_three(setup: Setup) -> dict[Schedule, Found]:
    """The three schedules with the same arrivals."""
    return {schedule: measure(setup, schedule) for schedule in SCHEDULES}


@lru_cache(maxsize=512)
def measure(setup: Setup, schedule: Schedule) -> Found:
    """Run a schedule with each seed."""
    runs = [
        driver.serve(load(setup, seed), setup.asked, schedule, setup.prices)
        for seed in range(setup.seeds)
    ]
    return Found(
        means=tuple(np.mean([run.means for run in runs], axis=0).tolist()),
        most=tuple(np.mean([run.most for run in runs], axis=0).tolist()),
        counts=tuple(np.sum([run.counts for run in runs], axis=0).tolist()),
        waiting=max(run.waiting for run in runs),
        held=max(run.held for run in runs),
        busy=sum(run.work for run in runs) / sum(run.seconds for run in runs),
        runs=tuple(runs),
    )


def load(setup: Setup, seed: int) -> Loaded:
    """A join that is loaded back to the largest window; it depends on the streams alone."""
    return _load(
        replace(setup, windows=setup.windows[-1:], queries=(), prices=PRICES, seeds=1), seed
    )


@lru_cache(maxsize=10)
def _load(streams: Setup, seed: int) -> Loaded:
    largest = streams.windows[-1]
    return driver.loaded(given(streams, seed), round(largest * MICROS), streams.nested)


def given(setup: Setup, seed: int) -> Input:
    """Arrivals of both streams, in order; measured from the largest window on."""
    # A count of Poisson arrivals, or of bursts, is seldom a third below its mean.
    seconds = setup.start + 1.5 * setup.measured / (2 * setup.rate)
    ts, stream, key = [], [], []
    for number in range(driver.STREAMS):
        for_times, for_keys = np.random.default_rng([seed, number]).spawn(2)
        ts.append(bursts(setup.rate, seconds, setup.burst, longest=setup.longest, seed=for_times))
        stream.append(np.full(len(ts[-1]), number))
        key.append(selectivity(setup.selectivity).draw(len(ts[-1]), for_keys))
    times = np.concatenate(ts)
    order = np.argsort(times, kind="stable")
    first = int(np.searchsorted(times[order], round(setup.start * MICROS)))
    order = order[: first + setup.measured]
    return Input(times[order], np.concatenate(stream)[order], np.concatenate(key)[order], first)


# -- shown -------------------------------------------------------------------------------------


def by_window(found: Three, setup: Setup, title: str, most: bool = False) -> Panel:
    """Average (or largest) response time over the windows."""
    return Panel(
        "counted",
        "window (s)",
        f"{'largest' if most else 'average'} response time (s)",
        tuple(
            measured(name, setup.windows, found[schedule].most if most else found[schedule].means)
            for schedule, name in SCHEDULES.items()
        ),
        title,
        y_log=True,
    )


def averages(
    x_label: str, x: Sequence[float], points: Sequence[Sequence[float]], title: str
) -> Panel:
    """Average response times of the three schedules over something; `points` by place."""
    series = tuple(
        measured(name, x, [point[at] for point in points])
        for at, name in enumerate(SCHEDULES.values())
    )
    return Panel("counted", x_label, "average response time (s)", series, title)


def said(values: Sequence[float]) -> str:
    """Response times in a row, in milliseconds.

    >>> said([0.00012, 0.0345, 1.5])
    '0.12 / 34.5 / 1,500 ms'
    """
    return " / ".join(f"{1e3 * v:,.0f}" if v >= 1 else f"{1e3 * v:.3g}" for v in values) + " ms"


def saving(better: float, worse: float) -> float:
    """What share of the worse time the better one saves."""
    return 1 - better / worse
