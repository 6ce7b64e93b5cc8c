"""A join that queries share, in a bucket's log: its tuples, and results that some still wait for.

Tuples are in their chunks, stream by stream, in the order they came. Nothing else is written of
suspended work: it is a stretch of arrivals, and the join's standing says where it begins, what it
has scanned, and how many of it came in each micro-batch, by stream. So the order of arrival of all
streams (micro-batch, time, stream, row id) is found again, however chunks were merged since. What
is stored are the newest tuples that have begun their scans, as many as the standing says.

A chunk goes when no stored tuple, no arrival under way and no held result can be in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windrow.operators.arrivals import Arrivals
from windrow.operators.join.shared import SharedJoin
from windrow.operators.pipeline import Pipeline
from windrow.operators.results import Release
from windrow.spark.log.directory import NO_STREAM
from windrow.spark.log.log import Log
from windrow.spark.log.tuples import Arrived, Tuples

KIND = "held back"


class SharedTuples(Tuples):
    """The chunks of a log, on behalf of a shared join."""

    def __init__(self, log: Log, pipeline: Pipeline) -> None:
        super().__init__(log, pipeline)
        assert isinstance(pipeline.join, SharedJoin)
        self.join = pipeline.join

    def _append_if_stored(self, stream: int, part: Arrived, progress: Sequence[int]) -> None:
        if self.join.levels.needed >= 0:
            super()._append_if_stored(stream, part, progress)
        else:
            # No query has asked for them.
            self.log.payloads[stream].drop(part.chunk.first)

    def _bound(self, stream: int) -> int:
        return self.join.needed_from(stream, self.log.directory.progress)

    def restore(self) -> None:
        """Stored tuples, and arrivals that have not scanned all they need."""
        standing = self.log.directory.standing["join"]
        come = [self._come(stream) for stream in self.streams]
        under_way = _under_way(come, standing["batches"])
        fresh = under_way[standing["begun"] - standing["first"] :, 3]
        for stream, mine in enumerate(come):
            stop = len(mine.ts) - int((fresh == stream).sum())
            stored = mine.part(max(stop - standing["live"][stream], 0), stop)
            self.join.state.fill(stream, stored.ts, stored.key, stored.row)
        self.join.restore(under_way)


def _under_way(come: Sequence[Arrivals], batches: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """The last tuples, so many of each stream by micro-batch, in the order of arrival.

    A row for each: time, key, row id, stream.
    """
    found = [np.empty((0, 4), np.int64)]
    totals = np.array(batches, np.int64).reshape(-1, len(come)).sum(axis=0)
    at = [len(mine.ts) - int(total) for mine, total in zip(come, totals, strict=True)]
    for counts in batches:
        rows = []
        for stream, count in enumerate(counts):
            mine = come[stream].part(at[stream], at[stream] + count)
            at[stream] += count
            rows.append(np.column_stack([mine.ts, mine.key, mine.row, np.full(count, stream)]))
        together = np.concatenate(rows)
        found.append(together[np.argsort(together[:, 0], kind="stable")])
    return np.concatenate(found)


class HeldBack:
    """Results that some of their queries still wait for, on behalf of the release stage.

    Which queries have had one already follows from how far its arrival's results have been
    released, so a result is written once, and forgotten when no arrival up to its own is under way.
    """

    def __init__(self, log: Log, pipeline: Pipeline) -> None:
        assert isinstance(pipeline.join, SharedJoin)
        assert isinstance(pipeline.results, Release)
        self.log = log
        self.join = pipeline.join
        self.release = pipeline.results

    def write(self) -> None:
        """Write down what has come to be held, and forget what has left."""
        log, first = self.log, self.join.under_way_from
        for delta in log.directory.deltas_of(KIND, NO_STREAM):
            if delta.newest_row < first:
                log.drop_delta(delta)
        self._add(self.release.take_added())
        for level, run, _ in log.runs_of_deltas(KIND, 8 * self.release.written):
            together = np.concatenate([self._read(log.read(delta)) for delta in run])
            for delta in run:
                log.drop_delta(delta)
            self._add(together[together[:, 0] >= first], level + 1)

    def _add(self, rows: NDArray[np.int64], merged: int = 0) -> None:
        if len(rows):
            newest = int(rows[:, 0].max())
            self.log.add_delta(KIND, NO_STREAM, rows, len(rows), newest, merged)

    def restore(self) -> None:
        """The results that are held."""
        deltas = self.log.directory.deltas_of(KIND, NO_STREAM)
        self.release.load([self._read(self.log.read(delta)) for delta in deltas])

    def _read(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        return numbers.reshape(-1, self.release.written)
