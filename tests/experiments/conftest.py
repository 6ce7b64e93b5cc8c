"""A small experiment that really runs: it counts the comparisons of a nested loop."""

import numpy as np
import pytest

from windrow.bar import Progress
from windrow.experiments.frame import (
    Experiment,
    Mark,
    Outcome,
    Panel,
    claim,
    measured,
    modelled,
)

SIZES = [2, 4, 8]


def run(progress: Progress) -> Outcome:
    work = [sum(1 for _ in range(n) for _ in range(n)) for n in progress.track(SIZES)]
    model = np.array(SIZES) ** 2
    panel = Panel(
        "counted",
        x_label="tuples <n>",
        y_label="comparisons & more",
        series=(measured("loops", SIZES, work), modelled("loops", SIZES, model)),
        title="Work of λ_A",
        x_log=True,
        y_log=True,
        marks=(Mark(4, "half $way"),),
    )
    return Outcome(
        parameters={"sizes": np.array(SIZES), "window": "<30 s> & on", "rate": np.int64(7)},
        panels=(panel,),
        claims=(
            claim("The model <b>fits</b>", np.bool_(work == model.tolist()), f"{work} [counted]"),
            claim("Work is constant", work[0] == work[-1], f"{work[0]} < {work[-1]}"),
        ),
    )


@pytest.fixture
def squares() -> Experiment:
    return Experiment("9.10", "Squares <of> n", "Nobody & Noone, Figure 10", run)


@pytest.fixture
def early() -> Experiment:
    return Experiment("9.4", "An earlier figure", "Nobody & Noone, Figure 4", run)
