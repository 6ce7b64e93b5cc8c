"""Figure 4: the worked example with Filter-Order.

b9 and c10 are joined when they come, and a12 only has to move TS_trigger: "the total delay to
receive the three output tuples is lower than that of the Sync-Filter approach by 3 tp"
(section 5).
"""

from __future__ import annotations

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, claim
from windrow.experiments.paper4 import example
from windrow.experiments.paper4.common import PAPER
from windrow.experiments.paper4.driver import Trace


def run(progress: Progress, tp: float = example.TP) -> Outcome:
    """Follow the example."""
    progress.expect(2)
    order = example.traced("Filter-Order")
    progress.advance()
    sync = example.traced("Sync-Filter")
    progress.advance()
    return Outcome(
        parameters=example.parameters(tp),
        panels=(example.panel({"Sync-Filter": sync, "Filter-Order": order}, tp),),
        claims=claims(order, sync, tp),
    )


def claims(order: Trace, sync: Trace, tp: float) -> tuple[Claim, ...]:
    """What Figure 4 shows."""
    found, left = example.delays(order, tp), example.released(order, tp)
    totals = [sum(example.delays(steps, tp).values()) for steps in (sync, order)]
    return (
        claim(
            "From their arrival, a8 takes tp, b9 takes 3, c10 takes 2",
            found == example.expected("Filter-Order", tp),
            f"{example.said(found)} with tp = {tp:g}",
        ),
        claim(
            "The results leave in order, <a8, a5> at 11 + tp and the others at 12, before a12 is "
            "probed",
            left == list(zip(example.RESULTS, (11 + tp, 12, 12), strict=True)),
            ", ".join(f"{name} at {at:g}" for name, at in left),
        ),
        claim(
            "The total delay is lower than Sync-Filter's by 3 tp",
            round(totals[0] - totals[1], 9) == round(3 * tp, 9),
            f"{totals[0]:g} against {totals[1]:g} time units",
        ),
    )


EXPERIMENT = Experiment("4.4", "Filter-Order step by step", f"{PAPER}, Figure 4", run)
