"""Section 2.2's second objective: what a new query with a large window costs those that are there.

"The response time penalty imposed on any query when a new query is included in a shared plan
should be kept to a minimum." The paper measures no penalty; this is ours. Queries with small
windows run on one join, and one with a large window comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from windrow.bar import Progress
from windrow.cost import paper2
from windrow.cost.paper2 import M
from windrow.experiments.frame import Claim, Experiment, Outcome, Panel, claim, measured, modelled
from windrow.experiments.paper2 import common
from windrow.experiments.paper2.common import PAPER, SCHEDULES, Setup, said
from windrow.model import Schedule

SETUP = Setup(windows=(1, 5, 15), burst=5, seeds=3)
#: Windows of the new query, seconds.
NEW = (30, 60, 300, 600)
#: A schedule that spares the others costs them so many times less than LWO.
SPARES = 10

#: By schedule, seconds more for the queries that were there, by window of the new one.
Costs = Mapping[Schedule, Sequence[float]]


def run(progress: Progress, setup: Setup = SETUP, new: Sequence[float] = NEW) -> Outcome:
    """Measure the queries before and after."""
    largest = max(new)
    costs: dict[Schedule, list[float]] = {schedule: [] for schedule in SCHEDULES}
    before = {s: with_new(setup, None, largest, s) for s in SCHEDULES}
    for window in progress.track(new, label=lambda window: f"a query of {window:g} s"):
        for schedule in SCHEDULES:
            after = with_new(setup, window, largest, schedule)
            costs[schedule].append(after - before[schedule])
    return Outcome(
        parameters={
            "windows that are there (s)": list(setup.windows),
            "expected size of a burst": setup.burst,
            **setup.parameters(),
        },
        panels=panels(setup, new, costs),
        claims=claims(new, before, costs),
    )


def with_new(setup: Setup, window: float | None, largest: float, schedule: Schedule) -> float:
    """The mean response time of the queries that were there, with the new one or without.

    The same arrivals, whatever the window: none of it, a query that does not exist stands for.
    """
    there = len(setup.windows)
    windows = (*setup.windows, *(() if window is None else (window,)))
    found = common.measure(replace(setup, windows=windows, since=largest), schedule)
    return sum(found.means[:there]) / there


def panels(setup: Setup, new: Sequence[float], costs: Costs) -> tuple[Panel, ...]:
    """Measured seconds, and the equations' factor."""
    sizes = dict.fromkeys((paper2.buffer_size(setup.rate, w) for w in setup.windows), 1)
    factors = {
        schedule: [paper2.penalty(schedule, sizes, setup.rate * w, M) for w in new]
        for schedule in SCHEDULES
    }
    x = "window of the new query (s)"
    return (
        Panel(
            "counted",
            x,
            "seconds more for the others",
            tuple(measured(SCHEDULES[s], new, seconds) for s, seconds in costs.items()),
            f"Others have {', '.join(f'{w:g}' for w in setup.windows)} s, bursts of "
            f"{setup.burst:g}",
            x_log=True,
            y_log=True,
        ),
        Panel(
            "counted",
            x,
            "times as long for the slowest other",
            tuple(modelled(SCHEDULES[s], new, times) for s, times in factors.items()),
            f"Equations, {M} tuples at once",
            x_log=True,
            y_log=True,
        ),
    )


def claims(
    new: Sequence[float], before: Mapping[Schedule, float], costs: Costs
) -> tuple[Claim, ...]:
    """The second objective, for each schedule."""
    lwo = costs["lwo"]
    each = f"with a query of {' / '.join(f'{w:g}' for w in new)} s"
    return (
        claim(
            "Under LWO a new query costs the others the more the larger its window is (ours)",
            all(a < b for a, b in pairwise(lwo)),
            f"{said(lwo)} more {each}, on {said([before['lwo']])}",
        ),
        *(
            claim(
                f"{SCHEDULES[s]} costs them at least {SPARES} times less than LWO does, with the "
                "largest (ours)",
                SPARES * costs[s][-1] <= lwo[-1],
                f"{said(costs[s])} more {each}, on {said([before[s]])}",
            )
            for s in ("swf", "mqt")
        ),
    )


EXPERIMENT = Experiment("2.join", "What a new query costs the others", f"{PAPER}, section 2.2", run)
