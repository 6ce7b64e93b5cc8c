"""Figure 6: Equations (3), (5) and (7) over the rate of the slow stream.

"Filter-Order achieves a significant absolute as well as relative reduction in average response
time (i.e., from 10 seconds to 5 seconds) as the arrival rate increases" (section 5.2, Example 2):
S between 0.0001 and 0.1 tuples a second, a window of one day, c = 0.0001 s. The paper gives T "at
most 1" tuple a second; with 1 its 10 and 5 seconds come out.
"""

from __future__ import annotations

from itertools import pairwise

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, claim
from windrow.experiments.paper4 import analytic
from windrow.experiments.paper4.analytic import DAY, Point
from windrow.experiments.paper4.common import PAPER

SLOW_RATES = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
FAST_RATE = 1
C = 0.0001


def run(progress: Progress) -> Outcome:
    """Evaluate the equations."""
    progress.expect(1)
    limit = 1 / (C * DAY * FAST_RATE)
    points = [Point(rate, FAST_RATE, DAY, C) for rate in (*SLOW_RATES, limit)]
    progress.advance()
    return Outcome(
        parameters={
            "rates of S (tuples/s)": list(SLOW_RATES),
            "limit of Equation (1), rate of S (tuples/s)": limit,
            "rate of T (tuples/s)": FAST_RATE,
            "window of both streams (s)": DAY,
            "c (s)": C,
        },
        panels=analytic.panels(
            "rate of the slow stream (tuples/s)", [p.λ_1 for p in points], points
        ),
        claims=claims(points),
    )


def claims(points: list[Point]) -> tuple[Claim, ...]:
    """What the paper says of Figure 6; the last point is the limit, the one before it 0.1/s."""
    last = points[-2]
    savings = [p.sync - p.order for p in points]
    return (
        claim(
            "At 0.1 tuples a second Filter-Order takes about 5 s where Sync-Filter takes 10 s",
            abs(last.order - 5) <= 1 and abs(last.sync - 10) <= 1,
            f"{last.order:.2f} and {last.sync:.2f} s",
        ),
        claim(
            "The relative reduction grows with the rate",
            all(a.improvement < b.improvement for a, b in pairwise(points)),
            f"from {points[0].improvement:.2%} to {last.improvement:.1%}; in seconds from "
            f"{savings[0]:.2f} to {savings[-2]:.2f}",
        ),
        *analytic.claims(points),
    )


EXPERIMENT = Experiment("4.6", "Analysis over the slow stream's rate", f"{PAPER}, Figure 6", run)
