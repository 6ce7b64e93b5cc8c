"""Punctuations in a bucket's log: which rows they removed, and what became of their flags.

A punctuation's own row is in its chunk, so one that waits is found there again: its time is beyond
the progress. What has acted is written down as deltas, because it does not follow from the chunks
alone: rows thrown or kept out, and for each flag its time, its key and whether it was propagated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.operators.arrivals import Arrivals
from windrow.operators.join.punctuated import FLAGGED, PunctuatedJoin
from windrow.operators.pipeline import Pipeline
from windrow.spark.log.chunks import ids_of
from windrow.spark.log.directory import NO_STREAM
from windrow.spark.log.log import Log
from windrow.spark.log.tuples import REMOVED
from windrow.state.join_state import Flagged

KIND = "flags"

#: What became of flags, a column each: (what, stream, row id, time, key, flag).
Told = NDArray[np.int64]


class Punctuations:
    """Flags of a log, on behalf of gate and join."""

    def __init__(self, log: Log, pipeline: Pipeline) -> None:
        assert isinstance(pipeline.join, PunctuatedJoin)
        self.log = log
        self.gate, self.join = pipeline.gate, pipeline.join
        self.streams = range(len(log.streams))

    # -- writing ---------------------------------------------------------------------------

    def write(self) -> None:
        """Write down what punctuations have done in this batch."""
        for stream in self.streams:
            self.log.log_rows(REMOVED, stream, self.join.take_removed(stream))
        log, directory = self.log, self.log.directory
        span, passed = log.plan.span, min(directory.progress)
        for delta in directory.deltas_of(KIND, NO_STREAM):
            if delta.newest_row + span < passed:
                log.drop_delta(delta)
        self._add(self.join.take_flagged())
        for level, run, oldest in log.runs_of_deltas(KIND):
            together = np.concatenate([_told(log.read(delta)) for delta in run], axis=1)
            for delta in run:
                log.drop_delta(delta)
            self._add(_folded(together, span, passed, oldest), level + 1)
        directory.deltas.sort(key=lambda delta: -delta.merged)

    def _add(self, told: Told, merged: int = 0) -> None:
        """Write down what became of some flags."""
        if told.shape[1]:
            self.log.add_delta(KIND, NO_STREAM, told, told.shape[1], int(told[3].max()), merged)

    def renumber(self, flags: list[Flagged], kept: list[NDArray[np.int64]]) -> None:
        """Write the flags as they are, under the new ids of their rows: places in `kept`."""
        parts = [np.empty((6, 0), np.int64)]
        for stream, (mine, rows) in enumerate(zip(flags, kept, strict=True)):
            what, of = np.full(len(mine), FLAGGED), np.full(len(mine), stream)
            ids = np.searchsorted(rows, mine.row)
            parts.append(np.stack([what, of, ids, mine.ts, mine.key, mine.flag]))
        self._add(np.concatenate(parts, axis=1))

    # -- reading ---------------------------------------------------------------------------

    def restore(self) -> None:
        """Flags and punctuations that wait, beside tuples that are stored again."""
        log, directory = self.log, self.log.directory
        told = [_told(log.read(delta)) for delta in directory.deltas_of(KIND, NO_STREAM)]
        together = np.concatenate([np.empty((6, 0), np.int64), *told], axis=1)
        flags = _folded(together, log.plan.span, min(directory.progress), True)
        for stream in self.streams:
            _, _, rows, ts, keys, marks = flags[:, flags[1] == stream]
            self.join.state.fill_flags(stream, Flagged(ts, keys, rows, marks))
        self.gate.ends.keep([self._waiting(stream) for stream in self.streams])
        self.join.mark_rings()

    def _waiting(self, stream: int) -> Arrivals:
        """The punctuations of a stream that have not acted yet."""
        log, parts = self.log, []
        for entry in log.directory.of(stream):
            columns, ids = log.columns_of(entry), ids_of(log.rows_of(entry), entry.first)
            places = columns.punctuations(log.streams[stream].unique)
            marked = np.zeros(len(places), np.bool_)
            if columns.ends is not None:
                marked = columns.ends[places]
            progress = log.directory.progress
            waits = self.gate.ends_wait(stream, ids[places], columns.ts[places], marked, progress)
            found = places[waits]
            parts.append(Arrivals(columns.ts[found], columns.keys.hashes[found], ids[found]))
        return Arrivals.concatenate(parts)


def _told(numbers: NDArray[np.int64]) -> Told:
    return numbers.reshape(6, -1)


def _folded(told: Told, span: int, passed: int, complete: bool) -> Told:
    """The last word on each flag; `complete`: there is nothing before, so gone flags can go."""
    # A flag is known by its stream and its punctuation's row; the order stays that of its first.
    _, first, back = np.unique(told[1:3], axis=1, return_index=True, return_inverse=True)
    last = np.empty(len(first), np.int64)
    last[back.reshape(-1)] = np.arange(told.shape[1])
    kept = told[:, last[np.argsort(first)]]
    kept = kept[:, kept[3] + span >= passed]
    return kept[:, kept[0] == FLAGGED] if complete else kept
