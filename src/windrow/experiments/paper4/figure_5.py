"""Figure 5: Equations (3), (5) and (7) over the time to join two tuples.

"As c increases, the average response time of the Sync-Filter approach increases while the average
response time of the Filter-Order approach remains fixed" (section 5.2, Example 1): 1 and 10 tuples
a second, a window of one day, c from 0.01 µs on, doubled as long as Equation (1) holds.
"""

from __future__ import annotations

from itertools import pairwise

from windrow.bar import Progress
from windrow.cost import paper4
from windrow.experiments.frame import Claim, Experiment, Outcome, claim
from windrow.experiments.paper4 import analytic
from windrow.experiments.paper4.analytic import DAY, Point
from windrow.experiments.paper4.common import PAPER

RATES = (1, 10)
FIRST = 0.01e-6


def run(progress: Progress) -> Outcome:
    """Evaluate the equations."""
    progress.expect(1)
    limit = paper4.switch_cost(*RATES, DAY, 1)
    costs = [c for c in (FIRST * 2**k for k in range(20)) if c < limit]
    points = [Point(*RATES, DAY, c) for c in (*costs, limit)]
    progress.advance()
    return Outcome(
        parameters={
            "rates of S and T (tuples/s)": list(RATES),
            "window of both streams (s)": DAY,
            "c (s)": costs,
            "limit of Equation (1), c (s)": limit,
        },
        panels=analytic.panels(
            "c, time to join two tuples (µs)", [1e6 * p.c for p in points], points
        ),
        claims=claims(points),
    )


def claims(points: list[Point]) -> tuple[Claim, ...]:
    """What the paper says of Figure 5."""
    orders = {round(p.order, 9) for p in points}
    return (
        claim(
            "Sync-Filter's response time rises with c, Filter-Order's remains fixed",
            len(orders) == 1 and all(a.sync < b.sync for a, b in pairwise(points)),
            f"{points[0].sync:.3f} to {points[-1].sync:.3f} s, and {points[0].order:.3f} s",
        ),
        *analytic.claims(points),
    )


EXPERIMENT = Experiment("4.5", "Analysis over the processing time", f"{PAPER}, Figure 5", run)
