"""Figure 6: the buffer of S7, the output of J1, in Query 2. J1 slows down and S7 falls behind.

"This time the margin between the estimated value and the optimal value is much wider", because the
scrambling factor and rate of an output are upper bounds, (9) and (10) of Theorem 3.1 (section 5.1).
J1's output is suppressed by its slowest input: S2's rate is 1/8 for 30 s, as in Query 1.
"""

from __future__ import annotations

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Mark, Outcome, claim
from windrow.experiments.paper5 import buffers, common, queries
from windrow.experiments.paper5.buffers import WIDE, Curves, Run
from windrow.experiments.paper5.common import PAPER, Setup
from windrow.workload.epochs import CONGESTION

SETUP = Setup()
S7, S8 = range(2)
MARKS = (
    Mark(CONGESTION.start, "J1's output suppressed"),
    Mark(CONGESTION.start + CONGESTION.seconds, "over"),
)


def measure(progress: Progress, setup: Setup) -> Curves:
    """J3's two streams, with scrambling factors of S1 to S6 given and without."""

    def one(seed: int) -> Run:
        apriori, monitored = (queries.tree(setup, seed, "data", known) for known in (True, False))
        needs = common.needs(apriori.inputs, apriori.start)
        accuracies = apriori.accuracy, monitored.accuracy
        return Run(needs, apriori.last, monitored.last, accuracies)

    return buffers.curves(setup, progress, one)


def run(progress: Progress, setup: Setup = SETUP) -> Outcome:
    """Show S7's buffer."""
    return shown(measure(progress, setup), setup, S7)


def shown(curves: Curves, setup: Setup, stream: int) -> Outcome:
    """One of the two streams."""
    marks = tuple(mark for mark in MARKS if mark.x < setup.seconds)
    panel = buffers.panel(curves, stream, f"S{stream + 7}", marks)
    return Outcome(setup.parameters(), (panel,), claims(curves, stream))


def claims(curves: Curves, stream: int) -> tuple[Claim, ...]:
    """What the paper says of both figures."""
    ratio = curves.ratio(stream)
    return (
        *buffers.accuracy(curves),
        buffers.never_below(curves, (stream,)),
        claim(
            f"The margin is wide: the prediction is more than {WIDE:g} times the optimum, on "
            "average",
            ratio > WIDE,
            f"{ratio:.1f} times: {curves.monitored[:, stream].mean():,.0f} tuples against "
            f"{curves.optimal[:, stream].mean():,.0f}",
        ),
    )


EXPERIMENT = Experiment("5.6", "Buffer of S7", f"{PAPER}, Figure 6", run)
