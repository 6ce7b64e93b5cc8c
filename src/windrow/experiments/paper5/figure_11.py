"""Figure 11: output latency, from the arrival of a result's last tuple until the result is out.

"The latency of WO-Join is almost as low as the W-Join approach", DBF's "is about 50% higher", and
"the latency of MSF and Hybrid is two orders of magnitude higher": a tuple that is sorted waits for
k others (section 5.1).

Tuples of Query 1 arrive by the clock of their times and are served in turn, one a step. A step
takes the seconds that it took on this machine, the disk's among them. The manager looks as often as
it does by itself. Scrambling factors are given. W-Join has windows of as many tuples as WO-Join
stores at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Literal

import numpy as np

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, Panel, claim, measured
from windrow.experiments.paper4.server import finished
from windrow.experiments.paper5 import driver, queries
from windrow.experiments.paper5.common import PAPER, Setup
from windrow.experiments.paper5.driver import Trace
from windrow.model import Strategy

#: A minute has the congestion and what comes of it.
SETUP = Setup(seconds=60)
Join = Strategy | Literal["window"]
NAMES: dict[Join, str] = {
    "window": "W-Join",
    "data": "WO-Join",
    "msf": "MSF",
    "dbf": "DBF",
    "hybrid": "Hybrid",
}
#: "Almost as low": at most so many times W-Join's.
ALMOST = 1.25
#: "Two orders of magnitude", at least; "about 50 %".
ORDERS, HALF_MORE = 100, (1.2, 1.8)


def run(progress: Progress, setup: Setup = SETUP) -> Outcome:
    """Measure every join, in turn."""
    progress.expect(setup.repetitions)
    found: dict[Join, list[float]] = {join: [] for join in NAMES}
    for seed in setup.seeds:
        for join, taken in found.items():
            taken.append(latency(setup, seed, join))
        progress.advance()
    means = {join: float(np.mean(each)) for join, each in found.items()}
    return Outcome(setup.parameters(), panels(means), claims(means))


@lru_cache(maxsize=256)
def latency(setup: Setup, seed: int, join: Join) -> float:
    """The average of a repetition, in seconds."""
    _compile(join)
    return measure(setup, seed, join)


@cache
def _compile(join: Join) -> None:
    """Let numba do its work before anything is timed."""
    measure(Setup(seconds=3), 0, join)


def measure(setup: Setup, seed: int, join: Join) -> float:
    """The same, without a thought for what must be compiled first."""
    tables = setup.streams(1, seed)
    if join == "window":
        most = queries.single(setup, seed).stored.max(axis=0)
        trace = driver.run(tables, None, rows=most.tolist(), step=None, eager=False)
    else:
        told = queries.given(setup.factors(1, seed), join, apriori=True)
        trace = driver.run(tables, told, step=None, eager=False)
    return average(trace)


def average(trace: Trace) -> float:
    """From the arrival of the last tuple until the step is over in which a result leaves."""
    over = finished(trace.at, trace.took)
    return float((over[trace.left] - trace.times).mean())


def panels(means: Mapping[Join, float]) -> tuple[Panel, ...]:
    """Latencies side by side."""
    series = tuple(
        measured(NAMES[join], [place], [1000 * mean])
        for place, (join, mean) in enumerate(means.items(), start=1)
    )
    return (Panel("wall time", "join", "average latency (ms)", series, y_log=True),)


def claims(means: Mapping[Join, float]) -> tuple[Claim, ...]:
    """What the paper says of Figure 11."""
    plain = means["data"]
    slow = [means[each] / plain for each in ("msf", "hybrid")]
    low, high = HALF_MORE
    return (
        claim(
            f"WO-Join's latency is almost as low as W-Join's (at most {ALMOST:g} times)",
            plain <= ALMOST * means["window"],
            f"{plain * 1e3:.3f} against {means['window'] * 1e3:.3f} ms: "
            f"{plain / means['window']:.2f} times",
        ),
        claim(
            f"DBF's is about 50 % higher ({low:g} to {high:g} times)",
            low <= means["dbf"] / plain <= high,
            f"{means['dbf'] * 1e3:.3f} ms: {means['dbf'] / plain:.2f} times",
        ),
        claim(
            "MSF's and Hybrid's are two orders of magnitude higher, or more",
            min(slow) >= ORDERS,
            f"{means['msf']:.2f} and {means['hybrid']:.2f} s, {slow[0]:,.0f} and {slow[1]:,.0f} "
            "times: a tuple waits for k others to come, which takes seconds on any machine, and is "
            "joined in a moment",
        ),
    )


EXPERIMENT = Experiment("5.11", "Output latency", f"{PAPER}, Figure 11", run)
