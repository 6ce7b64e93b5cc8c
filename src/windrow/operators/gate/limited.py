"""The gate of a join whose buffers have a limit: it picks the strategy (paper 5, section 4).

    arrivals --> watched --> what does each strategy ask for? --> the quickest that the limit allows
                             sorting, spilling: on or off     --> how much the join may store

What a batch shows decides about the next one, and is written down with the standing. The limit
counts what waits in memory and what the join stores: 40 and 32 bytes a tuple, and the bytes of its
row. What the sort buffer may have is half of it at most; then it lets what waits go, as it arrived,
which costs order and no results. The rest is the join's, divided among streams by what the model
asks: there the oldest tuples leave at the limit, and are counted (`forced`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from windrow.model import JoinPlan, Strategy
from windrow.operators.arrivals import Arrivals
from windrow.operators.gate import direction, spill
from windrow.operators.gate.delayed import Delayed, given
from windrow.operators.gate.gate import Passed
from windrow.operators.gate.sorting import Sorting
from windrow.operators.gate.spill import Queueing
from windrow.operators.gate.spilling import Spilling
from windrow.operators.gate.strategies import BY_LATENCY, DELAYS, Known, Prices, choice, needs
from windrow.operators.payload import Payload
from windrow.operators.stage import Figures
from windrow.state.room import HEAP, Room

#: Rows of a batch that are looked at for their bytes.
LOOKED_AT = 1 << 10
#: Fewer tuples than this are no block.
LEAST_BLOCK = 1 << 5


class Limited(Delayed):
    """A gate with both delays, of which it uses what it must."""

    def __init__(
        self,
        plan: JoinPlan,
        payloads: Sequence[Payload],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        assert plan.memory is not None
        assert plan.memory.limit is not None
        self.memory, self.limit = plan.memory, plan.memory.limit
        self.payloads = payloads
        self.names = [stream.name for stream in plan.streams]
        self.sorting = Sorting(given(plan), counted=True)
        self.spilling = Spilling(len(plan.streams), clock)
        super().__init__(plan, (self.sorting, self.spilling))
        # A strategy that was asked for by name stays.
        named = self.memory.strategy
        self.among: tuple[Strategy, ...] = BY_LATENCY if named == "data" else (named,)

    def begin(self, room: Room = HEAP) -> Limited:
        """Start with nothing waiting, and the quickest strategy."""
        super().begin(room)
        #: Does all pass as it comes, since there was no room to find out which way keys go?
        self.plain = False
        self.strategy: Strategy = self.among[0]
        self.needed = 0
        #: The bytes of a stream's rows: the largest mean of a batch so far.
        self.row_bytes = [0.0 for _ in self.names]
        return self

    def pass_on(
        self, tuples: Sequence[Arrivals], ends: Sequence[Arrivals], after: Sequence[int]
    ) -> Passed:
        """Take a batch in; give out what is joined now, and how much may be stored."""
        self._weigh(tuples)
        self._begin_with_what_is_given()
        self._give_up(tuples)
        kinds = DELAYS[self.strategy]
        prices, known = self._prices(), self.known()
        room = self._make_room_on_disk(prices)
        self.sorting.active, self.spilling.active = Sorting in kinds, Spilling in kinds and room
        self.sorting.most = self._sorted_at_most(known, prices)
        passed = super().pass_on(tuples, ends, after)
        known = self.known()
        limits = self._divided(known, prices)
        among: Sequence[Strategy] = ("data",) if self.plain else self.among
        needed = needs(known, prices, self._waits(), among)
        chosen = choice(needed, self.limit, self.strategy)
        self.switches += chosen != self.strategy
        self.strategy, self.needed = chosen, needed[chosen]
        return replace(passed, limits=limits)

    def _make_room_on_disk(self, prices: Prices) -> bool:
        """Make blocks so small that the ends of queues, in memory, are a quarter of the limit.

        False: that is too small for files.
        """
        most = int(self.limit / 4 / (2 * sum(prices.waiting)))
        block = min(spill.BLOCK, most)
        self.spilling.queue_by(Queueing(max(1, block), max(1, min(spill.AHEAD, block))))
        return block >= min(spill.BLOCK, LEAST_BLOCK)

    # -- what is asked for, and what there is ----------------------------------------------

    def _weigh(self, tuples: Sequence[Arrivals]) -> None:
        for stream, (payload, side) in enumerate(zip(self.payloads, tuples, strict=True)):
            if len(side.row):
                mean = float(np.mean(payload.sizes(side.row[:LOOKED_AT])))
                self.row_bytes[stream] = max(self.row_bytes[stream], mean)

    def _begin_with_what_is_given(self) -> None:
        """Before the first tuple the strategy is picked by bounds, if there are bounds of all."""
        known = Known.of(self.memory, self.names)
        if not self.count and known is not None:
            needed = needs(known, self._prices(), [False] * len(self.names), self.among)
            self.strategy = choice(needed, self.limit)
            self.needed = needed[self.strategy]

    def _give_up(self, tuples: Sequence[Arrivals]) -> None:
        """Let input pass as it comes, if what waits for its direction is too much.

        Once it has shown that it ascends, which takes no room, it can be delayed after all.
        """
        if self.direction.flip is None:
            pairs = zip(self.direction.early, tuples, strict=True)
            counts = [len(early) + len(side.ts) for early, side in pairs]
            prices = self._prices().waiting
            bytes_ = sum(count * price for count, price in zip(counts, prices, strict=True))
            self.plain = bytes_ > self.limit
        if self.plain:
            seen = self.sorting.ordering
            ways = [(seen.arrived(s), seen.scrambling(s)) for s in range(len(self.names))]
            self.plain = not any(n >= direction.LEAST and 2 * k + 2 <= n for n, k in ways)
            self.direction.flip = 0
        if self.plain:
            self.strategy = "data"

    def _prices(self) -> Prices:
        return Prices.of_rows(self.row_bytes)

    def known(self) -> Known:
        """What is given of the streams, and of what is not what they have shown so far."""
        seen, memory, names = self.sorting.ordering, self.memory, self.names
        streams = range(len(names))
        k = [seen.scrambling(i) for i in streams]
        ratio = [[1.0 for _ in streams] for _ in streams]
        lag = [[0 for _ in streams] for _ in streams]
        for i in streams:
            for j in streams:
                pair = seen.pair(i, j) if i != j else None
                # Of a stream whose partner is silent all may be needed.
                lag[i][j] = memory.lag.get(
                    (names[i], names[j]), seen.arrived(i) if pair is None else pair.lag
                )
                if names[i] in memory.rate and names[j] in memory.rate:
                    ratio[i][j] = memory.rate[names[i]] / memory.rate[names[j]]
                elif pair is not None and k[j]:
                    ratio[i][j] = pair.over / k[j]
        times = [memory.multiplicity.get(names[i], max(1, seen.multiplicity(i))) for i in streams]
        now = [trail.ahead for trail in self.spilling.trails]
        return Known(k, times, ratio, lag, now, self.spilling.queueing)

    def _waits(self) -> list[bool]:
        """Which streams the disk is worth its time for, and has room for."""
        queues = zip(self.spilling.waits, self.spilling.spills, strict=True)
        return [worth and queue.in_memory() <= 3 * queue.block for worth, queue in queues]

    def _sorted_at_most(self, known: Known, prices: Prices) -> list[int]:
        """The tuples of each stream that may wait to be sorted: of half of the limit, its share."""
        whole = sum(k * price for k, price in zip(known.k, prices.waiting, strict=True))
        return [int(self.limit / 2 * k / whole) if k else 0 for k in known.k]

    def _divided(self, known: Known, prices: Prices) -> list[int]:
        """The tuples of each stream that the join may store, with the one that arrives."""
        taken = sum(
            waiting * price
            for waiting, price in zip(self._in_memory(), prices.waiting, strict=True)
        )
        asked = [known.stored(self.strategy, i, wait) for i, wait in enumerate(self._waits())]
        whole = sum(count * price for count, price in zip(asked, prices.stored, strict=True))
        room = max(0.0, self.limit - taken)
        # What nobody asks for now may be asked for before the next batch: by whom is not known.
        share, rest = min(1.0, room / whole), max(0.0, room - whole) / len(asked)
        pairs = zip(asked, prices.stored, strict=True)
        return [max(1, int(share * count + rest / price) - 1) for count, price in pairs]

    def _in_memory(self) -> list[int]:
        per_stream, _ = super().figures()
        pairs = zip(per_stream["waiting"], per_stream["spilled"], strict=True)
        return [waiting - spilled for waiting, spilled in pairs]

    # -- figures and what is written down --------------------------------------------------

    def figures(self) -> Figures:
        """As of any gate, with the strategy and what it asks for."""
        per_stream, whole = super().figures()
        number = 1 + get_args(Strategy).index(self.strategy)
        return per_stream, whole | {"strategy_number": number, "asked_bytes": self.needed}

    def standing(self) -> dict[str, Any]:
        """The strategy, and what was weighed."""
        own = {"strategy": self.strategy, "needed": self.needed, "row bytes": self.row_bytes}
        return {**super().standing(), **own, "switches": self.switches, "plain": self.plain}

    def stand(self, standing: dict[str, Any]) -> None:
        """Take a standing over."""
        super().stand(standing)
        self.strategy, self.needed = standing["strategy"], standing["needed"]
        self.row_bytes, self.switches = list(standing["row bytes"]), standing["switches"]
        self.plain = standing["plain"]
