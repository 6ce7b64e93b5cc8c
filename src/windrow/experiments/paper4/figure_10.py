"""Figure 10: what the approaches save of Sync-Filter's response time, over the runs of Figure 9.

"The relative improvement of Filter-Order over Sync-Filter is small at low arrival rates and gets
larger as the rate of the slow stream increases" (section 7.2.2).

Filter-Order saves a fast tuple the processing of those before it, and with exponential gaps that
is c|w|λ_2 on average, whatever λ_1; so (7) is the expected improvement as long as tuples do not
queue. At the lowest rates a run of 20 minutes has a dozen slow tuples or a hundred, and chance
decides on which side of (7) it falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, Panel, claim, modelled
from windrow.experiments.paper4 import adapting, figure_9
from windrow.experiments.paper4.common import PAPER, Point, Setup, percents
from windrow.experiments.paper4.figure_9 import RATES, SETUP, C

#: As small is an improvement at low rates.
SMALL = 0.05


def run(
    progress: Progress, setup: Setup = SETUP, rates: Sequence[float] = RATES, c: float = C
) -> Outcome:
    """Compare the three approaches at every rate."""
    points = figure_9.measure(progress, setup, rates, c)
    return Outcome(
        parameters=figure_9.parameters(points), panels=panels(points), claims=claims(points)
    )


def panels(points: Sequence[Point]) -> tuple[Panel, ...]:
    """Relative improvement over the rate, beside Equation (7)."""
    rates = [p.setup.rates[0] for p in points]
    series = (
        *adapting.improvements(rates, points),
        modelled("Filter-Order", rates, [p.predicted for p in points]),
    )
    return (
        Panel(
            "counted",
            "rate of the slow stream (tuples/s)",
            "saved of Sync-Filter's response time",
            series,
            "Work clock, and Equation (7)",
            x_log=True,
        ),
    )


def claims(points: Sequence[Point]) -> tuple[Claim, ...]:
    """What the paper says of Figure 10, and what can be said of (7)."""
    found = [p.improvement for p in points]
    short = [p for p in points if p.improvement < p.predicted]
    return (
        claim(
            "The improvement is small at low rates and grows with the rate",
            found[0] < SMALL and all(a < b for a, b in pairwise(found)),
            f"{percents(found)} at {' / '.join(f'{p.setup.rates[0]:g}' for p in points)} tuples/s",
        ),
        claim(
            "It is at least (7)'s at every rate",
            not short,
            f"(7) says {percents([p.predicted for p in points])}"
            + "".join(
                f"; {p.improvement:.2%} of {p.predicted:.2%} at {p.setup.rates[0]:g}/s"
                for p in short
            )
            + (", where few slow tuples come and chance decides" if short else ""),
        ),
        claim(
            "It is at least (7)'s less two standard errors, √(8/n) of it for n slow tuples (ours)",
            all(p.improvement >= (1 - p.setup.chance) * p.predicted for p in points),
            " / ".join(f"{p.improvement / p.predicted:.2f}" for p in points)
            + " times (7)'s; two errors are "
            + " / ".join(f"{p.setup.chance:.2f}" for p in points),
        ),
    )


EXPERIMENT = Experiment(
    "4.10", "Improvement over the slow stream's rate", f"{PAPER}, Figure 10", run
)
