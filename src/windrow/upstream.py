"""What joins hand on to the join that takes their outputs: paper 5 (Wu et al.), section 3.2.

    S1, S2, S3 --> J1 --> S7 --+
                               +--> J3      J3 is told k, rate and lag of S7 and S8,
    S4, S5, S6 --> J2 --> S8 --+            by what is known of S1 to S6

k and rate of an output are bounded by those of the inputs: Equations (9) and (10). A result is as
late as its latest tuple, so how far S7 is ahead of S8 is how far the slowest input of J1 is ahead
of the slowest of J2. A tuple of that input stands for as many results as the multiplicities of the
others make, so the lag grows by as much; where S7 is behind, 0 bounds it.

Rates are counted over the latest arrivals, and a ratio of two upper bounds is no bound: where J1
slows down, (9) does not tell. So a lag is the largest that there can be now, with all that has come
since it was known. This is for `MemoryManager.take`, again and again, and no promise.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windrow.cost.paper5 import Input, output, slowest
from windrow.model import DataMemory
from windrow.state.ordering import Ordering

Numbers = NDArray[np.int64]

#: Rates are counted over so many arrivals at least, of all streams.
LEAST_ARRIVALS = 1000


class Upstream:
    """The inputs of several joins, watched together.

    Two joins of two streams, all in order; the second runs two keys behind the first.

    >>> upstream = Upstream([2, 2])
    >>> upstream.observe(np.array([0, 1, 0, 1, 0, 1, 2, 3]), np.array([1, 1, 2, 2, 3, 3, 1, 1]))
    >>> upstream.output(0), upstream.lag(0, 1)
    (Input(k=0, rate=6, multiplicity=1), 2)
    >>> upstream.memory(["s7", "s8"]).lag
    {('s7', 's8'): 2, ('s8', 's7'): 0}

    Parameters
    ----------
    joins: how many streams each join has; streams are numbered through.
    k: scrambling factors that are known before, by stream.
    sorts: whether the joins sort their streams first (the strategies "msf" and "hybrid"): then only
        equal keys are out of order, and a tuple is joined k tuples later than it comes.
    """

    def __init__(
        self, joins: Sequence[int], k: Sequence[int] | None = None, *, sorts: bool = False
    ) -> None:
        self.sorts = sorts
        ends = np.cumsum(joins).tolist()
        self.joins = [range(end - size, end) for end, size in zip(ends, joins, strict=True)]
        self.ordering = Ordering(ends[-1], k, counted=True)
        #: How many tuples of each stream had come, now and at earlier moments.
        self._arrived = deque([np.zeros(ends[-1], np.int64)])

    def observe(self, streams: Numbers, keys: Numbers) -> None:
        """Take tuples in, in order of arrival: the stream and the key of each."""
        self.ordering.observe(streams, keys)
        now = self._arrived[-1] + np.bincount(streams, minlength=len(self._arrived[-1]))
        self._arrived.append(now)
        known = [self.ordering.scrambling(stream) for stream in range(len(now))]
        stretch = max(LEAST_ARRIVALS, sum(known))
        while len(self._arrived) > 2 and (now - self._arrived[1]).sum() >= stretch:
            self._arrived.popleft()

    def inputs(self, join: int) -> list[Input]:
        """What is known of a join's streams; rates are tuples over one stretch of time."""
        came = self._arrived[-1] - self._arrived[0]
        found = []
        for stream in self.joins[join]:
            multiplicity = max(1, self.ordering.multiplicity(stream))
            k = 0 if self.sorts else self.ordering.scrambling(stream)
            k = max(k, multiplicity - 1)
            found.append(Input(k, max(1, int(came[stream])), multiplicity))
        return found

    def output(self, join: int) -> Input:
        """Bounds of a join's output: Equations (9) and (10)."""
        return output(self.inputs(join))

    def lag(self, one: int, other: int) -> int | None:
        """How many results one join is ahead of another, at most; None while that is not known."""
        inputs = self.inputs(one)
        mine, its = self._slowest(one), self._slowest(other)
        if mine is None or its is None:
            return None
        pair = self.ordering.pair(mine, its)
        if pair is None:
            return None
        which = mine - self.joins[one].start
        whole = math.prod(each.multiplicity for each in inputs)
        # What has come since the moment of that lag may have added to it.
        ahead = pair.lag + pair.over + (self.ordering.scrambling(its) if self.sorts else 0)
        return max(0, ahead) * (whole // inputs[which].multiplicity)

    def _slowest(self, join: int) -> int | None:
        """The input that runs behind the others, by the largest lags that there can be now."""
        streams = self.joins[join]
        lags = []
        for i in streams:
            pairs = [self.ordering.pair(i, j) if j != i else None for j in streams]
            if any(pair is None for j, pair in zip(streams, pairs, strict=True) if j != i):
                return None
            lags.append([0 if pair is None else pair.lag + pair.over for pair in pairs])
        return streams.start + slowest(lags)

    def memory(self, names: Sequence[str]) -> DataMemory:
        """What is known of the outputs, for the join that takes them under these names."""
        outputs = [self.output(join) for join in range(len(self.joins))]
        lags = {
            (names[i], names[j]): self.lag(i, j)
            for i in range(len(names))
            for j in range(len(names))
            if i != j
        }
        return DataMemory(
            k={name: each.k for name, each in zip(names, outputs, strict=True)},
            rate={name: each.rate for name, each in zip(names, outputs, strict=True)},
            lag={pair: lag for pair, lag in lags.items() if lag is not None},
            multiplicity={n: each.multiplicity for n, each in zip(names, outputs, strict=True)},
        )
