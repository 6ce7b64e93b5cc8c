"""Figure 11: punctuations that reach the output, with windows and without.

PJoin propagates a value when both streams have punctuated it (section 3.1). PWJoin need not wait
for the second: once the last tuple of a value that one stream has punctuated leaves its window,
no result can have it (early propagation, section 4.4). A ends its values in order and B at
random, so the second punctuation is long in coming, and "PWJoin has an overall higher
punctuation output rate" (section 6.3).

Values end one after the other until hardly any is left, so PWJoin's curve bends towards their
number, and PJoin's rises as both streams have ended more of them. A value is counted once: a flag
is forgotten a window after its time, so a second punctuation that comes later than that
propagates its value once more.
"""

from __future__ import annotations

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, Panel, claim, measured
from windrow.experiments.paper3 import common
from windrow.experiments.paper3.common import PAPER, Run, Setup

SETUP = Setup(("punct-asc-30-40", "punct-random-30-40"), every=1)
WINDOW = 1


def run(progress: Progress, setup: Setup = SETUP, window: float = WINDOW) -> Outcome:
    """Count the propagated values with both joins."""
    progress.expect(2)
    pwjoin = common.measure(setup, "PWJoin", (window, window))
    progress.advance()
    pjoin = common.measure(setup, "PJoin", (None, None))
    progress.advance()
    return Outcome(
        parameters={"window of both streams in PWJoin (s)": window, **setup.parameters()},
        panels=panels(pwjoin, pjoin),
        claims=claims(pwjoin, pjoin),
    )


def panels(pwjoin: Run, pjoin: Run) -> tuple[Panel, ...]:
    """Propagated values over time."""
    series = (
        measured("PWJoin", pwjoin.steps, pwjoin.ended),
        measured("PJoin", pjoin.steps, pjoin.ended),
    )
    return (Panel("counted", "seconds of stream", "values propagated so far", series),)


def claims(pwjoin: Run, pjoin: Run) -> tuple[Claim, ...]:
    """What the paper says of Figure 11."""
    ahead = [a - b for a, b in zip(pwjoin.ended, pjoin.ended, strict=True)]
    seconds = pwjoin.steps[-1]
    rates = [run.ended[-1] / seconds for run in (pwjoin, pjoin)]
    figures = pwjoin.last
    return (
        claim(
            "PWJoin has the higher punctuation output rate overall",
            rates[0] > rates[1],
            f"{rates[0]:.2f} against {rates[1]:.2f} values a second; of its {figures.ended} "
            f"punctuations {figures.ended_early} came early",
        ),
        claim(
            "PWJoin is never behind PJoin in total: early propagation is never later",
            min(ahead) >= 0,
            f"ahead by {min(ahead)} to {max(ahead)} values",
        ),
    )


EXPERIMENT = Experiment("3.11", "Early propagation", f"{PAPER}, Figure 11", run)
