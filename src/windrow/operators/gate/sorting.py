"""Sort first (MSF, paper 5, section 4.1): tuples wait until nothing below them can come any more.

    arrives --> watched (`Ordering`) --> sorted runs --> passes once its stream is past its key

    k = 2    arrives   61  64  62  66  63  67      <63> is the last one that may be below <64>
             passes            61      62 63  64

A tuple of S_i at position n says that S_i is past the largest key up to position n - k_i
(Definition 2.2). So k_i tuples wait, and what passes is sorted: its scrambling factor is the
multiplicity less one. A tuple that comes after its key has been passed breaks what was given, or
what was found out so far; it goes through at once.

Nothing that passes here is further out of order than it came: a tuple overtakes another one only
when nothing that is not above it is still to come. Where sorting ends in the middle of a stream,
what waits leaves as it arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.model import DataMemory
from windrow.operators.gate.turns import NUMBER, ROW, WIDTH, WORD, Queue, numbered, together
from windrow.operators.stage import Figures, Handover
from windrow.state.ordering import NOTHING, Ordering
from windrow.state.room import Room
from windrow.state.runs import Runs

Numbers = NDArray[np.int64]


class Sorting:
    """The delay. `given`: scrambling factors that are known, by stream; 0: it is found out."""

    name = "sorting"

    def __init__(self, given: Sequence[int], counted: bool = False) -> None:
        self.given = given
        self.counted = counted

    @staticmethod
    def leaves(memory: DataMemory) -> DataMemory:
        """What is known of streams that have been sorted."""
        times = memory.multiplicity
        return replace(memory, k={name: times.get(name, k + 1) - 1 for name, k in memory.k.items()})

    def begin(self, room: Room) -> None:
        """Nothing waits, and nothing is known."""
        self.waiting = [Runs(WIDTH, room) for _ in self.given]
        self.ordering = Ordering(len(self.given), self.given, counted=self.counted, room=room)
        #: What each stream is past.
        self.past = [NOTHING] * len(self.given)
        self.active = True
        #: The most tuples of each stream that may wait after a batch, if there is a limit.
        self.most: Sequence[int] | None = None

    # -- a batch ---------------------------------------------------------------------------

    def pass_on(self, queues: Sequence[Queue], ended: Sequence[bool]) -> list[Queue]:
        """Take a batch in; give out what its stream is past, sorted."""
        queues, streams = numbered(queues)
        said = self.ordering.observe_past(streams, together(queues, WORD))
        if not self.active:
            return [self._unsorted(stream, queue) for stream, queue in enumerate(queues)]
        found = [
            self._sorted(stream, queue, said[queue.turns]) for stream, queue in enumerate(queues)
        ]
        if self.most is not None:
            found = [
                self._within(stream, queue, len(streams)) for stream, queue in enumerate(found)
            ]
        rest = {stream: self._rest(stream) for stream, over in enumerate(ended) if over}
        # What is left of streams that have ended leaves in the order of the key over all of them.
        words = [rows[:, WORD] for rows in rest.values()]
        order = np.sort(np.concatenate([np.empty(0, np.int64), *words]))
        for stream, rows in rest.items():
            turns = len(streams) + np.searchsorted(order, rows[:, WORD])
            found[stream] = found[stream].then(rows, turns)
        return found

    def _sorted(self, stream: int, queue: Queue, said: Numbers) -> Queue:
        """What of a stream passes; `said`: what it is past, by tuple."""
        if not len(queue):
            return queue
        waiting = self.waiting[stream]
        # What has been passed stays so, even if the scrambling factor rises.
        past = np.maximum.accumulate(np.maximum(said, self.past[stream]))
        self.past[stream] = int(past[-1])
        old = waiting.pop_before(self.past[stream] + 1)
        rows = np.concatenate([old, queue.rows])
        arrived = np.maximum(np.arange(-len(old), len(queue)), 0)
        let_go = np.maximum(np.searchsorted(past, rows[:, WORD]), arrived)
        passes = let_go < len(queue)
        passed = np.bincount(let_go[passes], minlength=len(queue))
        waited = len(old) + len(waiting) + np.cumsum(1 - passed)
        waiting.push(np.ascontiguousarray(rows[~passes]))
        waiting.note(int(waited.max()))
        return Queue.by_turn(rows[passes], queue.turns[let_go[passes]])

    def _within(self, stream: int, queue: Queue, turn: int) -> Queue:
        """If more waits than may, all of it behind what passes, as it arrived."""
        if self.most is None or len(self.waiting[stream]) <= self.most[stream]:
            return queue
        rest = self._as_arrived(stream)
        return queue.then(rest, np.full(len(rest), turn))

    def _unsorted(self, stream: int, queue: Queue) -> Queue:
        """All that waits, as it arrived, then what comes."""
        rest = self._as_arrived(stream)
        return Queue(rest, np.full(len(rest), -1)).then(queue.rows, queue.turns)

    def _as_arrived(self, stream: int) -> Numbers:
        """Take out all that waits, in the order of arrival."""
        rest = self._rest(stream)
        return rest[np.argsort(rest[:, NUMBER])]

    def _rest(self, stream: int) -> Numbers:
        """Take out all that waits, sorted."""
        return self.waiting[stream].pop_before(2**63 - 1)

    # -- what waits ------------------------------------------------------------------------

    def rows(self, stream: int) -> Numbers:
        """The row ids that wait."""
        return self.waiting[stream].all()[:, ROW]

    def held(self, stream: int) -> int:
        """How many tuples of a stream wait."""
        return len(self.waiting[stream])

    def passed_up_to(self) -> Numbers | None:
        """What streams are past; where no bound is given that is only true of what has come."""
        known = np.where(np.array(self.given) > 0, self.past, NOTHING)
        return known if self.active else None

    def figures(self) -> Figures:
        """Tuples that wait."""
        return {
            "waiting": [len(runs) for runs in self.waiting],
            "waiting_bytes": [runs.nbytes for runs in self.waiting],
            "peak_waiting": [runs.peak for runs in self.waiting],
        }, {}

    def forget_peaks(self) -> None:
        """Let high-water marks begin anew."""
        for runs in self.waiting:
            runs.forget_peak()

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self) -> Handover:
        """What waits, and what has been seen."""
        arrays = self.ordering.handover()
        for stream, runs in enumerate(self.waiting):
            arrays |= runs.handover(str(stream))
        return arrays, {}

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `handover`, in place."""
        self.ordering = Ordering.attach(arrays, room)
        self.waiting = [Runs.attach(arrays, str(each), room) for each in range(len(self.given))]

    def standing(self) -> dict[str, Any]:
        """What the streams are past, and whether they are sorted."""
        return {"past": self.past, "active": self.active}

    def stand(self, standing: dict[str, Any]) -> None:
        """Take a standing over."""
        self.past, self.active = list(standing["past"]), standing["active"]
