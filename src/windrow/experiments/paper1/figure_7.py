"""Figure 7: what the invalidation strategies cost, with our time list added.

"The probe and insert invalidation strategy does as well as minimal invalidation strategy [...]
Both these strategies substantially outperform the two greedy strategies that invalidate all
buckets" (section 4.2).

What a greedy strategy adds is a look at each of the N buckets, whatever the rate, while a scan
looks at λT/N tuples. So the factor between them falls as the rate grows: about
1 + N / (λT/N + 2) for probe-all, and with 2 N for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from windrow.experiments.frame import (
    Claim,
    Experiment,
    Outcome,
    Panel,
    claim,
    measured,
    modelled,
)
from windrow.experiments.paper1 import common
from windrow.experiments.paper1.common import PAPER, STRATEGIES, Run, Setup
from windrow.model import Invalidation
from windrow.progress import Progress

#: Rates of both streams.
RATES = (10, 20, 50, 100, 200, 500)
SETUP = Setup()
BUCKETS = 100

LAZY: tuple[Invalidation, ...] = ("probe", "probe-insert")
GREEDY: tuple[Invalidation, ...] = ("probe-all", "all")
#: What counts as substantially more work, and as about the same.
SUBSTANTIAL, ALIKE = 1.5, 1.25


@dataclass(frozen=True)
class Point:
    """Every strategy at one rate."""

    setup: Setup
    runs: Mapping[Invalidation, Run]

    @property
    def rate(self) -> float:
        """The rate of both streams."""
        return self.setup.rates[0]


def run(
    progress: Progress,
    setup: Setup = SETUP,
    rates: Sequence[float] = RATES,
    buckets: int = BUCKETS,
) -> Outcome:
    """Measure every strategy at every rate."""
    points = []
    for rate in progress.track(rates, label=lambda rate: f"{rate} tuples/s"):
        at = replace(setup, rates=(rate, rate))
        runs = {name: common.measure(at, common.strategy(name, buckets, at)) for name in STRATEGIES}
        points.append(Point(at, runs))
    return Outcome(
        parameters={
            "rates of both streams (tuples/s)": list(rates),
            "selectivity": setup.selectivity,
            "buckets": buckets,
            "cells of the time list": [common.cells(p.setup.live) for p in points],
            **setup.parameters(),
        },
        panels=panels(points, buckets),
        claims=claims(points),
    )


def panels(points: Sequence[Point], buckets: int) -> tuple[Panel, ...]:
    """All tuples looked at, and time, over the rate."""
    rates = [p.rate for p in points]
    counted = [measured(name, rates, [p.runs[name].work for p in points]) for name in STRATEGIES]
    timed = [measured(name, rates, [p.runs[name].seconds for p in points]) for name in STRATEGIES]
    for name in STRATEGIES:
        work = [
            common.modelled_comparisons(p.setup, buckets)
            + common.modelled_checks(p.setup, name, buckets)
            for p in points
        ]
        seconds = [
            common.modelled_seconds(
                p.setup,
                common.strategy(name, buckets, p.setup),
                buckets,
                p.runs[name].results,
            )
            for p in points
        ]
        counted.append(modelled(name, rates, work))
        timed.append(modelled(name, rates, seconds))
    x = "rate of both streams (tuples/s)"
    return (
        Panel(
            "counted",
            x,
            "tuples looked at in 30 s",
            tuple(counted),
            "Work of probes and invalidation",
            x_log=True,
            y_log=True,
        ),
        Panel(
            "wall time",
            x,
            "seconds for 30 s of tuples",
            tuple(timed),
            "Time",
            x_log=True,
            y_log=True,
        ),
    )


def claims(points: Sequence[Point]) -> tuple[Claim, ...]:
    """What the paper says of Figure 7, and what we say of the time list."""
    checks = [
        p.runs[greedy].checks / p.runs[lazy].checks
        for p in points
        for greedy in GREEDY
        for lazy in LAZY
    ]
    greedy = {name: [_ratio(p, name, "probe-insert") for p in points] for name in GREEDY}
    insert = [_ratio(p, "probe-insert", "probe") for p in points]
    listed = [_ratio(p, "time-list", "probe") for p in points]
    first, last = points[0], points[-1]
    clocks = {name: f"{1e3 * last.runs[name].seconds:.3g} ms" for name in STRATEGIES}
    return (
        claim(
            "Invalidation: probe and probe-insert far below the two that visit all buckets",
            min(checks) >= 10,
            f"{min(checks):.0f} to {max(checks):.0f} times fewer invalidation comparisons",
        ),
        claim(
            f"All work: both substantially below the two (at least {SUBSTANTIAL:g} times less)",
            min(min(ratios) for ratios in greedy.values()) >= SUBSTANTIAL,
            f"probe-all does {greedy['probe-all'][0]:.1f} and all {greedy['all'][0]:.1f} times "
            f"the work of probe-insert at {first.rate:g}/s, {greedy['probe-all'][-1]:.2f} and "
            f"{greedy['all'][-1]:.2f} times at {last.rate:g}/s, where scans prevail",
        ),
        claim(
            "Probe-insert does as well as probe",
            max(insert) <= ALIKE,
            f"{max(insert):.2f} times the work of probe at {first.rate:g}/s, {insert[-1]:.2f} at "
            f"{last.rate:g}/s; there {clocks['probe-insert']} against {clocks['probe']}",
        ),
        claim(
            "Our time list: about the price of probe",
            max(listed) <= ALIKE,
            f"{max(listed):.2f} times the work of probe at {first.rate:g}/s, {listed[-1]:.2f} at "
            f"{last.rate:g}/s; there {clocks['time-list']} against {clocks['probe']}",
        ),
    )


def _ratio(point: Point, one: Invalidation, other: Invalidation) -> float:
    return point.runs[one].work / point.runs[other].work


EXPERIMENT = Experiment("1.7", "Cost of the invalidation strategies", f"{PAPER}, Figure 7", run)
