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

from windrow.cost.optimizer import cells
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
#: What counts as substantially more work; and as about the same: this share of what visiting
#: all probed buckets adds.
SUBSTANTIAL, ALIKE = 1.5, 0.05


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
            "cells of the time list": [cells(p.setup.live) for p in points],
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
    looks, clock = common.labels(points[0].setup, "tuples looked at")
    return (
        Panel("counted", x, looks, tuple(counted), "Probes and invalidation", True, True),
        Panel("wall time", x, clock, tuple(timed), "Time", True, True),
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
    first, last = points[0], points[-1]
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
        _alike(points, "probe-insert", "Probe-insert does as well as probe"),
        _alike(points, "time-list", "Our time list does as well as probe"),
    )


def _alike(points: Sequence[Point], name: Invalidation, text: str) -> Claim:
    """A strategy adds next to nothing to probe, measured by what probe-all adds."""
    added = [
        (p.runs[name].work - p.runs["probe"].work)
        / (p.runs["probe-all"].work - p.runs["probe"].work)
        for p in points
    ]
    looks = [(p.runs[name].work - p.runs["probe"].work) / p.runs[name].tuples for p in points]
    first, last = points[0], points[-1]
    clock, probe = last.runs[name].seconds, last.runs["probe"].seconds
    return claim(
        f"{text}: at most {ALIKE:.0%} of what probe-all adds to it, in tuples looked at",
        max(added) <= ALIKE,
        f"{min(looks):.2f} to {max(looks):.2f} more looks a tuple, at most {max(added):.1%}; "
        f"{_ratio(first, name, 'probe'):.2f} times the work of probe at "
        f"{first.rate:g}/s and {_ratio(last, name, 'probe'):.2f} times at {last.rate:g}/s, "
        f"there {1e3 * clock:.3g} against {1e3 * probe:.3g} ms",
    )


def _ratio(point: Point, one: Invalidation, other: Invalidation) -> float:
    return point.runs[one].work / point.runs[other].work


EXPERIMENT = Experiment("1.7", "Cost of the invalidation strategies", f"{PAPER}, Figure 7", run)
