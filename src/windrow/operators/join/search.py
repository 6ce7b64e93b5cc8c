"""How many streams are searched: which one is probed next, and where the condition is asked.

    order of probing:  from imp: clk (0.3 matches expected), then buy (2.1)
    condition:         imp.price < clk.bid AND clk.user = buy.user

    a tuple of imp:  clk bound: is the price below the bid?  -->  buy bound: is it the same user?

The stream with the fewest expected matches is probed first, by what probes have found lately and
how many of the tuples found have lately held against the parts of the condition that are asked
there. A part is asked as soon as the streams that it names are bound, in bulk. The order changes
the price only.

Asked so early, a part may fail (an overflow, a division by zero) on what is no result. Such
combinations go on, and are asked again when they are whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.task import Task
from windrow.model import WindrowError
from windrow.operators.join.judging import Part, Rows

#: So many tuples may arrive before the order of probing is chosen anew: at first few, then twice as
#: many each time.
LEAST_PATIENCE, PATIENCE = 1 << 6, 1 << 16
#: Probes of a stream that say how many matches to expect; older ones count half.
ENOUGH_PROBES = 1 << 12
#: Where partial combinations cannot wait, the condition is asked early only for a tuple that is
#: expected to find so many whole ones: asking about a block of few has its price, too.
WORTHWHILE = 1 << 13
#: Of a block on which a part fails, this share is not asked about in halves any more.
LEAST_SHARE = 1 / 64

#: Parts of a condition that are still to be asked.
Owed = AbstractSet[Part]


@dataclass
class Lately:
    """What trials have lately come to: tuples found by probes, or held by a part of a condition."""

    trials: float = 0.0
    hits: float = 0.0

    def note(self, trials: int, hits: int) -> None:
        """Let new trials count, and older ones less."""
        kept = 0.5 if self.trials + trials > ENOUGH_PROBES else 1.0
        self.trials = kept * self.trials + trials
        self.hits = kept * self.hits + hits

    def expected(self, unknown: float) -> float:
        """Hits to expect of a trial."""
        return self.hits / self.trials if self.trials else unknown


class Search:
    """The order of probing of a join's streams, and the levels at which its condition is asked.

    `expected`: what a probe of each stream is expected to find, until there have been some.
    `urgent`: whether partial combinations cannot wait for more until the condition is asked about.
    `first`: the stream to probe first whatever is measured, because one result of its rows is all
    that is wanted.
    """

    def __init__(
        self,
        task: Task,
        parts: Sequence[Part],
        urgent: bool,
        first: int | None = None,
        expected: Sequence[float] = (),
    ) -> None:
        self.streams = len(task.asked)
        self.expected = tuple(expected) or (0.0,) * self.streams
        self.parts = tuple(parts)
        self.urgent = urgent
        self.worthwhile = WORTHWHILE
        self.first = first
        self._task = task
        if self.streams == 2:
            # From one to the other: there is nothing to choose.
            task.probing.order[:] = [[0, 1], [1, 0]]
        self.begin()

    def begin(self) -> None:
        """Nothing has been measured."""
        self.lately = [Lately() for _ in range(self.streams)]
        self.held = {part: Lately() for part in self.parts}
        self._begin_from(0)

    def _begin_from(self, arrived: int) -> None:
        """So many tuples have arrived; what has been counted of them is noted."""
        self._seen = [(int(c.probes), int(c.found)) for c in self._task.counted]
        self.arrived, self._given = arrived, int(self._task.stand[0].patience)

    # -- the order of probing ----------------------------------------------------------------

    def choose(self, live: Sequence[int]) -> None:
        """Choose the order by what was measured; of what was not, by what is expected.

        Where that is not known either, streams with few live rows come first. Nothing may be under
        way.
        """
        stand = self._task.stand[0]
        if self.streams == 2:
            stand.patience = PATIENCE
            return
        self.arrived += self._given - int(stand.patience)
        stand.patience = self._given = min(max(self.arrived, LEAST_PATIENCE), PATIENCE)
        for stream, counted in enumerate(self._task.counted):
            now, before = (int(counted.probes), int(counted.found)), self._seen[stream]
            self.lately[stream].note(now[0] - before[0], now[1] - before[1])
            self._seen[stream] = now
        probing = self._task.probing
        for stream in range(self.streams):
            probing.order[stream] = self._order_from(stream, live)
        for stream in range(self.streams):
            early = not self.urgent or self._whole(stream) >= self.worthwhile
            for level in range(self.streams):
                probing.asks[stream, level] = early and bool(self.asked_at(stream, level))

    def _whole(self, arrived_on: int) -> float:
        """How many combinations a tuple that arrives on a stream is expected to find."""
        order = self._task.probing.order[arrived_on, 1:]
        return math.prod(self._found_by(int(stream)) for stream in order)

    def _found_by(self, stream: int) -> float:
        """Tuples of a stream that a probe is expected to find."""
        return self.lately[stream].expected(self.expected[stream])

    def _order_from(self, arrived_on: int, live: Sequence[int]) -> list[int]:
        """The order for tuples that arrive on a stream: the next one is the best of those left."""
        order, left = [arrived_on], set(range(self.streams)) - {arrived_on}

        def rank(stream: int) -> tuple[bool, float, int, int, int]:
            parts = self._known(order, stream)
            expected = self._found_by(stream)
            for part in parts:
                expected *= self.held[part].expected(1.0)
            return (stream != self.first, expected, -len(parts), live[stream], stream)

        while left:
            order.append(min(left, key=rank))
            left.remove(order[-1])
        return order

    # -- the parts of the condition ----------------------------------------------------------

    def _known(self, bound: Sequence[int], stream: int) -> list[Part]:
        """The parts of the condition that can be asked once a stream is bound beside others."""
        before = set(bound)
        now = before | {stream}
        return [part for part in self.parts if part.streams <= now and not part.streams <= before]

    def asked_at(self, arrived_on: int, level: int) -> list[Part]:
        """The parts of the condition that are first known at a level below the last."""
        if not 0 < level < self.streams - 1:
            return []
        order = [int(stream) for stream in self._task.probing.order[arrived_on]]
        return self._known(order[:level], order[level])

    def next_level(self, arrived_on: int, level: int) -> int | None:
        """The next level above one at which something is asked, but for the last."""
        levels = range(level + 1, self.streams - 1)
        return next((at for at in levels if self._task.probing.asks[arrived_on, at]), None)

    def left(self, arrived_on: int, level: int, owed: Owed) -> list[Part]:
        """The parts that are still to be asked once those up to a level have been, but for some."""
        now = {int(stream) for stream in self._task.probing.order[arrived_on, : level + 1]}
        return [part for part in self.parts if part in owed or not part.streams <= now]

    def ask_early(
        self, parts: Sequence[Part], rows: Rows, least: int = 0
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """For which partial combinations all of some parts hold, and on which one fails.

        A block that fails is asked about in halves, down to `least` combinations.
        """
        length = len(rows[0])
        none = np.zeros(length, np.bool_)
        try:
            return self.holds(parts, rows, length), none
        except WindrowError:
            least = least or max(1, int(length * LEAST_SHARE))
            if length <= least:
                return none, ~none
        middle = length // 2
        halves = [[mine[of] for mine in rows] for of in (slice(middle), slice(middle, None))]
        one, two = (self.ask_early(parts, half, least) for half in halves)
        return np.concatenate([one[0], two[0]]), np.concatenate([one[1], two[1]])

    def holds(self, parts: Sequence[Part], rows: Rows, length: int) -> NDArray[np.bool_]:
        """Which combinations all of some parts hold for; each is asked about what is left."""
        verdict = np.ones(length, np.bool_)
        for part in parts:
            asked = [mine[verdict] for mine in rows]
            held = part.holds(asked)
            self.held[part].note(len(held), int(held.sum()))
            verdict[verdict] = held
        return verdict

    # -- memory that outlives a process ------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """What was measured, as plain data."""
        measured = {"probed": self.lately, "held": self.held.values()}
        facts = {name: [[o.trials, o.hits] for o in each] for name, each in measured.items()}
        return {**facts, "arrived": self.arrived}

    def attach(self, facts: dict[str, Any]) -> None:
        """Go on from what was measured."""
        self.lately = [Lately(*each) for each in facts["probed"]]
        self._begin_from(facts["arrived"])
        # A restart may have brought another condition, of which nothing is known yet.
        for part, each in zip(self.parts, facts["held"], strict=False):
            self.held[part] = Lately(*each)


def bound_rows(block: NDArray[np.int64], streams: int) -> list[NDArray[np.int64]]:
    """The row ids of partial combinations, by stream."""
    return list(block[:streams])
