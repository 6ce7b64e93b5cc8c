"""What the adaptive policy measures: rates of arrival, and what it costs to join two tuples.

Rates are tuples a second of event time, since that is what fills a window and, in steady state,
what arrives. c is the time that the join took, divided by the pairs of an arriving tuple and a
tuple in the other's window: paper 4's "time to join two tuples", whatever the access path, so that
c|w|λ_1λ_2 is the share of a second that one stream's tuples take. Older figures fade: after a
time constant (the longest window, a second at least) they count 1/e. Before each stream has sent
a few tuples there is nothing to go by, and the load counts as none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import exp
from typing import Any

from windrow.model import BEGINNING, END, LARGEST_MICROS

#: Microseconds.
SECOND = 1_000_000
#: Tuples of each stream before which its rate is a matter of chance.
FEWEST = 10
#: A window without a bound says nothing about how fast figures should fade.
LONGEST_FADE = 3600 * SECOND


class Rates:
    """Smoothed figures of the streams of a join with these reaches (µs).

    >>> rates = Rates([10 * SECOND, 10 * SECOND])
    >>> for second in range(100):
    ...     rates.observe([10, 1], second * SECOND, 0.0022, 10 * 10 + 1 * 100)
    >>> [round(rate, 2) for rate in rates.per_second()]
    [10.0, 1.0]
    >>> round(rates.load(), 6)
    0.0011
    """

    def __init__(self, reaches: Sequence[int]) -> None:
        self.reaches = [min(max(reach, 0), LARGEST_MICROS) for reach in reaches]
        self.fade = min(max(*self.reaches, SECOND), LONGEST_FADE)
        self.counts = [0.0] * len(reaches)
        self.elapsed = 0.0
        self.seconds = 0.0
        self.pairs = 0.0
        self.now = BEGINNING
        self.seen = [0] * len(reaches)

    def observe(self, tuples: Sequence[int], newest: int, seconds: float, pairs: float) -> None:
        """A batch: tuples by stream, the largest time so far, and what joining it took."""
        if BEGINNING < self.now < newest < END:
            passed = newest - self.now
            kept = exp(-passed / self.fade)
            self.counts = [kept * count for count in self.counts]
            self.elapsed = kept * self.elapsed + passed / SECOND
            self.seconds, self.pairs = kept * self.seconds, kept * self.pairs
        if self.now == BEGINNING:
            # The first tuples came in no time at all: they begin the clock, and are not counted.
            # What they took may have been the compiler's.
            tuples, seconds, pairs = [0 for _ in tuples], 0.0, 0.0
        if newest < END:
            self.now = max(self.now, newest)
        self.seen = [c + n for c, n in zip(self.seen, tuples, strict=True)]
        self.counts = [c + n for c, n in zip(self.counts, tuples, strict=True)]
        self.seconds += seconds
        self.pairs += pairs

    def per_second(self) -> list[float]:
        """λ of each stream."""
        return [count / self.elapsed if self.elapsed else 0.0 for count in self.counts]

    def cost(self) -> float:
        """c, in seconds."""
        return self.seconds / self.pairs if self.pairs else 0.0

    def load(self) -> float:
        """The sum of c·T·λ_X·λ_Y over the pairs of streams, T being the longer of their windows.

        Of two streams it is paper 4's c|w|λ_1λ_2.
        """
        if min(self.seen) < FEWEST or self.elapsed < 1:
            return 0.0
        rates = self.per_second()
        products = [
            max(self.reaches[one], self.reaches[two]) / SECOND * rates[one] * rates[two]
            for one, two in combinations(range(len(rates)), 2)
        ]
        return self.cost() * sum(products)

    def snapshot(self) -> dict[str, Any]:
        """As plain data."""
        names = ("counts", "elapsed", "seconds", "pairs", "now", "seen")
        return {name: getattr(self, name) for name in names}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """What a snapshot was taken of."""
        for name, value in snapshot.items():
            setattr(self, name, value)
