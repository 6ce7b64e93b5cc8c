"""Figure 7: the buffer of S8, the output of J2, in Query 2. S7 falls behind, so S8 must wait.

The same runs as Figure 6's.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, claim
from windrow.experiments.paper5 import figure_6
from windrow.experiments.paper5.buffers import CLOSE, Curves
from windrow.experiments.paper5.common import PAPER, Setup
from windrow.experiments.paper5.figure_6 import S8

SETUP = Setup()
#: Seconds: just before S7 falls behind, and just after.
BEHIND = (10, 45)


def run(progress: Progress, setup: Setup = SETUP) -> Outcome:
    """Show S8's buffer."""
    curves = figure_6.measure(progress, setup)
    outcome = figure_6.shown(curves, setup, S8)
    return replace(outcome, claims=(*outcome.claims, grows(curves)))


def grows(curves: Curves) -> Claim:
    """What the paper's figure shows of the lag."""
    first, last = BEHIND
    if len(curves.optimal) < last:
        return claim("As S7 falls behind, S8's buffer grows", False, "it does not come")
    rises = [values[[first - 1, last - 1], S8] for values in (curves.monitored, curves.optimal)]
    return claim(
        "As S7 falls behind, S8's buffer grows by half or more",
        all(after >= CLOSE * before for before, after in rises),
        "; ".join(
            f"{before:,.0f} to {after:,.0f} {what}"
            for (before, after), what in zip(rises, ("predicted", "optimal"), strict=True)
        ),
    )


EXPERIMENT = Experiment("5.7", "Buffer of S8", f"{PAPER}, Figure 7", run)
