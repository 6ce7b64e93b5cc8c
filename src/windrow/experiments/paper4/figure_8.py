"""Figure 8: what the approaches save of Sync-Filter's response time, over the same runs.

"One interesting observation is that the analytical measure of the relative performance is
conservative": 45 % where Equation (7) says 25 %. And "the relative improvement exceeds 50% (our
upper bound) at the last two measurements because the processing speed of Sync-Filter starts to lag
behind the input arrival rate" (section 7.2.1).
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.bar import Progress
from windrow.cost import paper4
from windrow.experiments.frame import (
    Claim,
    Experiment,
    Mark,
    Outcome,
    Panel,
    claim,
    modelled,
)
from windrow.experiments.paper4 import adapting, common
from windrow.experiments.paper4.common import OVERLOAD, PAPER, WELL, Point, Setup
from windrow.experiments.paper4.figure_7 import LOADS, SETUP


def run(progress: Progress, setup: Setup = SETUP, loads: Sequence[float] = LOADS) -> Outcome:
    """Compare the three approaches at every c."""
    points = [
        common.point(setup, setup.cost(load))
        for load in progress.track(loads, label=lambda load: f"c|w|λ_1λ_2 = {load:g}")
    ]
    return Outcome(
        parameters={
            "rates of S and T (tuples/s)": list(setup.rates),
            "c (s)": [p.c for p in points],
            **setup.parameters(),
        },
        panels=panels(points),
        claims=claims(points),
    )


def panels(points: Sequence[Point]) -> tuple[Panel, ...]:
    """Relative improvement over the load, beside Equation (7)."""
    setup = points[0].setup
    loads = [p.load for p in points]
    series = (
        *adapting.improvements(loads, points),
        modelled("Filter-Order", loads, [p.predicted for p in points]),
    )
    marks = (Mark(setup.alpha, f"alpha = {setup.alpha:g}"), Mark(OVERLOAD, "overload"))
    return (
        Panel(
            "counted",
            "c|w|λ_1λ_2",
            "saved of Sync-Filter's response time",
            series,
            "Work clock, and Equation (7)",
            marks=marks,
        ),
    )


def claims(points: Sequence[Point]) -> tuple[Claim, ...]:
    """What the paper says of Figure 8."""
    setup, well = points[0].setup, common.well(points)
    above, behind = adapting.above(points), [p for p in points if p.load > OVERLOAD]
    target = setup.alpha / (1 + setup.alpha)
    return (
        claim(
            f"Filter-Order improves on Sync-Filter by at least (7)'s, up to c|w|λ_1λ_2 = {WELL:g}",
            all(p.improvement >= p.predicted for p in well),
            ", ".join(
                f"{p.improvement:.1%} where (7) says {p.predicted:.1%}"
                for p in well
                if p.load >= setup.alpha / 5 - common.CLOSE
            ),
        ),
        claim(
            f"Above the switch Adaptive achieves alpha / (1 + alpha) = {target:.0%}",
            bool(above) and all(p.adapted >= target for p in above),
            ", ".join(f"{p.adapted:.1%} at {p.load:.2g}" for p in above),
        ),
        claim(
            f"Beyond {OVERLOAD:g} the improvement exceeds {paper4.MOST_IMPROVEMENT:.0%}",
            bool(behind) and all(p.improvement > paper4.MOST_IMPROVEMENT for p in behind),
            ", ".join(f"{p.improvement:.1%} at {p.load:.2g}" for p in behind)
            + ": both approaches have the same work, and one server falls behind with either",
        ),
    )


EXPERIMENT = Experiment("4.8", "Improvement over the processing time", f"{PAPER}, Figure 8", run)
