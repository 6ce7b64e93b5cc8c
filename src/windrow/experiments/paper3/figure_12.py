"""Figure 12: punctuations that reach the output when one stream has none.

Without a window PJoin can never propagate: A may bring any value again. PWJoin propagates a value
of B when its last tuple leaves B's window, so "PWJoin is still able to regularly provide
punctuations" (section 6.3), as many as B brings, a window later.

A has no window, as in the paper: B's punctuations purge it. This library refuses a PJoin of such
streams, whose state would grow for ever; a window on B as long as the stream stands for it.
"""

from __future__ import annotations

import numpy as np

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Mark, Outcome, Panel, claim, measured
from windrow.experiments.paper3 import common
from windrow.experiments.paper3.common import PAPER, Run, Setup

SETUP = Setup((None, "punct-asc-30-40"), every=1, values=15_000)
WINDOW = 5
#: How far the propagated values may be from those that B had punctuated a window earlier.
NEAR = 0.1


def run(progress: Progress, setup: Setup = SETUP, window: float = WINDOW) -> Outcome:
    """Count the propagated values with both joins."""
    progress.expect(2)
    pwjoin = common.measure(setup, "PWJoin", (None, window))
    progress.advance()
    pjoin = common.measure(setup, "PJoin", (None, setup.seconds))
    progress.advance()
    return Outcome(
        parameters={
            "window of B in PWJoin (s)": window,
            "values of A": f"uniform in [0, {setup.values})",
            **setup.parameters(),
        },
        panels=panels(pwjoin, pjoin, window),
        claims=claims(pwjoin, pjoin, window),
    )


def panels(pwjoin: Run, pjoin: Run, window: float) -> tuple[Panel, ...]:
    """Propagated values over time."""
    series = (
        measured("PWJoin", pwjoin.steps, pwjoin.ended),
        measured("PJoin", pjoin.steps, pjoin.ended),
    )
    marks = (Mark(window, "one window"),)
    return (Panel("counted", "seconds of stream", "values propagated so far", series, marks=marks),)


def claims(pwjoin: Run, pjoin: Run, window: float) -> tuple[Claim, ...]:
    """What the paper says of Figure 12."""
    steps, ended = np.array(pwjoin.steps), np.array(pwjoin.ended)
    halves = np.interp([window, (window + steps[-1]) / 2, steps[-1]], steps, ended)
    first, second = np.diff(halves) / (steps[-1] - window) * 2
    punctuations = pwjoin.last.punctuations[common.NAMES[1]]
    rate = punctuations / steps[-1]
    expected = rate * (steps[-1] - window)
    return (
        claim(
            "PJoin propagates nothing",
            pjoin.ended[-1] == 0,
            f"{pjoin.ended[-1]} values of {punctuations} that B has punctuated",
        ),
        claim(
            f"PWJoin propagates steadily: both halves of the run differ by at most {2 * NEAR:.0%}",
            bool(first > 0) and bool(abs(second / first - 1) <= 2 * NEAR),
            f"{first:.2f} values a second in the first half, {second:.2f} in the second",
        ),
        claim(
            f"As many as B punctuates, a window later (within {NEAR:.0%})",
            abs(ended[-1] / expected - 1) <= NEAR,
            f"{ended[-1]} values; B punctuates {rate:.2f} a second, which is {expected:.0f} "
            f"up to {window:g} s before the end",
        ),
    )


EXPERIMENT = Experiment(
    "3.12", "Propagation with one punctuated stream", f"{PAPER}, Figure 12", run
)
