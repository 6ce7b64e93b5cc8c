"""Disk-buffer first (DBF, paper 5, section 4.2): who runs ahead waits on disk for the others.

    S_1 arrives   60 .. 90 |  91 92 93 ..  --> disk --> back, once S_2 is about to reach them
    S_2 arrives   60 .. 70                              (read-ahead: C tuples)

A tuple passes as soon as no key before it in its queue, itself included, is above the smallest of
the other streams' largest keys; and C tuples more. First in, first out, so the scrambling factor
stays what it was. The streams' slowest never waits.

A stream waits only while it is ahead by 3 times as long as it takes to write a block and to read
it. Both are measured: how far ahead it is by counting tuples whose partners have not come, divided
by their rate on the clock. What a batch measures decides about the next one, and is written down
with the standing, so that two attempts at a batch decide alike.

In process the tables are in memory anyway. What is saved is what joins keep: lists and chains.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.model import DataMemory
from windrow.operators.gate.files import Folder
from windrow.operators.gate.spill import Disk, Queueing, Spill
from windrow.operators.gate.trail import Trail
from windrow.operators.gate.turns import WIDTH, WORD, Queue, numbered
from windrow.operators.stage import Figures, Handover
from windrow.state.room import Room

Numbers = NDArray[np.int64]

#: A stream waits if it is ahead by so many times the disk's time.
WORTH = 3
#: What a batch before counts of the rate, against the one after it.
FADE = 7 / 8
#: Below and above all words.
NONE_YET, OVER = -(2**63), 2**63 - 1


class Spilling:
    """The delay, for so many streams."""

    name = "spilling"

    def __init__(self, streams: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self.streams = range(streams)
        self.clock = clock
        self._before: float | None = None

    @staticmethod
    def leaves(memory: DataMemory) -> DataMemory:
        """What is known of streams that have waited: as much of their order as before."""
        return memory

    def begin(self, room: Room) -> None:
        """Nothing waits, and nothing is known."""
        self.folder = Folder()
        self.disk = Disk(self.clock)
        self.spills = [Spill(self.folder, self.disk) for _ in self.streams]
        #: The largest word that has arrived, and that has passed.
        self.top = [NONE_YET for _ in self.streams]
        self.passed = [NONE_YET for _ in self.streams]
        #: Of what has passed and whose partners have not come: the largest words up to each.
        self.ahead = [np.empty(0, np.int64) for _ in self.streams]
        self.trails = [Trail() for _ in self.streams]
        self.peaks = [0 for _ in self.streams]
        self.waits = [False for _ in self.streams]
        self.counts, self.elapsed = [0.0 for _ in self.streams], 0.0
        self.active = True
        self.queue_by(Queueing.usual())

    def queue_by(self, queueing: Queueing) -> None:
        """Let blocks and the read-ahead be so large from now on."""
        self.queueing = queueing
        for queue in self.spills:
            queue.block = queueing.block

    # -- a batch ---------------------------------------------------------------------------

    def pass_on(self, queues: Sequence[Queue], ended: Sequence[bool]) -> list[Queue]:
        """Take a batch in; give out what the others are about to reach."""
        queues, streams = numbered(queues)
        tops = [self._tops(stream, queue, len(streams)) for stream, queue in enumerate(queues)]
        for stream, over in enumerate(ended):
            if over:
                tops[stream][-1] = OVER
        found = []
        for stream, queue in enumerate(queues):
            others = [tops[other] for other in self.streams if other != stream]
            mark = np.minimum.reduce(others)
            self.trails[stream].follow(tops[stream][queue.turns], int(mark[-1]))
            wait = self.waits[stream] and self.active and mark[-1] != OVER
            found.append(self._queued(stream, queue, mark) if wait else self._all(stream, queue))
            self.peaks[stream] = max(self.peaks[stream], self.spills[stream].in_memory())
        self._decide([len(queue) for queue in queues])
        if all(ended):
            self.folder.close()
        return found

    def _tops(self, stream: int, queue: Queue, turns: int) -> Numbers:
        """The largest word of a stream by turn, and at the end of the batch."""
        found = np.full(turns + 1, self.top[stream])
        found[queue.turns] = queue.rows[:, WORD]
        found = np.maximum.accumulate(np.maximum(found, self.top[stream]))
        self.top[stream] = int(found[-1])
        return found

    def _all(self, stream: int, queue: Queue) -> Queue:
        """All that waits, then what comes."""
        spill, rest = self.spills[stream], []
        while len(spill):
            rest.append(spill.pop())
        rows = np.concatenate([queue.rows[:0], *rest])
        self.ahead[stream], self.passed[stream] = queue.rows[:0, WORD], self.top[stream]
        return Queue(rows, np.full(len(rows), -1)).then(queue.rows, queue.turns)

    def _queued(self, stream: int, queue: Queue, mark: Numbers) -> Queue:
        """What is met by `mark`, which the others have reached by turn, and C tuples more."""
        spill, ahead, C = self.spills[stream], self.ahead[stream], self.queueing.ahead
        rows, tops = np.empty((0, WIDTH), np.int64), ahead
        last = int(mark[-1])

        def enough() -> bool:
            """Has so much been read that the next tuple waits?"""
            return int(np.searchsorted(tops, last, side="right")) + max(C, 1) <= len(tops)

        while len(spill) and not enough():
            read = spill.pop()
            rows, tops = np.concatenate([rows, read]), self._along(stream, tops, read)
        came = np.full(len(rows), 0)
        if len(spill):
            spill.push(queue.rows)
        else:
            rows, tops = np.concatenate([rows, queue.rows]), self._along(stream, tops, queue.rows)
            came = np.concatenate([came, queue.turns])
        # The tuple that must have been met before one passes: C places before it.
        after = np.full(len(tops), NONE_YET)
        after[C:] = tops[: max(len(tops) - C, 0)]
        after = after[len(ahead) :]
        let_go = np.maximum(np.searchsorted(mark, after), came)
        count = int(np.searchsorted(after, last, side="right"))
        if len(came) > count:
            if len(spill):
                spill.put_back(rows[count:])
            else:
                spill.push(rows[count:])
        met = int(np.searchsorted(tops, last, side="right"))
        passed = len(ahead) + count
        if passed:
            self.passed[stream] = int(tops[passed - 1])
        self.ahead[stream] = tops[min(met, passed) : passed]
        return Queue(rows[:count], np.maximum.accumulate(let_go[:count]))

    def _along(self, stream: int, tops: Numbers, rows: Numbers) -> Numbers:
        """The largest words up to each tuple of a queue, with more tuples."""
        begun = int(tops[-1]) if len(tops) else self.passed[stream]
        more = np.maximum.accumulate(np.maximum(rows[:, WORD], begun))
        return np.concatenate([tops, more])

    def _decide(self, arrived: Sequence[int]) -> None:
        """Which streams wait in the next batch."""
        now, before = self.clock(), self._before
        self._before = now
        self.disk.settle(self.folder)
        if before is not None:
            self.elapsed = FADE * self.elapsed + now - before
            pairs = zip(self.counts, arrived, strict=True)
            self.counts = [FADE * count + more for count, more in pairs]
        for stream in self.streams:
            self.waits[stream] = self._worth(stream)

    def _worth(self, stream: int) -> bool:
        """Is it ahead by so much that the disk is worth its time?"""
        if self.disk.seconds is None or not self.counts[stream]:
            return False
        seconds = self.trails[stream].ahead * self.elapsed / self.counts[stream]
        return seconds >= WORTH * self.disk.seconds

    # -- what waits ------------------------------------------------------------------------

    def rows(self, stream: int) -> Numbers:
        """The row ids that wait, from the disk too."""
        return self.spills[stream].rows()

    def held(self, stream: int) -> int:
        """How many tuples of a stream wait."""
        return len(self.spills[stream])

    def passed_up_to(self) -> Numbers | None:
        """What passes is as far out of order as it came."""
        return None

    def figures(self) -> Figures:
        """Tuples that wait; in memory, and on disk."""
        in_memory = [spill.in_memory() for spill in self.spills]
        return {
            "waiting": [len(spill) for spill in self.spills],
            "waiting_bytes": [8 * WIDTH * rows for rows in in_memory],
            "peak_waiting": list(self.peaks),
            "spilled": [spill.on_disk() for spill in self.spills],
        }, {}

    def forget_peaks(self) -> None:
        """Let high-water marks begin anew."""
        self.peaks = [spill.in_memory() for spill in self.spills]

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self) -> Handover:
        """What waits in memory, and the files of what waits on disk."""
        arrays: dict[str, NDArray[Any]] = {}
        named = []
        for stream, spill in enumerate(self.spills):
            kept, blocks = spill.handover()
            kept |= {"ahead": self.ahead[stream], "trail": self.trails[stream].marks}
            arrays |= {f"{name}_{stream}": array for name, array in kept.items()}
            named.append(blocks)
        return arrays, {
            "files": named,
            "top": list(self.top),
            "passed": list(self.passed),
            "trails": [trail.facts() for trail in self.trails],
        }

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with what `handover` gave."""
        self.top, self.passed = list(facts["top"]), list(facts["passed"])
        for stream, spill in enumerate(self.spills):
            mine = {name: arrays[f"{name}_{stream}"] for name in ("head", "kept", "tail")}
            spill.attach(mine, facts["files"][stream])
            self.ahead[stream] = arrays[f"ahead_{stream}"]
            self.trails[stream].attach(arrays[f"trail_{stream}"], facts["trails"][stream])

    def standing(self) -> dict[str, Any]:
        """What was measured, and who waits."""
        return {
            "waits": self.waits,
            "disk": self.disk.seconds,
            "counts": self.counts,
            "elapsed": self.elapsed,
            "active": self.active,
        }

    def stand(self, standing: dict[str, Any]) -> None:
        """Take a standing over."""
        self.waits, self.counts = list(standing["waits"]), list(standing["counts"])
        self.disk.seconds, self.elapsed = standing["disk"], standing["elapsed"]
        self.active = standing["active"]
