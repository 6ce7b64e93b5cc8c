"""The three schedules by the wall clock: arrivals come in real time, at 80 % load of this machine.

    turn    all that has come by now goes in; a budget ends the turn at a window's boundary
    leave   what the turn found and released reaches its queries at the end of the turn

A hundred tuples a second would hardly load a machine of today, so arrivals come faster: first the
same arrivals are joined without waiting for any, under LWO, and the seconds that this takes say how
much. A turn costs as much as a few thousand results, however little it does; two tuples agree ten
times as often as in the paper, so that a tuple with its 1,200 results costs about as much.

This is the join and its scheduler. The stage behind it, which puts results in order, is left out:
it looks at all that is held in each turn, which is next to nothing under LWO and MQT, and under SWF
more than the join itself does in turns as short as these.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from windrow.experiments.paper2 import common, driver
from windrow.experiments.paper2.common import SCHEDULES, WINDOWS, Setup
from windrow.experiments.paper2.driver import STREAMS, Loaded, Seconds, Sums
from windrow.model import Schedule
from windrow.operators.released import Released
from windrow.workload.arrivals import MICROS


@dataclass(frozen=True)
class WallSetup:
    """Streams as in `Setup`; `budget` stored tuples are scanned in a turn, `load` is LWO's."""

    windows: tuple[float, ...] = WINDOWS["Small-Large"]
    burst: float = 1
    measured: int = 20_000
    selectivity: float = 0.02
    load: float = 0.8
    budget: int = 6_000
    seed: int = 1

    def parameters(self) -> dict[str, Any]:
        """What a result says about the set-up."""
        return {
            "tuples measured": self.measured,
            "selectivity": self.selectivity,
            "load of LWO": self.load,
            "tuples scanned in a turn": self.budget,
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


SETUP = WallSetup()


@lru_cache(maxsize=64)
def all_three(setup: WallSetup) -> dict[Schedule, Timed]:
    """The three schedules, with the same arrivals at the same rate."""
    given = common.given(
        Setup(
            windows=setup.windows,
            burst=setup.burst,
            measured=setup.measured,
            selectivity=setup.selectivity,
        ),
        setup.seed,
    )
    start = driver.loaded(given, round(setup.windows[-1] * MICROS))
    # The first run compiles what is not compiled yet.
    took = [_Turns(start, setup, "lwo").without_waiting() for _ in range(2)][-1]
    arrives = given.arrives * (took / setup.load / float(given.arrives[-1]))
    rate = setup.measured / float(arrives[-1])
    return {s: Timed(*_Turns(start, setup, s).in_time(arrives), rate) for s in SCHEDULES}


class _Turns:
    """A join that is fed with what has come."""

    def __init__(self, start: Loaded, setup: WallSetup, schedule: Schedule) -> None:
        self.given, self.setup = start.input, setup
        self.windows = [round(window * MICROS) for window in setup.windows]
        self.join = driver.standing(start, dict.fromkeys(self.windows, 1), schedule)
        self.fed = self.given.first

    def without_waiting(self) -> float:
        """Seconds to join all, turn by turn of as many arrivals as the budget is good for."""
        whole = len(self.given.ts)
        a_tuple = self.setup.selectivity * self.given.first / STREAMS
        step = max(1, round(self.setup.budget / max(a_tuple, 1)))
        begun = time.perf_counter()
        while self.fed < whole:
            self._turn(min(whole, self.fed + step))
        return time.perf_counter() - begun

    def in_time(self, arrives: Seconds) -> tuple[tuple[float, ...], tuple[int, ...]]:
        """By window, the mean response time and results, where arrivals come in real time."""
        first, whole = self.given.first, len(self.given.ts)
        self.join.budget = self.setup.budget
        sums = Sums(self.windows, whole - first)
        let_go = np.full((whole - first, len(self.windows)), np.inf)
        begun = time.perf_counter()
        while self.fed < whole or self.join.suspended():
            now = time.perf_counter() - begun
            came = first + int(np.searchsorted(arrives, now, side="right"))
            if came == self.fed and not self.join.suspended():
                time.sleep(max(0.0, float(arrives[came - first]) - now))
                continue
            # The arrivals whose results may be let go in this turn.
            mine = np.arange(self.join.under_way_from, came)
            left = self._turn(came)
            done = time.perf_counter()
            for piece in left:
                at_the_end = np.full(len(piece), done - begun)
                sums.take(replace(piece, produced=at_the_end), first)
            upto = np.searchsorted(self.windows, self.join.released(mine)[0], side="right")
            rows = let_go[mine - first]
            reached = np.arange(len(self.windows)) < upto[:, None]
            let_go[mine - first] = np.where(reached, np.minimum(rows, done - begun), rows)
            # To look at results is no part of the join: the clock stands still.
            begun += time.perf_counter() - done
        means, _, counts = sums.responses(arrives, let_go)
        return tuple(means), tuple(counts)

    def _turn(self, upto: int) -> list[Released]:
        """Feed the arrivals up to one."""
        since = int(self.given.ts[self.fed - 1])
        left = list(self.join.process(self.given.passed(self.fed, upto, since)))
        self.fed = upto
        return left


def bursty(size: float, setup: WallSetup = SETUP) -> WallSetup:
    """The same with bursts of this expected size."""
    return replace(setup, burst=size)
