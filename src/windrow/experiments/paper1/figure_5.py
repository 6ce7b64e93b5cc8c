"""Figure 5: hash join over the number of buckets.

"The total processing time is inversely proportional to number of buckets (everything else held
constant)", up to the number of distinct join values; "the flattening occurs at 100 for
selectivity 0.01 (implying 100 distinct join values)", and Equation (2) does not capture it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.bar import Progress
from windrow.cost.paper1 import effective_buckets
from windrow.experiments.frame import (
    Claim,
    Experiment,
    Mark,
    Outcome,
    Panel,
    claim,
    measured,
    modelled,
)
from windrow.experiments.paper1 import common
from windrow.experiments.paper1.common import PAPER, Run, Setup, deviation, power

#: Up to the 100 distinct values they divide it, so that every bucket has as many.
BUCKETS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 400, 800)
SETUP = Setup(rates=(300, 300))


@dataclass(frozen=True)
class Point:
    """The join with one number of buckets."""

    buckets: int
    whj: Run


def run(progress: Progress, setup: Setup = SETUP, buckets: Sequence[int] = BUCKETS) -> Outcome:
    """Measure the join with every number of buckets."""
    tracked = progress.track(buckets, label=lambda N: f"{N} buckets")
    points = [Point(N, common.measure(setup, common.whj(N))) for N in tracked]
    return Outcome(
        parameters={
            "rates (tuples/s)": list(setup.rates),
            "selectivity": setup.selectivity,
            "buckets": list(buckets),
            **setup.parameters(),
        },
        panels=panels(points, setup),
        claims=claims(points, setup),
    )


def panels(points: Sequence[Point], setup: Setup) -> tuple[Panel, ...]:
    """Comparisons and time over the number of buckets."""
    N = [p.buckets for p in points]
    effective = [effective_buckets(n, setup.distinct) for n in N]
    results = points[0].whj.results
    name, printed = "hash join (WHJ)", "Equation (2) as printed, N unlimited"
    counted = (
        measured(name, N, [p.whj.comparisons for p in points]),
        modelled(name, N, [common.modelled_comparisons(setup, n) for n in effective]),
        modelled(printed, N, [common.modelled_comparisons(setup, n) for n in N]),
    )
    timed = (
        measured(name, N, [p.whj.seconds for p in points]),
        modelled(name, N, [_seconds(setup, n, results) for n in effective]),
        modelled(printed, N, [_seconds(setup, n, results) for n in N]),
    )
    marks = (Mark(setup.distinct, "distinct values"),)
    x = "buckets"
    work, seconds = common.labels(setup)
    return (
        Panel("counted", x, work, counted, "Work of the scans", True, True, marks),
        Panel("wall time", x, seconds, timed, "Time", True, True, marks),
    )


def _seconds(setup: Setup, N: float, results: int) -> float:
    return common.modelled_seconds(setup, common.whj(2), N, results)


def claims(points: Sequence[Point], setup: Setup) -> tuple[Claim, ...]:
    """What the paper says of Figure 5."""
    up_to = [p for p in points if p.buckets <= setup.distinct]
    beyond = [p for p in points if p.buckets >= setup.distinct]
    product = [p.buckets * p.whj.comparisons for p in up_to]
    exponent = power([p.buckets for p in up_to], [p.whj.comparisons for p in up_to])
    flat = [p.whj.comparisons for p in beyond]
    last = points[-1]
    found = [p.whj.comparisons for p in points]
    effective = [
        common.modelled_comparisons(setup, effective_buckets(p.buckets, setup.distinct))
        for p in points
    ]
    missed = last.whj.comparisons / common.modelled_comparisons(setup, last.buckets)
    return (
        claim(
            f"Cost is inversely proportional to the buckets, up to {setup.distinct}",
            deviation(product, [product[0]] * len(product)) <= 0.1,
            f"comparisons fall as N to the power {exponent:.3f}; {up_to[0].whj.seconds:.3g} s "
            f"with {up_to[0].buckets}, {up_to[-1].whj.seconds:.3g} s with {up_to[-1].buckets}",
        ),
        claim(
            f"Flat from {setup.distinct} buckets on, the number of distinct values",
            max(flat) <= 1.05 * min(flat),
            f"{min(flat):,} to {max(flat):,} comparisons with {beyond[0].buckets} to "
            f"{last.buckets} buckets; {beyond[0].whj.seconds:.3g} s to {last.whj.seconds:.3g} s",
        ),
        claim(
            "Equation (2) does not capture the flattening; with min(N, distinct) for N it does",
            missed >= 2 and deviation(found, effective) <= 0.1,
            f"at {last.buckets} buckets {missed:.2f} times the comparisons it predicts; with "
            f"min(N, distinct) at most {deviation(found, effective):.1%} off",
        ),
    )


EXPERIMENT = Experiment("1.5", "Hash join over the number of buckets", f"{PAPER}, Figure 5", run)
