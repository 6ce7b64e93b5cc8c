"""A join without windows in a bucket's log: its latest tuples, and what its manager has seen.

    chunks    a1 a2 | a3 a4 a5 | a6      in the order of arrival; live = 3 in the join's standing
    stored                a4 a5   a6     so a chunk goes once all it has came before a4

*Tuples*. What is stored of a stream are its latest tuples, first in, first out: so many as the
join's standing says. Their order (micro-batch, time, row id) is that of the chunks, which merging
keeps. Progress tells nothing of them.

*The manager*. What two attempts at a micro-batch decide must be the same, so a manager that is made
again must know what the other one does. Its small arrays are in the standing. Of its rings each
micro-batch writes what it has added, a delta that goes once the ring has forgotten it, whether or
not the tuples are still stored: a stream that is far ahead is remembered for longer than it stays.
"""

from __future__ import annotations

from bisect import bisect
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.operators.join.oblivious import ObliviousJoin
from windrow.operators.pipeline import Pipeline
from windrow.spark.log.directory import Delta, Entry
from windrow.spark.log.log import Log
from windrow.spark.log.tuples import Tuples

KIND = "seen"
#: Of a tuple in a ring: its key, the largest key up to it, when it came.
COLUMNS = 3
SEEN_BYTES = 8 * COLUMNS


class LatestTuples(Tuples):
    """The chunks of a log, on behalf of a join that keeps the latest tuples."""

    def _over(self, stream: int) -> list[Entry]:
        """All chunks before the micro-batch of the oldest tuple that is stored."""
        entries = self.log.directory.of(stream)
        oldest = self.pipeline.join.state.oldest_row(stream)
        if oldest is None:
            return entries
        holds = entries[bisect(entries, oldest, key=lambda entry: entry.first) - 1]
        # Rows of one micro-batch are in the order of their times, in whichever chunk they came.
        return [entry for entry in entries if entry.batch < holds.batch]

    def restore(self) -> None:
        """Matched flags, and the latest tuples."""
        self._restore_flags()
        live = self.log.directory.standing["join"]["live"]
        for stream, count in enumerate(live):
            come = self._come(stream)
            stored = come.part(len(come.ts) - count, len(come.ts))
            self.pipeline.join.state.fill(stream, stored.ts, stored.key, stored.row)


class Seen:
    """What the rings of a memory manager hold, as deltas of each stream.

    A delta's `newest_row` is the position of its last tuple.
    """

    def __init__(self, log: Log, pipeline: Pipeline) -> None:
        assert isinstance(pipeline.join, ObliviousJoin)
        self.log = log
        self.join = pipeline.join

    def write(self) -> None:
        """Write down what has been seen since, and forget what the rings have."""
        before, memory = self.log.directory.standing.get("join"), self.join.memory
        # Keys that are taken to descend are other words, in all of the ring.
        anew = before is not None and before["seen"]["descends"] != memory.descends
        for stream in range(len(self.log.streams)):
            known, oldest = 0, memory.remembers_from(stream)
            for delta in self._deltas(stream):
                known = 0 if anew else delta.newest_row
                if anew or delta.newest_row < oldest:
                    self.log.drop_delta(delta)
            self._add(stream, memory.seen(stream, known), memory.arrived(stream))
            self._merge(stream, oldest)

    def _add(self, stream: int, seen: NDArray[Any], newest: int, merged: int = 0) -> None:
        if len(seen):
            self.log.add_delta(KIND, stream, seen, len(seen), newest, merged)

    def _merge(self, stream: int, oldest: int) -> None:
        """Eight neighbours that were merged equally often become one."""

        def level(delta: Delta) -> tuple[int, bool]:
            return delta.merged, delta.rows * SEEN_BYTES < self.log.SMALL_BYTES

        runs = [(kind, list(run)) for kind, run in groupby(self._deltas(stream), key=level)]
        for (merged, small), run in runs:
            if small and len(run) >= self.log.MERGED_AT_ONCE:
                newest = run[-1].newest_row
                together = self._read(run)[-(newest - oldest + 1) :]
                for delta in run:
                    self.log.drop_delta(delta)
                self._add(stream, together, newest, merged + 1)

    def restore(self) -> None:
        """Give the rings back what they held."""
        memory = self.join.memory
        for stream in range(len(self.log.streams)):
            seen = self._read(self._deltas(stream))
            count = memory.arrived(stream) + 1 - memory.remembers_from(stream)
            memory.recall(stream, seen[len(seen) - count :])

    def _deltas(self, stream: int) -> list[Delta]:
        """A stream's, oldest first."""
        found = self.log.directory.deltas_of(KIND, stream)
        return sorted(found, key=lambda delta: delta.newest_row)

    def _read(self, deltas: list[Delta]) -> NDArray[np.int64]:
        parts = [self.log.read(delta).reshape(-1, COLUMNS) for delta in deltas]
        return np.concatenate([np.empty((0, COLUMNS), np.int64), *parts])
