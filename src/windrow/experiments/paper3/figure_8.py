"""Figure 8: what PWJoin and WJoin keep in memory, by window.

"As window becomes larger, the memory savings by PWJoin become more and more significant"
(section 6.2). Of a segment, 40 % of the tuples carry the value that its punctuation ends; they
leave when the other stream's punctuation comes, about a second later, however long the window.

Equation (1) is drawn with what it asks for, counted in the streams: rates, punctuations and
distinct values up to T. It takes a tuple in the window to carry any value seen so far, ended or
not. But a stream goes on with values that have not ended, so the equation starts too high and
falls too low. Our estimate tells a segment's own tuples from the others
(`windrow.cost.paper3.segment_state_size`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from windrow.bar import Progress
from windrow.cost import paper3
from windrow.experiments.frame import (
    Claim,
    Experiment,
    Outcome,
    Panel,
    Series,
    claim,
    measured,
    modelled,
)
from windrow.experiments.paper3 import common
from windrow.experiments.paper3.common import NAMES, PAPER, Run, Setup
from windrow.workload import Pattern
from windrow.workload.arrivals import MICROS
from windrow.workload.tables import START

SETUP = Setup(("punct-asc-100-40", "punct-asc-100-40"))
WINDOWS = (1, 5, 15)
#: How far an estimate of the memory may be off, on average over the steps.
NEAR = 0.15


@dataclass(frozen=True)
class Point:
    """Both joins with one window."""

    window: float
    pwjoin: Run
    wjoin: Run

    @property
    def since(self) -> float:
        """From when on the window is full."""
        return self.window

    @property
    def levels(self) -> tuple[float, float]:
        """Mean memory of PWJoin and of WJoin, once the window is full."""
        return self.pwjoin.level(self.since), self.wjoin.level(self.since)

    @property
    def saved(self) -> float:
        """The share that PWJoin saves."""
        with_purge, without = self.levels
        return 1 - with_purge / without


@dataclass(frozen=True)
class Counted:
    """What a stream had brought up to each step: tuples, punctuations, distinct values."""

    steps: tuple[float, ...]
    tuples: tuple[int, ...]
    punctuations: tuple[int, ...]
    values: tuple[int, ...]


def run(progress: Progress, setup: Setup = SETUP, windows: Sequence[float] = WINDOWS) -> Outcome:
    """Count the stored tuples with both joins and every window."""
    points = [
        Point(
            window,
            common.measure(setup, "PWJoin", (window, window)),
            common.measure(setup, "WJoin", (window, window)),
        )
        for window in progress.track(windows, label=lambda window: f"{window:g} s")
    ]
    models = {p.window: model(setup, p.window) for p in points}
    return Outcome(
        parameters={"windows of both streams (s)": list(windows), **setup.parameters()},
        panels=panels(points, models),
        claims=claims(setup, points, models),
    )


# -- modelled --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """Tuples in both states at each step: Equation (1), and our estimate."""

    equation: tuple[float, ...]
    estimate: tuple[float, ...]


def counted(setup: Setup, side: int) -> Counted:
    """Count a stream up to each step."""
    stream = common.table(setup, side)
    times = common.micros(stream) - np.datetime64(START, "us").astype(np.int64)
    over, keys = stream["over"].to_numpy(), stream["key"].to_numpy()
    _, first = np.unique(keys, return_index=True)
    borders = np.array(setup.steps) * MICROS
    tuples, punctuations, values = (
        np.searchsorted(np.sort(some), borders).tolist()
        for some in (times[~over], times[over], times[first])
    )
    return Counted(tuple(setup.steps), tuple(tuples), tuple(punctuations), tuple(values))


def model(setup: Setup, window: float) -> Model:
    """Both predictions for the two states together; a window that fills holds what has come."""
    streams = [counted(setup, side) for side in range(len(NAMES))]
    equation, estimate = [], []
    for step, at in enumerate(setup.steps):
        sizes, estimates = [], []
        for side, own in enumerate(streams):
            other = streams[1 - side]
            rate, punctuated = own.tuples[step] / at, other.punctuations[step] / at
            held = min(window, at)
            match = Pattern.parse(setup.patterns[side] or "").match / 100
            ahead = max(own.values[-1] - own.punctuations[step], 1)
            sizes.append(paper3.state_size(rate, held, punctuated, at, own.values[step]))
            estimates.append(paper3.segment_state_size(rate, held, punctuated, match, ahead))
        equation.append(sum(sizes))
        estimate.append(sum(estimates))
    return Model(tuple(equation), tuple(estimate))


def off(found: Sequence[float], predicted: Sequence[float], point: Point) -> float:
    """Mean distance of a prediction from what was found, by the latter, once the window is full."""
    full = [at >= point.since for at in point.pwjoin.steps]
    apart = [abs(p - f) for p, f, on in zip(predicted, found, full, strict=True) if on]
    return sum(apart) / sum(f for f, on in zip(found, full, strict=True) if on)


# -- shown -------------------------------------------------------------------------------------


def panels(points: Sequence[Point], models: Mapping[float, Model]) -> tuple[Panel, ...]:
    """Stored tuples over time, as in the paper; and the largest window beside its predictions."""
    stored: list[Series] = []
    for p in points:
        steps = p.pwjoin.steps
        stored.append(measured(f"WJoin-{p.window:g}", steps, p.wjoin.both))
        stored.append(measured(f"PWJoin-{p.window:g}", steps, p.pwjoin.both))
    p = points[-1]
    steps, largest = p.pwjoin.steps, models[p.window]
    predicted = (
        measured(f"PWJoin-{p.window:g}", steps, p.pwjoin.both),
        modelled("Equation (1)", steps, largest.equation),
        modelled("our estimate", steps, largest.estimate),
    )
    x, y = "seconds of stream", "tuples in both states"
    return (
        Panel("counted", x, y, tuple(stored), "Memory"),
        Panel("counted", x, y, predicted, f"Predicted, window of {p.window:g} s"),
    )


def claims(
    setup: Setup, points: Sequence[Point], models: Mapping[float, Model]
) -> tuple[Claim, ...]:
    """What the paper says of Figure 8 and of Equation (1), and what we say of our estimate."""
    shares = [p.saved for p in points]
    numbers = [p.levels[1] - p.levels[0] for p in points]
    more = sum(a > b for p in points for a, b in zip(p.pwjoin.both, p.wjoin.both, strict=True))
    full = [2 * paper3.unpurged(1 / setup.gap, p.window) for p in points]
    unpurged = [p.levels[1] / f for p, f in zip(points, full, strict=True)]
    wrong = {
        name: [off(p.pwjoin.both, getattr(models[p.window], name), p) for p in points]
        for name in ("equation", "estimate")
    }
    said = " / ".join(f"{p.window:g} s" for p in points)
    return (
        claim(
            "The larger the window, the more memory PWJoin saves",
            all(a < b for some in (shares, numbers) for a, b in pairwise(some)),
            ", ".join(
                f"{p.levels[0]:,.0f} of {p.levels[1]:,.0f} tuples at {p.window:g} s "
                f"({p.saved:.0%} saved)"
                for p in points
            ),
        ),
        claim(
            "PWJoin never holds more tuples than WJoin",
            more == 0,
            f"at {more} of {sum(len(p.pwjoin.steps) for p in points)} sampling steps",
        ),
        claim(
            "Without purging a state holds λ T tuples, within 5 %",
            max(abs(share - 1) for share in unpurged) <= 0.05,
            f"WJoin holds {' / '.join(f'{share:.3f}' for share in unpurged)} times that at {said}",
        ),
        claim(
            f"Equation (1) predicts PWJoin's memory, within {NEAR:.0%} on average over time",
            max(wrong["equation"]) <= NEAR,
            f"off by {' / '.join(f'{w:.0%}' for w in wrong['equation'])} at {said}: it falls with "
            "the punctuations so far, the state does not",
        ),
        claim(
            f"Our estimate predicts it, within {NEAR:.0%} on average over time",
            max(wrong["estimate"]) <= NEAR,
            f"off by {' / '.join(f'{w:.0%}' for w in wrong['estimate'])} at {said}",
        ),
    )


EXPERIMENT = Experiment("3.8", "Memory with and without punctuations", f"{PAPER}, Figure 8", run)
