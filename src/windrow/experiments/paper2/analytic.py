"""What Figures 2(b) and 3(b) share: 50 tuples at once, by the equations and by the operator.

A stream of 100 tuples a second, evenly spaced, lies in the join; m tuples of the other arrive at
the same time and match all of it. A tuple looked at costs t_p, a result nothing: the set-up of
sections 3.1.1 and 3.2.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from windrow.cost import paper2
from windrow.cost.paper2 import T_P, M
from windrow.experiments.frame import Series, measured, modelled
from windrow.experiments.paper2 import driver
from windrow.experiments.paper2.common import WINDOWS
from windrow.experiments.paper2.driver import Input, Prices
from windrow.model import Schedule
from windrow.workload.arrivals import MICROS

#: Seven windows from a second to ten minutes, and the rate.
SEVEN, RATE = WINDOWS["Uniform"], 100

Times = Mapping[float, float]


def predicted(
    schedule: paper2.Schedule, windows: Sequence[float] = SEVEN, m: int = M
) -> dict[float, float]:
    """By window, the equations' response time."""
    sizes = [paper2.buffer_size(RATE, w) for w in windows]
    found = paper2.responses(schedule, dict.fromkeys(sizes, 1), m, T_P)
    return {w: found[size] for w, size in zip(windows, sizes, strict=True)}


@lru_cache(maxsize=32)
def operated(
    schedule: Schedule, windows: tuple[float, ...] = SEVEN, m: int = M
) -> Mapping[float, float]:
    """By window, the operator's response time."""
    reach = [round(w * MICROS) for w in windows]
    start = driver.loaded(at_once(reach[-1], m), reach[-1])
    found = driver.serve(start, dict.fromkeys(reach, 1), schedule, Prices(T_P, 0.0))
    return dict(zip(windows, found.means, strict=True))


def alone(windows: Sequence[float] = SEVEN, m: int = M) -> dict[float, float]:
    """By window, the operator's response time of a query that runs on its own."""
    return {w: operated("lwo", (w,), m)[w] for w in windows}


def at_once(largest: int, m: int) -> Input:
    """One stream back to the largest window (µs), and m tuples of the other."""
    gap = MICROS // RATE
    ts = np.concatenate([np.arange(0, largest, gap), np.full(m, largest)])
    stream = np.repeat([1, 0], [len(ts) - m, m])
    return Input(ts, stream, np.zeros(len(ts), np.int64), len(ts) - m)


def pair(name: str, equation: Times, operator: Times) -> tuple[Series, Series]:
    """Both, as curves over the windows."""
    windows = list(equation)
    return (
        measured(name, windows, list(operator.values())),
        modelled(name, windows, list(equation.values())),
    )


def apart(equation: Times, operator: Times) -> float:
    """How far the operator is off at most, as a share of what the equation says."""
    return max(abs(operator[w] / seconds - 1) for w, seconds in equation.items())
