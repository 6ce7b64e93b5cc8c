"""Figure 6: hash join over selectivity and number of buckets.

"Flattening occurs approximately when the number of buckets equals the number of distinct hash
values" (section 4.2), for every selectivity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
from windrow.experiments.paper1.common import PAPER, Run, Setup

SELECTIVITIES = (0.1, 0.01, 0.005)
#: Below a number of distinct values they divide it, so that every bucket has as many.
BUCKETS = (1, 2, 5, 10, 20, 50, 100, 200, 400, 1000)
SETUP = Setup(rates=(200, 200))

#: Comparisons within this share of the last ones count as flat.
FLAT = 0.05


@dataclass(frozen=True)
class Curve:
    """One selectivity."""

    setup: Setup
    buckets: tuple[int, ...]
    runs: tuple[Run, ...]

    @property
    def name(self) -> str:
        """What the plot calls it."""
        return f"selectivity {self.setup.selectivity:g} ({self.setup.distinct} values)"

    @property
    def flat_from(self) -> int:
        """The fewest buckets from which on more bring nothing."""
        last = self.runs[-1].comparisons
        steep = [run.comparisons > (1 + FLAT) * last for run in self.runs]
        return self.buckets[max((i + 1 for i, above in enumerate(steep) if above), default=0)]


def run(
    progress: Progress,
    setup: Setup = SETUP,
    selectivities: Sequence[float] = SELECTIVITIES,
    buckets: Sequence[int] = BUCKETS,
) -> Outcome:
    """Measure the join with every selectivity and number of buckets."""
    progress.expect(len(selectivities) * len(buckets))
    curves = []
    for share in selectivities:
        at = replace(setup, selectivity=share)
        runs = []
        for N in buckets:
            progress.note(f"selectivity {share:g}, {N} buckets")
            runs.append(common.measure(at, common.whj(N)))
            progress.advance()
        curves.append(Curve(at, tuple(buckets), tuple(runs)))
    return Outcome(
        parameters={
            "rates (tuples/s)": list(setup.rates),
            "selectivities": list(selectivities),
            "buckets": list(buckets),
            **setup.parameters(),
        },
        panels=panels(curves),
        claims=claims(curves),
    )


def panels(curves: Sequence[Curve]) -> tuple[Panel, ...]:
    """Comparisons and time over the number of buckets, a curve for each selectivity."""
    counted = [measured(c.name, c.buckets, [r.comparisons for r in c.runs]) for c in curves]
    timed = [measured(c.name, c.buckets, [r.seconds for r in c.runs]) for c in curves]
    for c in curves:
        N = [effective_buckets(n, c.setup.distinct) for n in c.buckets]
        comparisons = [common.modelled_comparisons(c.setup, n) for n in N]
        seconds = [common.modelled_seconds(c.setup, common.whj(2), n, c.runs[0].results) for n in N]
        counted.append(modelled(c.name, c.buckets, comparisons))
        timed.append(modelled(c.name, c.buckets, seconds))
    marks = tuple(Mark(c.setup.distinct, f"{c.setup.distinct}") for c in curves)
    x = "buckets (marked: the distinct values)"
    work, clock = common.labels(curves[0].setup)
    return (
        Panel("counted", x, work, tuple(counted), "Work of the scans", True, True, marks),
        Panel("wall time", x, clock, tuple(timed), "Time", True, True, marks),
    )


def claims(curves: Sequence[Curve]) -> tuple[Claim, ...]:
    """What the paper says of Figure 6, for each selectivity."""
    return tuple(
        claim(
            f"Selectivity {c.setup.selectivity:g}: flat where the buckets equal the distinct "
            f"values, {c.setup.distinct}",
            c.flat_from == c.setup.distinct,
            f"within {FLAT:.0%} of {c.runs[-1].comparisons:,} comparisons from {c.flat_from} "
            "buckets on",
        )
        for c in curves
    )


EXPERIMENT = Experiment(
    "1.6", "Hash join over selectivity and number of buckets", f"{PAPER}, Figure 6", run
)
