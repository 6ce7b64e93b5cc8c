"""Figure 9: output of PWJoin and WJoin over the work they do.

In the paper's CPU-limited mode "WJoin performs slightly better" with a small window, as a purge
costs more than it saves; with a large one "the gains in probe by shrinking the state gradually
takes over" (section 6.2).

Here both walk the list of a tuple's own value. A purged tuple is one whose value comes no more, so
no probe would have looked at it: but for collisions in the hash index, probes look at the same
tuples in both. What is saved is storing and invalidating tuples, whatever the window. What is
added shows on the clock only: the flags are a structure of their own, asked at every arrival.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, Panel, claim
from windrow.experiments.paper3 import common
from windrow.experiments.paper3.common import PAPER, REPEATS, WORK, Run, Setup

#: Longer steps than the paper's: a compiled join does a minute of tuples in milliseconds.
SETUP = Setup(("punct-asc-100-40", "punct-asc-100-40"), seconds=240, every=12)
WINDOWS = (5, 15)
#: As much as that apart counts as near, and as much as that in front as ahead.
NEAR, AHEAD = 0.1, 0.05


@dataclass(frozen=True)
class Point:
    """Both joins with one window."""

    window: float
    pwjoin: Run
    wjoin: Run


def run(
    progress: Progress,
    setup: Setup = SETUP,
    windows: Sequence[float] = WINDOWS,
    repeats: int = REPEATS,
) -> Outcome:
    """Measure both joins with every window."""
    points = [
        Point(
            window,
            common.measure(setup, "PWJoin", (window, window), repeats),
            common.measure(setup, "WJoin", (window, window), repeats),
        )
        for window in progress.track(windows, label=lambda window: f"{window:g} s")
    ]
    return Outcome(
        parameters={"windows of both streams (s)": list(windows), **setup.parameters()},
        panels=panels(points),
        claims=claims(points),
    )


def panels(points: Sequence[Point]) -> tuple[Panel, ...]:
    """Output over work, and over time."""
    named = [
        (f"{name}-{p.window:g}", run)
        for p in points
        for name, run in (("PWJoin", p.pwjoin), ("WJoin", p.wjoin))
    ]
    return common.outputs(named)


def claims(points: Sequence[Point]) -> tuple[Claim, ...]:
    """What the paper says of Figure 9."""
    small, large = points[0], points[-1]
    same = [p.pwjoin.results == p.wjoin.results for p in points]
    near, ahead = (common.at_equal_work(p.pwjoin, p.wjoin) for p in (small, large))
    saved = [p.wjoin.work[-1] - p.pwjoin.work[-1] for p in points]
    return (
        claim(
            "PWJoin and WJoin give the same output at every sampling step",
            all(same),
            " and ".join(f"{p.pwjoin.results[-1]:,} tuples at {p.window:g} s" for p in points),
        ),
        claim(
            f"Window of {small.window:g} s: PWJoin near WJoin, within {NEAR:.0%} in output by work",
            abs(near - 1) <= NEAR,
            f"{near:.3f} times the output for the same {WORK}; {_clock(small)}",
        ),
        claim(
            f"Window of {large.window:g} s: PWJoin ahead by {AHEAD:.0%} or more in output by work",
            ahead >= 1 + AHEAD,
            f"{ahead:.3f} times the output for the same {WORK}; {_clock(large)}",
        ),
        claim(
            "The larger the window, the more work PWJoin saves",
            all(a < b for a, b in pairwise(saved)),
            "; ".join(
                f"{s:,} of {p.wjoin.work[-1]:,} operations at {p.window:g} s, where probes compare "
                f"{p.pwjoin.last.comparisons:,} against {p.wjoin.last.comparisons:,} tuples"
                for s, p in zip(saved, points, strict=True)
            ),
        ),
        claim(
            f"Window of {large.window:g} s: PWJoin ahead in wall time",
            large.pwjoin.seconds[-1] < large.wjoin.seconds[-1],
            f"{_clock(large)}; {_clock(small)} at {small.window:g} s",
        ),
    )


def _clock(point: Point) -> str:
    pwjoin, wjoin = (common.milliseconds(run) for run in (point.pwjoin, point.wjoin))
    return f"{pwjoin} against {wjoin} on the clock"


EXPERIMENT = Experiment("3.9", "Output with and without punctuations", f"{PAPER}, Figure 9", run)
