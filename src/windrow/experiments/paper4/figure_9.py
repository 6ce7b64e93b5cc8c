"""Figure 9: average response time over the rate of the slow stream.

"In all the proposed approaches, the average response time increases significantly (more than one
minute) at small arrival rate of the slow stream. [...] However, the increase in Sync-Filter is
larger than that of Filter-Order"; and "the Adaptive approach switches between Sync-Filter and
Filter-Order when the slow stream rate is one tuple/second" (section 7.2.2), where c|w|λ_1λ_2 = α.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windrow.bar import Progress
from windrow.cost import paper4
from windrow.experiments.frame import Claim, Experiment, Outcome, Panel, claim, modelled
from windrow.experiments.paper4 import adapting, common
from windrow.experiments.paper4.common import PAPER, Point, Setup

SETUP = Setup()
#: Tuples a second of the slow stream; at the last one the load is alpha.
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
C = 0.0005
MINUTE = 60
#: Away from the switch, as few tuples at most are joined as in the other approach.
FEW = 0.05


def measure(progress: Progress, setup: Setup, rates: Sequence[float], c: float) -> list[Point]:
    """The three approaches at every rate of the slow stream."""
    return [
        common.point(replace(setup, rates=(rate, setup.rates[1])), c)
        for rate in progress.track(rates, label=lambda rate: f"{rate:g} tuples/s")
    ]


def parameters(points: Sequence[Point]) -> dict[str, object]:
    """What a result says about the runs."""
    return {
        "rates of S (tuples/s)": [p.setup.rates[0] for p in points],
        "rate of T (tuples/s)": points[0].setup.rates[1],
        "c (s)": points[0].c,
        **points[0].setup.parameters(),
    }


def run(
    progress: Progress, setup: Setup = SETUP, rates: Sequence[float] = RATES, c: float = C
) -> Outcome:
    """Measure the three approaches at every rate."""
    points = measure(progress, setup, rates, c)
    return Outcome(parameters=parameters(points), panels=panels(points), claims=claims(points))


def panels(points: Sequence[Point]) -> tuple[Panel, ...]:
    """Response times over the rate, and what Sync-Filter takes longer."""
    rates = [p.setup.rates[0] for p in points]
    window = points[0].setup.window
    series = (
        *adapting.series(rates, points),
        modelled(
            "Sync-Filter",
            rates,
            [paper4.sync_filter_response(*p.setup.rates, window, p.c) for p in points],
        ),
        modelled(
            "Filter-Order", rates, [paper4.filter_order_response(*p.setup.rates) for p in points]
        ),
    )
    return (
        Panel(
            "counted",
            "rate of the slow stream (tuples/s)",
            "average response time (s)",
            series,
            "Work clock, and Equations (3) and (5)",
            x_log=True,
            y_log=True,
        ),
    )


def claims(points: Sequence[Point]) -> tuple[Claim, ...]:
    """What the paper says of Figure 9."""
    slowest, last = points[0], points[-1]
    everyone = [one.mean for one in (slowest.sync, slowest.order, slowest.adaptive)]
    low = adapting.below(points)
    return (
        claim(
            f"At {slowest.setup.rates[0]:g} tuples a second all take more than a minute",
            min(everyone) > MINUTE,
            " / ".join(f"{mean:.1f}" for mean in everyone)
            + f" s; at {last.setup.rates[0]:g} a second {last.sync.mean:.2f} / "
            f"{last.order.mean:.2f} / {last.adaptive.mean:.2f} s",
        ),
        claim(
            "Filter-Order is at or below Sync-Filter at every rate",
            all(p.order.mean <= p.sync.mean for p in points),
            "lower by "
            + " / ".join(f"{p.sync.mean - p.order.mean:.2f}" for p in points)
            + f" s; c|w|λ_2 is {points[0].c * points[0].setup.window * last.setup.rates[1]:.2f} s",
        ),
        adapting.follows(points),
        claim(
            f"Adaptive switches at {last.setup.rates[0]:g}/s, where c|w|λ_1λ_2 = alpha: well below "
            f"that it joins {FEW:.0%} of the tuples as Filter-Order at most, there more",
            abs(last.load / last.setup.alpha - 1) < common.CLOSE
            and max(p.adaptive.overlapped for p in low) <= FEW < last.adaptive.overlapped,
            ", ".join(f"{p.adaptive.overlapped:.0%} at {p.setup.rates[0]:g}/s" for p in points[-3:])
            + f"; {last.adaptive.switches} switches at the last",
        ),
    )


EXPERIMENT = Experiment(
    "4.9", "Response time over the slow stream's rate", f"{PAPER}, Figure 9", run
)
