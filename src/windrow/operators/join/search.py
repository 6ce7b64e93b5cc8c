"""How many streams are searched: which one is probed next, and where the condition is asked.

    order of probing:  clk (0.3 matches expected), then buy (2.1)
    condition:         imp.price < clk.bid AND clk.user = buy.user

    a tuple of imp:  clk bound: is the price below the bid?  -->  buy bound: is it the same user?

The stream with the fewest expected matches is probed first, by what probes have found lately. A
part of the condition is asked as soon as the streams that it names are bound, in bulk. The order
changes the price only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.task import Task
from windrow.operators.join.judging import Part

#: So many tuples may arrive before the order of probing is chosen anew.
PATIENCE = 1 << 16
#: Probes of a stream that say how many matches to expect; older ones count half.
ENOUGH_PROBES = 1 << 12


@dataclass
class Lately:
    """What probes of a stream have found lately."""

    probes: float = 0.0
    found: float = 0.0

    def note(self, probes: int, found: int) -> None:
        """Let new probes count, and older ones less."""
        kept = 0.5 if self.probes + probes > ENOUGH_PROBES else 1.0
        self.probes = kept * self.probes + probes
        self.found = kept * self.found + found

    def expected(self) -> float | None:
        """Matches to expect of a probe; None if there was none."""
        return self.found / self.probes if self.probes else None


class Search:
    """The order of probing of a join's streams, and the levels at which its condition is asked.

    `staged`: whether partial combinations can wait for the condition; else it is asked at the end.
    `first`: the stream to probe first whatever is measured, because one result of its rows is all
    that is wanted.
    """

    def __init__(
        self, task: Task, parts: Sequence[Part], staged: bool, first: int | None = None
    ) -> None:
        self.streams = len(task.asked)
        self.parts = tuple(parts)
        self.staged = staged and self.streams > 2
        self.first = first
        self._task = task
        self.begin()

    def begin(self) -> None:
        """Nothing has been measured."""
        self.lately = [Lately() for _ in range(self.streams)]
        self._seen = [(int(c.probes), int(c.found)) for c in self._task.counted]

    def choose(self, live: Sequence[int]) -> None:
        """Choose the order by what was measured; of what was not, streams with few live rows first.

        Nothing may be under way.
        """
        self._task.stand[0].patience = PATIENCE
        if self.streams == 2:
            return
        for stream, counted in enumerate(self._task.counted):
            now, before = (int(counted.probes), int(counted.found)), self._seen[stream]
            self.lately[stream].note(now[0] - before[0], now[1] - before[1])
            self._seen[stream] = now

        def rank(stream: int) -> tuple[bool, float, int]:
            expected = self.lately[stream].expected()
            return (stream != self.first, -1.0 if expected is None else expected, live[stream])

        self._task.probing.order[:] = sorted(range(self.streams), key=rank)
        if self.staged:
            self._task.probing.asks[:] = [
                [bool(self.asked_at(stream, level)) for level in range(self.streams)]
                for stream in range(self.streams)
            ]

    def bound(self, stream: int, level: int) -> list[int]:
        """The streams that are bound at a level, where a tuple arrived on a stream."""
        others = [int(each) for each in self._task.probing.order if each != stream]
        return [stream, *others[:level]]

    def asked_at(self, stream: int, level: int) -> list[Part]:
        """The parts of the condition that are first known at a level below the last."""
        if not 0 < level < self.streams - 1:
            return []
        now, before = (set(self.bound(stream, at)) for at in (level, level - 1))
        return [part for part in self.parts if part.streams <= now and not part.streams <= before]

    def next_level(self, stream: int, level: int) -> int | None:
        """The next level above one at which something is asked, but for the last."""
        levels = range(level + 1, self.streams - 1)
        return next((at for at in levels if self._task.probing.asks[stream, at]), None)

    def left(self, stream: int, level: int) -> list[Part]:
        """The parts that are still to be asked once those up to a level have been."""
        now = set(self.bound(stream, level))
        return [part for part in self.parts if not part.streams <= now]

    # -- memory that outlives a process ----------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """What was measured, as plain data."""
        return {"probed": [[each.probes, each.found] for each in self.lately]}

    def attach(self, facts: dict[str, Any]) -> None:
        """Take it over."""
        self.lately = [Lately(*each) for each in facts["probed"]]


def bound_rows(block: NDArray[np.int64], streams: int) -> list[NDArray[np.int64]]:
    """The row ids of partial combinations, by stream."""
    return list(block[:streams])
