"""Figure 3: the worked example with Sync-Filter.

b9 and c10 wait until a12 shows that S has passed them, and only then are they joined, one after
the other: their results leave at 12 + tp and 12 + 2 tp (section 4).
"""

from __future__ import annotations

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, claim
from windrow.experiments.paper4 import example
from windrow.experiments.paper4.common import PAPER
from windrow.experiments.paper4.driver import Trace


def run(progress: Progress, tp: float = example.TP) -> Outcome:
    """Follow the example."""
    progress.expect(1)
    steps = example.traced("Sync-Filter")
    progress.advance()
    return Outcome(
        parameters=example.parameters(tp),
        panels=(example.panel({"Sync-Filter": steps}, tp),),
        claims=claims(steps, tp),
    )


def claims(steps: Trace, tp: float) -> tuple[Claim, ...]:
    """What Figure 3 shows."""
    found, left = example.delays(steps, tp), example.released(steps, tp)
    return (
        claim(
            "From their arrival, a8 takes tp, b9 takes 3 + tp, c10 takes 2 + 2 tp",
            found == example.expected("Sync-Filter", tp),
            f"{example.said(found)} with tp = {tp:g}",
        ),
        claim(
            "The results leave in order, <a8, a5> at 11 + tp, then at 12 + tp and 12 + 2 tp",
            left == list(zip(example.RESULTS, (11 + tp, 12 + tp, 12 + 2 * tp), strict=True)),
            ", ".join(f"{name} at {at:g}" for name, at in left),
        ),
    )


EXPERIMENT = Experiment("4.3", "Sync-Filter step by step", f"{PAPER}, Figure 3", run)
