"""Predicted buffers beside the optimal one: what Figures 5, 6 and 7 have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Mark, Panel, claim, measured
from windrow.experiments.paper5 import common
from windrow.experiments.paper5.common import Needs, Setup, percent
from windrow.experiments.paper5.driver import Seconds, Trace

#: "The output accuracy achieved based on monitored parameters is between 99.2% and 99.6%."
ACCURATE = 0.992
#: Prediction and optimum are close if the one is at most so many times the other, on average.
CLOSE = 1.5
#: A margin is wide if it is more than that.
WIDE = 1.5
#: Two predictions almost coincide if they differ by at most this share, on average.
COINCIDE = 0.05
#: Seconds until all scrambling factors have shown themselves.
LEARNED = 20


@dataclass(frozen=True)
class Run:
    """One repetition: what results needed, two runs, and the accuracy of each."""

    needs: Needs
    apriori: Trace
    monitored: Trace
    accuracies: tuple[float, float]


@dataclass(frozen=True)
class Curves:
    """By second and stream, averages over the repetitions.

    below: by stream, seconds of all repetitions in which the a-priori prediction was below the
    optimum. accuracies: of all repetitions, a-priori and monitored.
    """

    optimal: Seconds
    apriori: Seconds
    monitored: Seconds
    below: Sequence[int]
    accuracies: tuple[Sequence[float], Sequence[float]]

    def ratio(self, stream: int) -> float:
        """The prediction (monitored) by the optimum, on average over time."""
        return float(self.monitored[:, stream].mean() / max(self.optimal[:, stream].mean(), 1e-9))


def curves(setup: Setup, progress: Progress, one: Callable[[int], Run]) -> Curves:
    """All repetitions."""
    seconds = int(setup.seconds)
    found, below = [], 0
    accuracies: tuple[list[float], list[float]] = ([], [])
    for seed in progress.track(setup.seeds, label=lambda seed: f"repetition {seed}"):
        run = one(seed)
        best = common.most_by_second(run.needs.at, run.needs.stored, seconds)
        known, seen = (
            common.by_second(trace, trace.predicted, seconds)
            for trace in (run.apriori, run.monitored)
        )
        found.append((best, known, seen))
        below = below + (known < best).sum(axis=0)
        for mine, accuracy in zip(accuracies, run.accuracies, strict=True):
            mine.append(accuracy)
    optimal, apriori, monitored = (
        np.mean([each[which] for each in found], axis=0) for which in range(3)
    )
    return Curves(optimal, apriori, monitored, np.atleast_1d(below).tolist(), accuracies)


def panel(curves: Curves, stream: int, name: str, marks: tuple[Mark, ...]) -> Panel:
    """The buffers of a stream over time."""
    x = np.arange(1, len(curves.optimal) + 1)
    return Panel(
        "counted",
        "seconds of stream",
        f"buffer of {name} (tuples)",
        (
            measured("optimal", x, curves.optimal[:, stream]),
            measured("monitored", x, curves.monitored[:, stream]),
            measured("a-priori", x, curves.apriori[:, stream]),
        ),
        name,
        marks=marks,
    )


def accuracy(curves: Curves) -> tuple[Claim, ...]:
    """How complete results are."""
    apriori, monitored = curves.accuracies
    return (
        claim(
            "With a-priori parameters (scrambling factors; rates and lags are followed) results "
            "are complete",
            min(apriori) == 1,
            f"{percent(min(apriori))} of what there can be, in each of {len(apriori)} repetitions"
            if min(apriori) == 1
            else f"{percent(min(apriori))} in the worst of {len(apriori)} repetitions",
        ),
        claim(
            f"Monitored, accuracy is {percent(ACCURATE)} or better on average",
            float(np.mean(monitored)) >= ACCURATE,
            f"{percent(float(np.mean(monitored)))}; {percent(min(monitored))} in the worst of "
            f"{len(monitored)} repetitions",
        ),
    )


def never_below(curves: Curves, streams: Sequence[int]) -> Claim:
    """That the prediction suffices."""
    below = sum(curves.below[stream] for stream in streams)
    seconds = len(curves.optimal) * len(curves.accuracies[0])
    return claim(
        "The a-priori prediction is never below the optimum",
        below == 0,
        f"in {below} of {seconds * len(streams):,} seconds of all repetitions",
    )
