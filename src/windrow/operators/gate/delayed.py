"""The gate of a join without windows that sorts or spills first (paper 5, section 4).

    time order --> which way do keys go? --> sorting --> spilling --> the join, by turns
                                             msf         dbf          hybrid: both

The delays come one after the other, and neither knows the other. What waits of a tuple are five
numbers: the key's word, its number among all arrivals, time, key hash and row id.

What delays streams changes how far they are ahead of each other and how fast they come, so of what
is given only their order counts for the join behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from windrow.model import END, DataMemory, JoinPlan
from windrow.operators.arrivals import Arrivals, Rows
from windrow.operators.gate.direction import Direction
from windrow.operators.gate.gate import Gate, Passed, Past
from windrow.operators.gate.turns import MOST_WORD, NUMBER, ROW, WIDTH, WORD, Queue
from windrow.operators.stage import Figures, Handover
from windrow.state.memory import words
from windrow.state.ordering import NOTHING
from windrow.state.room import HEAP, Room


class Delay(Protocol):
    """A place where tuples wait."""

    name: str

    @staticmethod
    def leaves(memory: DataMemory) -> DataMemory:
        """What is known of streams that have been delayed."""

    def begin(self, room: Room) -> None:
        """Nothing waits."""

    def pass_on(self, queues: Sequence[Queue], ended: Sequence[bool]) -> list[Queue]:
        """Take a batch in; give out what passes. `ended`: streams of which nothing more comes."""

    def rows(self, stream: int) -> Rows:
        """The row ids that wait."""

    def held(self, stream: int) -> int:
        """How many tuples of a stream wait."""

    def passed_up_to(self) -> Rows | None:
        """Of each stream, a word such that what passes from now on is above; None: not known."""

    def figures(self) -> Figures: ...
    def forget_peaks(self) -> None: ...
    def handover(self) -> Handover: ...
    def attach(
        self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room
    ) -> None: ...
    def standing(self) -> dict[str, Any]: ...
    def stand(self, standing: dict[str, Any]) -> None: ...


class Delayed(Gate):
    """A gate made of delays."""

    def __init__(self, plan: JoinPlan, delays: Sequence[Delay]) -> None:
        super().__init__(plan)
        self.delays = delays
        self.given = given(plan)

    def begin(self, room: Room = HEAP) -> Delayed:
        """Start with nothing waiting."""
        super().begin(room)
        self.direction = Direction(self.given)
        #: The tuples that have arrived.
        self.count = 0
        for delay in self.delays:
            delay.begin(room)
        return self

    # -- a batch ---------------------------------------------------------------------------

    def pass_on(
        self, tuples: Sequence[Arrivals], ends: Sequence[Arrivals], after: Sequence[int]
    ) -> Passed:
        """Take a batch in; give out what is joined now, and in which turn."""
        ended = [now == END for now in after]
        queues = self._queues([side.in_time_order() for side in tuples], all(ended))
        # Of a stream of which something waits, more comes.
        ended = [over and not len(self.direction.early[s]) for s, over in enumerate(ended)]
        for delay in self.delays:
            queues = delay.pass_on(queues, ended)
            ended = [over and not delay.held(stream) for stream, over in enumerate(ended)]
        before = self.joined
        self.joined = [
            now if now != END or over else then
            for now, over, then in zip(after, ended, before, strict=True)
        ]
        return Passed(
            [queue.arrivals() for queue in queues],
            before,
            self.joined,
            turns=[queue.turns for queue in queues],
            past=self._past(),
        )

    def _past(self) -> Past | None:
        """What the streams are past when they have passed all delays, if one of them tells."""
        said = [words for delay in self.delays if (words := delay.passed_up_to()) is not None]
        if self.direction.flip is None or not said:
            return None
        # What waits behind may be below.
        behind = [any(delay.held(s) for delay in self.delays[1:]) for s in range(len(said[0]))]
        return Past(np.where(behind, NOTHING, said[0]), self.direction.flip)

    def _queues(self, sides: Sequence[Arrivals], over: bool) -> list[Queue]:
        """The tuples as they arrived: by time, then by stream."""
        streams = np.repeat(np.arange(len(sides)), [len(side.ts) for side in sides])
        order = np.lexsort((streams, np.concatenate([side.ts for side in sides])))
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.arange(self.count, self.count + len(order))
        self.count += len(order)
        parts = np.split(numbers, np.cumsum([len(side.ts) for side in sides])[:-1])
        rows = [
            np.stack([words(side.key), number, side.ts, side.key, side.row], axis=1)
            for side, number in zip(sides, parts, strict=True)
        ]
        rows = self.direction.take(rows, over)
        if self.direction.flip is not None:
            for each in rows:
                each[:, WORD] = np.minimum(each[:, WORD] ^ self.direction.flip, MOST_WORD)
        return [Queue(each, each[:, NUMBER]) for each in rows]

    # -- what waits ------------------------------------------------------------------------

    def rows(self, stream: int) -> Rows:
        """The ids of rows that will come to the join yet."""
        waiting = [delay.rows(stream) for delay in self.delays]
        return np.concatenate([self.direction.early[stream][:, ROW], *waiting])

    def held(self, stream: int) -> int:
        """How many rows of a stream wait."""
        early = len(self.direction.early[stream])
        return early + sum(delay.held(stream) for delay in self.delays)

    def figures(self) -> Figures:
        """Tuples that wait, in all delays."""
        early = [len(rows) for rows in self.direction.early]
        found = {"waiting": early, "waiting_bytes": [8 * WIDTH * rows for rows in early]}
        whole = {"switches": self.switches}
        for delay in self.delays:
            per_stream, more = delay.figures()
            whole |= more
            for name, numbers in per_stream.items():
                so_far = found.get(name, [0] * len(numbers))
                found[name] = [a + b for a, b in zip(so_far, numbers, strict=True)]
        return found, whole

    def forget_peaks(self) -> None:
        """Let high-water marks begin anew."""
        for delay in self.delays:
            delay.forget_peaks()

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self) -> Handover:
        """What waits in each delay."""
        arrays = self.direction.handover()
        facts: dict[str, Any] = {"count": self.count}
        for delay in self.delays:
            mine, facts[delay.name] = delay.handover()
            arrays |= {f"{delay.name}-{name}": array for name, array in mine.items()}
        return arrays, facts

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `handover`, in place."""
        self.begin()
        self.count = facts["count"]
        self.direction.attach(arrays)
        for delay in self.delays:
            prefix = f"{delay.name}-"
            mine = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            delay.attach(mine, facts[delay.name], room)

    def standing(self) -> dict[str, Any]:
        """How far each stream is joined, which way keys go, and the delays' standings."""
        own = {**super().standing(), "flip": self.direction.flip}
        return own | {delay.name: delay.standing() for delay in self.delays}

    def stand(self, standing: dict[str, Any]) -> None:
        """Take a standing over."""
        super().stand(standing)
        self.direction.flip = standing["flip"]
        for delay in self.delays:
            delay.stand(standing[delay.name])


def given(plan: JoinPlan) -> list[int]:
    """The scrambling factors that are given, by stream; 0: it is found out."""
    assert plan.memory is not None
    return [plan.memory.k.get(stream.name, 0) for stream in plan.streams]


def unlagged(memory: DataMemory) -> DataMemory:
    """What is still known of streams that have been delayed: their order."""
    return replace(memory, lag={}, rate={})
