"""What each strategy of paper 5 delays, and what its model asks for (section 4).

    data     k_i + over + L + 1                      over: r_i k_j / r_j, the largest sum over all j
    msf      Mul - 1 + over + L + 1, and k_i sorted       over: r_i (Mul(S_j) - 1) / r_j
    dbf      k_i + C + over + 1                      of a stream that waits, else as data
    hybrid   Mul - 1 + C + over + 1, and k_i sorted       likewise

The 1 is the partner itself (`cost.paper5`); sorted streams have the scrambling factor Mul - 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from windrow.model import DataMemory, Strategy
from windrow.operators.gate.sorting import Sorting
from windrow.operators.gate.spill import Queueing
from windrow.operators.gate.spilling import Spilling
from windrow.operators.gate.turns import WIDTH
from windrow.state.join_state import RECORD_BYTES

#: What delays input, in this order.
DELAYS: dict[Strategy, tuple[type[Sorting] | type[Spilling], ...]] = {
    "data": (),
    "msf": (Sorting,),
    "dbf": (Spilling,),
    "hybrid": (Sorting, Spilling),
}
#: From the one whose results come soonest to the one whose results come last (figure 11).
BY_LATENCY: tuple[Strategy, ...] = ("data", "dbf", "msf", "hybrid")
#: What a strategy that is quicker than the present one may ask for, of the limit.
SPARE = 3 / 4


@dataclass(frozen=True)
class Known:
    """What is known of streams, or taken for true, by number.

    k: scrambling factors. times: multiplicities. ratio: r_i / r_j. lag: L from S_i to S_j, of the
    moment k_j tuples of S_j ago if it was found out. now: by stream, how far it is ahead of the
    slowest of the others, which is what sorted streams still have to wait for. queueing: C, and the
    blocks on disk.
    """

    k: Sequence[int]
    times: Sequence[int]
    ratio: Sequence[Sequence[float]]
    lag: Sequence[Sequence[int]]
    now: Sequence[int]
    queueing: Queueing = field(default_factory=Queueing.usual)

    @classmethod
    def of(cls, memory: DataMemory, names: Sequence[str]) -> Known | None:
        """What is given of the streams; None unless all is."""
        pairs = [(i, j) for i in names for j in names if i != j]
        if not all(name in memory.k and name in memory.rate for name in names):
            return None
        if not all(pair in memory.lag for pair in pairs):
            return None
        return cls(
            [memory.k[name] for name in names],
            [memory.multiplicity.get(name, memory.k[name] + 1) for name in names],
            [[memory.rate[i] / memory.rate[j] for j in names] for i in names],
            [[memory.lag.get((i, j), 0) for j in names] for i in names],
            [max(memory.lag[i, j] for j in names if j != i) for i in names],
        )

    def stored(self, strategy: Strategy, i: int, waits: bool = True) -> int:
        """How many tuples of S_i the join stores. `waits`: whether S_i may wait on disk.

        >>> lags = [[0, 2000], [-90, 0]]
        >>> known = Known([4, 6], [2, 1], [[1, 1], [1, 1]], lags, [2000, -90])
        >>> [known.stored(strategy, 0) for strategy in ("data", "msf", "dbf", "hybrid")]
        [2011, 2002, 1035, 1026]
        """
        kinds, most = DELAYS[strategy], 1
        is_sorted = Sorting in kinds
        disorder = [times - 1 for times in self.times] if is_sorted else self.k
        for j in range(len(self.k)):
            if j != i:
                ahead = self.now[i] if is_sorted else self.lag[i][j]
                if Spilling in kinds and waits:
                    ahead = min(ahead, self.queueing.ahead)
                over = math.ceil(self.ratio[i][j] * disorder[j])
                most = max(most, disorder[i] + over + ahead + 1)
        return most

    def waiting(self, strategy: Strategy, i: int, waits: bool = True) -> int:
        """How many tuples of S_i wait in memory: to be sorted, and as ends of a queue on disk."""
        kinds = DELAYS[strategy]
        queue = 2 * self.queueing.block if Spilling in kinds and waits else 0
        return queue + (self.k[i] if Sorting in kinds else 0)


@dataclass(frozen=True)
class Prices:
    """Bytes of a tuple, by stream: one that is stored, and one that waits."""

    stored: Sequence[float]
    waiting: Sequence[float]

    @classmethod
    def of_rows(cls, bytes_: Sequence[float]) -> Prices:
        """Those of tuples whose rows have so many bytes."""
        return cls([RECORD_BYTES + row for row in bytes_], [8 * WIDTH + row for row in bytes_])


def needs(
    known: Known, prices: Prices, waits: Sequence[bool], among: Sequence[Strategy] = BY_LATENCY
) -> dict[Strategy, int]:
    """The bytes that each strategy asks for."""
    streams = range(len(known.k))
    return {
        strategy: math.ceil(
            sum(
                known.stored(strategy, i, waits[i]) * prices.stored[i]
                + known.waiting(strategy, i, waits[i]) * prices.waiting[i]
                for i in streams
            )
        )
        for strategy in among
    }


def choice(needed: dict[Strategy, int], limit: int, now: Strategy | None = None) -> Strategy:
    """The quickest strategy that the limit suffices for, else the one that asks for least.

    One that is quicker than the present one must ask for clearly less, lest it comes and goes.

    >>> needed = {"data": 90, "dbf": 70, "msf": 80, "hybrid": 60}
    >>> [choice(needed, limit) for limit in (100, 75, 65, 50)]
    ['data', 'dbf', 'hybrid', 'hybrid']
    >>> choice(needed, 100, now="msf"), choice(needed, 200, now="msf")
    ('dbf', 'data')
    """
    order = list(needed)
    present = order.index(now) if now in order else 0
    for at, strategy in enumerate(order):
        if needed[strategy] <= (SPARE * limit if at < present else limit):
            return strategy
    return min(order, key=lambda strategy: needed[strategy])
