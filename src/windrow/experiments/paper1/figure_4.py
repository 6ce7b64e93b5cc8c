"""Figure 4: nested loops and hash join over the rate of one stream.

"The two order of magnitude difference indicates that the cost to scan buffers for matches is the
dominating cost" (section 4.2); Equations (1) and (2) differ in that term only, by N = 100. With
one rate held fixed both are linear in the other (section 3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.bar import Progress
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
from windrow.experiments.paper1.common import PAPER, AtRate, Run, Setup, deviation, line, power

#: Rates of A; that of B is fixed by the set-up.
RATES = (10, 20, 50, 100, 200, 500, 1000)
SETUP = Setup(rates=(0, 200))
BUCKETS = 100


@dataclass(frozen=True)
class Point(AtRate):
    """Both joins at one rate of A."""

    wnl: Run
    whj: Run


def run(
    progress: Progress,
    setup: Setup = SETUP,
    rates: Sequence[float] = RATES,
    buckets: int = BUCKETS,
) -> Outcome:
    """Measure both joins at every rate."""
    points = []
    for at in common.at_rates(progress, setup, [(rate, setup.rates[1]) for rate in rates]):
        wnl = common.measure(at, common.WNL)
        points.append(Point(at, wnl, common.measure(at, common.whj(buckets))))
    return Outcome(
        parameters={
            "rates of A (tuples/s)": list(rates),
            "rate of B (tuples/s)": setup.rates[1],
            "selectivity": setup.selectivity,
            "buckets of WHJ": buckets,
            **setup.parameters(),
        },
        panels=panels(points, buckets),
        claims=claims(points, buckets),
    )


def panels(points: Sequence[Point], buckets: int) -> tuple[Panel, ...]:
    """Comparisons and time over the rate of A."""
    rates = [p.rate for p in points]
    names = ("nested loops (WNL)", f"hash join (WHJ), {buckets} buckets")
    hashed = common.whj(buckets)
    counted = (
        measured(names[0], rates, [p.wnl.comparisons for p in points]),
        measured(names[1], rates, [p.whj.comparisons for p in points]),
        modelled(names[0], rates, [common.modelled_comparisons(p.setup, 1) for p in points]),
        modelled(names[1], rates, [common.modelled_comparisons(p.setup, buckets) for p in points]),
    )
    timed = (
        measured(names[0], rates, [p.wnl.seconds for p in points]),
        measured(names[1], rates, [p.whj.seconds for p in points]),
        modelled(
            names[0],
            rates,
            [common.modelled_seconds(p.setup, common.WNL, 1, p.wnl.results) for p in points],
        ),
        modelled(
            names[1],
            rates,
            [common.modelled_seconds(p.setup, hashed, buckets, p.whj.results) for p in points],
        ),
    )
    setup = points[0].setup
    x = f"rate of A (tuples/s), B at {setup.rates[1]:g}"
    work, seconds = common.labels(setup)
    return (
        Panel("counted", x, work, counted, "Work of the scans", x_log=True, y_log=True),
        Panel("wall time", x, seconds, timed, "Time", x_log=True, y_log=True),
    )


def claims(points: Sequence[Point], buckets: int) -> tuple[Claim, ...]:
    """What the paper says of Figure 4."""
    ratios = [p.wnl.comparisons / p.whj.comparisons for p in points]
    times = points[-1].wnl.seconds / points[-1].whj.seconds
    rates = [p.rate for p in points]
    wnl, whj = [p.wnl.comparisons for p in points], [p.whj.comparisons for p in points]
    wnl_model = [common.modelled_comparisons(p.setup, 1) for p in points]
    whj_model = [common.modelled_comparisons(p.setup, buckets) for p in points]
    powers = (power(rates, wnl), power(rates, whj))
    (wnl_slope, wnl_fit), (whj_slope, whj_fit) = line(rates, wnl), line(rates, whj)
    slopes = (wnl_slope / line(rates, wnl_model)[0], whj_slope / line(rates, whj_model)[0])
    return (
        claim(
            "Two orders of magnitude between nested loops and hash join, the number of buckets",
            deviation(ratios, [buckets] * len(ratios)) <= 0.1,
            f"{min(ratios):.1f} to {max(ratios):.1f} times the comparisons with {buckets} buckets; "
            f"{times:.0f} times the wall time at {rates[-1]:g}/s, where handing over the "
            "same results is part of both",
        ),
        claim(
            "With one rate fixed, the cost of both is linear in the other",
            deviation(powers, (1, 1)) <= 0.05 and min(wnl_fit, whj_fit) >= 0.99,
            f"comparisons grow as the rate to the power {powers[0]:.3f} (WNL) and "
            f"{powers[1]:.3f} (WHJ); r² of a straight line {wnl_fit:.4f} and {whj_fit:.4f}",
        ),
        claim(
            "Equations (1) and (2) give the slope",
            deviation(slopes, (1, 1)) <= 0.1,
            f"measured slope by modelled slope: WNL {slopes[0]:.3f}, WHJ {slopes[1]:.3f}",
        ),
    )


EXPERIMENT = Experiment(
    "1.4", "Nested loops and hash join over the input rate", f"{PAPER}, Figure 4", run
)
