"""The three schedules by the seconds that they take, at 80 % load of this machine.

    turn    all that has come by now goes in; a budget ends the turn at a window's boundary
    clock   moves by the seconds that a turn took; with nothing to do it goes to the next arrival
    leave   what the turn found and released reaches its queries at the end of the turn

The seconds are the processor's for this thread, so that others who use the machine add little.
A hundred tuples a second would hardly load a machine of today, so arrivals come faster: first the
same arrivals are joined without waiting for any, under LWO, and the seconds that this takes say
how much. A turn costs as much as a few thousand results, however little it does. So two tuples
agree a hundred times as often as in the paper, and windows are a tenth as long: a tuple has up to
1,200 results where it has 120 in the paper.

This is the join and its scheduler. The stage behind it, which puts results in order, is left out:
it looks at all that is held in each turn, which is next to nothing under LWO and MQT, and under
SWF more than the join itself does in turns as short as these.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from windrow.experiments.frame import Panel
from windrow.experiments.paper2 import common, driver
from windrow.experiments.paper2.common import SCHEDULES, WINDOWS, Setup
from windrow.experiments.paper2.driver import STREAMS, Loaded, Seconds, Sums
from windrow.model import Schedule
from windrow.operators.released import Released
from windrow.workload.arrivals import MICROS


@dataclass(frozen=True)
class ThreadSetup:
    """Streams as in `Setup`; `budget` stored tuples are scanned in a turn, `load` is LWO's.

    `scale`: windows are so many times as long. The median of `rounds` counts, since a machine's
    speed varies.
    """

    windows: tuple[float, ...] = WINDOWS["Small-Large"]
    scale: float = 0.1
    burst: float = 1
    measured: int = 5_000
    selectivity: float = 0.2
    load: float = 0.8
    budget: int = 6_000
    rounds: int = 5
    seed: int = 1

    @property
    def reaches(self) -> list[int]:
        """The windows in µs."""
        return [round(window * self.scale * MICROS) for window in self.windows]

    def parameters(self) -> dict[str, Any]:
        """What a result says about the set-up."""
        return {
            "length of windows, times Table 1's": self.scale,
            "tuples measured": self.measured,
            "selectivity": self.selectivity,
            "load of LWO": self.load,
            "tuples scanned in a turn": self.budget,
            "rounds": self.rounds,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Timed:
    """By window, response times in seconds and results; tuples of both streams a second."""

    means: tuple[float, ...]
    counts: tuple[int, ...]
    rate: float

    @property
    def mean(self) -> float:
        """Over the windows, each once."""
        return float(np.mean(self.means))


SETUP = ThreadSetup()
#: Where claims about it hold; the scale and the load are those of `SETUP`.
WHERE = (
    f"By the processor time of the join alone, with windows {SETUP.scale:g} times as long, at "
    f"{SETUP.load:.0%} load"
)


@lru_cache(maxsize=64)
def all_three(setup: ThreadSetup) -> dict[Schedule, Timed]:
    """The three schedules, with the same arrivals at the same rate."""
    given = common.given(
        Setup(
            windows=(setup.windows[-1] * setup.scale,),
            burst=setup.burst,
            measured=setup.measured,
            selectivity=setup.selectivity,
        ),
        setup.seed,
    )
    start = driver.loaded(given, setup.reaches[-1])
    # The first run compiles what is not compiled yet.
    took = [_Turns(start, setup, "lwo").without_waiting() for _ in range(setup.rounds + 1)]
    slow = float(np.median(took[1:]))
    arrives = given.arrives * (slow / setup.load / float(given.arrives[-1]))
    rate = setup.measured / float(arrives[-1])
    found: dict[Schedule, list[Timed]] = {schedule: [] for schedule in SCHEDULES}
    for _ in range(setup.rounds):
        for schedule, runs in found.items():
            runs.append(Timed(*_Turns(start, setup, schedule).in_time(arrives), rate))
    return {s: sorted(runs, key=lambda run: run.mean)[len(runs) // 2] for s, runs in found.items()}


class _Turns:
    """A join that is fed with what has come."""

    def __init__(self, start: Loaded, setup: ThreadSetup, schedule: Schedule) -> None:
        self.given, self.setup = start.input, setup
        self.windows = setup.reaches
        self.join = driver.standing(start, dict.fromkeys(self.windows, 1), schedule)
        self.fed = self.given.first

    def without_waiting(self) -> float:
        """Seconds to join all, turn by turn of as many arrivals as the budget is good for."""
        whole = len(self.given.ts)
        a_tuple = self.setup.selectivity * self.given.first / STREAMS
        step = max(1, round(self.setup.budget / max(a_tuple, 1)))
        begun = time.thread_time()
        while self.fed < whole:
            self._turn(min(whole, self.fed + step))
        return time.thread_time() - begun

    def in_time(self, arrives: Seconds) -> tuple[tuple[float, ...], tuple[int, ...]]:
        """By window, the mean response time and results, by the clock of its own seconds."""
        first, whole = self.given.first, len(self.given.ts)
        self.join.budget = self.setup.budget
        sums = Sums(self.windows, whole - first)
        let_go = np.full((whole - first, len(self.windows)), np.inf)
        clock = 0.0
        while self.fed < whole or self.join.suspended():
            came = first + int(np.searchsorted(arrives, clock, side="right"))
            if came == self.fed and not self.join.suspended():
                clock = float(arrives[came - first])
                continue
            # The arrivals whose results may be let go in this turn.
            mine = np.arange(self.join.under_way_from, came)
            begun = time.thread_time()
            left = self._turn(came)
            clock += time.thread_time() - begun
            for piece in left:
                sums.take(replace(piece, produced=np.full(len(piece), clock)), first)
            upto = np.searchsorted(self.windows, self.join.released(mine)[0], side="right")
            rows = let_go[mine - first]
            reached = np.arange(len(self.windows)) < upto[:, None]
            let_go[mine - first] = np.where(reached, np.minimum(rows, clock), rows)
        means, _, counts = sums.responses(arrives, let_go)
        return tuple(means), tuple(counts)

    def _turn(self, upto: int) -> list[Released]:
        """Feed the arrivals up to one."""
        since = int(self.given.ts[self.fed - 1])
        left = list(self.join.process(self.given.passed(self.fed, upto, since)))
        self.fed = upto
        return left


def bursty(size: float, setup: ThreadSetup = SETUP) -> ThreadSetup:
    """The same with bursts of this expected size."""
    return replace(setup, burst=size)


def panel(x_label: str, x: Sequence[float], points: Sequence[Sequence[float]]) -> Panel:
    """Average response times of the three schedules over something, of the join alone."""
    title = f"Join alone, windows x {SETUP.scale:g}, {SETUP.load:.0%} load"
    return replace(common.averages(x_label, x, points, title), basis="thread time")
