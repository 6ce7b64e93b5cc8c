"""Punctuations in a bucket's log: which rows they removed, and what became of their flags.

A punctuation's own row is in its chunk, so one that waits is found there again: its time is beyond
the progress. What has acted is written down as deltas, because it does not follow from the chunks
alone: rows thrown or kept out, and for each flag its time, its key and whether it was propagated.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from windrow.operators.arrivals import Arrivals
from windrow.operators.join.punctuated import PunctuatedJoin
from windrow.operators.pipeline import Pipeline
from windrow.spark.log.chunks import ids_of
from windrow.spark.log.directory import NO_STREAM, Delta
from windrow.spark.log.log import Log
from windrow.spark.log.tuples import REMOVED
from windrow.state.flags import FLAGGED, Changes, Flagged

KIND = "flags"


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
        self._add(self.join.take_changes())
        for level, run, oldest in log.runs_of_deltas(KIND):
            together = self._read(run)
            for delta in run:
                log.drop_delta(delta)
            self._add(_folded(together, span, passed, oldest), level + 1)
        directory.deltas.sort(key=lambda delta: -delta.merged)

    def _add(self, changes: Changes, merged: int = 0) -> None:
        """Write down what became of some flags."""
        count = len(changes.ts)
        if count:
            newest = int(changes.ts.max())
            self.log.add_delta(KIND, NO_STREAM, changes.numbers(), count, newest, merged)

    def renumber(self, flags: list[Flagged], kept: list[NDArray[np.int64]]) -> None:
        """Write the flags as they are, under the new ids of their rows: places in `kept`."""
        parts = [
            Changes.new(stream, np.searchsorted(rows, mine.row), mine)
            for stream, (mine, rows) in enumerate(zip(flags, kept, strict=True))
        ]
        self._add(Changes.together(parts))

    # -- reading ---------------------------------------------------------------------------

    def restore(self) -> None:
        """Flags and punctuations that wait, beside tuples that are stored again."""
        log, directory = self.log, self.log.directory
        together = self._read(directory.deltas_of(KIND, NO_STREAM))
        flags = _folded(together, log.plan.span, min(directory.progress), True)
        for stream in self.streams:
            self.join.state.fill_flags(stream, flags.flags_of(stream))
        self.gate.ends.keep([self._waiting(stream) for stream in self.streams])
        self.join.mark_rings()

    def _read(self, deltas: Iterable[Delta]) -> Changes:
        """What was written down, in that order."""
        return Changes.together([Changes.of_numbers(self.log.read(delta)) for delta in deltas])

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


def _folded(changes: Changes, span: int, passed: int, complete: bool) -> Changes:
    """The last word on each flag; `complete`: there is nothing before, so gone flags can go."""
    # A flag is known by its stream and its punctuation's row; the order stays that of its first.
    whose = np.stack([changes.stream, changes.row])
    _, first, back = np.unique(whose, axis=1, return_index=True, return_inverse=True)
    last = np.empty(len(first), np.int64)
    last[back.reshape(-1)] = np.arange(len(changes.ts))
    kept = changes.chosen(last[np.argsort(first)])
    kept = kept.chosen(kept.ts + span >= passed)
    return kept.chosen(kept.what == FLAGGED) if complete else kept
