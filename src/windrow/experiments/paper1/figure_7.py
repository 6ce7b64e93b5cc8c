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
from dataclasses import dataclass

from windrow.bar import Progress
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
from windrow.experiments.paper1.common import PAPER, STRATEGIES, AtRate, Run, Setup
from windrow.model import Invalidation

#: Rates of both streams.
RATES = (10, 20, 50, 100, 200, 500)
SETUP = Setup()
BUCKETS = 100

LAZY: tuple[Invalidation, ...] = ("probe", "probe-insert")
GREEDY: tuple[Invalidation, ...] = ("probe-all", "all")
NEARLY: tuple[Invalidation, ...] = ("probe-insert", "time-list")
#: How many times the work counts as substantially more, and as about the same.
SUBSTANTIAL, ALIKE = 1.5, 1.25
#: And how little of what probe-all adds to probe counts as next to nothing.
LITTLE = 0.05


@dataclass(frozen=True)
class Point(AtRate):
    """Every strategy at one rate."""

    runs: Mapping[Invalidation, Run]


def run(
    progress: Progress,
    setup: Setup = SETUP,
    rates: Sequence[float] = RATES,
    buckets: int = BUCKETS,
) -> Outcome:
    """Measure every strategy at every rate."""
    points = []
    for at in common.at_rates(progress, setup, [(rate, rate) for rate in rates]):
        runs = {name: common.measure(at, common.strategy(name, buckets, at)) for name in STRATEGIES}
        points.append(Point(at, runs))
    return Outcome(
        parameters={
            "rates of both streams (tuples/s)": list(rates),
            "selectivity": setup.selectivity,
            "buckets": buckets,
            "cells of the time list": [cells(p.setup.live, 2) for p in points],
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
        _alike(points, "time-list", "Our time list: about the price of probe"),
        claim(
            "What probe-insert and our time list add to probe is next to nothing beside what "
            f"probe-all adds (at most {LITTLE:.0%} at every rate)",
            max(_added(p, name) for p in points for name in NEARLY) <= LITTLE,
            "at most "
            + ", ".join(f"{max(_added(p, name) for p in points):.1%} ({name})" for name in NEARLY)
            + "; a tuple looks at "
            + ", ".join(f"{max(_looks(p, name) for p in points):.2f}" for name in NEARLY)
            + " stored tuples more than with probe",
        ),
    )


def _alike(points: Sequence[Point], name: Invalidation, text: str) -> Claim:
    ratios = [_ratio(p, name, "probe") for p in points]
    worst = max(points, key=lambda p: _ratio(p, name, "probe"))
    last = points[-1].runs
    return claim(
        f"{text} (at most {ALIKE:g} times the tuples looked at, at every rate)",
        max(ratios) <= ALIKE,
        f"{max(ratios):.3f} times at {worst.rate:g}/s, {ratios[-1]:.3f} times at "
        f"{points[-1].rate:g}/s; in wall time there {1e3 * last[name].seconds:.3g} against "
        f"{1e3 * last['probe'].seconds:.3g} ms",
    )


def _added(point: Point, name: Invalidation) -> float:
    """What a strategy adds to the work of probe, by what probe-all adds."""
    probe = point.runs["probe"].work
    return (point.runs[name].work - probe) / max(point.runs["probe-all"].work - probe, 1)


def _looks(point: Point, name: Invalidation) -> float:
    """What it adds for each tuple that arrives."""
    return (point.runs[name].work - point.runs["probe"].work) / point.runs[name].tuples


def _ratio(point: Point, one: Invalidation, other: Invalidation) -> float:
    return point.runs[one].work / point.runs[other].work


EXPERIMENT = Experiment("1.7", "Cost of the invalidation strategies", f"{PAPER}, Figure 7", run)
