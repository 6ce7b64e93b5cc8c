"""One server that takes arrivals in turn, and the two clocks that say how long each takes it.

The operator does its work in steps, each set off by the arrival of a tuple. A first-in-first-out
server takes the steps in that order however long they last, so what a step does never depends on
the clock, and one run's steps can be timed with any price c. (What the adaptive approach decides
depends on the clock, so it needs a run for each price.)

*Work clock*: counted comparisons times c, and a constant for each tuple: the same everywhere.
*Wall clock*: the seconds that the operator took, times the level of multiprogramming: paper 4
varies the number of concurrent queries, which is what makes c larger (section 7.2.1).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windrow.operators.build import Join

Seconds = NDArray[np.float64]


@dataclass(frozen=True)
class Work:
    """What each step did: stored tuples compared, tuples joined, seconds on the clock."""

    comparisons: NDArray[np.int64]
    joined: NDArray[np.int64]
    seconds: Seconds


@dataclass(frozen=True)
class WorkClock:
    """`c` seconds to join two tuples, `tp` more for each tuple."""

    c: float = 0.0
    tp: float = 0.0

    def service(self, work: Work) -> Seconds:
        """Seconds of service for each step, counted."""
        return np.asarray(self.c * work.comparisons + self.tp * work.joined, np.float64)

    def reading(self, join: Join) -> float:
        """The seconds so far, as the adaptive approach measures them."""
        tuples = sum(join.stored(stream)[0] for stream in range(2))
        return self.c * join.looked_at()[0] + self.tp * tuples


@dataclass(frozen=True)
class WallClock:
    """This machine's seconds, if it had `level` such queries to serve."""

    level: float = 1.0

    def service(self, work: Work) -> Seconds:
        """Seconds of service for each step, measured."""
        return self.level * work.seconds

    def reading(self, join: Join) -> float:
        """The time."""
        return self.level * time.perf_counter()


#: Tells how long steps keep the server busy.
Clock = WorkClock | WallClock


def finished(at: Seconds, service: Seconds) -> Seconds:
    """When each step is over: it begins once it has been set off and the step before is over.

    Three steps, the second of which is set off while the first is still going on:

    >>> finished(np.array([0.0, 1.0, 9.0]), np.array([3.0, 2.0, 1.0])).tolist()
    [3.0, 5.0, 10.0]
    """
    spent = np.cumsum(service)
    found: Seconds = spent + np.maximum.accumulate(at - (spent - service))
    return found
